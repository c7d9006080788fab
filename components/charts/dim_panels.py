"""Small multiples of plain numbers against dims: one panel a quantity, lines by model or by what was counted."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.style import ChartTheme, caption_number
from components.types import FloatArray

SOLID, DASHED, REFERENCE = "solid", "dash", "dot"
PANEL_WIDE, PANEL_NARROW = 260, 240
APART = 1.6
"""Quotient of two dims that have room for both labels."""
PER_ROW = 3
"""Names in a line of the legend, about."""


@dataclass(frozen=True)
class DimLine:
    """Values by dim or by axis.

    Attributes:
        name: in the legend; lines of one name share an entry.
        colour: place among the models, or None for grey.
        dash: SOLID, DASHED or REFERENCE.
        x, y: (n,); NaN leaves a gap.
        marks: draw points too.
        words: what a point is beside its name, for its hover.
    """

    name: str
    colour: int | None
    dash: str
    x: FloatArray
    y: FloatArray
    marks: bool = True
    words: str = ""


@dataclass(frozen=True)
class DimPanel:
    """A quantity's title in words with its symbol, its lines, and which axes are logarithmic."""

    title: str
    lines: tuple[DimLine, ...]
    x_title: str = "Dims kept d"
    log_x: bool = True
    log_y: bool = False
    missing: str = ""


def dim_panels(panels: Sequence[DimPanel], theme: ChartTheme, *, narrow: bool = False, columns: int = 2,
               scale: float = 1.0) -> go.Figure:
    """Draws the panels in reading order. Pure; show it with ``theme=None``."""
    columns = 1 if narrow else min(columns, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    head, foot = 38 + 20 * (len(names) if narrow else -(-len(names) // PER_ROW)), 48  # a legend of many names takes more lines
    inner = rows * (PANEL_NARROW if narrow else PANEL_WIDE)
    fig = make_subplots(rows, columns, horizontal_spacing=0.09, vertical_spacing=0 if rows == 1 else 74 / inner,
                        subplot_titles=[html.escape(panel.title, quote=False) for panel in panels])
    fig.update_layout(template=style.template(theme, scale=scale))
    named: set[str] = set()
    for k, panel in enumerate(panels):
        row, column = k // columns + 1, k % columns + 1
        for line in panel.lines:
            _draw(fig, line, panel, theme, row, column, first=line.name not in named)
            named.add(line.name)
        if not panel.lines:
            fig.add_annotation(text=html.escape(panel.missing, quote=False), showarrow=False, x=0.5, y=0.5, row=row, col=column,
                               xref="x domain", yref="y domain", font={"color": theme.secondary})
        ticks = sorted({int(x) for line in panel.lines for x in line.x}) if panel.log_x else []
        known: dict[str, object] = {"tickvals": ticks, "ticktext": labelled(ticks), "tickangle": 0} if panel.log_x else {}
        fig.update_xaxes(title_text=panel.x_title, type="log" if panel.log_x else "linear", row=row, col=column, **known)
        fig.update_yaxes(type="log" if panel.log_y else "linear", nticks=6, automargin=True, row=row, col=column,
                         **({"exponentformat": "power", "dtick": 1} if panel.log_y else {"rangemode": "tozero"}))
    for k, annotation in enumerate(fig.layout.annotations[:len(panels)]):
        domain = fig.layout[f"xaxis{'' if k == 0 else k + 1}"].domain
        annotation.update(x=domain[0], xanchor="left", font={"size": style.AXIS_SIZE * scale, "color": theme.ink})
    fig.update_layout(height=inner + head + foot, hovermode="closest", dragmode=False, margin={"l": 48, "r": 12, "t": head, "b": foot},
                      legend={"orientation": "h", "x": 0, "y": 0.995, "yanchor": "top", "yref": "container", "xanchor": "left"})
    return fig


def labelled(dims: Sequence[int], apart: float = APART) -> list[str]:
    """A label for each of the rising dims on a logarithmic axis; empty where it would touch the one to its right."""
    out, last = [], float("inf")
    for dim in reversed(dims):
        out.append(f"{dim:,}" if last >= apart * dim else "")
        last = dim if out[-1] else last
    return out[::-1]


def _draw(fig: go.Figure, line: DimLine, panel: DimPanel, theme: ChartTheme, row: int, column: int, *, first: bool) -> None:
    colour = theme.published if line.colour is None else theme.models[line.colour % len(theme.models)]
    name = html.escape(line.name, quote=False)
    title = html.escape(panel.title, quote=False)
    words = f", {html.escape(line.words, quote=False)}" if line.words else ""
    hover = [f"{name}{words}, {x:,.0f}<br>{title} {caption_number(float(y))}" for x, y in zip(line.x, line.y, strict=True)]
    y = np.where(np.asarray(line.y) > 0, line.y, np.nan) if panel.log_y else line.y
    fig.add_scatter(x=line.x, y=y, mode="lines+markers" if line.marks else "lines", name=name, legendgroup=name, showlegend=first,
                    hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                    line={"color": colour, "width": 1.25 if line.dash == REFERENCE else 2, "dash": line.dash},
                    marker={"size": 6, "color": theme.paper if line.dash == DASHED else colour,
                            "line": {"color": colour, "width": 1.5}},
                    row=row, col=column)


def dim_panels_alt(panels: Sequence[DimPanel]) -> str:
    """The figure in words, for ``alt=``: first and last known value of each line."""
    said = []
    for panel in panels:
        parts = []
        for line in panel.lines:
            known = np.flatnonzero(np.isfinite(line.y))
            if len(known):
                first, last = int(known[0]), int(known[-1])
                name = f"{line.name}, {line.words}," if line.words else line.name
                parts.append(f"{name} from {caption_number(float(line.y[first]))} at {line.x[first]:,.0f} to "
                             f"{caption_number(float(line.y[last]))} at {line.x[last]:,.0f}")
        said.append(f"{panel.title}: {'; '.join(parts) or panel.missing or 'nothing to draw'}.")
    return " ".join(said)
