"""Correlation of a handful of models: the published values, every order counted by hand, families drawn anew."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from components.correlation import left_out, rank_correlation, rank_correlations
from components.errors import DataError
from components.published import BACKBONE, CONTRASTIVE, models


def published(kind: str | None = None, measure: str = "wiki"):
    chosen = [model for model in models() if kind in (None, model.kind)]
    return np.array([m.socm[measure] for m in chosen]), np.array([m.mteb for m in chosen]), [m.family for m in chosen]


def test_the_published_coefficients_are_reproduced():
    every = rank_correlation(*published())
    assert (round(every.rho, 3), round(every.p_student, 3)) == (-0.678, 0.015)
    assert (round(every.pearson, 3), round(every.p_pearson, 2)) == (-0.455, 0.14), "published -0.456 with scores as first read"
    assert every.n == 12 and not every.exact and every.p_permutation == pytest.approx(0.0185, abs=0.002)
    assert (round(rank_correlation(*published(CONTRASTIVE)).rho, 2), rank_correlation(*published(CONTRASTIVE)).n) == (-0.69, 8)
    assert round(rank_correlation(*published(BACKBONE)).rho, 2) == 0.4


def test_exact_p_counts_every_order():
    x, y, families = published(BACKBONE)
    own = abs(stats.spearmanr(x, y).statistic)
    shares = [abs(stats.spearmanr(order, y).statistic) >= own - 1e-12 for order in permutations(x)]
    found = rank_correlation(x, y, families)
    assert found.exact and found.p_permutation == pytest.approx(np.mean(shares))


def test_a_sampled_p_agrees_with_the_exact_one():
    x, y, families = published(CONTRASTIVE)
    exact = rank_correlation(x, y, families).p_permutation
    rng = np.random.default_rng(1)
    own = abs(stats.spearmanr(x, y).statistic)
    sampled = np.mean(np.abs(rank_correlations(rng.permuted(np.tile(x, (20_000, 1)), axis=1), np.tile(y, (20_000, 1)))) >= own - 1e-12)
    assert sampled == pytest.approx(exact, abs=0.01)


def test_families_drawn_anew_make_the_interval_wider_than_models_alone():
    rng = np.random.default_rng(0)
    level = np.repeat(rng.normal(size=6), 4)  # what a family shares
    x, y = level + 0.1 * rng.normal(size=24), level + 0.1 * rng.normal(size=24)
    families = [f"f{k}" for k in np.repeat(np.arange(6), 4)]
    together, apart = rank_correlation(x, y, families), rank_correlation(x, y, [f"m{k}" for k in range(24)])
    assert together.high - together.low > 1.3 * (apart.high - apart.low) and together.low < together.rho < together.high
    assert apart.high - apart.low > 0.01, "models of a family each are drawn anew too"


def test_no_interval_below_six_models_or_two_families_and_the_same_every_time():
    x, y, families = published(BACKBONE)
    assert rank_correlation(x, y, families).low is None
    x, y, families = published()
    assert rank_correlation(x, y, ["one"] * 12).low is None
    assert rank_correlation(x, y, families) == rank_correlation(x, y, families)


def test_each_left_out_in_turn():
    x, y, _ = published()
    by_hand = [stats.spearmanr(np.delete(x, k), np.delete(y, k)).statistic for k in range(12)]
    assert np.allclose(left_out(x, y), by_hand) and np.isnan(left_out(x[:3], y[:3])).all()


@pytest.mark.parametrize(("x", "y", "rule"), [([1.0, 2], [2.0, 1], "must be 3 or more"), ([1.0, 1, 1], [1.0, 2, 3], "must differ")])
def test_too_few_or_equal_models_are_one_sentence(x, y, rule):
    with pytest.raises(DataError, match=rule):
        rank_correlation(np.array(x), np.array(y), ["a"] * len(x))


def test_twelve_models_with_seven_spreads():
    assert len(models()) == 12 and sum(model.last_spread is not None for model in models()) == 7
    bert, gte = models()[0], next(model for model in models() if model.short == "gte-base")
    assert bert.kind == BACKBONE and round(bert.last_spread, 2) == 1.64 and round(gte.last_spread, 3) == 0.086
