"""How the poolings of one model retrieve: what the store holds, and the table that pages and the command line read.

Needs neither torch nor a model. Similarity and normalisation are looked up, not computed anew: bringing one side or the other
to length 1 gives five different rankings at most, since an inner product is not moved by its query's length, nor a cosine by
anything (``RANKINGS``); all five are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from components.models import Declared
from components.pooling import MEAN
from components.query_statistics import (
    bootstrap_means,
    holm,
    randomisation_p,
    spearman_difference,
    spearman_interval,
)
from components.retrieval import COSINE, DOT, EUCLIDEAN, METRICS
from components.types import FloatArray, IntArray, Interval

SCHEMA = 1
"""Raise it whenever the maths behind a stored result changes."""
W2, PENALTY = "w2", "socm_penalty"
SECOND_ORDER = (W2, PENALTY)
"""Hypotheses, not recommendations: scores on the same token states that see covariances."""
RANKINGS = (COSINE, DOT, EUCLIDEAN, "euclidean_unit_queries", "euclidean_unit_documents")
SPEARMAN, PROBE, HELD_OUT = "spearman", "probe_accuracy", "probe_accuracy_held_out"
METRIC_WORDS = {"ndcg@10": "nDCG@10", "mrr@10": "MRR@10", "map": "MAP", "recall@1": "Recall@1", "recall@5": "Recall@5",
                "recall@10": "Recall@10", SPEARMAN: "Spearman ρ, graded pairs", PROBE: "Probe accuracy",
                HELD_OUT: "Probe accuracy, unseen subjects"}


def ranking_of(similarity: str, unit_queries: bool, unit_documents: bool) -> str:
    """Which of ``RANKINGS`` a similarity gives once either side is brought to length 1.

    The inner product with documents of length 1 ranks as the cosine does, and so does the distance with both sides at length
    1; a query's length scales all of its inner products alike.
    """
    if similarity == DOT:
        return COSINE if unit_documents else DOT
    if similarity == EUCLIDEAN:
        return {(False, False): EUCLIDEAN, (True, False): RANKINGS[3], (False, True): RANKINGS[4], (True, True): COSINE}[
            (unit_queries, unit_documents)]
    return COSINE


@dataclass(frozen=True)
class PoolingOptions:
    """How poolings are measured; every field is part of the result's key.

    Attributes:
        query_prompt, document_prompt: put in front of every query and document; those that the model declares, unless told.
        more: measure the graded pairs, the probe and the second-order scores too.
        seed: of the halves of the queries.
    """

    query_prompt: str = ""
    document_prompt: str = ""
    more: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """One pooling's value of one metric, and how it differs from the declared pooling's on the same queries.

    Attributes:
        pooling, metric: names.
        value: with its interval; ``of`` says what n counts.
        difference: minus the declared pooling's; None for the declared pooling itself.
        p, p_holm: of the randomisation test, and corrected over all other poolings for this metric.
    """

    pooling: str
    metric: str
    value: Interval
    difference: Interval | None
    p: float | None
    p_holm: float | None


@dataclass(frozen=True)
class PoolingResult:
    """Every query's metrics under every pooling.

    Attributes:
        poolings: names in order, ``mean_unmasked`` last.
        declared: the pooling that others are compared with; the model's own, or the mean where it declares none.
        metrics: (n_rankings, n_poolings, n_metrics, n_answered), as ``RANKINGS`` and ``METRICS``.
        top: (n_rankings, n_poolings, n_answered, up to 10) numbers of the best documents.
        first: (n_rankings, n_poolings, n_answered) rank of the first document that answers.
        second: ``SECOND_ORDER`` name -> its metrics (n_metrics, n_answered), NaN for queries it was tuned on, top and first.
        graded: pooling (or w2) -> (n_pairs,) similarity of the graded pairs; and "grades".
        probes: ``PROBE`` and ``HELD_OUT`` -> (n_poolings, n_texts) whether each text was classified rightly.
        planes: (n_poolings, n_queries + n_documents, 2) principal axes of the unit vectors.
        overlap: (n_poolings, n_poolings) mean share of the 10 nearest documents that two poolings have in common.
        meta: the stored description.
    """

    poolings: tuple[str, ...]
    declared: str
    metrics: FloatArray
    top: IntArray
    first: IntArray
    second: Mapping[str, tuple[FloatArray, IntArray, IntArray]]
    graded: Mapping[str, FloatArray]
    probes: Mapping[str, FloatArray]
    planes: FloatArray
    overlap: FloatArray
    meta: Mapping[str, Any]

    @classmethod
    def from_stored(cls, arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> PoolingResult:
        second = {name: (arrays[f"metrics_{name}"], arrays[f"top_{name}"], arrays[f"first_{name}"]) for name in SECOND_ORDER
                  if f"metrics_{name}" in arrays}
        graded = {name.removeprefix("graded_"): array for name, array in arrays.items() if name.startswith("graded_")}
        probes = {name: arrays[name] for name in (PROBE, HELD_OUT) if name in arrays}
        return cls(tuple(meta["poolings"]), meta["reference"], arrays["metrics"], arrays["top"], arrays["first"], second, graded,
                   probes, arrays["planes"], arrays["overlap"], meta)

    @property
    def names(self) -> tuple[str, ...]:
        """Every row's name: the poolings, then the second-order scores that were computed."""
        return (*self.poolings, *self.second)

    def at(self, name: str) -> int:
        return self.poolings.index(name)

    def per_query(self, name: str, metric: str, ranking: str = COSINE) -> FloatArray:
        """(n_answered,) values; NaN for queries that a second-order score was tuned on."""
        m = METRICS.index(metric)
        if name in self.second:
            return self.second[name][0][m]
        return np.asarray(self.metrics[RANKINGS.index(ranking), self.at(name), m])

    def found(self, name: str, ranking: str = COSINE) -> tuple[IntArray, IntArray]:
        """(n_answered, 10) best documents and (n_answered,) rank of the first that answers."""
        if name in self.second:
            return self.second[name][1], self.second[name][2]
        k = RANKINGS.index(ranking)
        return self.top[k, self.at(name)], self.first[k, self.at(name)]

    def flips(self, name: str, ranking: str = COSINE, other: str | None = None, other_ranking: str = COSINE) -> IntArray:
        """Places (among the answered queries) where a pooling and the declared one do not agree whether rank 1 answers.

        Args:
            name, ranking: of the one.
            other, other_ranking: of what it is compared with; the declared pooling under cosine.
        """
        one, declared = self.found(name, ranking)[1], self.found(other or self.declared, other_ranking)[1]
        return np.flatnonzero((one == 1) != (declared == 1))

    def table(self, ranking: str = COSINE) -> list[Row]:
        """Every pooling's metrics under a ranking, each compared with the declared pooling under cosine."""
        if ranking == COSINE and "table" in self.meta:
            return [_row(one) for one in self.meta["table"]]
        return [*retrieval_rows(self, ranking), *(graded_rows(self) + probe_rows(self) if ranking == COSINE else ())]

    def row(self, name: str, metric: str, ranking: str = COSINE) -> Row:
        return next(row for row in self.table(ranking) if (row.pooling, row.metric) == (name, metric))


