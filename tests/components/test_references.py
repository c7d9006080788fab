"""The two references on corpora whose answers are known, and on the real model."""

from __future__ import annotations

import numpy as np
import pytest

import components.references as module
from components.moments import text_moments
from components.references import SPLITS, _partners, finite_samples, references, unrelated_tokens
from components.types import TokenStates
from tests.components.definitions import ragged, random_texts

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_texts_from_one_cloud_have_ratio_one():
    states = random_texts(np.random.default_rng(0), [40] * 60, 32)
    within, between, ratio, half = finite_samples(states, np.arange(60))
    assert ratio.value == pytest.approx(1, abs=0.03)
    assert ratio.low < 1 < ratio.high
    assert within.value == pytest.approx(between.value, rel=0.05)
    assert half == 20


def test_texts_of_clouds_of_their_own_have_a_ratio_far_below_one():
    rng = np.random.default_rng(1)
    texts = []
    for _ in range(40):
        stretch = np.zeros(32)
        stretch[rng.choice(32, 2, replace=False)] = 5  # each text spreads along two axes of its own
        texts.append(rng.standard_normal((40, 32)) * stretch + 3)
    _, _, ratio, _ = finite_samples(ragged(*texts), np.arange(40))
    assert ratio.high < 0.5


def test_partners_are_another_text_of_like_length():
    rng = np.random.default_rng(2)
    lengths = rng.integers(20, 60, 101)
    eligible = np.arange(101)
    for seed in range(20):
        partners = _partners(eligible, lengths, np.random.default_rng(seed))
        assert (partners != eligible).all()
        gaps = np.abs(lengths[partners] - lengths)
        assert gaps.max() <= np.diff(np.sort(lengths)).max()


def test_halves_are_disjoint_equal_and_of_the_texts_they_should_be(monkeypatch):
    """Every token is marked with its text and its place, so that the pieces can be read back."""
    lengths = np.random.default_rng(5).integers(20, 50, 30)
    text_of = np.repeat(np.arange(30), lengths)
    tokens = np.stack([text_of, np.arange(len(text_of)), np.random.default_rng(6).random(len(text_of))], axis=1)
    seen: list[TokenStates] = []
    monkeypatch.setattr(module, "text_moments", lambda states, **o: seen.append(states) or text_moments(states, **o))
    eligible = np.flatnonzero(lengths >= 22)
    _, _, ratio, half = finite_samples(TokenStates(tokens, np.concatenate([[0], np.cumsum(lengths)])), eligible)
    pieces = seen[0]
    assert len(pieces) == 3 * SPLITS * len(eligible)
    firsts = []
    for k in range(0, len(pieces), 3):
        a1, a2, b1 = pieces[k], pieces[k + 1], pieces[k + 2]
        (a,), (same,), (b,) = (set(piece[:, 0].astype(int)) for piece in (a1, a2, b1))
        assert a == same != b and {a, b} <= set(eligible)
        assert len(a1) == len(a2) == len(b1) == min(lengths[a], lengths[b]) // 2
        drawn = np.concatenate([a1[:, 1], a2[:, 1], b1[:, 1]])
        assert len(np.unique(drawn)) == len(drawn), "no token twice, and none in both halves"
        firsts.append(a)
    assert firsts == eligible.tolist() * SPLITS
    assert half == pytest.approx(np.mean(pieces.lengths))
    assert ratio.n == len(eligible)
    again = [set(pieces[3 * (k * len(eligible))][:, 1]) for k in range(SPLITS)]
    assert any(again[0] != other for other in again[1:]), "splits differ"


def test_the_embedded_model(embedded_states):
    found = references(embedded_states, text_moments(embedded_states).norms)
    assert found.within.value < found.between.value and found.ratio.high < 1
    assert 0.7 < found.ratio.value < 0.9, "0.80 +- 0.02 on Wikipedia sentences (feasibility run)"
    assert found.unrelated.value > 3 * found.between.value
    assert found.unrelated_norm < found.norm
    assert found.missing == ()


def test_short_texts_say_what_is_missing():
    states = random_texts(np.random.default_rng(3), [5] * 12, 8)
    found = references(states, text_moments(states).norms)
    assert found.ratio is None
    assert "this corpus has 0" in found.missing[0]


def test_shuffled_tokens_keep_lengths_and_lose_their_texts():
    rng = np.random.default_rng(4)
    texts = [rng.standard_normal((20, 16)) * 0.1 + 5 * rng.standard_normal(16) for _ in range(30)]
    states = ragged(*texts)
    interval, norm = unrelated_tokens(states)
    assert norm < 0.5 * np.median(text_moments(states).norms)
    assert interval.value > 1
