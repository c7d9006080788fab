"""How well documents are found: rankings from vectors, and trec_eval's metrics of each query.

The metrics are trec_eval's own (through pytrec_eval), so that they mean what the field means by them. nDCG takes the relevance
itself as gain (linear), discounted by log2(rank + 1). A ranking is made here, in float64, and handed on as ranks: equal scores
keep the documents' order in their file, and trec_eval's float32 scores and its order of ties by name play no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    q, d = np.asarray(queries, np.float64), np.asarray(documents, np.float64)
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
    import pytrec_eval

    judged, answered = _judgements(of), of.answered
    runs: dict[str, dict[str, int]] = {}
    top = np.zeros((len(answered), min(DEPTH, len(of.documents))), dtype=np.int32)
    first, tied = np.zeros(len(answered), dtype=np.int64), 0
    for k, (query, row) in enumerate(zip(answered.tolist(), rows, strict=True)):
        order = np.argsort(-row, kind="stable")
        top[k] = order[:top.shape[1]]
        relevant = np.fromiter((d for d, r in judged[query].items() if r > 0), dtype=np.int64)
        places = np.flatnonzero(np.isin(order, relevant))
        first[k] = places[0] + 1
        tied += _ties(row, relevant)
        # Below the last document that answers nothing is counted by any metric.
        deep = max(DEPTH, int(places[-1]) + 1)
        runs[str(query)] = {str(d): deep - rank for rank, d in enumerate(order[:deep].tolist())}
    qrels = {str(q): {str(d): r for d, r in judged[q].items()} for q in answered.tolist()}
    measures = {_TREC[name] for name in metrics}
    whole = pytrec_eval.RelevanceEvaluator(qrels, measures - {"recip_rank"}).evaluate(runs) if measures - {"recip_rank"} else {}
    out: dict[str, FloatArray] = {}
    for name in metrics:
        if name == "mrr@10":  # trec_eval has no cut for it: nothing found in the first ten counts 0
            out[name] = np.where(first <= DEPTH, 1.0 / first, 0.0)
        else:
            key = _TREC[name].replace(".", "_")
            out[name] = np.array([whole[str(q)][key] for q in answered.tolist()])
    return Found(out, top, first, tied)


_TREC = {"ndcg@10": "ndcg_cut.10", "mrr@10": "recip_rank", "map": "map", "recall@1": "recall.1", "recall@5": "recall.5",
         "recall@10": "recall.10"}


def _judgements(of: RetrievalSet) -> dict[int, dict[int, int]]:
    out: dict[int, dict[int, int]] = {}
    for q, d, r in of.judged.tolist():
        out.setdefault(q, {})[d] = r
    return out


def _ties(row: FloatArray, relevant: IntArray) -> bool:
    others = np.ones(len(row), bool)
    others[relevant] = False
    return bool(np.isin(row[relevant], row[others]).any())


def evaluate_vectors(of: RetrievalSet, queries: FloatArray, documents: FloatArray, similarity: str = COSINE, *,
                     unit_queries: bool = False, unit_documents: bool = False, metrics: Sequence[str] = METRICS) -> Found:
    """``evaluate`` of vectors: (n_queries, dim) of all queries and (n_documents, dim)."""
    asked = queries[of.answered]

    def rows() -> Iterator[FloatArray]:
        for start in range(0, len(asked), CHUNK):
            yield from scores(asked[start:start + CHUNK], documents, similarity, unit_queries=unit_queries,
                              unit_documents=unit_documents)

    return evaluate(of, rows(), metrics)
