"""What the Training page draws: curves over the steps, and the map, layers and tokens of one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.training_data import Run
from components.charts.layer_panels import BACKBONE, TUNED, Line, Panel
from components.charts.training_curves import MEASURED, REFERENCE, SECOND_REFERENCE, STEPWISE, Curve, CurvePanel
from components.token_pair import Projection
from components.training_record import quantity
from components.types import FloatArray, Interval

TERMS = {"total": "Loss on the probe", "mrl": "Matryoshka part", "scr": "SCR (spectrum)", "sir": "SIR (prefix and residual)",
         "correlation": "Mean |C|, prefix and residual", "variance": "Variance term", "cv": "CV of variances",
         "uniformity": "Uniformity"}
AXES = ("From mean to mean", "Where the covariances differ most")


def _curve(run: Run, name: str, kind: str = MEASURED, words: str = "") -> Curve:
    found = [(line["step"], value) for line in run.rec.lines if (value := quantity(line, name)) is not None]
    none = np.nan
    ends = [(none if v.low is None else v.low, none if v.high is None else v.high) for _, v in found]
    return Curve(run.title, run.colour, kind, np.array([step for step, _ in found], dtype=np.int64),
                 np.array([v.value for _, v in found], dtype=float), np.array([low for low, _ in ends], dtype=float),
                 np.array([high for _, high in ends], dtype=float), words)


def _stepwise(run: Run) -> Curve:
    record, none = run.rec, np.full(len(run.rec.steps), np.nan)
    return Curve(run.title, run.colour, STEPWISE, record.steps, record.losses, none, none)


def panels(runs: Sequence[Run]) -> list[CurvePanel]:
    """The page's own panels."""
    small, full = runs[0].dims
    d_sigma = [curve for run in runs for curve in (
        _curve(run, "mean_d_sigma"), _curve(run, "socm_within", REFERENCE, "halves of one text"),
        _curve(run, "socm_between", SECOND_REFERENCE, "halves of two texts"))]
    return [CurvePanel("Training loss", tuple(_stepwise(run) for run in runs), "No step yet"),
            CurvePanel("Mean SOCM", tuple(_curve(run, "mean_socm") for run in runs)),
            CurvePanel("Mean covariance distance dΣ", tuple(c for c in d_sigma if len(c.steps))),
            CurvePanel(f"Recall@10, {small} dims", tuple(_curve(run, f"recall_at_10_dim_{small}") for run in runs)),
            CurvePanel(f"Recall@10, {full} dims (all)", tuple(_curve(run, f"recall_at_10_dim_{full}") for run in runs)),
            CurvePanel(f"Effective dims of {full}, by axes", tuple(_curve(run, f"effective_dims_axes_dim_{full}") for run in runs))]


def layer_curves(runs: Sequence[Run]) -> list[CurvePanel]:
    """Normalised spread over the steps, a panel for each layer."""
    return [CurvePanel(f"Normalised spread, layer {layer}", tuple(_curve(run, f"normalized_spread_layer_{layer}") for run in runs))
            for layer in runs[0].layers]


def term_curves(runs: Sequence[Run]) -> list[CurvePanel]:
    """The loss on the probe's pairs and its terms, measured for every loss."""
    made = [CurvePanel(words, tuple(_curve(run, f"loss_{term}") for run in runs)) for term, words in TERMS.items()]
    return [panel for panel in made if any(len(curve.steps) for curve in panel.curves)]


def layer_profile(runs: Sequence[Run], step: int) -> tuple[Panel, float]:
    """Normalised spread by layer before training and at the step, and the axis's end for all steps."""
    def line(run: Run, at: int, role: str, name: str, colour: int) -> Line:
        spread = run.rec.line(at)["spread"]
        return Line(name, role, colour, tuple(int(layer) for layer in run.layers), np.array([float(x) for x in run.layers]),
                    tuple(Interval(**spread[layer]) for layer in run.layers))

    lines = [line(runs[0], 0, BACKBONE, "before training", 3), *(line(run, step, TUNED, run.title, run.colour) for run in runs)]
    high = max(float(one["spread"][layer]["high"] or one["spread"][layer]["value"]) for run in runs for one in run.rec.lines
               for layer in run.layers)
    return Panel("Normalised spread S/‖μ‖²", tuple(lines)), 1.04 * high


