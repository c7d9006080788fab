"""How one model's vectors survive being cut: what the store holds, and the numbers that pages and the command line read.

Needs neither torch nor a model. Every query's, pair's and text's own value is kept beside the means, so that two models can be
compared query by query without computing anything anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from components.errors import DataError
from components.pooling_result import HELD_OUT, PROBE, SPEARMAN
from components.retrieval import METRICS
from components.types import FloatArray, IntArray, Interval

SCHEMA = 1
"""Raise it whenever the maths behind a stored result changes."""
OVERLAP = "overlap@10"
QUALITY = (*METRICS, SPEARMAN, PROBE, HELD_OUT, OVERLAP)
"""Everything that is measured of a cut; higher is better, 1 is the most."""
OF = {SPEARMAN: "pairs", PROBE: "texts", HELD_OUT: "texts", OVERLAP: "documents"}
FLOAT32, INT8, BINARY = "float32", "int8", "binary"
DTYPES = (FLOAT32, INT8, BINARY)
BITS = {FLOAT32: 32, INT8: 8, BINARY: 1}
PREFIX, PCA, RANDOM = "prefix", "pca", "random"
FIRST_DIM = 8
TAUS = np.round(np.arange(101) * 0.005, 3)
"""Values of tau at which shares of |C| are kept, exactly."""
GEOMETRY = ("mean_cosine", "uniformity", "alignment", "effective_dims", "effective_axes")
TERMS = ("variance_floor", "cv", "uniformity")
"""Of MIC's loss, of token states; L_corr depends on tau and stands apart."""
SPECIAL, PLAIN = 0, 1
"""Places of what was measured with special tokens, and without."""
MILLION = 1_000_000


class Variant(NamedTuple):
    """One way of cutting: ``method`` PREFIX or PCA, to ``dim``, kept as ``dtype``."""

    method: str
    dim: int
    dtype: str


@dataclass(frozen=True)
class TruncationOptions:
    """How cuts are measured; every field is part of the result's key.

    Attributes:
        query_prompt, document_prompt: put in front of every query and document.
        dims: truncation dims; empty takes 8, 16, 32 ... up to the model's. The full dim is always there.
        draws: random subsets of coordinates at each dim.
        seed: of these subsets.
    """

    query_prompt: str = ""
    document_prompt: str = ""
    dims: tuple[int, ...] = ()
    draws: int = 20
    seed: int = 0


def default_dims(full: int) -> tuple[int, ...]:
    """8, 16, 32 ... below the full dim, and the full dim."""
    out, dim = [], FIRST_DIM
    while dim < full:
        out.append(dim)
        dim *= 2
    return (*out, full)


def checked_dims(dims: Sequence[int], full: int, model: str) -> tuple[int, ...]:
    """The truncation dims to measure, rising, the full one last.

    Raises:
        DataError: one below 1 or above the model's.
    """
    wrong = [dim for dim in dims if not 1 <= dim <= full]
    if wrong:
        raise DataError("dims", f"must lie in 1 to {full:,}, the dim of {model}", ", ".join(f"{dim:,}" for dim in wrong),
                        "leave these out")
    return tuple(sorted({*dims, full})) if dims else default_dims(full)


def variants_of(dims: Sequence[int], n_axes: int) -> tuple[Variant, ...]:
    """Every prefix as every dtype, then the principal axes that could be fitted."""
    return (*(Variant(PREFIX, dim, dtype) for dim in dims for dtype in DTYPES),
            *(Variant(PCA, dim, FLOAT32) for dim in dims if dim <= n_axes))


