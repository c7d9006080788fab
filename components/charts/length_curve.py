"""A quantity against length: d_sigma grows with the number of tokens, and SOCM with it, whatever the texts say."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import say_empty, spanning
from components.charts.style import ChartTheme, caption_number, interval_text, rgba
from components.pair_selection import LengthBin

LOG_FROM = 16
"""The token axis is logarithmic where the longest bin lies so many times beyond the shortest."""
AXIS = "Tokens of the shorter text"


def length_curve(
    bins: Sequence[LengthBin],
    theme: ChartTheme,
    *,
    quantity_label: str,
    height: int = 340,
    narrow: bool = False,
    value_range: tuple[float, float] | None = None,
    scale: float = 1.0,
) -> go.Figure:
    """Draws the mean of a quantity per bin of length, with its interval. Pure; show it with ``theme=None``.

    Args:
        bins: rising, each with its token counts, its mean with an interval over texts, and its number of pairs.
        theme: ``style.LIGHT`` or ``style.DARK``.
        quantity_label: words for the axis ("Mean SOCM").
        height, narrow, scale: as in ``pair_density``.
        value_range: of the vertical axis, to share it across panels.
    """
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    _, mean, low, high = _arrays(bins)
    if len(bins):
        _draw(fig, bins, theme, quantity_label)
    label = html.escape(quantity_label, quote=False)
    ends = np.array([bins[0].low, bins[-1].high] if len(bins) else [0, 1], dtype=float)
    logarithmic = bool(ends[1] > LOG_FROM * ends[0] > 0)
    fig.update_layout(
        height=height, hovermode="closest" if narrow else "x", dragmode=False, showlegend=False,
        margin={"l": 52 if narrow else 60, "r": 10, "t": 10 if narrow else 30, "b": 50},
        xaxis={"title": {"text": AXIS}, "range": spanning(np.log10(ends) if logarithmic else ends),
               "nticks": 6 if narrow else 12, **({"type": "log", "dtick": "D2" if narrow else "D1"} if logarithmic else {})},
        yaxis={"title": {"text": label}, "range": value_range or spanning(mean, low, high), "nticks": 6},
    )
    if not len(bins):
        say_empty(fig, theme, scale)
    return fig


def length_curve_alt(bins: Sequence[LengthBin], *, quantity_label: str) -> str:
    """The figure in words, for ``alt=``."""
    if not len(bins):
        return f"{quantity_label} against the tokens of the shorter text: no pairs to draw."
    parts = [f"{caption_number(b.mean.value)} at {_tokens(b)} ({caption_number(b.n_pairs)} pairs)" for b in (bins[0], bins[-1])]
    words = f"{quantity_label} against the tokens of the shorter text, in {len(bins)} bins: {parts[0]}"
    if len(bins) == 1:
        return f"{quantity_label} against the tokens of the shorter text, in one bin: {parts[0]}."
    values = [b.mean.value for b in bins]
    ways = {bool(b > a) for a, b in pairwise(values) if a != b}
    course = {frozenset({True}): "rising in every bin", frozenset({False}): "falling in every bin"}.get(
        frozenset(ways), f"between {caption_number(min(values))} and {caption_number(max(values))}")
    return f"{words}, {parts[1]}; {course}."


def _tokens(b: LengthBin) -> str:
    if b.low == b.high:
        return "1 token" if b.low == 1 else f"{caption_number(b.low)} tokens"
    return f"{caption_number(b.low)} to {caption_number(b.high)} tokens"


def _arrays(bins: Sequence[LengthBin]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Middle of each bin, mean, and interval (the mean itself where there is none)."""
    rows = [((b.low + b.high) / 2, b.mean.value, b.mean.value if b.mean.low is None else b.mean.low,
             b.mean.value if b.mean.high is None else b.mean.high) for b in bins]
    x, mean, low, high = np.array(rows, dtype=float).reshape(-1, 4).T
    return x, mean, low, high


def _draw(fig: go.Figure, bins: Sequence[LengthBin], theme: ChartTheme, label: str) -> None:
    x, mean, low, high = (values.astype(np.float32) for values in _arrays(bins))
    fig.add_scatter(x=np.concatenate([x, x[::-1]]), y=np.concatenate([high, low[::-1]]), mode="lines", fill="toself",
                    line={"width": 0}, fillcolor=rgba(theme.accent, 0.18), hoverinfo="skip", name="")
    hover = [f"{_tokens(b)}<br>{html.escape(label, quote=False)} {caption_number(b.mean.value)} "
             f"{interval_text(b.mean.low, b.mean.high)}<br>{caption_number(b.n_pairs)} pairs, {caption_number(b.mean.n)} "
             f"{b.mean.of}" for b in bins]
    # Each bin's whole width, since bins of as many pairs are not equally wide.
    width = {"type": "data", "symmetric": False, "array": [b.high - m for b, m in zip(bins, x, strict=True)],
             "arrayminus": [m - b.low for b, m in zip(bins, x, strict=True)], "thickness": 1, "width": 0, "color": theme.accent}
    fig.add_scatter(x=x, y=mean, mode="lines+markers", error_x=width, line={"color": theme.accent, "width": 2}, name="",
                    marker={"size": 7, "color": theme.accent}, hovertext=hover, hovertemplate="%{hovertext}<extra></extra>")
