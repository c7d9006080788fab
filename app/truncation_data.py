"""What the Truncation page shows, put together from stored results: curves, baselines, tables, geometry, the sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app import resources, results
from app.shown_models import ShownModel, ShownModels, load_each
from components.charts.correlation_map import CorrelationBlocks
from components.charts.dim_panels import DASHED, REFERENCE, SOLID, DimLine, DimPanel
from components.charts.layer_panels import BACKBONE, TUNED
from components.charts.truncation_curves import AXES, RANDOM, Baseline, Curve
from components.prefix_residual import floor_loss, floor_mean, floor_share
from components.truncation_advice import Recommendation, embedding_yaml, finding, recommend, smallest
from components.truncation_result import (
    DTYPES,
    FLOAT32,
    MILLION,
    PCA,
    PLAIN,
    SPECIAL,
    TruncationResult,
    bytes_per_vector,
)
from components.truncation_statistics import long_rows, model_differences
from components.types import RetrievalSet

TOKENS = {SPECIAL: "all tokens", PLAIN: "without special tokens"}


@dataclass(frozen=True)
class ModelCuts(ShownModel):
    """One model's stored cuts."""

    result: TruncationResult


@dataclass(frozen=True)
class Cuts(ShownModels[ModelCuts]):
    """All models that the page shows."""

    of: RetrievalSet


def load(set_name: str, model_names: Sequence[str]) -> Cuts:
    """The stored cuts of each model, and the requests to start for those that are not stored.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    models, missing = load_each(model_names, lambda name: results.truncation_request(set_name, name), results.truncation, ModelCuts)
    return Cuts(models, missing, resources.retrieval_set(set_name))


def curves(data: Cuts, metric: str, dtype: str) -> list[Curve]:
    """Each model's metric by dim."""
    return [Curve(one.name, BACKBONE if one.backbone else TUNED, one.colour, one.result.dims,
                  tuple(one.result.value(metric, dim, dtype) for dim in one.result.dims)) for one in data.models]


def baselines(one: ModelCuts, metric: str) -> list[Baseline]:
    """Random coordinates and other texts' axes of one model, as float32; without what was not measured."""
    out, result = [], one.result
    drawn = {dim: values for dim in result.dims if len(values := result.random(metric, dim))}
    if drawn:
        every = list(drawn.values())
        out.append(Baseline(RANDOM, one.name, one.colour, tuple(drawn), np.array([np.median(v) for v in every]),
                            np.array([v[0] for v in every]), np.array([v[-1] for v in every]), result.meta["draws"]))
    axes = {dim: found for dim in result.dims if np.isfinite((found := result.value(metric, dim, FLOAT32, PCA)).value)}
    if axes:
        values, low, high = (np.array(part, float) for part in zip(*(
            (m.value, m.value if m.low is None else m.low, m.value if m.high is None else m.high) for m in axes.values()), strict=True))
        out.append(Baseline(AXES, one.name, one.colour, tuple(axes), values, low, high))
    return out


def cut_table(one: ModelCuts, metric: str) -> pd.DataFrame:
    """Every dim and dtype of a model: bytes, the metric, and what is lost in points."""
    rows = []
    for dim in one.result.dims:
        for dtype in DTYPES:
            value, loss = one.result.value(metric, dim, dtype), one.result.loss(metric, dim, dtype)
            size = bytes_per_vector(dim, dtype)
            rows.append({"dims": dim, "kept as": dtype, "bytes": size, "MB a million": size * MILLION / 1e6, "value": value.value,
                         "low": value.low, "high": value.high, "lost": 100 * loss.value,
                         "lost low": None if loss.low is None else 100 * loss.low,
                         "lost high": None if loss.high is None else 100 * loss.high,
                         "p": p_words(one.result.p(metric, dim) if dtype == FLOAT32 else None), "tied": one.result.tied(dim, dtype)})
    return pd.DataFrame(rows).astype(dict.fromkeys(("value", "low", "high", "lost", "lost low", "lost high"), "Float64"))


def p_words(p: float | None) -> str:
    """A p for a cell; blank where nothing was tested."""
    return "" if p is None else f"{p:.4f}"


def differences(data: Cuts, metric: str, dtype: str) -> pd.DataFrame:
    """The first model minus each other, in points, at every dim that both were cut to."""
    rows = []
    for other in data.models[1:]:
        for found in model_differences(data.first.result, other.result, metric, dtype):
            value = found.value
            rows.append({"minus": other.name, "dims": "full" if found.dim is None else f"{found.dim:,}", "points": 100 * value.value,
                         "low": None if value.low is None else 100 * value.low,
                         "high": None if value.high is None else 100 * value.high, "p": found.p,
                         "p corrected": found.p_holm, "n": value.n})
    table = pd.DataFrame(rows, columns=["minus", "dims", "points", "low", "high", "p", "p corrected", "n"])
    return table.astype(dict.fromkeys(("points", "low", "high", "p", "p corrected"), "Float64"))


def advice(one: ModelCuts, metric: str, points: float, dtype: str) -> Recommendation:
    """The smallest dim that stays within so many points, kept as a dtype."""
    return recommend(one.result, metric, points, dtype)


def fewest_bytes(one: ModelCuts, metric: str, points: float) -> Recommendation:
    """The recommendation of fewest bytes over all dtypes."""
    return smallest(one.result, metric, points)


def findings(data: Cuts, metric: str, points: float, dtype: str) -> list[str]:
    """A sentence for each model."""
    return [finding(one.name, one.result, advice(one, metric, points, dtype)) for one in data.models]


def yaml_lines(one: ModelCuts, best: Recommendation) -> str:
    """The recommendation as embedding.yaml."""
    return embedding_yaml(one.request.key, one.result, best)


