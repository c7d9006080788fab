"""How far each candidate setting lies from given vectors: a row a setting, the median over rows with the largest beside it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import say_empty
from components.charts.style import ChartTheme, caption_number

LEAST = 1e-8
"""Where a distance of 0 is drawn on the logarithmic axis."""


@dataclass(frozen=True)
class CandidateDistance:
    """One candidate: its setting in words, its relative distances, and how many rows it reproduces."""

    words: str
    median: float
    largest: float
    reproduced: int
    n: int

    @property
    def reproduces(self) -> bool:
        return self.reproduced == self.n


def audit_distances(candidates: Sequence[CandidateDistance], theme: ChartTheme, *, narrow: bool = False,
    scale: float = 1.0) -> go.Figure:
    """Draws the candidates, the nearest on top; filled where every row is reproduced. Pure; show it with ``theme=None``."""
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    if not candidates:
        say_empty(fig, theme, scale, "No setting of this model gives vectors of this width.")
        return fig
    short = [_short(one.words, 24 if narrow else 74) for one in candidates]
    names = [html.escape(f"{k + 1}. {text}", quote=False) for k, text in enumerate(short)]
    xs: list[float | None] = []
    ys: list[str | None] = []
    for name, one in zip(names, candidates, strict=True):
        xs += [max(one.median, LEAST), max(one.largest, LEAST), None]
        ys += [name, name, None]
    fig.add_scatter(x=xs, y=ys, mode="lines", line={"color": theme.secondary, "width": 2}, hoverinfo="skip", showlegend=False)
    for label, wanted in (("reproduces every row", True), ("does not", False)):
        at = [k for k, one in enumerate(candidates) if one.reproduces == wanted]
        if not at:
            continue
        colour = theme.text_a if wanted else theme.text_b
        hover = [f"{html.escape(candidates[k].words, quote=False)}<br>median {caption_number(candidates[k].median)}, largest "
                 f"{caption_number(candidates[k].largest)}<br>{candidates[k].reproduced:,} of {candidates[k].n:,} rows reproduced"
                 for k in at]
        fig.add_scatter(x=[max(candidates[k].median, LEAST) for k in at], y=[names[k] for k in at], mode="markers", name=label,
                        hovertext=hover, hovertemplate="%{hovertext}<extra></extra>",
                        marker={"size": 11, "color": colour if wanted else theme.paper, "line": {"color": colour, "width": 2}})
    fig.update_layout(height=(130 if narrow else 112) + 30 * max(3, len(names)), dragmode=False, hovermode="closest",
                      margin={"l": 10, "r": 14, "t": 34, "b": 56}, legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
                      xaxis={"title": {"text": "Relative distance" if narrow else "Relative distance ‖v − c‖ / ‖c‖"},
                             "type": "log", "exponentformat": "power",
                      "dtick": 3 if narrow else 1, "tickangle": 0},
                      yaxis={"categoryorder": "array", "categoryarray": names[::-1], "automargin": True, "title": {"text": ""}})
    return fig


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[:most - 1] + "…"


def audit_distances_alt(candidates: Sequence[CandidateDistance]) -> str:
    """The figure in a sentence."""
    said = "; ".join(f"{one.words}: median {caption_number(one.median)}, {one.reproduced} of {one.n} rows reproduced"
    for one in candidates)
    return f"Relative distance of given vectors from each setting: {said or 'none'}."
