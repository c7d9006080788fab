"""Rank correlation of a handful of models, with what a careful reader asks of a handful.

Twelve models of four families are no twelve independent draws. Beside the coefficient stand: the p-value as usually printed
(Student's t), one by permutation (exact up to eight models), an interval by bootstrap over families and then models within
them, and the coefficient with each model left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from components.errors import DataError
from components.types import FloatArray

EXACT_UP_TO = 8
PERMUTATIONS = 99_999
RESAMPLES = 4_000
LEAST_FOR_INTERVAL = 6
LEAST = 3


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho of n models and what it rests on; Pearson's r beside it.

    Attributes:
        n: models.
        rho, p_student: as usually printed.
        p_permutation, exact: two-sided share of the orders with a coefficient at least as large; all orders, or a sample.
        low, high: 95% percentile interval over families and models, or None below six models or two families.
        pearson, p_pearson: of the values themselves.
    """

    n: int
    rho: float
    p_student: float
    p_permutation: float
    exact: bool
    low: float | None
    high: float | None
    pearson: float
    p_pearson: float


def rank_correlation(x: FloatArray, y: FloatArray, families: Sequence[str], *, seed: int = 0) -> RankCorrelation:
    """Correlates two numbers of each model.

    Args:
        x, y: (n,) finite.
        families: (n,) what the models descend from.
        seed: of permutations and resamples.

    Raises:
        DataError: fewer than three models, or one of the two numbers is the same for all.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) < LEAST:
        raise DataError("models", f"must be {LEAST} or more for a correlation", str(len(x)), "leave fewer of them out")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise DataError("models", "must differ in both numbers", "one value for all", "choose other models")
    spearman, pearson = stats.spearmanr(x, y), stats.pearsonr(x, y)
    exact = len(x) <= EXACT_UP_TO
    rank_x, rank_y = stats.rankdata(x), stats.rankdata(y)

    def coefficient(order: FloatArray, axis: int = -1) -> FloatArray:
        return np.asarray((order * (rank_y - rank_y.mean())).sum(axis=axis))  # rho up to a positive factor

    shuffled = stats.permutation_test((rank_x - rank_x.mean(),), coefficient, permutation_type="pairings", vectorized=True,
                                      n_resamples=math.factorial(len(x)) if exact else PERMUTATIONS,
                                      rng=np.random.default_rng(seed))
    low, high = _interval(x, y, families, seed)
    return RankCorrelation(len(x), float(spearman.statistic), float(spearman.pvalue), float(shuffled.pvalue), exact, low, high,
                           float(pearson.statistic), float(pearson.pvalue))


def rank_correlations(x: FloatArray, y: FloatArray) -> FloatArray:
    """(k,) Spearman's rho of each row of (k, n) arrays; NaN where a row has one value only."""
    a, b = stats.rankdata(x, axis=1), stats.rankdata(y, axis=1)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1)))


def _interval(x: FloatArray, y: FloatArray, families: Sequence[str], seed: int) -> tuple[float | None, float | None]:
    names = sorted(set(families))
    if len(x) < LEAST_FOR_INTERVAL or len(names) < 2:
        return None, None
    rng = np.random.default_rng([seed, 1])
    members = [np.flatnonzero(np.array(families) == name) for name in names]
    found = []
    for _ in range(RESAMPLES):
        chosen = [members[k] for k in rng.integers(len(names), size=len(names))]
        at = np.concatenate([rng.choice(group, len(group)) for group in chosen])
        found.append(rank_correlations(x[at][None], y[at][None])[0])
    values = np.array(found)
    values = values[np.isfinite(values)]
    if len(values) < RESAMPLES / 2:
        return None, None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def left_out(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n,) rho without each model in turn; NaN where too few are left."""
    n = len(x)
    if n <= LEAST:
        return np.full(n, np.nan)
    keep = ~np.eye(n, dtype=bool)
    return rank_correlations(np.stack([x[row] for row in keep]), np.stack([y[row] for row in keep]))
