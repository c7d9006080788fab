"""What the Pooling page shows, put together from stored results: rows, flips, faults, planes, the sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app import resources, results
from app.results import Request
from components.charts.company_curve import MASKED, UNMASKED, CompanyLine
from components.charts.interval_rows import FAULT, HYPOTHESIS, PLAIN, REFERENCE, IntervalRow
from components.charts.pooled_planes import PooledPlane
from components.charts.style import caption_number, interval_text
from components.embedding_config import config_of
from components.pooling import IN_WORDS, MEAN, POOLINGS
from components.pooling import UNMASKED as UNMASKED_POOLING
from components.pooling_result import METRIC_WORDS, PENALTY, SECOND_ORDER, W2, PoolingResult, Row, ranking_of
from components.query_statistics import bootstrap_means, randomisation_p
from components.retrieval import COSINE, METRICS, PRIMARY
from components.store import StoredResult
from components.types import FloatArray, Interval, RetrievalSet

WORDS = IN_WORDS | {W2: "distance of both Gaussians, dμ + dΣ (a hypothesis)",
                    PENALTY: "cosine less a multiple of SOCM (a hypothesis)"}
ALPHA = 0.05


@dataclass(frozen=True)
class Setting:
    """What the page is asked to look at.

    Attributes:
        pooling: the one set beside the declared one. metric: of ``METRICS``.
        similarity, unit_queries, unit_documents: how vectors are compared.
    """

    pooling: str
    metric: str
    similarity: str = COSINE
    unit_queries: bool = True
    unit_documents: bool = True

    @property
    def ranking(self) -> str:
        return ranking_of(self.similarity, self.unit_queries, self.unit_documents)

    @property
    def in_words(self) -> str:
        """The similarity and what is normalised before it."""
        if self.similarity == COSINE:
            return "cosine"
        sides = [name for name, on in (("queries", self.unit_queries), ("documents", self.unit_documents)) if on]
        name = {"dot": "inner product", "euclidean": "Euclidean distance"}[self.similarity]
        return f"{name}, {' and '.join(sides) + ' at length 1' if sides else 'nothing normalised'}"


@dataclass(frozen=True)
class PoolingData:
    """One model's stored poolings on one set."""

    model: str
    request: Request
    of: RetrievalSet
    result: PoolingResult

    @property
    def revision(self) -> str:
        return self.request.key.short_revision

    @property
    def declares(self) -> str:
        """What the model's files say, with file and key."""
        meta = self.result.meta
        return f"{meta['declared']} ({meta['declared_source']})" if meta["declared"] else "no pooling"

    def table(self, ranking: str) -> list[Row]:
        """Every row under a ranking; made once for everybody."""
        return resources.made_once(f"pooling table {self.request.key.digest} {ranking}", lambda: self.result.table(ranking))

    def row(self, name: str, metric: str, ranking: str = COSINE) -> Row:
        second = name in SECOND_ORDER  # these have their own score, whatever the similarity
        rows = self.table(COSINE if second else ranking)
        return next(row for row in rows if (row.pooling, row.metric) == (name, metric))


def load(set_name: str, model_name: str, *, prompts: bool = True) -> PoolingData | Request:
    """The stored poolings, or the request to start when they are not stored yet.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    request = results.pooling_request(set_name, model_name, results.pooling_options(model_name, prompts=prompts))
    found = results.pooling(request)
    return request if found is None else PoolingData(model_name, request, resources.retrieval_set(set_name), found)


def role(data: PoolingData, name: str) -> str:
    """How a pooling is drawn."""
    if name == data.result.declared:
        return REFERENCE
    return FAULT if name == UNMASKED_POOLING else HYPOTHESIS if name in SECOND_ORDER else PLAIN


def rows(data: PoolingData, setting: Setting) -> list[IntervalRow]:
    """A row for each pooling in the metric looked at, in the result's order."""
    out = []
    for name in data.result.names:
        row = data.row(name, setting.metric, setting.ranking)
        note = WORDS.get(name, name)
        if name == PENALTY:
            meta = data.result.meta
            note += f"; weight {meta['penalty_weight']:g} chosen on the other {meta['penalty_tuned_on']} queries"
        out.append(IntervalRow(name, role(data, name), row.value, row.difference, row.p_holm, name == setting.pooling, note))
    return out


def table(data: PoolingData, ranking: str) -> pd.DataFrame:
    """Every metric of every pooling with interval, difference and p, one row each."""
    return pd.DataFrame([{"pooling": row.pooling, "metric": METRIC_WORDS[row.metric], "value": row.value.value, "low": row.value.low,
                          "high": row.value.high, "difference": row.difference and row.difference.value,
                          "difference low": row.difference and row.difference.low,
                          "difference high": row.difference and row.difference.high, "p": row.p, "p (Holm)": row.p_holm,
                          "n": row.value.n, "of": row.value.of} for row in data.table(ranking)]).astype(
        dict.fromkeys(("value", "low", "high", "difference", "difference low", "difference high", "p", "p (Holm)"), "Float64"))


