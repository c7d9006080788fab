"""What a scan over all pairs can feed: arrays, a 2-D histogram, the top k, a uniform sample, moments and row sums.

Each sink keeps what it needs and nothing that grows with the number of pairs, but for ``ArraySink``, which says so.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from components.pair_parts import bin_of, n_pairs_of
from components.pair_scan import PairTile, condensed_index, pair_of_index
from components.types import FloatArray, IntArray

QUANTITIES = ("d_mu", "d_sigma", "size", "shape", "align", "socm", "ceiling", "socm_ceiling")
"""What ``MomentSink`` averages; socm_ceiling is (1 - d_mu)(t_i + t_j) / 4, Theorem 2's exact corpus form."""


class ArraySink:
    """Every pair's d_mu and d_sigma, in the order of ``numpy.triu_indices``: 16 bytes a pair.

    Everything else of a pair follows from these two and from the texts' spreads.
    """

    def __init__(self, n_texts: int) -> None:
        self.n_texts = n_texts
        self.d_mu: FloatArray = np.full(n_pairs_of(n_texts), np.nan)
        self.d_sigma: FloatArray = np.full(n_pairs_of(n_texts), np.nan)

    def add(self, tile: PairTile) -> None:
        at = condensed_index(tile.i, tile.j, self.n_texts)
        self.d_mu[at] = tile.d_mu
        self.d_sigma[at] = tile.d_sigma


class HistogramSink:
    """Counts of pairs on a grid of the plane: counts[k, l] for d_mu in bin k and d_sigma in bin l.

    Args:
        mu_edges, sigma_edges: equally spaced, rising; every pair must fall between the first and the last, and a pair
            beyond them (by rounding) counts in the outermost bin, so that the counts always sum to the pairs.
    """

    def __init__(self, mu_edges: FloatArray, sigma_edges: FloatArray) -> None:
        self.mu_edges, self.sigma_edges = mu_edges, sigma_edges
        self.shape = (len(mu_edges) - 1, len(sigma_edges) - 1)
        self.counts: IntArray = np.zeros(self.shape, dtype=np.int64)

    def add(self, tile: PairTile) -> None:
        k = bin_of(tile.d_mu, self.mu_edges)
        m = bin_of(tile.d_sigma, self.sigma_edges)
        flat = np.bincount(k * self.shape[1] + m, minlength=self.counts.size)
        self.counts += flat.reshape(self.shape)


class TopSink:
    """The k pairs of largest SOCM, exactly; equal values are ordered by their text numbers."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.socm: FloatArray = np.empty(0)
        self.i: IntArray = np.empty(0, dtype=np.int64)
        self.j: IntArray = np.empty(0, dtype=np.int64)
        self.d_mu: FloatArray = np.empty(0)
        self.d_sigma: FloatArray = np.empty(0)

    def add(self, tile: PairTile) -> None:
        floor = self.socm[-1] if len(self.socm) == self.k else -np.inf
        new = np.flatnonzero(tile.socm >= floor)
        if len(new) == 0:
            return
        columns = {name: np.concatenate([getattr(self, name), getattr(tile, name)[new]])
                   for name in ("socm", "i", "j", "d_mu", "d_sigma")}
        best = np.lexsort((columns["j"], columns["i"], -columns["socm"]))[: self.k]
        for name, values in columns.items():
            setattr(self, name, values[best])


class SampleSink:
    """A uniform sample of pairs, drawn beforehand by number, so that it does not depend on the order of tiles."""

    def __init__(self, n_texts: int, n_sample: int, seed: int = 0) -> None:
        total = n_pairs_of(n_texts)
        rng = np.random.default_rng(seed)
        self.n_texts = n_texts
        wanted = total if n_sample >= total else n_sample
        self.index: IntArray = (np.arange(total) if wanted == total
                                else np.sort(rng.choice(total, size=wanted, replace=False, shuffle=False)))
        self.i, self.j = pair_of_index(self.index, n_texts)
        self.d_mu: FloatArray = np.full(wanted, np.nan)
        self.d_sigma: FloatArray = np.full(wanted, np.nan)

    def add(self, tile: PairTile) -> None:
        index = condensed_index(tile.i, tile.j, self.n_texts)
        at = np.searchsorted(self.index, index)
        hit = at < len(self.index)
        hit[hit] = self.index[at[hit]] == index[hit]
        self.d_mu[at[hit]] = tile.d_mu[hit]
        self.d_sigma[at[hit]] = tile.d_sigma[hit]


class MomentSink:
    """Sums, sums of squares, extremes and row sums of every quantity in ``QUANTITIES``.

    Row sums (over the pairs that a text takes part in) are what the jackknife over texts needs. A pair whose alignment
    is 0/0 is left out of that quantity's sums and counted there.
    """

    def __init__(self, n_texts: int) -> None:
        self.n_pairs = 0
        self.sums: dict[str, float] = dict.fromkeys(QUANTITIES, 0.0)
        self.squares: dict[str, float] = dict.fromkeys(QUANTITIES, 0.0)
        self.counts: dict[str, int] = dict.fromkeys(QUANTITIES, 0)
        self.lowest: dict[str, float] = dict.fromkeys(QUANTITIES, np.inf)
        self.highest: dict[str, float] = dict.fromkeys(QUANTITIES, -np.inf)
        self.row_sums: dict[str, FloatArray] = {name: np.zeros(n_texts) for name in QUANTITIES}
        self.align_counts: FloatArray = np.zeros(n_texts)

    def add(self, tile: PairTile) -> None:
        self.n_pairs += len(tile.i)
        for name, values in quantities_of(tile).items():
            kept = None
            if name == "align":
                valid = ~np.isnan(values)
                if not valid.all():
                    kept, values = valid, values[valid]
                tile.add_to_rows(None, self.align_counts, kept)
            if len(values) == 0:
                continue
            self.sums[name] += float(values.sum())
            self.squares[name] += float(values @ values)
            self.counts[name] += len(values)
            self.lowest[name] = min(self.lowest[name], float(values.min()))
            self.highest[name] = max(self.highest[name], float(values.max()))
            tile.add_to_rows(values, self.row_sums[name], kept)

    def mean(self, name: str) -> float | None:
        """Mean over pairs, or None where no pair has the quantity."""
        return self.sums[name] / self.counts[name] if self.counts[name] else None


def quantities_of(tile: PairTile) -> Mapping[str, FloatArray]:
    """Every quantity of ``QUANTITIES`` for the pairs of a tile."""
    return {"d_mu": tile.d_mu, "d_sigma": tile.d_sigma, "size": tile.size, "shape": tile.d_sigma - tile.size,
            "align": tile.align, "socm": tile.socm, "ceiling": tile.ceiling,
            "socm_ceiling": (1 - tile.d_mu) * tile.ceiling}


class RectangleSink:
    """d_mu and d_sigma of each of the first texts with each of the others (queries with documents): 16 bytes a pair."""

    def __init__(self, n_first: int, n_second: int) -> None:
        self.n_first = n_first
        self.d_mu: FloatArray = np.full((n_first, n_second), np.nan)
        self.d_sigma: FloatArray = np.full((n_first, n_second), np.nan)

    def add(self, tile: PairTile) -> None:
        self.d_mu[tile.i, tile.j - self.n_first] = tile.d_mu
        self.d_sigma[tile.i, tile.j - self.n_first] = tile.d_sigma
