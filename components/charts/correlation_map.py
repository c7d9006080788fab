"""|C| between the coordinates that a cut keeps (downwards) and those that it drops (to the right), with and without special tokens."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from components.charts import style
from components.charts.style import ChartTheme, caption_number, plotly_scale
from components.types import FloatArray, IntArray


@dataclass(frozen=True)
class CorrelationBlocks:
    """One map.

    Attributes:
        title: which tokens it rests on, and how many texts.
        values: (n_rows, n_columns) mean |C| in blocks of coordinates.
        rows, columns: (n + 1,) edges of the blocks, in coordinates; equal widths on the figure whatever they hold.
    """

    title: str
    values: FloatArray
    rows: IntArray
    columns: IntArray


def correlation_map(maps: Sequence[CorrelationBlocks], theme: ChartTheme, *, named: Sequence[int], narrow: bool = False,
                    scale: float = 1.0) -> go.Figure:
    """Draws the maps on one colour scale. Pure; show it with ``theme=None``.

    Args:
        named: coordinates written on the axes, where they are edges of blocks.
    """
    n = len(maps)
    height = 330
    fig = make_subplots(n if narrow else 1, 1 if narrow else n, horizontal_spacing=0.08, vertical_spacing=0.2,
                        subplot_titles=[html.escape(one.title, quote=False) for one in maps])
    fig.update_layout(template=style.template(theme, scale=scale))
    top = max((float(np.nanmax(one.values)) for one in maps if np.isfinite(one.values).any()), default=1.0) or 1.0
    for k, one in enumerate(maps):
        at = {"row": k + 1, "col": 1} if narrow else {"row": 1, "col": k + 1}
        hover = [[f"kept {_span(one.rows, i)}, dropped {_span(one.columns, j)}<br>mean |C| {caption_number(float(v))}"
                  for j, v in enumerate(row)] for i, row in enumerate(one.values)]
        fig.add_heatmap(z=one.values.astype(np.float32), x=np.arange(len(one.columns) - 1) + 0.5, y=np.arange(len(one.rows) - 1) + 0.5,
                        coloraxis="coloraxis", hovertext=hover, hovertemplate="%{hovertext}<extra></extra>", **at)
        fig.update_xaxes(title_text="Dropped coordinate", **_ticks(one.columns, named), **at)
        fig.update_yaxes(title_text="Kept coordinate", autorange="reversed", **_ticks(one.rows, named), **at)
    bar = {"title": {"text": "Mean |C|", "side": "top" if narrow else "right"}, "thickness": 12, "outlinewidth": 0}
    if narrow:
        bar |= {"orientation": "h", "y": -0.12, "yanchor": "top"}
    fig.update_layout(height=height * (n if narrow else 1) + (70 if narrow else 0), dragmode=False,
                      margin={"l": 56, "r": 12, "t": 34, "b": 60},
                      coloraxis={"cmin": 0, "cmax": top, "colorscale": plotly_scale(theme.magnitude), "colorbar": bar})
    fig.update_xaxes(showgrid=False, ticklabelstandoff=6)
    fig.update_yaxes(showgrid=False, ticklabelstandoff=6)
    for k, annotation in enumerate(fig.layout.annotations[:n]):
        domain = fig.layout[f"xaxis{'' if k == 0 else k + 1}"].domain
        annotation.update(x=domain[0], xanchor="left", font={"size": style.AXIS_SIZE * scale, "color": theme.ink})
    return fig


def _span(edges: IntArray, i: int) -> str:
    first, last = int(edges[i]) + 1, int(edges[i + 1])
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _ticks(edges: IntArray, named: Sequence[int]) -> dict[str, object]:
    """Coordinates counted from 1, at the left edge of the block that they begin or the right one of that they end."""
    where = {int(edge): k for k, edge in enumerate(edges)}
    shown = list(dict.fromkeys(dim for dim in (int(edges[0]), *named) if dim in where))
    return {"tickvals": [where[dim] for dim in shown], "ticktext": [f"{dim:,}" for dim in shown]}


def correlation_map_alt(maps: Sequence[CorrelationBlocks]) -> str:
    """The figure in words, for ``alt=``: where each map is highest."""
    parts = []
    for one in maps:
        if not np.isfinite(one.values).any():
            parts.append(f"{one.title}: nothing to draw")
            continue
        i, j = (int(k) for k in np.unravel_index(int(np.nanargmax(one.values)), one.values.shape))
        parts.append(f"{one.title}: mean |C| highest, {caption_number(float(one.values[i, j]))}, between kept coordinates "
                     f"{_span(one.rows, i)} and dropped ones {_span(one.columns, j)}")
    return f"Correlation between kept and dropped coordinates. {'; '.join(parts)}."
