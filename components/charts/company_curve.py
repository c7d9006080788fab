"""What a text's company does to its vector: distance to the vector it has alone, and what that costs retrieval."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.style import ChartTheme, caption_number, interval_text, rgba
from components.types import FloatArray, Interval

MASKED, UNMASKED = "mean of the tokens", "mean over padding too"
FLOOR = 1e-8
"""Distances below this are rounding; drawn here, since a logarithmic axis has no 0."""


@dataclass(frozen=True)
class CompanyLine:
    """One way of taking the mean.

    Attributes:
        name: ``MASKED`` or ``UNMASKED``.
        drift: (n_sizes, n_texts) cosine distance to the text's vector alone.
        metric: of each size.
        one: (n_sizes,) drift of the text looked at.
    """

    name: str
    drift: FloatArray
    metric: Sequence[Interval]
    one: FloatArray


def company_curve(sizes: Sequence[str], lines: Sequence[CompanyLine], theme: ChartTheme, *, metric_label: str, one_label: str,
                  narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws distances (median, 5 to 95% of the texts, and one text) and the metric over batch sizes. Pure.

    Args:
        sizes: words under the axis, in order.
        lines: masked and unmasked.
        metric_label: "nDCG@10". one_label: which text the thin line is.
    """
    rows, columns = (2, 1) if narrow else (1, 2)
    fig = make_subplots(rows, columns, horizontal_spacing=0.1, vertical_spacing=0.16)
    fig.update_layout(template=style.template(theme, scale=scale))
    second = {"row": rows, "col": columns}
    for line in lines:
        colour = theme.text_b if line.name == UNMASKED else theme.text_a
        drift = np.maximum(line.drift, FLOOR)
        low, middle, high = (np.quantile(drift, q, axis=1) for q in (0.05, 0.5, 0.95))
        at = list(range(len(sizes)))
        fig.add_scatter(x=at + at[::-1], y=[*high, *low[::-1]], mode="lines", fill="toself", line={"width": 0}, name="",
                        fillcolor=rgba(colour, 0.18), hoverinfo="skip", showlegend=False, row=1, col=1)
        hover = [f"{line.name}, {size}<br>half of the texts up to {caption_number(float(m))}, 95% up to {caption_number(float(h))}"
                 for size, m, h in zip(sizes, middle, high, strict=True)]
        fig.add_scatter(x=at, y=middle, mode="lines+markers", name=line.name, line={"color": colour, "width": 2}, hovertext=hover,
                        hovertemplate="%{hovertext}<extra></extra>", row=1, col=1)
        fig.add_scatter(x=at, y=np.maximum(line.one, FLOOR), mode="lines", line={"color": colour, "width": 1, "dash": "dot"},
                        name=html.escape(one_label, quote=False), showlegend=False,
                        hovertemplate=f"{html.escape(one_label, quote=False)}: %{{y:.3g}}<extra></extra>", row=1, col=1)
        values = [m.value for m in line.metric]
        ends = [[(m.high if m.high is not None else m.value) - m.value for m in line.metric],
                [m.value - (m.low if m.low is not None else m.value) for m in line.metric]]
        fig.add_scatter(x=at, y=values, mode="lines+markers", name=line.name, showlegend=False, line={"color": colour, "width": 2},
                        error_y={"type": "data", "array": ends[0], "arrayminus": ends[1], "width": 0, "thickness": 1.5},
                        hovertext=[f"{line.name}, {size}<br>{metric_label} {caption_number(m.value)} {interval_text(m.low, m.high)}"
                                   for size, m in zip(sizes, line.metric, strict=True)],
                        hovertemplate="%{hovertext}<extra></extra>", **second)
    for place, title in (({"row": 1, "col": 1}, "Cosine distance to the vector alone"), (second, metric_label)):
        fig.update_xaxes(tickvals=list(range(len(sizes))), ticktext=list(sizes), tickangle=0, title_text="Texts in a batch", **place)
        fig.update_yaxes(title_text=title, nticks=6, **place)
    fig.update_yaxes(type="log", exponentformat="power", row=1, col=1)
    fig.update_layout(height=640 if narrow else 340, hovermode="closest", dragmode=False, margin={"l": 64, "r": 12, "t": 34, "b": 52},
                      legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"})
    return fig


def company_curve_alt(sizes: Sequence[str], lines: Sequence[CompanyLine], *, metric_label: str) -> str:
    """The figure in words, for ``alt=``."""
    parts = []
    for line in lines:
        first, last = (caption_number(m.value) for m in (line.metric[0], line.metric[-1]))
        parts.append(f"{line.name}: median distance {caption_number(float(np.median(line.drift[-1])))} at {sizes[-1]}, {metric_label} "
                     f"from {first} to {last}.")
    return " ".join(parts)