def maps(one: ModelCuts, dim: int) -> list[CorrelationBlocks]:
    """|C| at a dim, with and without special tokens."""
    titles = {SPECIAL: "All tokens", PLAIN: "Without special tokens"}
    return [CorrelationBlocks(f"{titles[tokens]}, {one.result.meta['n_correlated'][tokens]:,} texts", *one.result.map(dim, tokens))
            for tokens in TOKENS]


def floors(result: TruncationResult, tau: float, tokens: int) -> tuple[float, float]:
    """Mean |C| and its share above tau that independent coordinates give."""
    sigma = result.sigma(tokens)
    return floor_mean(sigma), float(floor_share(np.array([tau]), sigma)[0])


def geometry_panels(data: Cuts, tau: float) -> list[DimPanel]:
    """Share of |C| above tau with its floor, effective dims, uniformity and L_cv, by dim."""
    share, coordinates, axes, uniform, cv, nce = [], [], [], [], [], []
    for one in data.models:
        result, dims = one.result, np.array(one.result.dims, dtype=float)
        coordinates.append(DimLine(one.name, one.colour, SOLID, dims, _column(result, "effective_dims")))
        axes.append(DimLine(one.name, one.colour, SOLID, dims, _column(result, "effective_axes")))
        uniform.append(DimLine(one.name, one.colour, SOLID, dims, _column(result, "uniformity")))
        nce.append(DimLine(one.name, one.colour, SOLID, dims, np.array([result.info_nce(dim) for dim in result.dims])))
        if not result.has_tokens:
            continue
        cv.append(DimLine(one.name, one.colour, SOLID, dims, np.array([result.term("cv", dim) for dim in result.dims])))
        for tokens, dash in ((SPECIAL, SOLID), (PLAIN, DASHED)):
            share.append(DimLine(one.name, one.colour, dash, dims[:-1],
                                 np.array([result.share_above(dim, tau, tokens) for dim in result.dims[:-1]]), words=TOKENS[tokens]))
        if one is data.first and np.isfinite(result.sigma(SPECIAL)):
            floor = floors(result, tau, SPECIAL)[1]
            share.append(DimLine(f"independent noise, {one.name}'s texts", None, REFERENCE, dims[:-1],
                                 np.full(len(dims) - 1, floor), False))
    missing = "Not available for these models"
    return [DimPanel(f"Share of |C| above τ = {tau:g}", tuple(share), missing=missing),
            DimPanel("Effective dims by coordinate", tuple(coordinates)), DimPanel("Effective dims by principal axis", tuple(axes)),
            DimPanel("Unevenness of coordinates L_cv", tuple(cv), missing=missing),
            DimPanel("Uniformity of documents", tuple(uniform)), DimPanel("Matryoshka's loss InfoNCE", tuple(nce))]


def _column(result: TruncationResult, name: str) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([result.geometry(name, dim) for dim in result.dims])


def spectrum_panels(data: Cuts) -> list[DimPanel]:
    """Variance of each coordinate in its order, and of each principal axis, as shares of the whole."""
    def lines(name: str) -> tuple[DimLine, ...]:
        out = []
        for one in data.models:
            values = np.asarray(one.result.arrays[name], np.float64)
            whole = values.sum()
            shares = values / whole if whole > 0 else values
            out.append(DimLine(one.name, one.colour, SOLID, np.arange(1.0, len(values) + 1), shares, False))
        return tuple(out)

    def panel(title: str, name: str, axis: str) -> DimPanel:
        return DimPanel(title, lines(name), axis, log_x=False, log_y=True)

    return [panel("Share of variance of each coordinate", "variance", "Coordinate"),
            panel("Share of variance of each principal axis", "spectrum", "Axis, most variance first")]


def terms_table(one: ModelCuts, tau: float) -> pd.DataFrame:
    """Each term of MIC's loss by dim, with and without special tokens, and what independent noise gives of L_corr and mean |C|."""
    rows = []
    for dim in one.result.dims:
        for tokens, words in TOKENS.items():
            result, sigma = one.result, one.result.sigma(tokens)
            cv, uniform = result.term("cv", dim, tokens), result.term("uniformity", dim, tokens)
            cut = dim < result.full
            rows.append({"dims": dim, "tokens": words, "mean |C|": result.mean_correlation(dim, tokens),
                         "noise |C|": floor_mean(sigma) if cut else np.nan, "L_corr": result.correlation_loss(dim, tau, tokens),
                         "noise L_corr": float(floor_loss(np.array([tau]), sigma)[0]) if cut else np.nan,
                         "L_var": result.term("variance_floor", dim, tokens), "L_cv": cv, "L_unif": uniform,
                         "L_SIR": (cv + uniform) / 2, "InfoNCE": result.info_nce(dim)})
    return pd.DataFrame(rows)


def long_table(data: Cuts) -> pd.DataFrame:
    """Every number of every model shown: model, dim, dtype, metric, value, low, high."""
    table = pd.DataFrame([row for one in data.models for row in long_rows(one.name, one.result)])
    return table.astype(dict.fromkeys(("value", "low", "high"), "Float64"))


def about(data: Cuts, version: str) -> dict[str, str]:
    """What a file was made from, enough to make it again."""
    return {"models": ", ".join(one.request.key.model_id for one in data.models),
            "revisions": ", ".join(one.request.key.model_revision for one in data.models),
            "set": data.of.name, "set digest": data.of.digest, "queries": str(data.first.result.n("ndcg@10")),
            "documents": str(len(data.of.documents)), "parameters": json.dumps(dict(data.first.request.key.params), sort_keys=True),
            "poolscope": version, "versions": json.dumps(data.first.result.meta.get("versions", {}), sort_keys=True)}


