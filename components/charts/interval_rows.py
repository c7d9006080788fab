"""Ways of doing one thing, a row each: a value with its interval, and beside it the difference to the way that counts as usual."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.style import ChartTheme, caption_number, interval_text
from components.types import Interval

REFERENCE, PLAIN, FAULT, HYPOTHESIS = "reference", "plain", "fault", "hypothesis"
"""Roles: filled in the accent; filled; hollow and orange; hollow diamond."""
ROW = 30


@dataclass(frozen=True)
class IntervalRow:
    """One way.

    Attributes:
        name: on the axis. role: see above.
        value: with its interval. difference: to the reference; None for the reference itself.
        p: of the difference, corrected; None where it was not tested.
        chosen: drawn with a band behind it.
        note: a line for the hover.
    """

    name: str
    role: str
    value: Interval
    difference: Interval | None = None
    p: float | None = None
    chosen: bool = False
    note: str = ""


def interval_rows(rows: Sequence[IntervalRow], theme: ChartTheme, *, label: str, difference_label: str, narrow: bool = False,
                  scale: float = 1.0) -> go.Figure:
    """Draws the rows, the first on top. Pure; show it with ``theme=None``. Points carry the row's name for selections.

    Args:
        rows: one way each.
        label: words under the values' axis. difference_label: under the differences'.
        narrow: values above, differences below.
    """
    both = any(row.difference is not None for row in rows)
    shape = (2, 1) if narrow and both else (1, 2 if both else 1)
    fig = make_subplots(*shape, shared_yaxes=not narrow, horizontal_spacing=0.04, vertical_spacing=0.2,
                        column_widths=[0.5, 0.5] if shape == (1, 2) else None)
    fig.update_layout(template=style.template(theme, scale=scale))
    names = [html.escape(row.name, quote=False) for row in rows]
    places = [(1, 1), shape] if both else [(1, 1)]
    for k, (at_row, column) in enumerate(places):
        where = {"row": at_row, "col": column}
        for name, row in zip(names, rows, strict=True):
            interval = row.difference if k else row.value
            if interval is None:
                continue
            _mark(fig, name, row, interval, theme, where, difference=bool(k))
        fig.update_xaxes(title_text=difference_label if k else label, nticks=6 if narrow else 8, row=at_row, col=column)
        fig.update_yaxes(categoryorder="array", categoryarray=names[::-1], showgrid=True, automargin=True,
                         range=[-0.6, len(rows) - 0.4], row=at_row, col=column)
        if k:
            fig.add_vline(x=0, line={"color": theme.secondary, "width": 1}, layer="below",  # type: ignore[arg-type]
                          row=at_row, col=column)
        for place, row in enumerate(rows):
            if row.chosen:
                y = len(rows) - 1 - place
                fig.add_hrect(y0=y - 0.42, y1=y + 0.42, fillcolor=theme.panel, line={"width": 0}, layer="below",
                              row=at_row, col=column)  # type: ignore[arg-type]
    panels = shape[0]
    fig.update_layout(height=panels * (ROW * max(3, len(rows)) + 72), showlegend=False, hovermode="closest", dragmode=False,
                      clickmode="event+select", margin={"l": 10, "r": 14, "t": 8, "b": 52})
    return fig


def _mark(fig: go.Figure, name: str, row: IntervalRow, interval: Interval, theme: ChartTheme, where: dict[str, int], *,
          difference: bool) -> None:
    colour = {REFERENCE: theme.accent, FAULT: theme.text_b, HYPOTHESIS: theme.secondary}.get(row.role, theme.ink)
    hollow = row.role in (FAULT, HYPOTHESIS)
    if interval.low is not None and interval.high is not None:
        fig.add_scatter(x=[interval.low, interval.high], y=[name, name], mode="lines", line={"color": colour, "width": 2},
                        hoverinfo="skip", **where)
    p = f"<br>p {caption_number(row.p)} after Holm" if difference and row.p is not None else ""
    words = f"{'difference ' if difference else ''}{caption_number(interval.value)} {interval_text(interval.low, interval.high)}"
    fig.add_scatter(x=[interval.value], y=[name], mode="markers", customdata=[[row.name]],
                    hovertext=[f"{name}<br>{words.strip()}{p}<br>{interval.n:,} {interval.of}"
                               + (f"<br>{html.escape(row.note, quote=False)}" if row.note else "")],
                    hovertemplate="%{hovertext}<extra></extra>", selected={"marker": {"opacity": 1}},
                    unselected={"marker": {"opacity": 1}},
                    marker={"size": 10, "symbol": "diamond" if row.role == HYPOTHESIS else "circle",
                            "color": theme.paper if hollow else colour, "line": {"color": colour, "width": 2}}, **where)


def interval_rows_alt(rows: Sequence[IntervalRow], *, label: str) -> str:
    """The figure in words, for ``alt=``."""
    parts = []
    for row in rows:
        gap = "" if row.difference is None else f", difference {caption_number(row.difference.value)} " \
            f"{interval_text(row.difference.low, row.difference.high)}".rstrip()
        parts.append(f"{row.name} {caption_number(row.value.value)} {interval_text(row.value.low, row.value.high)}".rstrip() + gap)
    return f"{label}: {'; '.join(parts) or 'nothing to draw'}."