@dataclass(frozen=True)
class Drawn:
    """The pairs of a probe at a step, with ranges that hold at all steps of all runs shown."""

    d_mu: FloatArray
    d_sigma: FloatArray
    mu_range: tuple[float, float]
    sigma_range: tuple[float, float]
    socm_range: tuple[float, float]


def drawn_pairs(run: Run, runs: Sequence[Run], step: int) -> Drawn | None:
    """What the small map shows; None where that step's file cannot be read."""
    now = run.rec.views.get(int(run.rec.line(step)["step"]))
    if now is None:
        return None
    every = [(np.asarray(view["d_mu"], float), np.asarray(view["d_sigma"], float)) for one in runs for view in one.rec.views.values()]
    mu, sigma = np.concatenate([a for a, _ in every]), np.concatenate([b for _, b in every])
    socm = (1 - mu) * sigma

    def around(values: FloatArray) -> tuple[float, float]:
        low, high = float(values.min()), float(values.max())
        return low - 0.02 * (high - low or 1), high + 0.02 * (high - low or 1)

    return Drawn(np.asarray(now["d_mu"], float), np.asarray(now["d_sigma"], float), around(mu), around(sigma),
                 (float(socm.min()), float(socm.max())))


def top_pairs(run: Run, step: int, most: int = 5) -> pd.DataFrame:
    """The pairs of largest SOCM at the step, with their texts."""
    view, texts = run.rec.views.get(int(run.rec.line(step)["step"])), run.rec.words.get("texts", [])
    if view is None or not texts:
        return pd.DataFrame()
    mu, sigma = np.asarray(view["d_mu"], float), np.asarray(view["d_sigma"], float)
    best = np.argsort(-(1 - mu) * sigma, kind="stable")[:most]
    return pd.DataFrame({"SOCM": ((1 - mu) * sigma)[best], "d_mu": mu[best], "d_sigma": sigma[best],
                         "text A": [texts[int(view["pair_i"][k])] for k in best],
                         "text B": [texts[int(view["pair_j"][k])] for k in best]})


def pairs_shown(run: Run) -> dict[str, tuple[str, str]]:
    """The pairs whose tokens are kept: number from 1, as text -> both texts."""
    texts = run.rec.words.get("texts", [])
    return {str(k + 1): (texts[2 * k], texts[2 * k + 1]) for k in range(len(run.rec.words.get("tokens", [])) // 2)}


@dataclass(frozen=True)
class Tokens:
    """A pair's tokens at a step: their plane, words, shares of spread, the pair's numbers, and the span for all steps."""

    plane: Projection
    words: tuple[list[str], list[str]]
    shares: tuple[FloatArray, FloatArray]
    d_mu: float | None
    d_sigma: float | None
    span: float


def pair_tokens(run: Run, runs: Sequence[Run], step: int, number: int) -> Tokens | None:
    """The tokens of a pair shown; None where that step's file cannot be read or the pair had no plane."""
    view = run.rec.views.get(int(run.rec.line(step)["step"]))
    sides = [f"plane_{number}_{side}" for side in "ab"]
    if view is None or sides[0] not in view:
        return None
    tokens = run.rec.words["tokens"]
    points = [np.asarray(view[side], float) for side in sides]
    plane = Projection("Means and covariances", np.eye(2), points[0], points[1], None, AXES)
    every = [np.concatenate([np.asarray(other[side], float) for side in sides]) for one in runs for other in one.rec.views.values()
             if sides[0] in other]
    span = 1.15 * max(float(np.ptp(both, axis=0).max()) for both in every)
    at = np.flatnonzero((np.asarray(view["pair_i"]) == 2 * number) & (np.asarray(view["pair_j"]) == 2 * number + 1))
    d_mu, d_sigma = (float(view[name][at[0]]) if len(at) else None for name in ("d_mu", "d_sigma"))
    return Tokens(plane, (tokens[2 * number], tokens[2 * number + 1]),
                  (np.asarray(view[f"share_{number}_a"], float), np.asarray(view[f"share_{number}_b"], float)), d_mu, d_sigma, span)
