"""The Map page's view as a file: plane or planes, SOCM against length, and the pairs of the box or of largest SOCM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from app import tables, widgets
from app.exports.common import command, headline
from app.map_data import Labelled, MapData, by_length, compare
from app.resources import PAIRS
from app.views import map_parts
from app.views.map_comparison import ORDER, WORDS
from app.views.map_controls import DENSITY, MEANS, RELATIONS, Plane
from app.views.map_figures import common_ground, draw, drawn_note
from components.charts.length_curve import length_curve, length_curve_alt
from components.charts.style import LIGHT
from components.findings import map_finding
from components.html_export import MAX_ROWS, FigurePart, TablePart, View
from components.pair_selection import Box, box_rows
from components.types import FINAL

TITLE = "How much of what the covariances say does the mean lose?"
READING = ("Each pair of texts is a point. Left: the means agree. Up: the token clouds differ. What the mean hides, high SOCM, "
           "lies in the upper left.")
TITLES = {"d_mu": "Mean distance dμ", "d_sigma": "Covariance distance dΣ", "size": "Size part", "shape": "Shape part",
          "align": "Alignment"}


def map_view(sides: Sequence[MapData], plane: Plane, box: Box | None, labelled: Sequence[Labelled | None]) -> View:
    """The view of one map, or of two on common axes.

    Args:
        sides: the map, and the second setting where there is one; each with its filter over it.
        labelled: the labelled pairs under each, where they are drawn.
    """
    data = sides[0]
    parts: list[FigurePart | TablePart] = [*_planes(sides, plane, box, labelled)]
    if len(sides) > 1:
        differences = tables.difference_table(compare(sides[0], sides[1]))
        differences["quantity"] = differences["quantity"].map(WORDS)
        parts.append(TablePart("Differences", differences, len(differences), "Means of both settings and their differences, with the "
                               "ends of 95% intervals over texts; empty where there is none."))
    parts.append(_pairs(data, box))
    bins = by_length(data.pairs, "socm")
    if len(bins) > 1:
        parts.append(FigurePart(length_curve(bins, LIGHT, quantity_label="Mean SOCM"),
                                length_curve_alt(bins, quantity_label="Mean SOCM"), map_parts.LENGTHS, "SOCM against length"))
    made_from = {f"{order.lower()}: {name}" if len(sides) > 1 else name: value
             for order, side in zip(ORDER, sides, strict=False) for name, value in about(side, box).items()}
    return View(TITLE, f"{data.request.key.model_id}, {data.layer_in_words}, {data.corpus.name}", READING,
                headline(map_parts.numbers(data)), parts, "" if data.filtered else map_finding(data.result), map_parts.notes(data),
                made_from, _command(sides, plane, box, any(one.name == PAIRS for one in labelled if one)))


def about(data: MapData, box: Box | None = None) -> dict[str, str]:
    """What a file was made from, enough to make it again."""
    key = data.request.key
    return {"model": key.model_id, "revision": key.model_revision, "corpus": data.corpus.name,
            "corpus digest": data.corpus.digest, "texts": str(data.result.n_texts), "pairs": data.pairs_in_words,
            "parameters": json.dumps(dict(key.params), sort_keys=True),
            "filter": json.dumps(asdict(data.chosen), sort_keys=True) if data.filtered else "",
            "box": str(box) if box else "", "poolscope": widgets.version(),
            "versions": json.dumps(data.result.meta.get("versions", {}), sort_keys=True)}


def _planes(sides: Sequence[MapData], plane: Plane, box: Box | None, labelled: Sequence[Labelled | None]) -> list[FigurePart]:
    common = common_ground(sides, plane, LIGHT, [one for one in labelled if one]) if len(sides) > 1 else None
    parts = []
    for side, over, order in zip(sides, labelled or (None, None), ORDER, strict=False):
        fig, alt = draw(side, plane, LIGHT, narrow=False, box=box, labelled=over, common=common)
        note = widgets.plain(over.note) if over else ""
        parts.append(FigurePart(fig, alt, drawn_note(side, plane) + note + map_parts.caption(side), order if common else ""))
    return parts


def _pairs(data: MapData, box: Box | None) -> TablePart:
    at = box_rows(data.pairs, box) if box else data.largest(MAX_ROWS)
    table = tables.pair_table(data.pairs, at[:MAX_ROWS], data.corpus)
    if box:
        return TablePart("Pairs in the box", table, len(at), f"Those of largest SOCM, from {data.pairs_in_words}.", TITLES)
    return TablePart("Pairs of largest SOCM", table, len(data.pairs), "A large SOCM does not say that the mean confuses two texts: "
                     "only labels can show that.", TITLES)


def _command(sides: Sequence[MapData], plane: Plane, box: Box | None, labelled: bool) -> str:
    data, chosen = sides[0], sides[0].chosen
    if any(side.given for side in sides):  # token states have a command of their own, which draws nothing
        return ""
    key = data.request.key
    relation = next(name for name, what in RELATIONS.items() if what == chosen.relation)
    options: list[tuple[str, str | bool | None]] = [
        ("--model", key.model_id), ("--texts", data.corpus.name),
        ("--layer", _layer(data)), ("--no-special-tokens", not data.result.meta["options"]["special_tokens"]),
        ("--plane", plane.kind if plane.kind != DENSITY else None), ("--quantity", plane.quantity if plane.kind == MEANS else None),
        ("--labelled", labelled), ("--box", str(box) if box else None),
        ("--tokens", ",".join(map(str, chosen.tokens)) if chosen.tokens else None), ("--label", chosen.label),
        ("--relation", relation if chosen.relation != "all" else None)]
    if len(sides) > 1:
        other = sides[1]
        options += [("--vs-model", other.request.key.model_id), ("--vs-texts", other.corpus.name),
                    ("--vs-layer", str(other.result.meta["options"]["layer"]))]
    return command("map", options)


def _layer(data: MapData) -> str | None:
    layer = data.result.meta["options"]["layer"]
    return None if layer == FINAL else str(layer)
