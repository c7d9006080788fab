"""What the Layers page shows, put together from stored results: panels, distributions, extreme texts, the sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from app import resources, results
from app.shown_models import ShownModel, ShownModels, load_each
from components.charts.layer_panels import BACKBONE, BOUND, PUBLISHED, TUNED, Line, Panel
from components.layer_curves import LayerCurves, LayerOptions
from components.layer_findings import layer_finding, tuning_finding
from components.published import layer_curves as published_curves
from components.types import FINAL, Corpus, FloatArray, Interval, Layer

TITLES = {"lambda": "Attention contraction λ", "r": "Residual ratio r", "C": "Token transform C",
          "normalized_spread": "Normalised spread S/‖μ‖²", "mean_cosine": "Mean token cosine",
          "mean_cosine_no_self": "Mean token cosine, no self-pairs", "attention_gain": "Attention's spread S(Z)/S(H)",
          "residual_gain": "Spread after the sum S(Y)/S(H)", "scale": "Theorem 1's scale (1+√λ)² r C", "socm": "Mean SOCM"}
MAIN = ("lambda", "r", "C", "normalized_spread", "mean_cosine", "socm")
MORE = ("attention_gain", "residual_gain", "scale", "mean_cosine_no_self")
LEVELLED = ("lambda", "C", "attention_gain", "residual_gain")
"""Ratios of spread to spread: below 1 it shrinks."""
EXTREMES = 8
FINAL_STEP = 0.6
"""How far beyond the last layer "final" is drawn, in layers, where the model normalises once more."""


@dataclass(frozen=True)
class ModelLayers(ShownModel):
    """One model's stored layers."""

    curves: LayerCurves


