"""Whether a difference between two ways of pooling is more than the queries that happened to be asked.

Everything is over queries (or pairs, or sentences: whatever was drawn), with both ways measured on the same ones: percentile
bootstrap intervals, paired randomisation tests (each query's two values swapped or not), and Holm's correction over the ways
that are compared with the declared one. Library code throughout; here it is put into one form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from components.statistics import LEVEL, MIN_TEXTS
from components.types import FloatArray, Interval

RESAMPLES = 2_000
SWAPS = 9_999
RANK_SWAPS = 1_999
SEED = 0


def bootstrap_means(values: FloatArray, of: str) -> list[Interval]:
    """Means of columns with percentile bootstrap intervals over rows.

    Args:
        values: (n, k), a row for each query; all columns are drawn by the same rows.
        of: what a row is ("queries").

    Returns:
        k intervals; without ends below ``MIN_TEXTS`` rows, and where all rows are equal, since then nothing can be said of
        queries that were not asked.
    """
    n, k = values.shape
    means = values.mean(axis=0) if n else np.full(k, np.nan)
    if n < MIN_TEXTS:
        return [Interval(float(m), None, None, n, of) for m in means]
    found = stats.bootstrap((values,), np.mean, axis=0, vectorized=True, n_resamples=RESAMPLES, batch=100, method="percentile",
                            confidence_level=LEVEL, rng=np.random.default_rng(SEED)).confidence_interval
    known = values.min(axis=0) < values.max(axis=0)
    return [Interval(float(m), float(low) if there else None, float(high) if there else None, n, of)
            for m, low, high, there in zip(means, found.low, found.high, known, strict=True)]


def randomisation_p(differences: FloatArray) -> FloatArray:
    """Two-sided p of paired randomisation tests of means: every sign of a row's differences is as likely as the other.

    Args:
        differences: (n, k) of the two values of each query; the k columns are drawn by the same signs.

    Returns:
        (k,). Exact where 2^n is at most ``SWAPS``, else of so many draws, the observed one counted among them; 1 where all
        differences are 0, and for one row, which is as large with either sign.
    """
    if len(differences) < 2:
        return np.ones(differences.shape[1])
    found = stats.permutation_test((differences,), np.sum, axis=0, permutation_type="samples", vectorized=True, n_resamples=SWAPS,
                                   batch=200, rng=np.random.default_rng(SEED))
    return np.asarray(np.minimum(1.0, found.pvalue), dtype=np.float64)


def spearman_interval(one: FloatArray, grades: FloatArray, of: str) -> Interval:
    """Spearman's rho with a percentile bootstrap interval over pairs; NaN and no interval where one side is constant."""
    return _rank_interval(lambda a, g, axis=-1: _rho(a, g), (one, grades), of)


def spearman_difference(one: FloatArray, other: FloatArray, grades: FloatArray, of: str) -> tuple[Interval, float]:
    """Difference of two Spearman correlations with the same grades (one minus other), and its randomisation p.

    In a draw each pair keeps or swaps its two similarities, as ranks within their own way of pooling, since cosines of two
    ways are not on one scale.
    """
    a, b = stats.rankdata(one), stats.rankdata(other)
    interval = _rank_interval(lambda x, y, g, axis=-1: _rho(x, g) - _rho(y, g), (a, b, grades), of)
    if np.isnan(interval.value) or np.array_equal(a, b):
        return interval, 1.0 if np.array_equal(a, b) else float("nan")
    found = stats.permutation_test((a, b), lambda x, y, axis=-1: _rho(x, grades) - _rho(y, grades), permutation_type="samples",
                                   vectorized=True, n_resamples=RANK_SWAPS, batch=200, rng=np.random.default_rng(SEED))
    return interval, float(min(1.0, found.pvalue))


def _rank_interval(statistic: Callable[..., FloatArray], samples: Sequence[FloatArray], of: str) -> Interval:
    value, n = float(statistic(*samples)), len(samples[0])
    if n < MIN_TEXTS or np.isnan(value):
        return Interval(value, None, None, n, of)
    found = stats.bootstrap(samples, statistic, paired=True, vectorized=True, n_resamples=RESAMPLES, batch=200,
                            method="percentile", confidence_level=LEVEL, rng=np.random.default_rng(SEED)).confidence_interval
    return Interval(value, float(found.low), float(found.high), n, of)


def _rho(x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman's rho along the last axis; NaN where a side is constant."""
    a, b = stats.rankdata(x, axis=-1), stats.rankdata(y, axis=-1)
    a, b = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((a * b).sum(axis=-1) / np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1)))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values (Holm 1979), in the order given; NaN stays and is not counted."""
    from statsmodels.stats.multitest import multipletests

    known = [x for x in p if not np.isnan(x)]
    adjusted = iter(multipletests(known, method="holm")[1].tolist() if known else ())
    return [float("nan") if np.isnan(x) else next(adjusted) for x in p]