def wide(data: PoolingData, ranking: str) -> pd.DataFrame:
    """A row a pooling, a column a metric: values only, for reading across."""
    found = data.table(ranking)
    names = list(dict.fromkeys(row.pooling for row in found))
    metrics = list(dict.fromkeys(row.metric for row in found))
    values = {(row.pooling, row.metric): row.value.value for row in found}
    return pd.DataFrame({"pooling": names} | {METRIC_WORDS[metric]: [values.get((name, metric)) for name in names]
                                              for metric in metrics}).astype({METRIC_WORDS[metric]: "Float64" for metric in metrics})


def flips(data: PoolingData, setting: Setting) -> pd.DataFrame:
    """Queries where one of the two puts an answer first and the other does not; with what each put first."""
    result, of = data.result, data.of
    at = result.flips(setting.pooling, setting.ranking)
    (top, first), (usual_top, usual_first) = result.found(setting.pooling, setting.ranking), result.found(result.declared)
    asked = of.answered[at]
    return pd.DataFrame({
        "query": [of.queries[q] for q in asked], "better": ["chosen" if first[k] == 1 else "declared" for k in at],
        "declared rank": usual_first[at], "chosen rank": first[at],
        "declared first": [of.documents[d] for d in usual_top[at, 0]] if len(at) else [],
        "chosen first": [of.documents[d] for d in top[at, 0]] if len(at) else [],
        "answer": [of.documents[of.relevant(int(q))[0]] for q in asked],
        "query id": [of.query_ids[q] for q in asked]})


def cost(data: PoolingData, setting: Setting) -> str:
    """What the chosen way loses or gains against the declared one, in a sentence; empty where it is the declared one."""
    result = data.result
    row = data.row(setting.pooling, setting.metric, setting.ranking)
    if row.difference is None or (setting.pooling == result.declared and setting.ranking == COSINE):
        return ""
    flipped = result.flips(setting.pooling, setting.ranking)
    lost = int((result.found(result.declared)[1][flipped] == 1).sum())
    gap = f"{signed(row.difference.value)} {interval_text(row.difference.low, row.difference.high)}".strip()
    words = f"{METRIC_WORDS[setting.metric]} {gap} against {result.declared} under cosine, on the same {row.difference.n:,} queries"
    if row.p_holm is None or row.p_holm >= ALPHA:
        verdict = "whether that is a difference we cannot tell" if row.difference.value else "no difference"
    else:
        verdict = "more than these queries' chance" if row.difference.value else "no difference"
    p = "" if row.p_holm is None else f" (p {caption_number(row.p_holm)} after Holm)"
    return f"{words}: {verdict}{p}. {lost:,} queries lose their answer from rank 1, {len(flipped) - lost:,} gain it."


def signed(value: float) -> str:
    """A difference with its sign."""
    return f"+{caption_number(value)}" if value > 0 else caption_number(value)


def finding(data: PoolingData) -> str:
    """The page's computed sentence: which pooling finds best, what is worse for certain, and what cannot be told."""
    result = data.result
    own = [data.row(name, PRIMARY) for name in result.poolings]
    best = max((row for row in own if row.pooling != UNMASKED_POOLING), key=lambda row: row.value.value)
    declared = data.row(result.declared, PRIMARY)
    who = f"{result.declared}, which the model declares," if result.meta["declared"] else f"{MEAN} (the model declares none)"
    first = f"On {data.of.name}, {who} has an nDCG@10 of {caption_number(declared.value.value)} " \
        f"{interval_text(declared.value.low, declared.value.high)} over {declared.value.n:,} queries".rstrip() + "."
    if best.pooling != result.declared and best.value.value > declared.value.value:
        told = "more than chance" if best.p_holm is not None and best.p_holm < ALPHA else "which may be chance"
        first += f" {best.pooling} stands highest, {signed(best.value.value - declared.value.value)} above it, {told}."
    others = [data.row(name, PRIMARY) for name in result.names if name != result.declared]
    groups: dict[str, list[str]] = {"worse": [], "better": [], "open": [], "equal": []}
    for row in others:
        sure = row.p_holm is not None and row.p_holm < ALPHA
        gap = row.difference.value if row.difference else 0.0
        groups["worse" if sure and gap < 0 else "better" if sure else "equal" if not gap else "open"].append(row.pooling)
    said = [(groups["worse"], "worse: "), (groups["better"], "better: "), (groups["equal"], "the same ranking: "),
            (groups["open"], "not to be told apart from it by so many queries: ")]
    listed = "; ".join(f"{words}{', '.join(names)}" for names, words in said if names)
    return f"{first} {listed[0].upper()}{listed[1:]} (p below 0.05 after Holm)." if listed else first


