"""Halves of two texts against halves of each: against the definition, split by split, and against the corpus's own reference."""

from __future__ import annotations

import numpy as np
import pytest

from components.errors import DataError
from components.references import finite_samples
from components.token_halves import FEW_SPLITS, SPLITS, halves_of
from tests.components.definitions import by_singular_values, ragged


def test_it_is_the_mean_of_the_definition_over_the_same_splits():
    rng = np.random.default_rng(3)
    x, y = rng.normal(1, 1, (9, 6)), rng.normal(0.5, 2, (13, 6))
    found = halves_of(x, y, seed=7)
    draws = np.random.default_rng(7)
    a, b = ([draws.permutation(len(t))[:8] for _ in range(SPLITS)] for t in (x, y))
    parts = [(x[i[:4]], x[i[4:]], y[j[:4]], y[j[4:]]) for i, j in zip(a, b, strict=True)]
    mean = lambda k, m: np.mean([by_singular_values(p[k], p[m])[1] for p in parts])  # noqa: E731
    assert (found.tokens, found.splits) == (4, SPLITS)
    assert found.within_a == pytest.approx(mean(0, 1)) and found.within_b == pytest.approx(mean(2, 3))
    assert found.between == pytest.approx((mean(0, 2) + mean(1, 3)) / 2)
    assert found.ratio == pytest.approx((found.within_a + found.within_b) / 2 / found.between)


def test_texts_of_one_cloud_have_a_ratio_near_one_and_of_two_far_below():
    rng = np.random.default_rng(0)
    clouds = 3 + rng.standard_normal((30, 120, 16))
    assert np.mean([halves_of(cloud[:60], cloud[60:]).ratio for cloud in clouds]) == pytest.approx(1, abs=0.03)
    cloud = clouds[0]
    stretched = cloud[60:].copy()
    stretched[:, :2] = 3 + 6 * (stretched[:, :2] - 3)
    assert halves_of(cloud[:60], stretched).ratio < 0.8


def test_over_many_pairs_it_agrees_with_the_corpus_reference():
    rng = np.random.default_rng(1)
    texts = [2 + rng.standard_normal((20, 12)) * np.where(rng.random(12) < 0.2, 3, 1) for _ in range(40)]
    within, between, _, half = finite_samples(ragged(*texts), np.arange(40), half=10)
    ours = [halves_of(texts[k], texts[(k + 1) % 40], seed=k) for k in range(40)]
    assert half == 10
    assert np.mean([one.within_a for one in ours]) == pytest.approx(within.value, rel=0.1)
    assert np.mean([one.between for one in ours]) == pytest.approx(between.value, rel=0.1)


def test_short_equal_and_long_texts():
    rng = np.random.default_rng(2)
    x = 1 + rng.standard_normal((6, 5))
    assert halves_of(x[:3], x) is None, "a half of one token has no covariance"
    assert halves_of(x, x).tokens == 3
    assert np.isnan(halves_of(np.ones((4, 3)), np.ones((4, 3))).ratio), "0/0"
    assert halves_of(1 + rng.standard_normal((200, 4)), 1 + rng.standard_normal((140, 4))).splits == FEW_SPLITS
    with pytest.raises(DataError, match="mean that is not 0"):
        halves_of(np.array([[1.0, 0], [-1, 0]] * 2), np.ones((4, 2)))
