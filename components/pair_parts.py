"""What follows from d_mu, d_sigma and the spreads of pairs, without torch (pages and tables need it too).

The parts of d_sigma in closed form, the columns of pairs that are made of others, and the even grids on which pairs of
the plane are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from components.types import FloatArray, IntArray


def n_pairs_of(n_texts: int) -> int:
    """n (n - 1) / 2."""
    return n_texts * (n_texts - 1) // 2


def size_part(spread_a: FloatArray, spread_b: FloatArray) -> FloatArray:
    """(sqrt t1 - sqrt t2)^2 / 4, elementwise."""
    return np.square(np.sqrt(spread_a) - np.sqrt(spread_b)) / 4


def alignment(d_sigma: FloatArray, spread_a: FloatArray, spread_b: FloatArray) -> FloatArray:
    """1 - 2 shape / sqrt(t1 t2), elementwise, clipped to [0, 1] against rounding; NaN where a spread is 0."""
    geometric = np.sqrt(spread_a * spread_b)
    shape = d_sigma - size_part(spread_a, spread_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 1 - 2 * shape / geometric
    return np.where(geometric > 0, np.clip(value, 0, 1), np.nan)


@dataclass(frozen=True)
class PairColumns:
    """Pairs of a corpus, (n_pairs,) each; i < j are text numbers, the spreads those of texts i and j."""

    i: IntArray
    j: IntArray
    d_mu: FloatArray
    d_sigma: FloatArray
    spread_i: FloatArray
    spread_j: FloatArray

    @cached_property
    def socm(self) -> FloatArray:
        return (1 - self.d_mu) * self.d_sigma

    @cached_property
    def size(self) -> FloatArray:
        return size_part(self.spread_i, self.spread_j)

    @cached_property
    def align(self) -> FloatArray:
        return alignment(self.d_sigma, self.spread_i, self.spread_j)


def even_edges(low: float, high: float, bins: int) -> FloatArray:
    """(bins + 1,) equally spaced edges a hair beyond low and high."""
    # All pairs in one point (identical texts, say) still need a cell of some width.
    pad = 1e-9 if high - low > 1e-9 else 0.01
    return np.linspace(low - pad, high + pad, bins + 1)


def bin_of(values: FloatArray, edges: FloatArray) -> IntArray:
    """Bin numbers on equally spaced edges, clipped into the outermost bins."""
    n = len(edges) - 1
    position = (values - edges[0]) * (n / (edges[-1] - edges[0]))
    return np.clip(position.astype(np.int64), 0, n - 1)
