"""What is measured of vectors cut to their first d coordinates: from arrays, without a model.

A cut is a prefix, brought to length 1 again (so that its inner product is a cosine), and kept as float32, int8 or one bit a
coordinate. Beside it stand d coordinates drawn at random, which tell a good prefix from any d coordinates, and the first d
principal axes of other texts, which tell what a rotation fitted once would keep.

int8 is symmetric with one scale a coordinate: the largest |value| among the documents' cut vectors is 127, values are rounded
to the nearest of 255 steps, a query beyond the scale is clipped, and cosines are taken of steps times scale. A binary vector is
the sign of each coordinate (0 counts as negative) on both sides; its cosine falls with the Hamming distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from components.pooling import unit
from components.pooling_measures import NEAREST, probe_right
from components.pooling_result import PROBE, SPEARMAN
from components.retrieval import COSINE, DOT, METRICS, evaluate_vectors
from components.truncation_result import BINARY, FLOAT32, INT8, OVERLAP, PCA, PREFIX, Variant, spearman, variants_of
from components.types import FloatArray, IntArray, RetrievalSet

SCALE = 20.0
"""Of cosines inside InfoNCE, as sentence-transformers' MultipleNegativesRankingLoss takes it."""
LEVELS = 127


@dataclass(frozen=True)
class Vectors:
    """One model's vectors of everything that is measured, uncut and as pooled, each (n, dim) float32.

    Attributes:
        queries: of all queries of the set; rows of queries that nothing answers are not read.
        documents: of the set.
        graded_a, graded_b, grades: the graded pairs; empty where they are not measured.
        others: texts that principal axes are fitted on, none of them in the set; also those of the probe.
        labels, fields: of ``others``: what the probe names, and the wider field for subjects it has not seen; may be empty.
    """

    queries: FloatArray
    documents: FloatArray
    graded_a: FloatArray
    graded_b: FloatArray
    grades: FloatArray
    others: FloatArray
    labels: Sequence[str] = ()
    fields: Sequence[str] = ()

    @property
    def dim(self) -> int:
        return int(self.documents.shape[1])


@dataclass
class Measured:
    """What one way of cutting gives.

    Attributes:
        metrics: (n_metrics, n_answered).
        graded: (n_pairs,) cosines.
        probe, held_out: (n_texts,) bool; empty where not measured.
        shared: (n_documents,) how many of a document's nearest others are those of the full vector.
        tied: answered queries whose rank depends on the order of equal scores.
    """

    metrics: FloatArray
    graded: FloatArray
    shared: FloatArray
    tied: int
    probe: FloatArray = field(default_factory=lambda: np.zeros(0, bool))
    held_out: FloatArray = field(default_factory=lambda: np.zeros(0, bool))


def int8_scales(documents: FloatArray) -> FloatArray:
    """(dim,) float64 value of one step: the documents' largest |value| of a coordinate over 127."""
    return np.asarray(np.abs(np.asarray(documents, np.float64)).max(axis=0) / LEVELS)


def to_int8(vectors: FloatArray, scales: FloatArray) -> IntArray:
    """(n, dim) int8 steps; a coordinate without a scale (0 in every document) is 0."""
    steps = np.divide(np.asarray(vectors, np.float64), scales, out=np.zeros(vectors.shape), where=scales > 0)
    return np.clip(np.rint(steps), -LEVELS, LEVELS).astype(np.int8)


def to_binary(vectors: FloatArray) -> IntArray:
    """(n, dim) int8 of 1 and -1: the sign, 0 being negative."""
    return np.where(np.asarray(vectors) > 0, 1, -1).astype(np.int8)


