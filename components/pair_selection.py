"""Some of a map's pairs: those of texts of certain lengths and labels, those in a box of the plane, and their means.

Everything here works on the stored arrays of a ``PairMap``, exactly and on all of them, in a few milliseconds; no model
and no torch. A box drawn on a density is therefore answered from every pair and not from what happens to be drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError
from components.pair_map import PairMap
from components.pair_parts import PairColumns, bin_of, even_edges
from components.statistics import jackknife_pair_mean
from components.types import FloatArray, IntArray, Interval

Mask = NDArray[np.bool_]
ALL, SAME, DIFFERENT = "all", "same", "different"
RELATIONS = (ALL, SAME, DIFFERENT)


@dataclass(frozen=True)
class Filter:
    """Which pairs to look at.

    Attributes:
        tokens: smallest and largest token count that both texts may have; None = any.
        label: the label that both texts must have; None = any.
        relation: "all", "same" (both texts of one label) or "different".
    """

    tokens: tuple[int, int] | None = None
    label: str | None = None
    relation: str = ALL

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise DataError("relation", f"must be one of {', '.join(RELATIONS)}", repr(self.relation), "choose one")

    @property
    def active(self) -> bool:
        return self.tokens is not None or self.label is not None or self.relation != ALL


@dataclass(frozen=True)
class Box:
    """A rectangle of the plane, edges included."""

    mu_low: float
    mu_high: float
    sigma_low: float
    sigma_high: float

    @classmethod
    def parse(cls, text: str) -> Box | None:
        """The box in a link ("0.1,0.3,1.2,1.6"), or None for anything else."""
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            return None
        if len(values) != 4 or not all(np.isfinite(v) and abs(v) < 1e6 for v in values):
            return None
        return cls(min(values[:2]), max(values[:2]), min(values[2:]), max(values[2:]))

    def __str__(self) -> str:
        return ",".join(f"{v:.6g}" for v in (self.mu_low, self.mu_high, self.sigma_low, self.sigma_high))


@dataclass(frozen=True)
class Pairs(PairColumns):
    """Some pairs of a map, with the texts' token counts and the number of texts in the corpus."""

    n_tokens_i: IntArray
    n_tokens_j: IntArray
    n_texts: int

    def __len__(self) -> int:
        return len(self.d_mu)

    @cached_property
    def shorter(self) -> IntArray:
        """Tokens of the shorter text."""
        return np.minimum(self.n_tokens_i, self.n_tokens_j)

    def quantity(self, name: str) -> FloatArray:
        """d_mu, d_sigma, size, shape, align, socm, shorter, or size_share (size / d_sigma; NaN where that is 0/0)."""
        if name == "shape":
            return self.d_sigma - self.size
        if name == "size_share":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(self.d_sigma > 0, self.size / self.d_sigma, np.nan)
        return np.asarray(getattr(self, name), dtype=np.float64)

    def take(self, at: Any) -> Pairs:
        """Some of these pairs: a mask or their places."""
        return Pairs(self.i[at], self.j[at], self.d_mu[at], self.d_sigma[at], self.spread_i[at], self.spread_j[at],
                     self.n_tokens_i[at], self.n_tokens_j[at], self.n_texts)

    def mean(self, name: str) -> Interval:
        """Mean of a quantity with a jackknife interval over the texts that take part; 0/0 is left out."""
        return self.mean_of(self.quantity(name))

    def mean_of(self, values: FloatArray) -> Interval:
        """The same for any value of each pair, (n_pairs,)."""
        i, j = self.i, self.j
        if np.isnan(values).any():
            kept = ~np.isnan(values)
            values, i, j = values[kept], i[kept], j[kept]
        sums: Any = np.bincount(i, values, self.n_texts) + np.bincount(j, values, self.n_texts)
        counts = np.bincount(i, minlength=self.n_texts) + np.bincount(j, minlength=self.n_texts)
        used = counts > 0
        return jackknife_pair_mean(sums[used], counts[used].astype(float))


def pairs_of(result: PairMap) -> Pairs:
    """All pairs that a map holds: every pair, or the sample that it says it has."""
    i, j, d_mu, d_sigma = result.pairs
    return Pairs(i, j, d_mu, d_sigma, result.spread[i], result.spread[j], result.n_tokens[i], result.n_tokens[j],
                 result.n_texts)


def filter_mask(pairs: Pairs, chosen: Filter, n_tokens: IntArray, labels: Sequence[str]) -> Mask:
    """Which of the pairs a filter keeps.

    Raises:
        DataError: a filter by label on texts without labels.
    """
    kept = np.ones(len(n_tokens), dtype=bool)
    if chosen.tokens is not None:
        kept &= (n_tokens >= chosen.tokens[0]) & (n_tokens <= chosen.tokens[1])
    if (chosen.label is not None or chosen.relation != ALL) and len(labels) != len(n_tokens):
        raise DataError("filter by label", "needs texts with labels", "none", "choose labelled texts, or no label")
    if chosen.label is not None:
        kept &= np.array([label == chosen.label for label in labels])
    mask = kept[pairs.i] & kept[pairs.j]
    if chosen.relation != ALL:
        same = same_label(pairs, labels)
        mask &= same if chosen.relation == SAME else ~same
    return mask


def same_label(pairs: Pairs, labels: Sequence[str]) -> Mask:
    """(n_pairs,) whether both texts have one label."""
    codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1].astype(np.int32)
    return np.asarray(codes[pairs.i] == codes[pairs.j])


