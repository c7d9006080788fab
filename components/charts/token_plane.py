"""Two texts' tokens on a plane: points, means, and the ellipses of the Gaussians that the numbers see."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.style import ChartTheme, caption_number, rgba
from components.token_pair import Projection, ellipse
from components.types import FloatArray


def token_plane(plane: Projection, tokens: tuple[Sequence[str], Sequence[str]], effects: tuple[FloatArray, FloatArray],
                theme: ChartTheme, *, effect_label: str, height: int = 480, narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws the plane, both axes on one scale, since the ellipses mean something. Pure; show it with ``theme=None``.

    Args:
        plane: from ``token_pair``.
        tokens: of both texts, for the hover.
        effects: a number of each token, for the hover.
        effect_label: its words.
    """
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    for points, words, values, name, colour, symbol in ((plane.x, tokens[0], effects[0], "Text A", theme.text_a, "circle"),
                                                        (plane.y, tokens[1], effects[1], "Text B", theme.text_b, "square")):
        for deviations, alpha in ((2, 0.08), (1, 0.14)):
            line = ellipse(points, deviations)
            fig.add_scatter(x=line[:, 0].astype(np.float32), y=line[:, 1].astype(np.float32), mode="lines", fill="toself",
                            fillcolor=rgba(colour, alpha), line={"color": rgba(colour, 0.6), "width": 1}, hoverinfo="skip",
                            showlegend=False, legendgroup=name)
        hover = [f"{html.escape(word, quote=False)}<br>{effect_label} {caption_number(float(value))}"
                 for word, value in zip(words, values, strict=True)]
        fig.add_scatter(x=points[:, 0], y=points[:, 1], mode="markers", name=name, legendgroup=name, hovertext=hover,
                        hovertemplate="%{hovertext}<extra></extra>",
                        marker={"color": rgba(colour, 0.75), "size": 8, "symbol": symbol})
        mean = points.mean(axis=0)
        fig.add_scatter(x=mean[:1], y=mean[1:], mode="markers", showlegend=False, legendgroup=name,
                        hovertemplate=f"mean of {name}<extra></extra>",
                        marker={"color": colour, "size": 15, "symbol": "x", "line": {"color": theme.paper, "width": 2}})
    fig.update_layout(height=height, hovermode="closest", dragmode=False, margin={"l": 60, "r": 10, "t": 34, "b": 52},
                      legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
                      xaxis={"title": {"text": plane.axes[0]}, "nticks": 6 if narrow else 10},
                      yaxis={"title": {"text": plane.axes[1]}, "scaleanchor": "x", "nticks": 6})
    return fig


def token_plane_alt(plane: Projection) -> str:
    """The figure in words, for ``alt=``."""
    gap = float(np.linalg.norm(plane.x.mean(axis=0) - plane.y.mean(axis=0)))
    return (f"{plane.name}: {len(plane.x)} tokens of text A and {len(plane.y)} of text B, with ellipses at one and two standard "
            f"deviations. On the plane, which holds {plane.share:.0%} of their joint variance, the means lie {caption_number(gap)} "
            "apart.")