@dataclass(frozen=True)
class Layers(ShownModels[ModelLayers]):
    """All models that the page shows, and one axis for them."""

    corpus: Corpus

    @property
    def relative(self) -> bool:
        """Whether the axis is relative depth, since the models differ in layers."""
        return len({one.curves.n_layers for one in self.models}) > 1

    @property
    def axis(self) -> str:
        return "Relative depth (layer / L)" if self.relative else "Layer"

    def depth(self, one: ModelLayers, layer: Layer) -> float:
        """Where a layer of a model lies on the axis."""
        last = one.curves.n_layers
        at = float(layer) if layer != FINAL else last + (FINAL_STEP if one.curves.final_differs else 0.0)
        return at / last if self.relative else at

    def ticks(self) -> list[tuple[float, str]]:
        """Words on the axis, where plotly's own would not do: the state that pooling sees after one more norm."""
        ended = [one for one in self.models if one.curves.final_differs]
        if self.relative or not ended:
            return []
        last = ended[0].curves.n_layers
        step = max(1, last // 6)
        return [*((float(k), str(k)) for k in range(0, last + 1, step)), (self.depth(ended[0], FINAL), "final")]

    def layer_of(self, model: str, layer: str) -> str:
        """The first model's layer at the depth of a layer of one of the models."""
        at: Layer = FINAL if layer == FINAL else int(layer)
        clicked = next((one for one in self.models if one.name == model), self.first)
        return str(self.first.curves.nearest(at, clicked.curves))


def load(corpus_name: str, model_names: Sequence[str]) -> Layers:
    """The stored layers of each model, and the requests to start for those that are not stored.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    models, missing = load_each(model_names, lambda name: results.layers_request(corpus_name, name, LayerOptions()), results.layers,
                                ModelLayers)
    return Layers(models, missing, resources.corpus(corpus_name))


def panels(data: Layers, quantities: Sequence[str], *, published: bool) -> list[Panel]:
    """One panel for each quantity."""
    return [_panel(data, quantity, published) for quantity in quantities]


def _panel(data: Layers, quantity: str, published: bool) -> Panel:
    lines: list[Line] = []
    for one in data.models:
        if quantity == "socm":
            lines += _pair_lines(data, one)
            continue
        layers, means = one.curves.curve(quantity)
        if layers:
            lines.append(_line(data, one, layers, means))
    known = published_curves().get(quantity, {}) if published else {}
    for model, points in known.items():
        last = len(points)
        depth = np.array([layer / last if data.relative else layer for layer, _ in points], dtype=float)
        lines.append(Line(model, PUBLISHED, 0, tuple(layer for layer, _ in points), depth,
                          tuple(Interval(value, None, None, 0, "") for _, value in points)))
    return Panel(TITLES[quantity], tuple(lines), "Not available for these models" if not lines else "",
                 1.0 if quantity in LEVELLED else None)


def _line(data: Layers, one: ModelLayers, layers: Sequence[Layer], means: Sequence[Interval]) -> Line:
    if not one.curves.final_differs:  # the last layer once more
        layers, means = zip(*((la, m) for la, m in zip(layers, means, strict=True) if la != FINAL), strict=True)
    return Line(one.name, BACKBONE if one.backbone else TUNED, one.colour, tuple(layers),
                np.array([data.depth(one, layer) for layer in layers]), tuple(means))


def _pair_lines(data: Layers, one: ModelLayers) -> list[Line]:
    """SOCM by layer, and below which Theorem 2 says its mean must lie."""
    layers: list[Layer] = [*range(one.curves.n_layers + 1), FINAL]
    found = [one.curves.pairs(layer) for layer in layers]
    measured = _line(data, one, layers, [means["socm"] for means in found])
    ceiling = _line(data, one, layers, [means["socm_ceiling"] for means in found])
    return [measured, replace(ceiling, role=BOUND, means=tuple(replace(m, low=None, high=None) for m in ceiling.means))]


def values_at(data: Layers, quantity: str, layer: Layer) -> list[tuple[str, bool, int, FloatArray]]:
    """Each model's values over texts at the depth of the first model's layer, for ``text_shares``."""
    out = []
    for one in data.models:
        at = one.curves.nearest(layer, data.first.curves)
        if at in one.curves.layers(quantity):
            where = "final" if at == FINAL else f"layer {at} of {one.curves.n_layers}"
            out.append((f"{one.name}, {where}", one.backbone, one.colour, one.curves.per_text(quantity, at)))
    return out


def extremes(data: Layers, quantity: str, layer: Layer) -> pd.DataFrame:
    """The texts of smallest and largest value under the first model: columns value, tokens, text, row."""
    values = data.first.curves.per_text(quantity, layer)
    order = np.argsort(values, kind="stable")
    order = order[np.isfinite(values[order])]
    rows = order if len(order) <= 2 * EXTREMES else np.concatenate([order[:EXTREMES], order[-EXTREMES:]])
    return pd.DataFrame({"value": values[rows], "tokens": data.first.curves.n_tokens[rows],
                         "text": [data.corpus.texts[i] for i in rows], "row": rows})


def long_table(data: Layers) -> pd.DataFrame:
    """Every number of every model shown: columns model, text, layer, head (empty unless lambda), quantity, value."""
    tables = []
    for one in data.models:
        table = pd.DataFrame(one.curves.long())
        table["head"] = table["head"].astype("Int64").mask(table["head"] == 0)
        table.insert(0, "model", one.name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def about(data: Layers, version: str) -> dict[str, str]:
    """What a file was made from, enough to make it again."""
    return {"models": ", ".join(one.request.key.model_id for one in data.models),
            "revisions": ", ".join(one.request.key.model_revision for one in data.models),
            "corpus": data.corpus.name, "corpus digest": data.corpus.digest, "texts": str(data.first.curves.n_texts),
            "parameters": json.dumps(dict(data.first.request.key.params), sort_keys=True), "poolscope": version,
            "versions": json.dumps(data.first.curves.meta.get("versions", {}), sort_keys=True)}


def finding(data: Layers) -> str:
    """The page's computed sentences: the first model's fall, and each tuned model beside the backbone of its width and depth."""
    parts = [layer_finding(data.first.name, data.first.curves)]
    for backbone in (one for one in data.models if one.backbone):
        for one in data.models:
            if not one.backbone and _one_shape(one, backbone):
                parts.append(tuning_finding(one.name, one.curves, backbone.name, backbone.curves))
    return " ".join(part for part in parts if part)


def _one_shape(one: ModelLayers, other: ModelLayers) -> bool:
    return (one.curves.n_layers, one.curves.n_heads, one.curves.meta["dim"]) == \
        (other.curves.n_layers, other.curves.n_heads, other.curves.meta["dim"])
