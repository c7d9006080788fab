"""Intervals that respect what the numbers rest on.

Pairs share texts, so the pairs of a corpus are far from independent: an interval that treats them so covers 16 % where
it claims 95 %. Every interval here is over texts (delete-one jackknife from row sums), or, for estimates of a corpus
mean from some of its pairs, over balanced cycles.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from components.types import FloatArray, IntArray, Interval

LEVEL = 0.95
MIN_TEXTS = 6
"""Below this many texts no interval is given: it would rest on too little to be believed."""
MIN_CYCLES = 10


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Two-sided Student quantile."""
    return float(stats.t.ppf(0.5 + level / 2, freedom))


def jackknife_pair_mean(row_sums: FloatArray, row_counts: FloatArray | None = None, *, total: float | None = None,
                        level: float = LEVEL) -> Interval:
    """Mean over all pairs of n texts, with a delete-one jackknife interval over texts.

    Leaving text i out removes its n - 1 pairs: ``theta_i = (T - R_i) / (P - c_i)``; the variance is
    ``(n - 1) / n sum (theta_i - mean)^2`` and the interval Student's with n - 1 degrees of freedom.

    Args:
        row_sums: (n_texts,) sum over the pairs that each text takes part in.
        row_counts: (n_texts,) how many pairs that is; default n - 1 each.
        total: sum over all pairs; default half the row sums' sum.

    Returns:
        The mean with ``low`` and ``high`` None below ``MIN_TEXTS`` texts; n is the number of texts.
    """
    n = len(row_sums)
    counts = np.full(n, n - 1.0) if row_counts is None else row_counts
    sum_all = float(row_sums.sum()) / 2 if total is None else total
    count_all = float(counts.sum()) / 2
    if count_all == 0:
        return Interval(math.nan, None, None, n, "texts")
    value = sum_all / count_all
    left = count_all - counts
    if n < MIN_TEXTS or (left <= 0).any():
        return Interval(value, None, None, n, "texts")
    return _jackknife_interval(value, (sum_all - row_sums) / left, level)


def jackknife_difference(rows: FloatArray, other_rows: FloatArray, *, level: float = LEVEL) -> Interval:
    """Difference (other minus first) of two means over all pairs of the SAME n texts, jackknifed over the texts.

    Args:
        rows, other_rows: (n_texts,) row sums of the two quantities (two models, two layers).
    """
    return jackknife_pair_mean(other_rows - rows, level=level)


def _jackknife_interval(value: float, without: FloatArray, level: float) -> Interval:
    n = len(without)
    error = math.sqrt((n - 1) / n * float(np.square(without - without.mean()).sum()))
    half = t_quantile(n - 1, level) * error
    return Interval(value, value - half, value + half, n, "texts")


def jackknife_ratio(numerator: FloatArray, denominator: FloatArray, texts: IntArray, *,
                    level: float = LEVEL) -> Interval:
    """Ratio of two means over rows that involve texts, jackknifed over the texts.

    Args:
        numerator, denominator: (n_rows,) values.
        texts: (n_rows, k) integer numbers of the texts that each row rests on; leaving a text out drops all its rows.
    """
    ids, codes = np.unique(texts, return_inverse=True)
    codes = codes.reshape(len(texts), -1)
    drop = np.zeros((len(ids), 3))
    for column in range(codes.shape[1]):
        # A row that names one text twice must be dropped once.
        first = np.ones(len(codes), bool)
        for earlier in range(column):
            first &= codes[:, column] != codes[:, earlier]
        for k, values in enumerate((numerator, denominator, np.ones(len(codes)))):
            np.add.at(drop[:, k], codes[first, column], values[first])
    top, bottom, rows = float(numerator.sum()), float(denominator.sum()), len(numerator)
    if bottom <= 0:
        return Interval(math.nan, None, None, len(ids), "texts")
    value = top / bottom
    left = bottom - drop[:, 1]
    if len(ids) < MIN_TEXTS or (left <= 0).any() or (rows - drop[:, 2] <= 0).any():
        return Interval(value, None, None, len(ids), "texts")
    return _jackknife_interval(value, (top - drop[:, 0]) / left, level)