def prompts_effect(with_prompts: PoolingData, without: PoolingData, metric: str) -> tuple[Interval, float]:
    """Difference that the declared prompts make to the declared pooling, with its p; same queries."""
    one, other = (side.result.per_query(side.result.declared, metric) for side in (with_prompts, without))
    gap = (one - other)[:, None]
    return bootstrap_means(gap, "queries")[0], float(randomisation_p(gap)[0])


def company_lines(found: StoredResult, metric: str, document: int) -> list[CompanyLine]:
    """What company does to the masked and to the unmasked mean."""
    m = METRICS.index(metric)
    out = []
    for name, key in ((MASKED, "masked"), (UNMASKED, "unmasked")):
        drift: FloatArray = found.arrays[f"drift_{key}"]
        values = found.arrays[f"metrics_{key}"][:, m]
        out.append(CompanyLine(name, drift, bootstrap_means(values.T, "queries"), drift[:, document]))
    return out


def company_sizes(found: StoredResult) -> list[str]:
    """Words under the axis."""
    return ["alone" if size == "1" else f"all {int(found.arrays['widths'][-1].max())} wide" if size == "limit" else size
            for size in found.meta["sizes"]]


def chunk_rows(found: StoredResult, metric: str) -> list[IntervalRow]:
    """Truncation as the reference, and each way of chunking beside it."""
    m = METRICS.index(metric)
    values: FloatArray = found.arrays["metrics"][:, m].T
    gaps = values - values[:, :1]
    p = randomisation_p(gaps)
    means, differences = bootstrap_means(values, "queries"), bootstrap_means(gaps, "queries")
    ways = [f"{way} tokens" for way in found.meta["ways"][1:]]
    return [IntervalRow("cut at the limit", REFERENCE, means[0]),
            *(IntervalRow(way, PLAIN, means[k], differences[k], float(p[k])) for k, way in enumerate(ways, start=1))]


def unseen_shares(found: StoredResult) -> FloatArray:
    """(n_documents,) share of each document's tokens that the model never saw."""
    return np.asarray(1 - found.arrays["read_tokens"] / found.arrays["full_tokens"])


def umap_planes(data: PoolingData, found: StoredResult) -> list[PooledPlane]:
    """Every pooling's plane by UMAP, with its trustworthiness."""
    n = len(data.of.answered)
    return [PooledPlane(f"{name}, {caption_number(kept)}", plane[:n], plane[n:]) for name, kept, plane in
            zip(found.meta["poolings"], found.meta["trustworthiness"], found.arrays["planes"], strict=True)]


def planes(data: PoolingData) -> list[PooledPlane]:
    """Every pooling's principal plane."""
    n = len(data.of.answered)
    return [PooledPlane(f"{name}, {sum(shares):.0%}", data.result.planes[k, :n], data.result.planes[k, n:])
            for k, (name, shares) in enumerate(zip(data.result.poolings, data.result.meta["plane_shares"], strict=True))]


def answering(of: RetrievalSet) -> list[int]:
    """(n_answered,) the first document that answers each query."""
    return [int(of.relevant(int(q))[0]) for q in of.answered]


def geometry(data: PoolingData) -> pd.DataFrame:
    """How each pooling's vectors lie, a row a pooling."""
    columns = {"mean_cosine": "Random cosine", "alignment": "Alignment", "uniformity": "Uniformity",
               "effective_dims": "Effective dims, coordinates", "effective_axes": "Effective dims, axes"}
    found = data.result.meta["geometry"]
    return pd.DataFrame([{"pooling": name} | {title: found[name][key] for key, title in columns.items()}
                         for name in data.result.poolings]).astype(dict.fromkeys(columns.values(), "Float64"))


def configuration(data: PoolingData, setting: Setting) -> str:
    """embedding.yaml of the model as its files declare it, with the pooling in use where that is one to be used."""
    ref = results.model(data.model)
    own = config_of(ref)
    pooling = setting.pooling if setting.pooling in (*POOLINGS, data.result.declared) else own.pooling
    return own.model_copy(update={"pooling": pooling, "normalize": own.normalize or setting.similarity == COSINE}).as_yaml()


def about(data: PoolingData, setting: Setting, version: str) -> dict[str, str]:
    """What a file was made from, enough to make it again."""
    key = data.request.key
    return {"model": key.model_id, "revision": key.model_revision, "set": data.of.name, "set digest": data.of.digest,
            "queries": str(len(data.of.answered)), "documents": str(len(data.of.documents)), "ranking": setting.ranking,
            "parameters": json.dumps(dict(key.params), sort_keys=True), "poolscope": version,
            "versions": json.dumps(data.result.meta.get("versions", {}), sort_keys=True)}
