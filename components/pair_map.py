"""All pairs of a corpus as a finished result: what the store holds and what pages and the command line read.

``PairMap`` needs neither torch nor a model. Where every pair was kept it can be asked for any pair or any box of the
plane; where pairs were streamed it holds a fine grid of counts and a uniform sample; where they were estimated it holds
the pairs of the balanced cycles. Which of the three it is stands in ``method``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from components.errors import DataError
from components.pair_parts import bin_of, even_edges, n_pairs_of
from components.types import FINAL, FloatArray, IntArray, Interval, Layer, References

SCHEMA = 1
"""Raise it whenever the maths behind a stored pair map changes: old results are then not found any more."""
ARRAY_LIMIT = 2_000_000
"""Up to this many pairs (2,000 texts) every pair's numbers are kept, 16 bytes a pair; above, they are streamed."""
EXACT_LIMIT = 12_500_000
"""Up to this many pairs (5,000 texts) all are computed; above, the means are estimated from balanced cycles, unless
all pairs are asked for."""
ESTIMATE_CYCLES = 20
UNKNOWN_WARNING = 0.05
"""Above this share of unknown tokens the numbers say little about the texts (an English model on Korean, say)."""
PUBLISHED = "as_published"
EXACT = "exact"


@dataclass(frozen=True)
class PairOptions:
    """How pairs are to be computed; every field is part of the result's key.

    Attributes:
        layer: 0..L or "final".
        special_tokens: [CLS], [SEP] ... take part, as in the paper.
        prompt: text put in front of every text; none in the paper.
        float64: everything in float64, singular values directly; otherwise float32 products.
        numerics: "exact", or "as_published" with the authors' bias (science: 1e-9 inside each root).
        sample: number of pairs to estimate from, by balanced cycles; None = all pairs up to a limit.
        all_pairs: all pairs whatever their number.
        seed: of cycles, samples and references.
    """

    layer: Layer = FINAL
    special_tokens: bool = True
    prompt: str = ""
    float64: bool = False
    numerics: str = EXACT
    sample: int | None = None
    all_pairs: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.numerics not in (EXACT, PUBLISHED):
            raise DataError("numerics", f"must be {EXACT} or {PUBLISHED}", self.numerics, "choose one of these")
        if self.sample is not None and self.sample < 1:
            raise DataError("--sample", "must be at least 1 pair", str(self.sample), "leave it out for all pairs")

    def cycles_pairs(self, n_texts: int) -> int | None:
        """How many pairs to estimate from, or None when all pairs are computed."""
        total = n_pairs_of(n_texts)
        if self.all_pairs:
            return None
        if self.sample is not None:
            return self.sample if self.sample < total else None
        return ESTIMATE_CYCLES * n_texts if total > EXACT_LIMIT else None

    def params(self, n_texts: int) -> dict[str, Any]:
        """The options as they enter a key: what cannot change the numbers is left out."""
        return {"layer": self.layer, "special_tokens": self.special_tokens, "prompt": self.prompt,
                "float64": self.float64, "numerics": self.numerics, "cycles_pairs": self.cycles_pairs(n_texts),
                "seed": self.seed}


