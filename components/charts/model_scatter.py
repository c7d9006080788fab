"""Published models by how little their tokens collapse and how well they score: one mark a model, arrows from backbones."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import say_empty
from components.charts.style import ChartTheme, caption_number
from components.types import FloatArray

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
PLACES = ("middle right", "middle left", "top center", "bottom center", "top right", "bottom right", "top left", "bottom left")
AIR = 0.07
"""Of the range at each end, for marks and names."""
WIDTH = 960
"""Pixels that names are placed for, so that they do not lie over each other."""
LETTER, LINE, REACH = 5.6, 13, 9
"""Pixels: of a name's letter, of its height, and from a mark's middle to its name."""


@dataclass(frozen=True)
class ModelMark:
    """One model of the figure.

    Attributes:
        name: in full. family: gives colour and symbol; "" for a model computed here.
        backbone: drawn hollow.
        x, y: collapse and score.
        left_out: drawn pale, and no part of the correlation.
        note: a line for the hover ("as published", or where a score is from).
    """

    name: str
    family: str
    backbone: bool
    x: float
    y: float
    left_out: bool = False
    note: str = ""

    @property
    def short(self) -> str:
        return self.name.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Unscored:
    """A model whose collapse is known and whose score is not: a tick on the axis, and no point of the plane."""

    name: str
    backbone: bool
    x: float
    note: str = ""


def model_scatter(marks: Sequence[ModelMark], theme: ChartTheme, *, x_label: str, y_label: str, unscored: Sequence[Unscored] = (),
                  height: int = 520, narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws the models. Pure; show it with ``theme=None``. Points carry the model's name for selections, ticks nothing."""
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    x_range, y_range = (_aired(np.array(values)) for values in ([*(mark.x for mark in marks), *(tick.x for tick in unscored)],
                                                                [mark.y for mark in marks]))
    places = name_places(marks, x_range, y_range, height - 92)
    families = list(dict.fromkeys(mark.family for mark in marks if mark.family))
    for k, family in enumerate(families):
        colour = theme.models[k % len(theme.models)]
        own = [mark for mark in marks if mark.family == family]
        for base in (mark for mark in own if mark.backbone):
            for tuned in (mark for mark in own if not mark.backbone):
                pale = base.left_out or tuned.left_out
                fig.add_annotation(x=tuned.x, y=tuned.y, ax=base.x, ay=base.y, xref="x", yref="y", axref="x", ayref="y", text="",
                                   showarrow=True, arrowhead=2, arrowsize=1.2, arrowwidth=1, standoff=7, startstandoff=7,
                                   arrowcolor=colour, opacity=0.2 if pale else 0.55)
        _points(fig, own, family, colour, SYMBOLS[k % len(SYMBOLS)], theme, places, narrow=narrow)
    here = [mark for mark in marks if not mark.family]
    if here:
        _points(fig, here, "computed here", theme.accent, "star", theme, places, narrow=narrow)
    if unscored:
        hover = [f"{html.escape(tick.name, quote=False)}<br>{caption_number(tick.x)}, no score<br>{html.escape(tick.note, quote=False)}"
                 for tick in unscored]
        fig.add_scatter(x=[tick.x for tick in unscored], y=[y_range[0] + 0.02 * (y_range[1] - y_range[0])] * len(unscored),
                        mode="markers", name="computed here, no score", hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                        marker={"symbol": "line-ns", "size": 18, "line": {"color": theme.accent, "width": 2}},
                        selected={"marker": {}}, unselected={"marker": {"opacity": 1}})
    fig.update_layout(height=height, hovermode="closest", dragmode=False, clickmode="event+select",
                      margin={"l": 60, "r": 14, "t": 40 if not narrow else 64, "b": 52},
                      legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
                      xaxis={"title": {"text": x_label}, "range": x_range, "nticks": 6 if narrow else 10},
                      yaxis={"title": {"text": y_label}, "range": y_range, "nticks": 6})
    if not marks:
        say_empty(fig, theme, scale, "No model to draw")
    return fig


def _aired(values: FloatArray) -> tuple[float, float]:
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    air = AIR * (high - low) or 0.05
    return low - air, high + air


def name_places(marks: Sequence[ModelMark], x_range: tuple[float, float], y_range: tuple[float, float],
                height: float) -> dict[str, str]:
    """Where each name stands at its mark: the first of ``PLACES`` at which it lies over no mark, no name and inside the axes."""
    at = {mark.name: ((mark.x - x_range[0]) / (x_range[1] - x_range[0]) * WIDTH,
                      (mark.y - y_range[0]) / (y_range[1] - y_range[0]) * height) for mark in marks}
    taken = [(x - REACH, y - REACH, x + REACH, y + REACH) for x, y in at.values()]
    out = {}
    for mark in sorted(marks, key=lambda one: (-one.y, one.x)):
        x, y = at[mark.name]
        wide = LETTER * len(mark.short)
        boxes = {}
        for place in PLACES:
            up, side = place.split()
            left = {"right": x + REACH, "left": x - REACH - wide, "center": x - wide / 2}[side]
            low = {"middle": y - LINE / 2, "top": y + REACH, "bottom": y - REACH - LINE}[up]
            boxes[place] = (left, low, left + wide, low + LINE)
        free = [place for place, box in boxes.items() if box[0] >= 0 and box[2] <= WIDTH and box[1] >= 0 and box[3] <= height
                and not any(_overlap(box, other) for other in taken if other != (x - REACH, y - REACH, x + REACH, y + REACH))]
        out[mark.name] = free[0] if free else PLACES[0]
        taken.append(boxes[out[mark.name]])
    return out


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _points(fig: go.Figure, marks: Sequence[ModelMark], name: str, colour: str, symbol: str, theme: ChartTheme,
            places: dict[str, str], *, narrow: bool) -> None:
    hover = [f"{html.escape(mark.name, quote=False)}<br>{caption_number(mark.x)}, score {caption_number(mark.y)}"
             f"{'<br>' + html.escape(mark.note, quote=False) if mark.note else ''}{'<br>left out' if mark.left_out else ''}"
             for mark in marks]
    fig.add_scatter(x=[mark.x for mark in marks], y=[mark.y for mark in marks], name=html.escape(name, quote=False),
                    mode="markers" if narrow else "markers+text", text=[html.escape(mark.short, quote=False) for mark in marks],
                    textposition=[places[mark.name] for mark in marks], cliponaxis=False,
                    textfont={"size": 11, "color": theme.secondary},
                    customdata=[[mark.name] for mark in marks], hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                    marker={"symbol": symbol, "size": 11, "opacity": [0.3 if mark.left_out else 1 for mark in marks],
                            "color": [theme.paper if mark.backbone else colour for mark in marks],
                            "line": {"color": colour, "width": 2}},
                    selected={"marker": {}}, unselected={"marker": {"opacity": 1}})


def model_scatter_alt(marks: Sequence[ModelMark], *, x_label: str, y_label: str, unscored: Sequence[Unscored] = ()) -> str:
    """The figure in words, for ``alt=``."""
    parts = [f"{mark.short} {caption_number(mark.x)}, {caption_number(mark.y)}{' (left out)' if mark.left_out else ''}"
             for mark in marks]
    ticks = [f"{tick.name} {caption_number(tick.x)}" for tick in unscored]
    return (f"{x_label} against {y_label}, {len(marks)} models: {'; '.join(parts) or 'none'}."
            + (f" Computed here, without a score: {'; '.join(ticks)}." if ticks else ""))