def mean_interval(values: FloatArray, of: str, *, level: float = LEVEL, least: int = MIN_TEXTS) -> Interval:
    """Mean of independent values with a Student interval; no interval below ``least`` values."""
    n = len(values)
    value = float(np.mean(values)) if n else math.nan
    if n < max(2, least):
        return Interval(value, None, None, n, of)
    half = t_quantile(n - 1, level) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(value, value - half, value + half, n, of)


def share_interval(hits: int, n: int, of: str, *, level: float = LEVEL, least: int = MIN_TEXTS) -> Interval:
    """Share of n independent yes-or-no answers with Wilson's interval, which stays inside 0..1; none below ``least``."""
    from scipy.stats import binomtest

    if n < 1:
        return Interval(math.nan, None, None, 0, of)
    if n < least:
        return Interval(hits / n, None, None, n, of)
    ends = binomtest(hits, n).proportion_ci(level, method="wilson")
    return Interval(hits / n, float(ends.low), float(ends.high), n, of)


def balanced_pairs(n_texts: int, n_pairs: int, seed: int = 0) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs in balanced cycles: every cycle uses each of its texts exactly twice.

    The texts are permuted once and set on a ring; cycle k pairs each text with the one k places on, so no pair comes
    twice. Text effects cancel within a cycle, which leaves 12 to 15 times less variance than as many independent pairs.
    Where n_pairs is below ten cycles of all texts, the ring is a random subset of the texts.

    Returns:
        first, second, cycle: three (about n_pairs,) int arrays.

    Raises:
        ValueError: there are fewer than ten cycles to draw (callers compute all pairs instead).
    """
    rng = np.random.default_rng(seed)
    ring_size = min(n_texts, max(2 * MIN_CYCLES + 1, n_pairs // MIN_CYCLES))
    offsets_there_are = (ring_size - 1) // 2
    cycles = max(MIN_CYCLES, round(n_pairs / ring_size))
    if offsets_there_are < cycles:
        raise ValueError(f"{n_texts} texts have {offsets_there_are} disjoint cycles, fewer than {cycles}")
    ring = rng.permutation(n_texts)[:ring_size]
    offsets = 1 + rng.choice(offsets_there_are, size=cycles, replace=False)
    place = np.arange(ring_size)
    first = np.concatenate([ring for _ in offsets])
    second = np.concatenate([ring[(place + k) % ring_size] for k in offsets])
    return np.minimum(first, second), np.maximum(first, second), np.repeat(np.arange(cycles), ring_size)


def cycle_mean(values: FloatArray, cycle: IntArray, *, level: float = LEVEL) -> Interval:
    """Estimate of the corpus mean from balanced cycles: Student over the cycles' means."""
    means = np.bincount(cycle, values) / np.bincount(cycle)
    return mean_interval(means, "cycles", level=level, least=MIN_CYCLES)


def cycle_mean_over_texts(values: FloatArray, first: IntArray, second: IntArray, n_texts: int, cycle: IntArray, *,
                          level: float = LEVEL) -> Interval:
    """The same estimate with an interval over texts as well, as ``jackknife_pair_mean`` gives for all pairs.

    With h_ij = theta + g_i + g_j + e_ij, the mean of a text's m pairs has variance
    ``var(g) + (Var(h) - var(g)) / m``, which gives var(g) (derived); the mean over texts then has variance
    4 var(g) / n, to which the cycles' own error is added.
    """
    m = np.bincount(first, minlength=n_texts) + np.bincount(second, minlength=n_texts)
    used = m > 0
    rows = (np.bincount(first, values, n_texts) + np.bincount(second, values, n_texts))[used] / m[used]
    inside = cycle_mean(values, cycle, level=level)
    n, per_text = len(rows), float(m[used].mean())
    if inside.low is None or n < MIN_TEXTS or per_text <= 1:
        return Interval(inside.value, None, None, n, "texts")
    text_part = max(0.0, (float(rows.var(ddof=1)) - float(values.var(ddof=1)) / per_text) / (1 - 1 / per_text))
    freedom = int(cycle.max())
    cycle_error = (inside.value - inside.low) / t_quantile(freedom, level)
    half = t_quantile(n - 1, level) * math.sqrt(4 * text_part / n + cycle_error**2)
    return Interval(inside.value, inside.value - half, inside.value + half, n, "texts")
