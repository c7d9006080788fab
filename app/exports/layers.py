"""The Layers page's view as a file: every quantity by layer, its distribution at one, and every head's lambda."""

from __future__ import annotations

import pandas as pd

from app import layer_data, widgets
from app.exports.common import command, headline
from app.layer_data import MAIN, MORE, TITLES, Layers, panels
from app.views import layers_parts
from app.views.layers_parts import LOOKED_AT
from components.charts.head_map import head_map, head_map_alt
from components.charts.layer_panels import layer_panels, layer_panels_alt
from components.charts.style import LIGHT
from components.charts.text_shares import text_shares, text_shares_alt
from components.html_export import FigurePart, TablePart, View
from components.layer_curves import QUANTITIES
from components.types import FINAL, Layer

TITLE = "At which layers do a text's tokens gather round their mean?"
READING = ("Each line is a model, its band a 95% interval over texts. Where normalised spread falls, tokens close in on their mean "
           "and mean pooling has less to lose.")


def layers_view(data: Layers, quantity: str, layer: Layer, *, published: bool) -> View:
    """The view of up to four models.

    Args:
        quantity: the one whose distribution over texts is drawn.
        layer: of the first model, for the headline and the distribution.
        published: whether the paper's curves are drawn beside.
    """
    first = data.first
    found = panels(data, MAIN, published=published)
    more = panels(data, MORE, published=False)
    parts: list[FigurePart | TablePart] = [FigurePart(
        layer_panels(found, LIGHT, axis=data.axis, chosen=data.depth(first, layer), ticks=data.ticks()), layer_panels_alt(found),
        layers_parts.caption(data) + f" SOCM: {first.curves.pairs_in_words}; dotted, the ceiling of its mean after Theorem 2.")]
    table = means_table(data)
    parts.append(TablePart("Means by layer", table, len(table), "With the ends of 95% intervals over texts; empty where there is "
                           "none. Every text's numbers: poolscope layers."))
    if columns := layer_data.values_at(data, quantity, layer):
        parts.append(FigurePart(text_shares(columns, LIGHT, quantity_label=TITLES[quantity]),
                                text_shares_alt(columns, quantity_label=TITLES[quantity]),
                                f"Share of texts at or below each value. {layers_parts.caption(data)}",
                                f"{widgets.plain(TITLES[quantity])} over texts, {layers_parts.layer_words(layer)}"))
    if first.curves.available:
        parts.append(FigurePart(head_map(first.curves.heads(), LIGHT), head_map_alt(first.curves.heads()),
                                layers_parts.heads_caption(data), f"λ of every head of {widgets.plain(first.name)}"))
    parts.append(FigurePart(layer_panels(more, LIGHT, axis=data.axis, ticks=data.ticks()), layer_panels_alt(more),
                            layers_parts.more_caption(data), "Measured, beside the theorem"))
    over = next(name for name, what in LOOKED_AT.items() if what == quantity)
    options: list[tuple[str, str | bool | None]] = [("--model", one.request.key.model_id) for one in data.models]
    options += [("--texts", data.corpus.name),
                ("--layer", None if layer == FINAL else str(layer)), ("--over", over if over != next(iter(LOOKED_AT)) else None),
                ("--published", published)]
    return View(TITLE, f"{', '.join(one.name for one in data.models)}, {data.corpus.name}", READING,
                headline(layers_parts.numbers(data, layer)), parts, widgets.plain(layer_data.finding(data)), layers_parts.notes(data),
                layer_data.about(data, widgets.version()), command("layers", options))


def means_table(data: Layers) -> pd.DataFrame:
    """Every quantity's mean at every layer of every model: columns model, quantity, layer, mean, low, high, texts."""
    rows = []
    for one in data.models:
        for quantity in QUANTITIES:
            layers, means = one.curves.curve(quantity)
            rows += [{"model": one.name, "quantity": TITLES.get(quantity, quantity), "layer": str(layer), "mean": mean.value,
                      "low": mean.low, "high": mean.high, "n": mean.n} for layer, mean in zip(layers, means, strict=True)]
        for layer in (*range(one.curves.n_layers + 1), FINAL):
            socm = one.curves.pairs(layer)["socm"]
            rows.append({"model": one.name, "quantity": TITLES["socm"], "layer": str(layer), "mean": socm.value, "low": socm.low,
                         "high": socm.high, "n": socm.n})
    table = pd.DataFrame(rows)
    return table.astype(dict.fromkeys(("mean", "low", "high"), "Float64"))
