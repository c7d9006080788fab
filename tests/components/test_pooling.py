"""Poolings against sentence-transformers' module, hand-worked values and properties."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.modules import Pooling

from components.errors import DataError
from components.models import resolve_model
from components.pipeline import timed_encoder
from components.pooling import CLS, LAST, MAX, MEAN, POOLINGS, SQRT, UNMASKED, WEIGHTED, UnmaskedMeans, pool, unit
from components.types import FINAL, TokenStates, no_progress

THEIRS = {MEAN: "mean", CLS: "cls", LAST: "lasttoken", MAX: "max", SQRT: "mean_sqrt_len_tokens", WEIGHTED: "weightedmean"}
TEXTS = ("Rain.", "The harbour froze over in the winter of that year, and nobody crossed it.", "A short one", "two words " * 40)


def states_of(*texts: np.ndarray) -> TokenStates:
    return TokenStates(np.concatenate(texts), np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64))


def theirs(states: TokenStates, pooling: str, side: str) -> np.ndarray:
    """sentence-transformers' Pooling on the same states, padded with noise on one side."""
    width = int(states.lengths.max())
    padded = np.random.default_rng(1).normal(size=(len(states), width, states.dim)).astype(np.float32) * 100
    mask = np.zeros((len(states), width), dtype=np.int64)
    for i in range(len(states)):
        n = len(states[i])
        at = slice(0, n) if side == "right" else slice(width - n, width)
        padded[i, at], mask[i, at] = states[i], 1
    module = Pooling(states.dim, pooling_mode=THEIRS[pooling])
    given = {"token_embeddings": torch.from_numpy(padded), "attention_mask": torch.from_numpy(mask)}
    return module(given)["sentence_embedding"].numpy()


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_real_states_pool_as_sentence_transformers_pools_them(pooling, side):
    encoder, _ = timed_encoder(resolve_model("nano-contrastive"), "cpu", (), no_progress)
    states = encoder.token_states(TEXTS, [FINAL]).states[FINAL]
    assert np.abs(pool(states, pooling) - theirs(states, pooling, side)).max() < 1e-6 * max(1, np.abs(states.states).max())


def test_hand_worked_values():
    x = np.array([[1.0, 8.0], [3.0, 4.0], [2.0, 0.0]], dtype=np.float32)
    expected = {MEAN: [2, 4], CLS: [1, 8], LAST: [2, 0], MAX: [3, 8], SQRT: [6 / 3**0.5, 12 / 3**0.5], WEIGHTED: [13 / 6, 16 / 6]}
    for pooling, value in expected.items():
        assert pool(states_of(x, x[:1]), pooling)[0] == pytest.approx(value)
        assert pool(states_of(x, x[:1]), pooling)[1] == pytest.approx([1, 8])  # one token is its own pooling


def test_the_order_of_tokens_matters_only_where_it_should():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 5)).astype(np.float32)
    other = x[rng.permutation(7)]
    for pooling in POOLINGS:
        alike = np.allclose(pool(states_of(x), pooling), pool(states_of(other), pooling), atol=1e-6)
        assert alike == (pooling in (MEAN, MAX, SQRT))


def test_means_are_summed_in_float64():
    x = np.full((30_000, 2), 0.1, dtype=np.float32)
    x[0] = 1e4
    assert pool(states_of(x), MEAN)[0] == pytest.approx(x.astype(np.float64).mean(axis=0), rel=1e-7)


@pytest.mark.parametrize("pooling", ["average", UNMASKED, ""])
def test_another_name_is_refused(pooling):
    with pytest.raises(DataError, match="pooling must be one of mean, cls"):
        pool(states_of(np.ones((2, 3), np.float32)), pooling)


def test_a_text_without_a_token_is_refused_and_none_gives_none():
    with pytest.raises(DataError, match="text 1 must have a token"):
        pool(TokenStates(np.ones((2, 3), np.float32), np.array([0, 2, 2])), MEAN)
    assert pool(TokenStates(np.ones((0, 3), np.float32), np.array([0])), MEAN).shape == (0, 3)


def test_the_unmasked_mean_is_over_padding_too():
    encoder, _ = timed_encoder(resolve_model("nano-contrastive"), "cpu", (), no_progress)
    seen = UnmaskedMeans(2, encoder.dim)
    texts = ["Rain.", "The harbour froze over in the winter of that year."]
    states = encoder.token_states(texts, [FINAL], seen=seen).states[FINAL]
    ids, real = encoder.padded(encoder.tokenise(texts), np.array([0, 1]))
    hidden = encoder.hidden_states(ids, real, [FINAL])[FINAL].numpy()
    assert np.allclose(seen.vectors, hidden.mean(axis=1), atol=1e-6) and (seen.widths == ids.shape[1]).all()
    means = pool(states, MEAN)
    assert np.allclose(seen.vectors[1], means[1], atol=1e-5)  # the longest has no padding
    assert np.abs(seen.vectors[0] - means[0]).max() > 0.05


def test_unit_leaves_zero_alone():
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))
