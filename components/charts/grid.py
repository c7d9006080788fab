"""Counts on a grid, made ready to draw: cropped to what is filled, merged to cells that the eye can tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from components.errors import DataError
from components.types import FloatArray, IntArray


@dataclass(frozen=True)
class CountGrid:
    """Counts of pairs on the plane.

    Attributes:
        counts: (n_mu, n_sigma) int; ``counts[k, l]`` pairs have d_mu in bin k and d_sigma in bin l.
        mu_edges: (n_mu + 1,) rising.
        sigma_edges: (n_sigma + 1,) rising.
    """

    counts: IntArray
    mu_edges: FloatArray
    sigma_edges: FloatArray

    def __post_init__(self) -> None:
        expected = (max(len(self.mu_edges) - 1, 0), max(len(self.sigma_edges) - 1, 0))
        if self.counts.ndim != 2 or (self.counts.shape != expected and self.counts.size):
            raise DataError("counts", "must have one row for each d_mu bin and one column for each d_sigma bin",
                            f"{self.counts.shape} for {expected} bins", "give bins + 1 edges on each axis")

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def cropped(self) -> CountGrid:
        """Without the empty rows and columns around the filled cells; unchanged where nothing is filled."""
        if not self.total:
            return self
        (k0, k1), (l0, l1) = (filled_span(self.counts.sum(axis=axis)) for axis in (1, 0))
        return CountGrid(self.counts[k0:k1, l0:l1], self.mu_edges[k0:k1 + 1], self.sigma_edges[l0:l1 + 1])

    def coarsened(self, max_bins: int) -> CountGrid:
        """At most ``max_bins`` bins an axis, by adding up whole neighbours: no pair is lost or moved to another bin."""
        counts, edges = self.counts, [self.mu_edges, self.sigma_edges]
        for axis in (0, 1):
            counts, edges[axis] = merged(counts, edges[axis], max_bins, axis=axis)
        return CountGrid(counts, edges[0], edges[1])


def filled_span(counts: IntArray) -> tuple[int, int]:
    """First filled bin and the one after the last, of (n,) counts with at least one filled bin."""
    filled = np.flatnonzero(counts)
    return int(filled[0]), int(filled[-1]) + 1


def merged(counts: IntArray, edges: FloatArray, max_bins: int, *, axis: int = 0) -> tuple[IntArray, FloatArray]:
    """Counts and (n + 1,) edges with every m neighbours along ``axis`` added up, m as small as ``max_bins`` allows."""
    n = counts.shape[axis]
    if n <= max_bins:
        return counts, edges
    starts = np.arange(0, n, math.ceil(n / max_bins))
    return np.add.reduceat(counts, starts, axis=axis), np.append(edges[starts], edges[-1])


def nice_step(span: float, at_most: int) -> float:
    """The smallest of 1, 2, 4, 5 times a power of ten that divides ``span`` into at most so many steps."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / at_most))
    return next(step for step in (power, 2 * power, 4 * power, 5 * power, 10 * power) if span / step <= at_most)


def edge_decimals(edges: FloatArray) -> int:
    """Decimals with which neighbouring edges read differently."""
    width = float(np.diff(edges).min()) if len(edges) > 1 else 0.0
    return max(0, math.ceil(-math.log10(width) - 1e-9)) if width > 0 else 3