def box_rows(pairs: Pairs, box: Box) -> IntArray:
    """Places of the pairs inside a box, largest SOCM first (equal ones by their text numbers)."""
    inside = ((pairs.d_mu >= box.mu_low) & (pairs.d_mu <= box.mu_high)
              & (pairs.d_sigma >= box.sigma_low) & (pairs.d_sigma <= box.sigma_high))
    at = np.flatnonzero(inside)
    return at[np.lexsort((pairs.j[at], pairs.i[at], -pairs.socm[at]))]


def cell_sums(pairs: Pairs, values: FloatArray, mu_edges: FloatArray,
              sigma_edges: FloatArray) -> tuple[FloatArray, IntArray]:
    """Sum of a quantity and number of pairs per cell, both (n_mu, n_sigma); NaN values are left out of both."""
    kept = ~np.isnan(values)
    shape = (len(mu_edges) - 1, len(sigma_edges) - 1)
    flat = bin_of(pairs.d_mu[kept], mu_edges) * shape[1] + bin_of(pairs.d_sigma[kept], sigma_edges)
    size = shape[0] * shape[1]
    sums: Any = np.bincount(flat, values[kept], size)
    return sums.reshape(shape), np.bincount(flat, minlength=size).reshape(shape)


def counts_of(pairs: Pairs, mu_bins: int = 110, sigma_bins: int = 100) -> tuple[IntArray, FloatArray, FloatArray]:
    """Pairs per cell over the range of these pairs: counts (mu_bins, sigma_bins) and both edges."""
    edges = [even_edges(*((float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)), bins)
             for values, bins in ((pairs.d_mu, mu_bins), (pairs.d_sigma, sigma_bins))]
    return cell_sums(pairs, np.zeros(len(pairs)), *edges)[1], edges[0], edges[1]


@dataclass(frozen=True)
class LengthBin:
    """Pairs whose shorter text has a token count in [low, high]."""

    low: int
    high: int
    mean: Interval
    n_pairs: int


def by_length(pairs: Pairs, name: str, bins: int = 10) -> list[LengthBin]:
    """Mean of a quantity in bins of the shorter text's token count, about as many pairs in each."""
    lengths = pairs.shorter
    if len(lengths) == 0:
        return []
    cuts = np.unique(np.quantile(lengths, np.linspace(0, 1, bins + 1)).astype(int))
    cuts = np.append(cuts[:-1], cuts[-1] + 1) if len(cuts) > 1 else np.array([cuts[0], cuts[0] + 1])
    found = []
    for low, end in itertools.pairwise(cuts):
        part = pairs.take((lengths >= low) & (lengths < end))
        if len(part):
            found.append(LengthBin(int(low), int(end) - 1, part.mean(name), len(part)))
    return found


WORD_STRATA = ((1, 8), (9, 14), (15, 24), (25, 40), (41, 10**9))
"""Word counts between which texts count as of like length when corpora or models are compared."""
LEAST_IN_STRATUM = 10


def length_matched(pairs: Pairs, words: IntArray, name: str, use: Sequence[int]) -> Interval | None:
    """Mean of a quantity over pairs of like length: strata of word counts (tokenisers differ), all with equal weight.

    Args:
        words: (n_texts,) words per text.
        use: numbers of the ``WORD_STRATA`` to use: those that both sides of a comparison have.

    Returns:
        The mean with an interval over texts (strata share no text), or None without a stratum.
    """
    means, errors, texts = [], [], 0
    for number in use:
        low, high = WORD_STRATA[number]
        inside = (words >= low) & (words <= high)
        mean = pairs.take(inside[pairs.i] & inside[pairs.j]).mean(name)
        means.append(mean.value)
        errors.append(np.nan if mean.low is None or mean.high is None else (mean.high - mean.low) / 2)
        texts += mean.n
    if not means:
        return None
    value, half = float(np.mean(means)), float(np.sqrt(np.square(errors).sum())) / len(means)
    return Interval(value, None if np.isnan(half) else value - half, None if np.isnan(half) else value + half, texts,
                    "texts")


def strata_of(words: IntArray) -> set[int]:
    """Numbers of the word-count strata that hold enough texts."""
    return {k for k, (low, high) in enumerate(WORD_STRATA)
            if int(((words >= low) & (words <= high)).sum()) >= LEAST_IN_STRATUM}


def difference(one: Interval, other: Interval) -> Interval:
    """Other minus one, of independent texts: the intervals' half-widths add in squares."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Interval(other.value - one.value, None, None, min(one.n, other.n), "texts")
    half = float(np.hypot((one.high - one.low) / 2, (other.high - other.low) / 2))
    value = other.value - one.value
    return Interval(value, value - half, value + half, min(one.n, other.n), "texts")


def paired_difference(one: Pairs, other: Pairs, name: str) -> Interval:
    """Other minus one over the same pairs of the same texts (two models or layers), jackknifed over the texts.

    Raises:
        DataError: the pairs are not the same.
    """
    if len(one) != len(other) or not (np.array_equal(one.i, other.i) and np.array_equal(one.j, other.j)):
        raise DataError("compared pairs", "must be the same pairs of the same texts",
                        f"{len(one):,} and {len(other):,} pairs", "compare maps of one corpus and one method")
    return one.mean_of(other.quantity(name) - one.quantity(name))
