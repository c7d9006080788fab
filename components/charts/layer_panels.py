"""Small multiples of quantities by layer: one panel each, one layer axis, up to four models with bands over texts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.style import ChartTheme, caption_number, interval_text, rgba
from components.types import FINAL, FloatArray, Interval, Layer

BACKBONE, TUNED, PUBLISHED, BOUND = "backbone", "tuned", "published", "bound"
"""Roles of a line: hollow and dashed, filled and solid, grey and dotted, thin and dotted in its model's colour."""
CHOSEN = "chosen"
PANEL_WIDE, PANEL_NARROW = 250, 230
"""Height of a row of panels in pixels."""


@dataclass(frozen=True)
class Line:
    """One model's quantity by layer.

    Attributes:
        model: its name.
        role: see above.
        colour: the model's place among those shown; of no meaning for what is published.
        layers: of each point.
        depth: (n,) where the points lie on the axis.
        means: with intervals over texts (or without, as published).
    """

    model: str
    role: str
    colour: int
    layers: tuple[Layer, ...]
    depth: FloatArray
    means: tuple[Interval, ...]


@dataclass(frozen=True)
class Panel:
    """A quantity: its name in words with its symbol, and its lines; ``missing`` says why there is none.

    ``level`` is a value that parts growing from shrinking, drawn as a line.
    """

    title: str
    lines: tuple[Line, ...]
    missing: str = ""
    level: float | None = None


