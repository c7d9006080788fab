"""A quantity's distribution over texts, as the share of texts up to each value: no bins to choose, models on one axis."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import say_empty
from components.charts.style import ChartTheme, caption_number
from components.types import FloatArray

POINTS = 400
"""A curve of more texts is drawn through so many of its values."""


def text_shares(columns: Sequence[tuple[str, bool, int, FloatArray]], theme: ChartTheme, *, quantity_label: str, height: int = 320,
                narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws one rising curve a model.

    Args:
        columns: (name, whether a backbone, place of its colour, (n_texts,) values); values that are not finite are left out.
        theme, height, narrow, scale: as in ``length_curve``.
        quantity_label: words for the axis.
    """
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    drawn = False
    for name, backbone, colour, values in columns:
        ordered = np.sort(values[np.isfinite(values)])
        if not len(ordered):
            continue
        drawn = True
        share = np.linspace(0, 1, min(POINTS, max(2, len(ordered))))
        fig.add_scatter(x=np.quantile(ordered, share).astype(np.float32), y=share, mode="lines", name=html.escape(name, quote=False),
                        line={"color": theme.models[colour % len(theme.models)], "width": 2, "dash": "dash" if backbone else "solid"},
                        hovertemplate="%{y:.0%} of the texts up to %{x:.3g}")
    fig.update_layout(height=height, hovermode="closest", dragmode=False, showlegend=drawn,
                      margin={"l": 56, "r": 10, "t": 36, "b": 52},
                      legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
                      xaxis={"title": {"text": quantity_label}, "nticks": 6 if narrow else 10},
                      yaxis={"title": {"text": "Share of texts"}, "tickformat": ".0%", "range": [0, 1.02]})
    if not drawn:
        say_empty(fig, theme, scale, "Nothing to draw")
    return fig


def text_shares_alt(columns: Sequence[tuple[str, bool, int, FloatArray]], *, quantity_label: str) -> str:
    """The figure in words, for ``alt=``."""
    parts = []
    for name, _, _, values in columns:
        finite = values[np.isfinite(values)]
        if len(finite):
            low, middle, high = (caption_number(float(v)) for v in np.quantile(finite, [0.05, 0.5, 0.95]))
            parts.append(f"{name}: 5% below {low}, half below {middle}, 95% below {high} ({len(finite):,} texts)")
    return f"{quantity_label} over texts. {'; '.join(parts) or 'Nothing to draw'}."
