"""lambda of every head at every layer: where attention contracts a text's tokens."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import say_empty
from components.charts.style import ChartTheme, caption_number, plotly_scale
from components.types import FloatArray

LABEL = "λ, mean over texts"


def head_map(values: FloatArray, theme: ChartTheme, *, height: int = 340, narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Heatmap of (L, n_heads) means; layers upwards, so that depth rises as on the curves' axis runs.

    Args:
        values: lambda by layer (from 1) and head.
        theme, height, narrow, scale: as in ``length_curve``.
    """
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    layers, heads = values.shape
    if values.size:
        bar = {"title": {"text": LABEL, "side": "right"}, "thickness": 12, "outlinewidth": 0, "ticks": ""}
        if narrow:
            bar |= {"orientation": "h", "y": -0.32, "yanchor": "top", "title": {"text": LABEL, "side": "top"}}
        fig.add_heatmap(z=values, x=np.arange(1, heads + 1), y=np.arange(1, layers + 1), colorscale=plotly_scale(theme.magnitude),
                        zmin=0, zmax=float(np.nanmax(values)) or 1.0, xgap=1, ygap=1, colorbar=bar,
                        text=[[caption_number(float(v)) for v in row] for row in values],
                        hovertemplate="layer %{y}, head %{x}<br>λ %{text}<extra></extra>")
    fig.update_layout(height=height + (70 if narrow else 0), dragmode=False,
                      margin={"l": 56, "r": 10, "t": 10, "b": 120 if narrow else 52},
                      xaxis={"title": {"text": "Head"}, "showgrid": False, "dtick": max(1, heads // 12)},
                      yaxis={"title": {"text": "Layer"}, "showgrid": False, "dtick": max(1, layers // 12)})
    if not values.size:
        say_empty(fig, theme, scale, "Nothing to draw")
    return fig


def head_map_alt(values: FloatArray) -> str:
    """The figure in words, for ``alt=``."""
    if not values.size:
        return "λ by layer and head: nothing to draw."
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    low, high = caption_number(float(np.nanmin(values))), caption_number(float(np.nanmax(values)))
    return (f"λ by layer and head, {values.shape[0]} layers of {values.shape[1]} heads: from {low} to {high}, largest at layer "
            f"{layer + 1}, head {head + 1}; "
            f"{int((values >= 1).sum())} of {values.size} are 1 or more.")
