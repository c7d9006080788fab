"""How well documents are found: rankings from vectors, and trec_eval's metrics of each query.

The metrics are trec_eval's own (through pytrec_eval), so that they mean what the field means by them. nDCG takes the relevance
itself as gain (linear), discounted by log2(rank + 1). A ranking is made here, in float64, and handed on as ranks: equal scores
keep the documents' order in their file, and trec_eval's float32 scores and its order of ties by name play no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from components.errors import DataError, shown
from components.pooling import unit
from components.types import FloatArray, IntArray, RetrievalSet

PRIMARY = "ndcg@10"
"""Named before anything is measured; the others are looked at beside it."""
METRICS = (PRIMARY, "mrr@10", "map", "recall@1", "recall@5", "recall@10")
COSINE, DOT, EUCLIDEAN = "cosine", "dot", "euclidean"
SIMILARITIES = (COSINE, DOT, EUCLIDEAN)
DEPTH = 10
"""Ranks that are kept of each query's documents."""
CHUNK = 256
"""Queries scored at a time."""


@dataclass(frozen=True)
class Found:
    """What one way of scoring finds.

    Attributes:
        metrics: metric -> (n_answered,) float64, a value for each answered query.
        top: (n_answered, up to ``DEPTH``) int32 numbers of the best documents.
        first: (n_answered,) int64 rank, from 1, of the best-ranked document that answers.
        tied: answered queries of which an answering document has the score of one that does not answer.
    """

    metrics: Mapping[str, FloatArray]
    top: IntArray
    first: IntArray
    tied: int


def scores(queries: FloatArray, documents: FloatArray, similarity: str = COSINE, *, unit_queries: bool = False,
           unit_documents: bool = False) -> FloatArray:
    """(n_queries, n_documents) float64 scores, higher is nearer.

    Args:
        queries, documents: (n, dim) vectors.
        similarity: "cosine"; "dot", the inner product; "euclidean", minus the squared distance.
        unit_queries, unit_documents: bring that side to length 1 first (cosine does both).

    Raises:
        DataError: another similarity, or vectors that are not finite.
    """
    if similarity not in SIMILARITIES:
        raise DataError("similarity", f"must be one of {', '.join(SIMILARITIES)}", shown(similarity), "choose one of these")
    q: FloatArray = np.asarray(queries, np.float64)
    d: FloatArray = np.asarray(documents, np.float64)
    if not (np.isfinite(q).all() and np.isfinite(d).all()):
        raise DataError("vectors", "must be finite", "NaN or infinity", "check the model's weights and texts")
    q = unit(q) if unit_queries or similarity == COSINE else q
    d = unit(d) if unit_documents or similarity == COSINE else d
    product = q @ d.T
    if similarity != EUCLIDEAN:
        return product
    return 2 * product - np.square(q).sum(axis=1)[:, None] - np.square(d).sum(axis=1)[None, :]


def evaluate(of: RetrievalSet, rows: Iterator[FloatArray] | Sequence[FloatArray] | FloatArray,
             metrics: Sequence[str] = METRICS) -> Found:
    """Metrics of every answered query.

    Args:
        of: queries, documents and judgements.
        rows: (n_documents,) scores for each answered query in the order of ``of.answered``.
        metrics: of ``METRICS``.
    """
    judged, answered = _judgements(of), of.answered
    top = np.zeros((len(answered), min(DEPTH, len(of.documents))), dtype=np.int32)
    first, tied = np.zeros(len(answered), dtype=np.int64), 0
    patterns: dict[Pattern, list[int]] = {}
    for k, (query, row) in enumerate(zip(answered.tolist(), rows, strict=True)):
        numbers, grades = judged[query]
        order = np.argsort(-row, kind="stable")
        top[k] = order[:top.shape[1]]
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(1, len(order) + 1)
        relevant = numbers[grades > 0]
        first[k] = rank[relevant].min()
        tied += _ties(row, relevant)
        patterns.setdefault(tuple(sorted(zip(rank[numbers].tolist(), grades.tolist(), strict=True))), []).append(k)
    values = np.zeros((len(metrics), len(answered)))
    for pattern, places in patterns.items():
        values[:, places] = np.array(_trec_eval(pattern, tuple(metrics)))[:, None]
    return Found(dict(zip(metrics, values, strict=True)), top, first, tied)


Pattern = tuple[tuple[int, int], ...]
"""Rank and relevance of each judged document, in order of rank: all that a metric depends on."""


@lru_cache(maxsize=65_536)
def _trec_eval(pattern: Pattern, metrics: tuple[str, ...]) -> tuple[float, ...]:
    """trec_eval's metrics of one query whose judged documents stand at these ranks; the others are unjudged fillers."""
    import pytrec_eval

    deep = max(DEPTH, pattern[-1][0])  # what stands below the last judged document counts for nothing
    run = {f"d{rank}": deep - rank for rank in range(1, deep + 1)}
    measures = {_TREC[name] for name in metrics if name in _TREC}
    found = pytrec_eval.RelevanceEvaluator({"q": {f"d{rank}": grade for rank, grade in pattern}}, measures).evaluate({"q": run})["q"] \
        if measures else {}
    first = next(rank for rank, grade in pattern if grade > 0)
    # trec_eval's reciprocal rank has no cut: nothing found among the first ten counts 0.
    return tuple((1 / first if first <= DEPTH else 0.0) if name == "mrr@10" else found[_TREC[name].replace(".", "_")]
                 for name in metrics)


_TREC = {"ndcg@10": "ndcg_cut.10", "map": "map", "recall@1": "recall.1", "recall@5": "recall.5", "recall@10": "recall.10"}


def _judgements(of: RetrievalSet) -> dict[int, tuple[IntArray, IntArray]]:
    """Query -> numbers of its judged documents, and their relevance."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for q, d, r in of.judged.tolist():
        rows.setdefault(q, []).append((d, r))
    return {q: (np.array([d for d, _ in found]), np.array([r for _, r in found])) for q, found in rows.items()}


def _ties(row: FloatArray, relevant: IntArray) -> bool:
    others = np.ones(len(row), bool)
    others[relevant] = False
    return bool(np.isin(row[relevant], row[others]).any())


def placed(of: RetrievalSet, asked: FloatArray) -> FloatArray:
    """(n_queries, dim) with the answered queries' vectors, (n_answered, dim), at their places; the others' are never looked at."""
    out = np.zeros((len(of.queries), asked.shape[1]), dtype=asked.dtype)
    out[of.answered] = asked
    return out


def evaluate_vectors(of: RetrievalSet, queries: FloatArray, documents: FloatArray, similarity: str = COSINE, *,
                     unit_queries: bool = False, unit_documents: bool = False, metrics: Sequence[str] = METRICS) -> Found:
    """``evaluate`` of vectors: (n_queries, dim), of all queries, and (n_documents, dim)."""
    if len(queries) != len(of.queries) or len(documents) != len(of.documents):
        raise DataError("vectors", "must be one for each query and document", f"{len(queries):,} and {len(documents):,} for "
                        f"{len(of.queries):,} queries and {len(of.documents):,} documents", "give whole arrays")
    asked = queries[of.answered]

    def rows() -> Iterator[FloatArray]:
        for start in range(0, len(asked), CHUNK):
            yield from scores(asked[start:start + CHUNK], documents, similarity, unit_queries=unit_queries,
                              unit_documents=unit_documents)

    return evaluate(of, rows(), metrics)
