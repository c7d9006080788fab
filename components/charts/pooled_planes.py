"""Queries and documents as each pooling lays them out: one plane a pooling, one text marked in all of them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.plane import hover_text
from components.charts.style import ChartTheme
from components.types import FloatArray

PANEL_WIDE, PANEL_NARROW = 260, 250


@dataclass(frozen=True)
class PooledPlane:
    """One pooling's plane.

    Attributes:
        title: pooling, and what the axes hold.
        queries, documents: (n, 2) coordinates.
    """

    title: str
    queries: FloatArray
    documents: FloatArray


def pooled_planes(planes: Sequence[PooledPlane], names: tuple[Sequence[str], Sequence[str]], theme: ChartTheme, *,
                  marked: int | None, answered_by: Sequence[int], axis: str, narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws the panels. Pure; points carry their document's number for selections.

    Args:
        planes: in reading order.
        names: texts of queries and documents, for the hover.
        marked: a document drawn large in every panel, with the queries it answers; None for none.
        answered_by: (n_queries,) the document that answers each query.
        axis: "Principal axis" or "UMAP".
    """
    columns = 1 if narrow else 4
    rows = -(-len(planes) // columns)
    row_height = PANEL_NARROW if narrow else PANEL_WIDE
    fig = make_subplots(rows, columns, horizontal_spacing=0.03, vertical_spacing=0.28 / max(1, rows),
                        subplot_titles=[html.escape(plane.title, quote=False) for plane in planes])
    fig.update_layout(template=style.template(theme, scale=scale))
    own = [q for q, document in enumerate(answered_by) if document == marked]
    hover = [[hover_text(name) for name in side] for side in names]
    for k, plane in enumerate(planes):
        where = {"row": k // columns + 1, "col": k % columns + 1}
        for side, (points, colour, symbol, label) in enumerate(((plane.documents, theme.text_b, "circle", "document"),
                                                                (plane.queries, theme.text_a, "circle-open", "query"))):
            numbers = list(range(len(points))) if side == 0 else list(answered_by)
            fig.add_scattergl(x=points[:, 0], y=points[:, 1], mode="markers", name=label, showlegend=k == 0, legendgroup=label,
                              customdata=[[n] for n in numbers], hovertext=hover[1 - side], hovertemplate="%{hovertext}<extra></extra>",
                              marker={"size": 5, "color": colour, "symbol": symbol, "opacity": 0.65},
                              selected={"marker": {"opacity": 0.65}}, unselected={"marker": {"opacity": 0.65}}, **where)
        if marked is not None:
            x = [plane.documents[marked, 0], *plane.queries[own, 0]]
            y = [plane.documents[marked, 1], *plane.queries[own, 1]]
            fig.add_scatter(x=x, y=y, mode="lines+markers", name="marked", showlegend=False, hoverinfo="skip",
                            line={"color": theme.ink, "width": 1.5},
                            marker={"size": [12] + [9] * len(own), "color": theme.paper, "line": {"color": theme.ink, "width": 2}},
                            **where)
    fig.update_xaxes(showticklabels=False, nticks=5)
    fig.update_yaxes(showticklabels=False, nticks=5)
    fig.update_annotations(font_size=style.AXIS_SIZE * scale, font_color=theme.ink)
    fig.update_layout(height=rows * row_height + 50, hovermode="closest", dragmode=False, clickmode="event+select",
                      margin={"l": 10, "r": 10, "t": 56, "b": 10},
                      legend={"orientation": "h", "x": 0, "y": 0.998, "yanchor": "top", "yref": "container"})
    fig.layout.meta = {"axes": axis}
    return fig


def pooled_planes_alt(planes: Sequence[PooledPlane], *, n_queries: int, n_documents: int) -> str:
    """The figure in words, for ``alt=``."""
    return (f"{n_queries:,} queries and {n_documents:,} documents on a plane for each of {len(planes)} poolings: "
            f"{'; '.join(plane.title for plane in planes)}.")
