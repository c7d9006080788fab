"""The Map page's figures and tables as files that say what they are."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from app import tables, widgets
from app.exports import button
from app.exports.map import about, map_view
from app.figure_files import figure_files, file_word
from app.map_data import Labelled, MapData, by_length, compare
from app.views.map_comparison import ORDER
from app.views.map_controls import Plane
from app.views.map_figures import common_ground, draw
from components.charts.length_curve import length_curve
from components.charts.style import LIGHT
from components.charts.titles import add_title
from components.pair_selection import Box, box_rows

PLANE, LENGTHS = "Pairs by mean and covariance distance", "SOCM against length"
HEIGHT = 460


def exports(data: MapData, other: MapData | None, plane: Plane, box: Box | None,
            labelled: Sequence[Labelled | None]) -> None:
    """Every figure and table that the page shows; nothing is drawn until the panel is opened."""
    with st.expander("Export", on_change="rerun", key="export_open") as folded:
        if not folded.open:
            return
        st.caption("Images are drawn on white and carry model, revision, layer and texts in their title; tables hold these "
                   "in columns (CSV) or in the file's description (Parquet).")
        name = file_name(data)
        sides = [data] if other is None else [data, other]
        common = None if other is None else common_ground(sides, plane, LIGHT, [one for one in labelled if one])
        for side, over, order in zip(sides, labelled or (None, None), ORDER, strict=False):
            drawn, _ = draw(side, plane, LIGHT, narrow=False, box=box, labelled=over, common=common)
            label, suffix = ("Plane", "plane") if other is None else (f"{order} plane", f"plane-{order.lower()}")
            figure_files(described(drawn, PLANE, side, box), label, f"{name}-{suffix}", key=f"export_{suffix}")
        bins = by_length(data.pairs, "socm")
        if len(bins) > 1:
            curve = length_curve(bins, LIGHT, quantity_label="Mean SOCM", height=HEIGHT)
            figure_files(described(curve, LENGTHS, data), LENGTHS, f"{name}-length", key="export_length")
        at = box_rows(data.pairs, box) if box else data.largest(200)
        tables.table_files(lambda: tables.pair_table(data.pairs, at, data.corpus), "Pairs", f"{name}-pairs", about(data, box),
                           key="export_pairs")
        button.one_file(lambda: map_view(sides, plane, box, labelled), name, key="export_html")
        if other is not None:
            both = {f"{order.lower()} {key}": value for order, side in zip(ORDER, sides, strict=True)
                    for key, value in about(side).items()}
            tables.table_files(lambda: tables.difference_table(compare(data, other)), "Differences", f"{name}-differences", both,
                               key="export_differences")


def file_name(data: MapData) -> str:
    """Beginning of the files' names: model and layer, without what a file system may refuse."""
    return f"poolscope-map-{file_word(data.request.key.model_id)}-{data.request.key.params['layer']}"


def described(fig: go.Figure, what: str, data: MapData, box: Box | None = None) -> go.Figure:
    """The figure with a title that names what it is made of, and the same in full in ``layout.meta``."""
    key = data.request.key
    add_title(fig, f"{what}: {key.model_id}, {data.layer_in_words}, {data.corpus.name}",
              f"{data.result.n_texts:,} texts (digest {data.corpus.digest[:10]}), {data.pairs_in_words}; model revision "
              f"{data.revision}, {data.special_in_words}; Poolscope {widgets.version()}", LIGHT)
    fig.layout.meta = {**(fig.layout.meta or {}), **about(data, box)}
    return fig
