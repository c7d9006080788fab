"""The title that a figure carries once it leaves the page, where no caption stands beside it any more."""

from __future__ import annotations

import html
import textwrap

import plotly.graph_objects as go

from components.charts.style import AXIS_SIZE, TEXT_SIZE, ChartTheme

ROOM = 54
"""Pixels that title and second line take above the figure, which grows by them."""
LINE = 17
MARGIN = 16


def add_title(fig: go.Figure, title: str, below: str, theme: ChartTheme, *, width: int = 1200) -> None:
    """Puts a title and smaller lines under it above a figure, changed in place; what is drawn keeps its size.

    Args:
        fig: a figure with a height; it gets ``width`` too, since a file has no page to fill.
        title: one line; cut where it is too long for the width.
        below: what the figure is made of; wrapped.
        theme: as the figure was made with.
    """
    # Inter takes about half its size a character.
    title = textwrap.shorten(title, int((width - 2 * MARGIN) / (0.6 * (AXIS_SIZE + 3))), placeholder=" …")
    lines = textwrap.wrap(below, int((width - 2 * MARGIN) / (0.52 * TEXT_SIZE))) or [""]
    room = ROOM + LINE * (len(lines) - 1)
    old = int(fig.layout.height)
    total = old + room
    fig.update_layout(
        width=width, height=total, margin_t=int(fig.layout.margin.t or 0) + room,
        title={"text": f"<b>{html.escape(title, quote=False)}</b>", "x": 0, "xref": "container", "xanchor": "left",
               "y": 1, "yref": "container", "yanchor": "top", "pad": {"l": MARGIN, "t": MARGIN},
               "font": {"size": AXIS_SIZE + 3, "color": theme.ink},
               "subtitle": {"text": "<br>".join(html.escape(line, quote=False) for line in lines),
                            "font": {"size": TEXT_SIZE, "color": theme.secondary}}})
    # What is placed by its share of the whole figure keeps its distance from the foot.
    for legend in (fig.layout[name] for name in ("legend", "legend2") if name in fig.layout):
        if legend.yref == "container" and legend.y is not None:
            legend.y = legend.y * old / total