def stored_as(dtype: str, documents: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """What cut vectors are once they were stored as a dtype, as a function of (n, d) vectors; calibrated on the documents.

    float32 leaves them as pooled, since cosines do not see their length and a probe standardises.
    """
    if dtype == BINARY:
        return lambda x: to_binary(x).astype(np.float64)
    if dtype == INT8:
        scales = int8_scales(unit(np.asarray(documents, np.float64)))
        return lambda x: to_int8(unit(np.asarray(x, np.float64)), scales) * scales
    return lambda x: x


def nearest_documents(documents: FloatArray, k: int = NEAREST) -> IntArray:
    """(n_documents, k) numbers of each document's k nearest others by cosine; k at most n - 1."""
    k = min(k, len(documents) - 1)
    return np.concatenate([np.argpartition(-cosine, k - 1, axis=1)[:, :k]
                           for cosine in _to_others(unit(np.asarray(documents, np.float64)))])


def shared_neighbours(documents: FloatArray, nearest: IntArray) -> FloatArray:
    """(n_documents,) how many of a document's nearest others, by inner product, are among those listed.

    Args:
        documents: (n, d), of one length.
        nearest: (n, k), from ``nearest_documents`` of the full vectors.

    Where several documents are equally near for the last places, as whole numbers of bits often are, the count is what a fair
    draw among them gives on average; it need not be whole.
    """
    k, parts, start = nearest.shape[1], [], 0
    for cosine in _to_others(np.asarray(documents, np.float64)):
        last = -np.partition(-cosine, k - 1, axis=1)[:, k - 1:k]
        listed = np.take_along_axis(cosine, nearest[start:start + len(cosine)], axis=1)
        surely, drawn = (cosine > last).sum(axis=1), (cosine == last).sum(axis=1)
        parts.append((listed > last).sum(axis=1) + (k - surely) * (listed == last).sum(axis=1) / drawn)
        start += len(cosine)
    return np.concatenate(parts)


def _to_others(rows: FloatArray) -> Iterator[FloatArray]:
    """Inner products of some rows after others with all, a row's own being minus infinity."""
    for start in range(0, len(rows), 512):
        product = rows[start:start + 512] @ rows.T
        product[np.arange(len(product)), start + np.arange(len(product))] = -np.inf
        yield product


def measure_cut(of: RetrievalSet, vectors: Vectors, cut: Callable[[FloatArray], FloatArray], nearest: IntArray, *,
                signs: bool = False, probe: bool = True, held_out: bool = True) -> Measured:
    """Everything of one way of cutting.

    Args:
        cut: from full vectors (n, dim) to cut ones (n, d).
        nearest: of the full vectors, from ``nearest_documents``.
        signs: cut vectors are 1 and -1; their inner products are whole numbers, so that equal ones are found equal.
        probe, held_out: whether to fit the probe (seconds at several hundred dims).
    """
    queries, documents = cut(vectors.queries), cut(vectors.documents)
    found = evaluate_vectors(of, queries, documents, DOT if signs else COSINE)

    def level(x: FloatArray) -> FloatArray:
        x = np.asarray(x, np.float64)
        return x if signs else unit(x)

    a, b = level(cut(vectors.graded_a)), level(cut(vectors.graded_b))
    graded = np.einsum("ij,ij->i", a, b) / (a.shape[1] if signs else 1)
    out = Measured(np.array([found.metrics[name] for name in METRICS]), graded, shared_neighbours(level(documents), nearest),
                   found.tied)
    if len(vectors.labels) and (probe or held_out):
        others = cut(vectors.others)
        if probe:
            out.probe = probe_right(others, vectors.labels)
        if held_out:
            out.held_out = probe_right(others, vectors.fields, vectors.labels)
    return out


def cut_to(vectors: Vectors, variant: Variant, axes: tuple[FloatArray, FloatArray] | None = None) -> Callable[[FloatArray], FloatArray]:
    """How a variant cuts full vectors.

    Args:
        axes: mean and principal axes (k, dim) of other texts, for ``PCA``; from ``principal_axes``.
    """
    dim = variant.dim
    if variant.method == PCA:
        assert axes is not None
        mean, directions = axes
        return lambda x: (unit(np.asarray(x, np.float64)) - mean) @ directions[:dim].T
    store = stored_as(variant.dtype, vectors.documents[:, :dim])
    return lambda x: store(x[:, :dim])


def principal_axes(others: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean (dim,) and principal axes (min(n - 1, dim), dim), of most variance first, of other texts' vectors at length 1."""
    from sklearn.decomposition import PCA as Fit

    rows = unit(np.asarray(others, np.float64))
    n = min(len(rows) - 1, rows.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):  # no variance at all: its shares are 0/0, the axes are not read
        fitted = Fit(n, svd_solver="full").fit(rows)
    return fitted.mean_, fitted.components_


def measure_variants(of: RetrievalSet, vectors: Vectors, dims: Sequence[int]) -> Iterator[tuple[Variant, Measured]]:
    """Every prefix as every dtype, then the principal axes there are; in the order of ``variants_of``."""
    nearest = nearest_documents(vectors.documents)
    axes = principal_axes(vectors.others)
    for variant in variants_of(dims, len(axes[1])):
        known = variant.method == PREFIX  # the axes were fitted on the probe's own texts
        found = measure_cut(of, vectors, cut_to(vectors, variant, axes), nearest, signs=variant.dtype == BINARY, probe=known,
                            held_out=known)
        if variant == Variant(PREFIX, vectors.dim, FLOAT32):  # documents that stand twice are drawn for nothing
            found.shared = np.full(len(vectors.documents), float(nearest.shape[1]))
        yield variant, found


def random_subsets(dim: int, dims: Sequence[int], draws: int, seed: int) -> dict[int, IntArray]:
    """Truncation dim below the full one -> (draws, d) coordinates without repeats."""
    rng = np.random.default_rng(seed)
    return {d: np.stack([np.sort(rng.choice(dim, d, replace=False)) for _ in range(draws)]) for d in dims if d < dim}


def measure_draw(of: RetrievalSet, vectors: Vectors, chosen: IntArray, nearest: IntArray) -> dict[str, float]:
    """Means of one random subset of coordinates: ``METRICS``, Spearman, probe accuracy, overlap."""
    found = measure_cut(of, vectors, lambda x: x[:, chosen], nearest, held_out=False)
    return {**dict(zip(METRICS, found.metrics.mean(axis=1).tolist(), strict=True)), SPEARMAN: spearman(found.graded, vectors.grades),
            PROBE: float(found.probe.mean()) if len(found.probe) else float("nan"),
            OVERLAP: float(found.shared.mean()) / nearest.shape[1]}


def info_nce(of: RetrievalSet, queries: FloatArray, documents: FloatArray, dim: int, scale: float = SCALE) -> float:
    """InfoNCE of the first d coordinates: mean over answered queries of -log softmax of their document among all documents.

    Args:
        queries, documents: (n, D), of all queries and documents.

    A query's document is the most relevant one (the first of several); others that answer it are no negatives.
    """
    from scipy.special import logsumexp

    q, d = (unit(np.asarray(x[:, :dim], np.float64)) for x in (queries[of.answered], documents))
    logits = scale * q @ d.T
    losses = []
    for row, query in zip(logits, of.answered.tolist(), strict=True):
        own = of.judged[(of.judged[:, 0] == query) & (of.judged[:, 2] > 0)]
        best = own[np.argmax(own[:, 2]), 1]
        keep = np.ones(len(row), bool)
        keep[own[:, 1]] = False
        keep[best] = True
        losses.append(float(logsumexp(row[keep]) - row[best]))
    return float(np.mean(losses))
