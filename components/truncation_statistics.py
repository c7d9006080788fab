"""Intervals of what cuts keep and lose, and of what one model keeps more than another, on the same queries, pairs and texts.

Percentile bootstrap and paired randomisation from ``query_statistics``. All ways of cutting are drawn by the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from components.errors import DataError
from components.pooling_result import SPEARMAN
from components.query_statistics import bootstrap_means, holm, randomisation_p, spearman_difference, spearman_interval
from components.retrieval import METRICS
from components.truncation_result import (
    BITS,
    FLOAT32,
    GEOMETRY,
    OF,
    PCA,
    PLAIN,
    PREFIX,
    QUALITY,
    SPECIAL,
    TERMS,
    TruncationResult,
    Variant,
    bytes_per_vector,
)
from components.types import FloatArray, Interval


def losses_of(each: Mapping[str, Sequence[FloatArray]], grades: FloatArray, variants: Sequence[Variant]) -> dict[str, FloatArray]:
    """Every variant's metrics and losses with intervals.

    Args:
        each: metric -> (n,) values for each variant, empty where not measured; cosines of the pairs for Spearman.
        grades: of the pairs.
        variants: the full float32 prefix, with which all others are compared, among them.

    Returns:
        estimates, losses: (n_variants, n_metrics, 3) value, low, high; NaN for what there is not. p_holm: (n_variants, n_metrics)
        of float32 prefixes' losses, Holm-corrected over the shorter dims for each metric; NaN elsewhere.
    """
    full = max(k for k, variant in enumerate(variants) if variant.method == PREFIX and variant.dtype == FLOAT32)
    shape = (len(variants), len(QUALITY))
    out = {"estimates": np.full((*shape, 3), np.nan), "losses": np.full((*shape, 3), np.nan), "p_holm": np.full(shape, np.nan)}
    p = np.full(shape, np.nan)
    for k, variant in enumerate(variants):
        tested = variant.method == PREFIX and variant.dtype == FLOAT32 and k != full
        together = [metric for metric in METRICS if len(each[metric][k])]
        for group in (together, *([metric] for metric in QUALITY if metric not in METRICS and len(each[metric][k]))):
            if group == [SPEARMAN]:
                found = [spearman_interval(each[SPEARMAN][k], grades, "pairs")]
                gap, chance = spearman_difference(each[SPEARMAN][full], each[SPEARMAN][k], grades, "pairs")
                gaps, chances = [gap], [chance]
            elif group:
                values, whole = (np.stack([each[metric][row] for metric in group], axis=1) for row in (k, full))
                both = bootstrap_means(np.concatenate([values, whole - values], axis=1), OF.get(group[0], "queries"))
                found, gaps = both[:len(group)], both[len(group):]
                chances = randomisation_p(whole - values).tolist() if tested else []
            else:
                continue
            for at, metric in enumerate(group):
                m = QUALITY.index(metric)
                out["estimates"][k, m], out["losses"][k, m] = _numbers(found[at]), _numbers(gaps[at])
                if tested:
                    p[k, m] = chances[at]
    for m in range(shape[1]):
        out["p_holm"][:, m] = holm(p[:, m].tolist())
    return out


def _numbers(interval: Interval) -> list[float]:
    return [interval.value, *(float("nan") if end is None else end for end in (interval.low, interval.high))]


class Difference(NamedTuple):
    """What one model's prefix has more than another's.

    Attributes:
        dim: of both; None where each stands at its own full dim and these differ.
        value: one minus other, over the same queries, pairs, texts or documents.
        p, p_holm: randomisation p, and corrected over the dims compared.
    """

    dim: int | None
    value: Interval
    p: float
    p_holm: float


def model_differences(one: TruncationResult, other: TruncationResult, metric: str, dtype: str = FLOAT32) -> list[Difference]:
    """One model minus another at every dim that both were cut to, and at full dim; measured on the same set.

    For overlap each model is held against its own full vector's neighbours, over the same documents.

    Raises:
        DataError: the two rest on different sets.
    """
    if one.meta["set_digest"] != other.meta["set_digest"]:
        raise DataError("models", "must be measured on one set to be compared", f"{one.meta['corpus']} and {other.meta['corpus']}",
                        "measure both on one set")
    shared: list[tuple[int | None, int, int]] = [(dim, dim, dim) for dim in one.dims if dim in other.dims]
    if one.full != other.full:
        shared.append((None, one.full, other.full))
    found = [(dim, *_difference(one.each(metric, a, dtype), other.each(metric, b, dtype), one.grades, metric)) for dim, a, b in shared]
    return [Difference(dim, value, p, corrected)
            for (dim, value, p), corrected in zip(found, holm([p for _, _, p in found]), strict=True)]


def _difference(one: FloatArray, other: FloatArray, grades: FloatArray, metric: str) -> tuple[Interval, float]:
    if metric == SPEARMAN:
        return spearman_difference(one, other, grades, "pairs")
    gap = (one - other)[:, None]
    return bootstrap_means(gap, OF.get(metric, "queries"))[0], float(randomisation_p(gap)[0])


def long_rows(name: str, result: TruncationResult) -> list[dict[str, Any]]:
    """One row for each dim, dtype and metric of the prefixes: model, dim, dtype, metric, value, low, high; None where not given.

    Geometry and MIC's terms, which have no interval, follow for float32.
    """
    rows = []
    for method, dim, dtype in result.variants:
        if method == PREFIX:
            for metric in QUALITY:
                found = result.value(metric, dim, dtype)
                rows.append((dim, dtype, metric, found.value, found.low, found.high))
    for dim in result.dims:
        rows += [(dim, FLOAT32, name_, result.geometry(name_, dim), None, None) for name_ in GEOMETRY]
        rows.append((dim, FLOAT32, "info_nce", result.info_nce(dim), None, None))
        if result.has_tokens:
            for tokens, end in ((SPECIAL, ""), (PLAIN, "_without_special")):
                rows.append((dim, FLOAT32, f"mean_abs_c{end}", result.mean_correlation(dim, tokens), None, None))
                rows += [(dim, FLOAT32, f"mic_{term}{end}", result.term(term, dim, tokens), None, None) for term in TERMS]
    return [{"model": name, "dim": dim, "dtype": dtype, "metric": metric, "value": value if np.isfinite(value) else None,
             "low": low, "high": high} for dim, dtype, metric, value, low, high in rows]


def summary(result: TruncationResult) -> dict[str, Any]:
    """Everything of a result as JSON values: per dim its quality as each dtype, losses, baselines and geometry."""
    def plain(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    def one(interval: Interval) -> dict[str, Any]:
        return {"value": plain(interval.value), "interval": None if interval.low is None else [interval.low, interval.high]}

    by_dim: dict[str, Any] = {}
    for dim in result.dims:
        kept: dict[str, Any] = {}
        for dtype in BITS:
            metrics = {metric: one(result.value(metric, dim, dtype)) | {"loss": one(result.loss(metric, dim, dtype))}
                       for metric in QUALITY}
            kept[dtype] = {"bytes_per_vector": bytes_per_vector(dim, dtype),
                           "tied_queries": result.tied(dim, dtype), "metrics": metrics}
        for metric in QUALITY:
            kept[FLOAT32]["metrics"][metric]["p_holm"] = result.p(metric, dim)
        drawn = {metric: result.random(metric, dim) for metric in QUALITY}
        by_dim[str(dim)] = {
            **kept, "pca": {metric: one(result.value(metric, dim, FLOAT32, PCA)) for metric in QUALITY},
            "random": {metric: [values[0], float(np.median(values)), values[-1]] for metric, values in drawn.items() if len(values)},
            "geometry": {name: plain(result.geometry(name, dim)) for name in GEOMETRY}, "info_nce": plain(result.info_nce(dim))}
    meta = result.meta
    return {"n": dict(meta["n"]), "full_dim": result.full, "pooling": meta["pooling"], "truncated": meta["n_cut_documents"],
            "draws": meta["draws"], "chance_overlap": result.chance_overlap, "dims": by_dim}
