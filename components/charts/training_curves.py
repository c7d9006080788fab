"""Small multiples by training step: one panel for each quantity, one step axis, one or two runs with their bands."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.style import ChartTheme, caption_number, interval_text, rgba
from components.types import FloatArray, IntArray

MEASURED, STEPWISE, REFERENCE, SECOND_REFERENCE = "measured", "stepwise", "reference", "second reference"
"""Kinds of curve: probed (points and a line), of every step (a thin line), and what is to be compared with (dotted, dashed)."""
REFERENCES = {REFERENCE: "dot", SECOND_REFERENCE: "dash"}
CHOSEN = "chosen"
PANEL_WIDE, PANEL_NARROW = 230, 210


@dataclass(frozen=True)
class Curve:
    """One run's quantity over its steps.

    Attributes:
        run: its name. colour: its place among the runs shown.
        kind: see above. words: of a reference, what it is.
        steps: (n,). values: (n,). low, high: (n,) ends of intervals, NaN where there is none.
    """

    run: str
    colour: int
    kind: str
    steps: IntArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    words: str = ""


@dataclass(frozen=True)
class CurvePanel:
    """A quantity: its name with its symbol, and its curves; ``missing`` says why there is none."""

    title: str
    curves: tuple[Curve, ...]
    missing: str = "Not measured in these runs"


def training_curves(panels: Sequence[CurvePanel], theme: ChartTheme, *, total: int, chosen: int | None = None, narrow: bool = False,
                    scale: float = 1.0) -> go.Figure:
    """Draws the panels. Pure; show it with ``theme=None``.

    Args:
        panels: in reading order.
        theme: ``style.LIGHT`` or ``style.DARK``.
        total: steps of the longest run; the axis reaches so far from the start, so that a run grows into it.
        chosen: the step that the page looks at.
        narrow: one panel below the other.
        scale: factor on text sizes.
    """
    columns = 1 if narrow else min(3, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    head, foot = 62, 46
    height = rows * (PANEL_NARROW if narrow else PANEL_WIDE) + head + foot
    fig = make_subplots(rows, columns, shared_xaxes=True, horizontal_spacing=0.07,
                        vertical_spacing=0 if rows == 1 else 40 / (height - head - foot),
                        subplot_titles=[html.escape(panel.title, quote=False) for panel in panels])
    fig.update_layout(template=style.template(theme, scale=scale))
    named: set[str] = set()
    for k, panel in enumerate(panels):
        at = {"row": k // columns + 1, "col": k % columns + 1}
        for curve in panel.curves:
            _draw(fig, curve, panel.title, theme, at, first=curve.kind not in REFERENCES and curve.run not in named)
            named |= {curve.run} if curve.kind not in REFERENCES else set()
        if not any(len(curve.steps) for curve in panel.curves):
            fig.add_annotation(text=html.escape(panel.missing, quote=False), showarrow=False, x=0.5, y=0.5, xref="x domain",
                               yref="y domain", font={"color": theme.secondary}, **at)
        elif chosen is not None:
            fig.add_vline(x=chosen, name=CHOSEN, layer="below", line={"color": theme.secondary, "width": 1, "dash": "dot"}, **at)
    fig.update_annotations(font_size=style.AXIS_SIZE * scale, font_color=theme.ink, selector=lambda a: a.yanchor == "bottom")
    for k, annotation in enumerate(fig.layout.annotations[:len(panels)]):
        annotation.update(x=fig.layout[f"xaxis{'' if k == 0 else k + 1}"].domain[0], xanchor="left")
    fig.update_xaxes(range=[-0.02 * total, 1.02 * total], nticks=7)
    fig.update_xaxes(title_text="Training step", row=rows)
    fig.update_yaxes(nticks=5, rangemode="tozero", automargin=True)
    fig.update_layout(height=height, hovermode="closest", dragmode=False, margin={"l": 44, "r": 10, "t": head, "b": foot},
                      legend={"orientation": "h", "x": 0, "y": 0.995, "yanchor": "top", "yref": "container", "xanchor": "left"})
    return fig


def _draw(fig: go.Figure, curve: Curve, title: str, theme: ChartTheme, at: dict[str, int], *, first: bool) -> None:
    colour, name = theme.models[curve.colour % len(theme.models)], html.escape(curve.run, quote=False)
    there = np.isfinite(curve.low) & np.isfinite(curve.high)
    if curve.kind == MEASURED and there.any():
        x = curve.steps[there]
        fig.add_scatter(x=np.concatenate([x, x[::-1]]), y=np.concatenate([curve.high[there], curve.low[there][::-1]]), mode="lines",
                        fill="toself", line={"width": 0}, fillcolor=rgba(colour, 0.16), hoverinfo="skip", showlegend=False,
                        legendgroup=curve.run, name="", **at)
    what = html.escape(curve.words if curve.kind in REFERENCES else title, quote=False)
    hover = [f"{name}, step {step}<br>{what} {caption_number(float(value))} {interval_text(low, high)}".rstrip()
             for step, value, low, high in zip(curve.steps, curve.values, curve.low, curve.high, strict=True)]
    line = {"width": 2 if curve.kind == MEASURED else 1.25, "dash": REFERENCES.get(curve.kind, "solid"), "color": colour}
    fig.add_scatter(x=curve.steps, y=curve.values, mode="lines+markers" if curve.kind == MEASURED else "lines", name=name,
                    legendgroup=curve.run, showlegend=first, hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                    line=line, marker={"size": 6, "color": colour}, meta=curve.kind, **at)


def training_curves_alt(panels: Sequence[CurvePanel]) -> str:
    """The figure in words, for ``alt=``: first and last value of each run."""
    said = []
    for panel in panels:
        parts = [f"{curve.run} from {caption_number(float(curve.values[0]))} at step {curve.steps[0]} to "
                 f"{caption_number(float(curve.values[-1]))} at step {curve.steps[-1]}"
                 for curve in panel.curves if curve.kind not in REFERENCES and len(curve.steps)]
        said.append(f"{panel.title}: {'; '.join(parts) or panel.missing}.")
    return " ".join(said)