def bytes_per_vector(dim: int, dtype: str) -> int:
    """Bytes of one stored vector; int8's scales (4 bytes a coordinate, once for all vectors) are not counted."""
    return -(-dim * BITS[dtype] // 8)


def spearman(one: FloatArray, grades: FloatArray) -> float:
    """Spearman's rho; NaN where a side is constant or there are fewer than two pairs."""
    from scipy import stats

    if len(one) < 2:
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        return float(stats.spearmanr(one, grades).statistic)


def packed(values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Values as codes of as few bytes as do, and the distinct values; metrics of a query take few. Nothing is rounded."""
    table, codes = np.unique(values, return_inverse=True)
    return codes.reshape(values.shape).astype(np.min_scalar_type(max(0, len(table) - 1))), table


@dataclass(frozen=True)
class TruncationResult:
    """One model's cuts on one retrieval set.

    Attributes:
        dims: rising; the last is the model's own.
        variants: in the order of the arrays' rows.
        arrays: see ``truncation_pipeline.compute_truncation``.
        meta: the stored description.
    """

    dims: tuple[int, ...]
    variants: tuple[Variant, ...]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    meta: Mapping[str, Any]

    @classmethod
    def from_stored(cls, arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> TruncationResult:
        dims = tuple(int(dim) for dim in meta["dims"])
        return cls(dims, variants_of(dims, meta["n_axes"]), arrays, meta)

    @property
    def full(self) -> int:
        return self.dims[-1]

    @cached_property
    def _row(self) -> Mapping[Variant, int]:
        return {variant: k for k, variant in enumerate(self.variants)}

    def row(self, dim: int, dtype: str = FLOAT32, method: str = PREFIX) -> int | None:
        """The arrays' row of a variant; None where it was not measured (principal axes beyond the texts they rest on)."""
        return self._row.get(Variant(method, dim, dtype))

    def value(self, metric: str, dim: int, dtype: str = FLOAT32, method: str = PREFIX) -> Interval:
        """A metric of a cut with its interval; NaN where it is not defined."""
        return self._interval("estimates", metric, dim, dtype, method)

    def loss(self, metric: str, dim: int, dtype: str = FLOAT32, method: str = PREFIX) -> Interval:
        """What a cut loses: the full float32 vector's value minus its own, on the same queries, with its interval."""
        return self._interval("losses", metric, dim, dtype, method)

    def _interval(self, kind: str, metric: str, dim: int, dtype: str, method: str) -> Interval:
        row, n, of = self.row(dim, dtype, method), self.n(metric), OF.get(metric, "queries")
        if row is None:
            return Interval(float("nan"), None, None, n, of)
        value, low, high = (float(x) for x in self.arrays[kind][row, QUALITY.index(metric), :3])
        return Interval(value, None if np.isnan(low) else low, None if np.isnan(high) else high, n, of)

    def p(self, metric: str, dim: int) -> float | None:
        """Randomisation p of a float32 prefix's loss, Holm-corrected over the shorter dims; None at full dim."""
        row = self.row(dim)
        p = float("nan") if row is None else float(self.arrays["p_holm"][row, QUALITY.index(metric)])
        return None if np.isnan(p) else p

    def n(self, metric: str) -> int:
        """Queries, pairs, texts or documents that a metric rests on."""
        return int(self.meta["n"][OF.get(metric, "queries")])

    def each(self, metric: str, dim: int, dtype: str = FLOAT32, method: str = PREFIX) -> FloatArray:
        """(n,) values of each query, pair (its cosine), text (0 or 1) or document (shared of its nearest)."""
        row = self.row(dim, dtype, method)
        if row is None:
            return np.zeros(0)
        if metric in METRICS:
            k = METRICS.index(metric)
            return np.asarray(self.arrays[f"values_{k}"][self.arrays[f"codes_{k}"][row]], np.float64)
        if metric == SPEARMAN:
            return np.asarray(self.arrays["graded"][row], np.float64)
        if metric == OVERLAP:
            return np.asarray(self.arrays["shared"][row], np.float64) / self.meta["n_nearest"]
        bits = self.arrays[metric]
        return np.unpackbits(bits[row], count=self.n(metric)).astype(np.float64) if row < len(bits) else np.zeros(0)

    def tied(self, dim: int, dtype: str = FLOAT32, method: str = PREFIX) -> int:
        """Queries of which a document that answers has the score of one that does not; their order is that of the file."""
        row = self.row(dim, dtype, method)
        return 0 if row is None else int(self.arrays["tied"][row])

    @property
    def grades(self) -> FloatArray:
        return np.asarray(self.arrays["grades"])

    def random(self, metric: str, dim: int) -> FloatArray:
        """(draws,) means of random subsets of coordinates, rising; empty at full dim and where not measured."""
        if dim >= self.full or metric == HELD_OUT:
            return np.zeros(0)
        names = (*METRICS, SPEARMAN, PROBE, OVERLAP)
        values = np.sort(self.arrays["random"][self.dims.index(dim), :, names.index(metric)])
        return np.asarray(values[np.isfinite(values)])

    def geometry(self, name: str, dim: int) -> float:
        """One of ``GEOMETRY`` of the documents' prefixes at length 1; NaN where not defined."""
        return float(self.arrays["geometry"][self.dims.index(dim), GEOMETRY.index(name)])

    def term(self, name: str, dim: int, tokens: int = SPECIAL) -> float:
        """One of MIC's ``TERMS`` at a dim; NaN where token coordinates are not vector coordinates."""
        return float(self.arrays["terms"][tokens, self.dims.index(dim), TERMS.index(name)])

    def info_nce(self, dim: int) -> float:
        """InfoNCE of the prefix over all documents of the set: Matryoshka's loss at this dim."""
        return float(self.arrays["info_nce"][self.dims.index(dim)])

    @property
    def chance_overlap(self) -> float:
        """Share of neighbours that a random choice has in common."""
        return float(self.meta["n_nearest"] / (self.meta["n"]["documents"] - 1))

    @property
    def has_tokens(self) -> bool:
        """Whether C and MIC's terms were measured."""
        return bool(self.meta["tokens"])

    def sigma(self, tokens: int) -> float:
        """Standard deviation of an entry of C that independent coordinates give."""
        return float(self.arrays["sigma"][tokens])

    def share_above(self, dim: int, tau: float, tokens: int) -> float:
        """Share of |C| above tau, one of ``TAUS``; NaN at full dim, which has no residual."""
        return self._at_tau("share_above", dim, tau, tokens)

    def correlation_loss(self, dim: int, tau: float, tokens: int) -> float:
        """L_corr at tau; 0 at full dim."""
        return 0.0 if dim == self.full else self._at_tau("correlation_loss", dim, tau, tokens)

    def mean_correlation(self, dim: int, tokens: int) -> float:
        """Mean |C| between prefix and residual; NaN at full dim."""
        return float("nan") if dim == self.full else float(self.arrays["mean_correlation"][tokens, self.dims.index(dim)])

    def _at_tau(self, name: str, dim: int, tau: float, tokens: int) -> float:
        if dim == self.full:
            return float("nan")
        return float(self.arrays[name][tokens, self.dims.index(dim), int(np.abs(TAUS - tau).argmin())])

    def map(self, dim: int, tokens: int) -> tuple[FloatArray, IntArray, IntArray]:
        """Mean |C| in blocks of coordinates, (n_prefix_blocks, n_residual_blocks), with the edges of either side."""
        edges = self.arrays["block_edges"]
        at = int(np.searchsorted(edges, dim))
        return np.asarray(self.arrays["blocks"][tokens, :at, at:], np.float64), edges[:at + 1], edges[at:]
