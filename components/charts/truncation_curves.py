"""A metric against the number of coordinates that are kept: models with bands, beside random coordinates and other texts' axes."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.dim_panels import APART, labelled
from components.charts.layer_panels import BACKBONE
from components.charts.plane import spanning
from components.charts.style import ChartTheme, caption_number, interval_text, rgba
from components.types import FloatArray, Interval

RANDOM, AXES = "random", "axes"
AXIS = "Dims kept d"


@dataclass(frozen=True)
class Curve:
    """One model's metric by dim.

    Attributes:
        model: its name. role: BACKBONE, or TUNED (of layer_panels). colour: its place among those shown.
        dims: rising.
        means: with intervals.
    """

    model: str
    role: str
    colour: int
    dims: tuple[int, ...]
    means: tuple[Interval, ...]


@dataclass(frozen=True)
class Baseline:
    """What the model of ``colour`` gives otherwise cut: RANDOM coordinates, lowest and highest draw about the middle one, or AXES."""

    kind: str
    model: str
    colour: int
    dims: tuple[int, ...]
    middle: FloatArray
    low: FloatArray
    high: FloatArray
    draws: int = 0


def truncation_curves(curves: Sequence[Curve], baselines: Sequence[Baseline], theme: ChartTheme, *, label: str,
                      chosen: int | None = None, places: Sequence[int] = (), height: int = 460, narrow: bool = False,
                      scale: float = 1.0) -> go.Figure:
    """Draws them on a logarithmic axis of dims. Pure; show it with ``theme=None``.

    Args:
        label: words for the metric.
        chosen: a dim to mark.
        places: dims of which points carry their place among these; those of other dims carry that of the nearest.
    """
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    name = html.escape(label, quote=False)
    for base in baselines:
        _draw_baseline(fig, base, theme, name)
    for curve in curves:
        _draw_curve(fig, curve, theme, name, places)
    dims = sorted({dim for part in ([c.dims for c in curves], [b.dims for b in baselines]) for known in part for dim in known})
    if chosen is not None:
        fig.add_vline(x=chosen, name="chosen", layer="below",  # type: ignore[arg-type]
                      line={"color": theme.secondary, "width": 1, "dash": "dot"})
    ends = np.array([x for one in curves for m in one.means for x in (m.value, m.low, m.high) if x is not None] +
                    [x for one in baselines for x in (*one.low, *one.high)], dtype=float)
    ends = ends[np.isfinite(ends)]
    entries = len(fig.data) if narrow else 0
    fig.update_layout(
        height=height + (18 * entries if narrow else 0), hovermode="closest", dragmode=False, clickmode="event+select",
        margin={"l": 56, "r": 12, "t": 34 + (16 * entries if narrow else 0), "b": 50},
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "xanchor": "left"},
        xaxis={"title": {"text": AXIS}, "type": "log", "tickvals": dims, "tickangle": 0,
               "ticktext": labelled(dims, APART if narrow else 1.2),
               "range": spanning(np.log10(np.array(dims or [1, 10], dtype=float)))},
        yaxis={"title": {"text": name}, "range": spanning(ends if len(ends) else np.array([0.0, 1.0])), "nticks": 7,
               "automargin": True})
    return fig


def _draw_curve(fig: go.Figure, curve: Curve, theme: ChartTheme, label: str, places: Sequence[int]) -> None:
    colour, name = theme.models[curve.colour % len(theme.models)], html.escape(curve.model, quote=False)
    x, mean = np.array(curve.dims), np.array([m.value for m in curve.means])
    if any(m.low is not None for m in curve.means):
        low, high = (np.array([m.value if end is None else end for m, end in ends])
                     for ends in ([(m, m.low) for m in curve.means], [(m, m.high) for m in curve.means]))
        fig.add_scatter(x=np.concatenate([x, x[::-1]]), y=np.concatenate([high, low[::-1]]), mode="lines", fill="toself",
                        line={"width": 0}, fillcolor=rgba(colour, 0.16), hoverinfo="skip", showlegend=False, legendgroup=name, name="")
    hover = [f"{name}, {dim:,} dims<br>{label} {caption_number(m.value)} {interval_text(m.low, m.high)}".rstrip()
             + f"<br>{m.n:,} {m.of}" for dim, m in zip(curve.dims, curve.means, strict=True)]
    fig.add_scatter(x=x, y=mean, mode="lines+markers", name=name, legendgroup=name, hovertext=hover,
                    hovertemplate="%{hovertext}<extra></extra>",
                    line={"color": colour, "width": 2, "dash": "dash" if curve.role == BACKBONE else "solid"},
                    marker={"size": 8, "color": theme.paper if curve.role == BACKBONE else colour,
                            "line": {"color": colour, "width": 1.5}},
                    customdata=[[int(np.abs(np.array(places) - dim).argmin())] for dim in curve.dims] if places else None,
                    selected={"marker": {"opacity": 1}},
                    unselected={"marker": {"opacity": 1}})


def _draw_baseline(fig: go.Figure, base: Baseline, theme: ChartTheme, label: str) -> None:
    name, x = html.escape(base.model, quote=False), np.array(base.dims)
    colour = theme.published if base.kind == RANDOM else theme.models[base.colour % len(theme.models)]
    words = f"{base.draws} random choices of dims" if base.kind == RANDOM else "principal axes of other texts"
    hover = [f"{name}, {dim:,} dims, {words}<br>{label} {caption_number(float(m))} {interval_text(float(low), float(high))}"
             for dim, m, low, high in zip(base.dims, base.middle, base.low, base.high, strict=True)]
    if base.kind == RANDOM:
        fig.add_scatter(x=np.concatenate([x, x[::-1]]), y=np.concatenate([base.high, base.low[::-1]]), mode="lines", fill="toself",
                        line={"width": 0}, fillcolor=rgba(colour, 0.25), hoverinfo="skip", showlegend=False, name="")
    fig.add_scatter(x=x, y=base.middle, mode="lines+markers", name=words, hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                    line={"color": colour, "width": 1.5, "dash": "dot" if base.kind == RANDOM else "dashdot"},
                    marker={"size": 5, "color": colour, "symbol": "diamond" if base.kind == AXES else "circle"},
                    selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}})


def truncation_curves_alt(curves: Sequence[Curve], *, label: str) -> str:
    """The figure in words, for ``alt=``: each model's first and last value."""
    if not curves:
        return f"{label} against dims kept: nothing to draw."
    parts = [f"{one.model} from {caption_number(one.means[0].value)} at {one.dims[0]:,} dims to "
             f"{caption_number(one.means[-1].value)} at {one.dims[-1]:,}" for one in curves]
    return f"{label} against dims kept: {'; '.join(parts)}."