@dataclass(frozen=True)
class PairMap:
    """All pairs (or an estimate) of one corpus under one model and layer.

    Attributes:
        n_texts, n_pairs: texts, and pairs that the numbers rest on.
        method: "all" (every pair kept), "streamed" (every pair computed, not kept), "cycles" (estimated).
        means: quantity -> mean with its interval over texts (see ``sinks.QUANTITIES``).
        references: what to read d_sigma against.
        n_tokens, spread, norms: (n_texts,) token counts, tr Sigma after scaling, ||mu|| before it.
        arrays, meta: the stored arrays and the stored description.
    """

    n_texts: int
    n_pairs: int
    method: str
    means: Mapping[str, Interval]
    references: References
    n_tokens: IntArray
    spread: FloatArray
    norms: FloatArray
    arrays: Mapping[str, np.ndarray[Any, Any]]
    meta: Mapping[str, Any]

    @classmethod
    def from_stored(cls, arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> PairMap:
        # The gallery keeps these two in float32; sums over half a million pairs want more.
        arrays = {**arrays, "d_mu": np.asarray(arrays["d_mu"], np.float64),
                  "d_sigma": np.asarray(arrays["d_sigma"], np.float64)}
        return cls(meta["n_texts"], meta["n_pairs"], meta["method"],
                   {name: Interval(**value) for name, value in meta["means"].items()},
                   References.from_dict(meta["references"]),
                   arrays["n_tokens"], arrays["spread"], arrays["norms"], arrays, meta)

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """(i, j, d_mu, d_sigma) of the pairs there are: all, the sample of a streamed map, or the cycles'."""
        if self.method == "all":
            i, j = np.triu_indices(self.n_texts, 1)
            return i.astype(np.int32), j.astype(np.int32), self.arrays["d_mu"], self.arrays["d_sigma"]
        return self.arrays["i"], self.arrays["j"], self.arrays["d_mu"], self.arrays["d_sigma"]

    @property
    def top(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """(i, j, d_mu, d_sigma) of the pairs of largest SOCM, largest first."""
        at = self.arrays
        return at["top_i"], at["top_j"], at["top_d_mu"], at["top_d_sigma"]

    def ranges(self) -> tuple[float, float, float, float]:
        """Smallest and largest d_mu, smallest and largest d_sigma among the pairs computed."""
        low, high = self.meta["lowest"], self.meta["highest"]
        return low["d_mu"], high["d_mu"], low["d_sigma"], high["d_sigma"]

    def plane_counts(self, mu_bins: int = 110, sigma_bins: int = 100) -> tuple[IntArray, FloatArray, FloatArray]:
        """Pairs per cell of the plane over the data's range: counts (mu_bins, sigma_bins) and both edges.

        Of a streamed map the stored grid's cells are joined, so the edges may reach a little beyond the data.
        """
        mu_low, mu_high, sigma_low, sigma_high = self.ranges()
        if self.method != "streamed":
            mu_edges, sigma_edges = even_edges(mu_low, mu_high, mu_bins), even_edges(sigma_low, sigma_high, sigma_bins)
            _, _, d_mu, d_sigma = self.pairs
            k = bin_of(d_mu, mu_edges) * sigma_bins + bin_of(d_sigma, sigma_edges)
            return np.bincount(k, minlength=mu_bins * sigma_bins).reshape(mu_bins, sigma_bins), mu_edges, sigma_edges
        counts, mu_edges, sigma_edges = (self.arrays[name] for name in ("counts", "mu_edges", "sigma_edges"))
        return _coarsen(counts, mu_edges, sigma_edges, mu_bins, sigma_bins)


def _coarsen(counts: IntArray, mu_edges: FloatArray, sigma_edges: FloatArray, mu_bins: int,
             sigma_bins: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Joins a fine grid's cells until at most so many are left over the occupied range."""
    for axis, bins in ((0, mu_bins), (1, sigma_bins)):
        edges = mu_edges if axis == 0 else sigma_edges
        used = np.flatnonzero(counts.sum(axis=1 - axis))
        first, last = int(used[0]), int(used[-1]) + 1
        step = max(1, -(-(last - first) // bins))
        last = first + -(-(last - first) // step) * step
        part = np.take(counts, np.arange(first, min(last, counts.shape[axis])), axis=axis)
        counts = np.add.reduceat(part, np.arange(0, part.shape[axis], step), axis=axis)
        width = edges[1] - edges[0]
        edges = edges[first] + width * step * np.arange(counts.shape[axis] + 1)
        mu_edges, sigma_edges = (edges, sigma_edges) if axis == 0 else (mu_edges, edges)
    return counts, mu_edges, sigma_edges