def layer_panels(panels: Sequence[Panel], theme: ChartTheme, *, axis: str, chosen: float | None = None,
                 ticks: Sequence[tuple[float, str]] = (), narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws the panels. Pure; show it with ``theme=None``. Points carry (model, layer) for selections.

    Args:
        panels: in reading order.
        theme: ``style.LIGHT`` or ``style.DARK``.
        axis: words under the layer axis.
        chosen: where on the axis the chosen layer lies.
        ticks: places and words on the axis; plotly's own where empty.
        narrow: one panel below the other.
        scale: factor on text sizes.
    """
    columns = 1 if narrow else min(3, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    row_height = PANEL_NARROW if narrow else PANEL_WIDE
    head, foot = 62, 46
    height = rows * row_height + head + foot
    fig = make_subplots(rows, columns, shared_xaxes=True, horizontal_spacing=0.07,
                        vertical_spacing=0 if rows == 1 else 40 / (height - head - foot),
                        subplot_titles=[html.escape(p.title, quote=False) for p in panels])
    fig.update_layout(template=style.template(theme, scale=scale))
    named: set[str] = set()
    for k, panel in enumerate(panels):
        row, column = k // columns + 1, k % columns + 1
        for line in panel.lines:
            shown = PUBLISHED if line.role == PUBLISHED else line.model
            _draw(fig, line, theme, row, column, panel.title, first=shown not in named)
            named.add(shown)
        if not panel.lines:
            fig.add_annotation(text=_folded(panel.missing), showarrow=False, x=0.5, y=0.5, row=row, col=column,
                               xref="x domain", yref="y domain", font={"color": theme.secondary})
        if panel.level is not None and panel.lines:
            fig.add_hline(y=panel.level, row=row, col=column, name="level", layer="below",  # type: ignore[arg-type]
                          line={"color": theme.secondary, "width": 1})
        if chosen is not None and panel.lines:
            fig.add_vline(x=chosen, row=row, col=column, name=CHOSEN, layer="below",  # type: ignore[arg-type]
                          line={"color": theme.secondary, "width": 1, "dash": "dot"})
    size = style.AXIS_SIZE * scale
    fig.update_annotations(font_size=size, font_color=theme.ink, selector=lambda a: a.yanchor == "bottom")
    for k, annotation in enumerate(fig.layout.annotations[:len(panels)]):  # titles stand at the left, over their axis
        domain = fig.layout[f"xaxis{'' if k == 0 else k + 1}"].domain
        annotation.update(x=domain[0], xanchor="left")
    fig.update_xaxes(**({"tickvals": [at for at, _ in ticks], "ticktext": [word for _, word in ticks]} if ticks else {"nticks": 8}))
    fig.update_xaxes(title_text=axis, row=rows)
    fig.update_yaxes(nticks=5, rangemode="tozero", automargin=True)
    fig.update_layout(height=height, hovermode="closest", dragmode=False, clickmode="event+select",
                      margin={"l": 44, "r": 10, "t": head + (22 if narrow else 0) * max(0, len(named) - 2), "b": foot},
                      legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "yref": "container", "xanchor": "left"})
    fig.update_layout(legend={"y": 0.995, "yanchor": "top"})
    return fig


def _folded(words: str) -> str:
    lines, line = [], ""
    for word in html.escape(words, quote=False).split():
        if len(line) + len(word) > 34:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "<br>".join([*lines, line])


def _colour(line: Line, theme: ChartTheme) -> str:
    return theme.published if line.role == PUBLISHED else theme.models[line.colour % len(theme.models)]


def _draw(fig: go.Figure, line: Line, theme: ChartTheme, row: int, column: int, title: str, *, first: bool) -> None:
    colour = _colour(line, theme)
    x = np.asarray(line.depth, dtype=float)
    mean = np.array([m.value for m in line.means])
    low = np.array([m.value if m.low is None else m.low for m in line.means])
    high = np.array([m.value if m.high is None else m.high for m in line.means])
    where = {"row": row, "col": column}
    if any(m.low is not None for m in line.means):
        fig.add_scatter(x=np.concatenate([x, x[::-1]]), y=np.concatenate([high, low[::-1]]), mode="lines", fill="toself",
                        line={"width": 0}, fillcolor=rgba(colour, 0.18), hoverinfo="skip", showlegend=False,
                        legendgroup=line.model, name="", **where)
    dash = {BACKBONE: "dash", TUNED: "solid"}.get(line.role, "dot")
    measured = line.role in (BACKBONE, TUNED)
    marker = {"size": 7 if measured else 3, "color": theme.paper if line.role == BACKBONE else colour,
              "line": {"color": colour, "width": 1.5}}
    name = html.escape(line.model, quote=False)
    words = "as published" if line.role == PUBLISHED else ""
    hover = [f"{name}, {_layer(layer)}<br>{title} {caption_number(m.value)} "
             f"{interval_text(m.low, m.high) or words}".rstrip() + (f"<br>{m.n:,} {m.of}" if m.n else "")
             for layer, m in zip(line.layers, line.means, strict=True)]
    # Eight published models would fill the legend; which is which, the points say.
    entry = "published, named at their points" if line.role == PUBLISHED else name
    fig.add_scatter(x=x, y=mean, mode="lines+markers" if line.role != BOUND else "lines", name=entry,
                    legendgroup=PUBLISHED if line.role == PUBLISHED else line.model,
                    showlegend=first and line.role != BOUND, hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                    line={"color": colour, "width": 2 if measured else 1.25, "dash": dash}, marker=marker,
                    customdata=[[line.model, str(layer)] for layer in line.layers] if measured else None,
                    selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}}, **where)


def _layer(layer: Layer) -> str:
    return "what pooling sees" if layer == FINAL else f"layer {layer}"


def layer_panels_alt(panels: Sequence[Panel]) -> str:
    """The figure in words, for ``alt=``: first and last value of each measured line."""
    said = []
    for panel in panels:
        parts = [f"{line.model} from {caption_number(line.means[0].value)} at {_layer(line.layers[0])} to "
                 f"{caption_number(line.means[-1].value)} at {_layer(line.layers[-1])}"
                 for line in panel.lines if line.role in (BACKBONE, TUNED) and line.means]
        said.append(f"{panel.title}: {'; '.join(parts) or panel.missing or 'nothing to draw'}.")
    return " ".join(said)