def _row(data: Mapping[str, Any]) -> Row:
    def rich(value: Any) -> Interval | None:
        return None if value is None else Interval(**value)

    value = rich(data["value"])
    assert value is not None
    return Row(data["pooling"], data["metric"], value, rich(data["difference"]), data["p"], data["p_holm"])


def plain_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as JSON values; NaN becomes null."""
    return [_plain(asdict(row)) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value


def retrieval_rows(result: PoolingResult, ranking: str = COSINE) -> list[Row]:
    """Means over queries with bootstrap intervals, differences and randomisation tests; second-order scores on their half."""
    names = [name for name in result.names if name in result.poolings or ranking == COSINE]
    columns = [(name, metric) for name in names for metric in METRICS]
    values = np.stack([result.per_query(name, metric, ranking) for name, metric in columns], axis=1)
    declared = np.stack([result.per_query(result.declared, metric) for _, metric in columns], axis=1)
    found: dict[tuple[str, str], tuple[Interval, Interval, float]] = {}
    for tuned in (False, True):  # what was tuned on some queries is measured, and compared, on the others
        at = [k for k, (name, _) in enumerate(columns) if (name == PENALTY) == tuned]
        if at:
            rows = ~np.isnan(values[:, at]).any(axis=1)
            one, gap = values[rows][:, at], (values - declared)[rows][:, at]
            parts = zip(bootstrap_means(one, "queries"), bootstrap_means(gap, "queries"), randomisation_p(gap).tolist(), strict=True)
            found |= {columns[k]: part for k, part in zip(at, parts, strict=True)}
    same = result.declared if ranking == COSINE else None
    return _corrected([_compared(name, metric, *found[name, metric], same=name == same) for metric in METRICS for name in names])


def _compared(name: str, metric: str, value: Interval, gap: Interval, p: float, *, same: bool) -> Row:
    """A row; the pooling that others are compared with has no difference to itself."""
    return Row(name, metric, value, None if same else gap, None if same else p, None)


def graded_rows(result: PoolingResult) -> list[Row]:
    """Spearman with the grades of the graded pairs."""
    if "grades" not in result.graded:
        return []
    grades, declared = result.graded["grades"], result.graded[result.declared]
    rows = []
    for name in (*result.poolings, *SECOND_ORDER):
        if name in result.graded:
            value = spearman_interval(result.graded[name], grades, "pairs")
            gap, p = (None, None) if name == result.declared else spearman_difference(result.graded[name], declared, grades, "pairs")
            rows.append(Row(name, SPEARMAN, value, gap, p, None))
    return _corrected(rows)


def probe_rows(result: PoolingResult) -> list[Row]:
    """Accuracy of a linear probe, over texts."""
    rows = []
    for metric, right in result.probes.items():
        right = right.astype(np.float64)
        declared = right[result.at(result.declared)]
        gaps = (right - declared).T
        parts = zip(result.poolings, bootstrap_means(right.T, "texts"), bootstrap_means(gaps, "texts"), randomisation_p(gaps).tolist(),
                    strict=True)
        rows += [_compared(name, metric, mean, gap, p, same=name == result.declared) for name, mean, gap, p in parts]
    return _corrected(rows)


def _corrected(rows: Sequence[Row]) -> list[Row]:
    """With Holm's correction over the poolings compared for each metric."""
    adjusted: dict[tuple[str, str], float] = {}
    for metric in dict.fromkeys(row.metric for row in rows):
        compared = [row for row in rows if row.metric == metric and row.p is not None]
        for row, p in zip(compared, holm([float(row.p) for row in compared if row.p is not None]), strict=True):
            adjusted[row.pooling, metric] = p
    return [Row(row.pooling, row.metric, row.value, row.difference, row.p, adjusted.get((row.pooling, row.metric)))
            for row in rows]


QUERY_PROMPTS, DOCUMENT_PROMPTS = ("query", "s2p_query", "web_search_query"), ("document", "passage", "corpus")
"""Names under which models declare prompts for the two sides, the usual one first."""


def declared_prompts(own: Declared) -> tuple[str, str]:
    """What a model's files put in front of queries and of documents; the default prompt where a side has none of its own."""
    known = own.prompts or {}
    usual = known.get(own.default_prompt or "", "")
    query, document = (next((known[name] for name in names if name in known), usual) for names in (QUERY_PROMPTS, DOCUMENT_PROMPTS))
    return query, document


def default_reference(declared: str | None) -> str:
    """The pooling that others are compared with."""
    return declared or MEAN
