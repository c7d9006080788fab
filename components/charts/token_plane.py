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
                theme: ChartTheme, *, effect_label: str, places: tuple[Sequence[int], Sequence[int]] | None = None,
                marked: tuple[int, int] | None = None, span: float | None = None, height: int = 480, narrow: bool = False,
                scale: float = 1.0) -> go.Figure:
    """Draws the plane, both axes on one scale, since the ellipses mean something. Pure; show it with ``theme=None``.

    Points carry (text, place) for selections. A plane without a basis (UMAP) has no ellipses: it shows no Gaussian.

    Args:
        plane: from ``token_pair``.
        tokens: of both texts, for the hover.
        effects: a number of each token, for the hover.
        effect_label: its words.
        places: of the tokens in their texts, counted from 0; 0, 1, 2 ... where not given.
        marked: text (0, 1) and place of a token with a ring round it and its word beside it.
        span: length of both axes in the plane's units, so that several planes can be compared; None = as the tokens need.
    """
    at = places or tuple(range(len(words)) for words in tokens)
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    for side, (points, words, values, name, colour, symbol) in enumerate((
            (plane.x, tokens[0], effects[0], "Text A", theme.text_a, "circle"),
            (plane.y, tokens[1], effects[1], "Text B", theme.text_b, "square"))):
        for deviations, alpha in ((2, 0.08), (1, 0.14)) if plane.basis is not None else ():
            line = ellipse(points, deviations)
            fig.add_scatter(x=line[:, 0].astype(np.float32), y=line[:, 1].astype(np.float32), mode="lines", fill="toself",
                            fillcolor=rgba(colour, alpha), line={"color": rgba(colour, 0.6), "width": 1}, hoverinfo="skip",
                            showlegend=False, legendgroup=name)
        hover = [f"{html.escape(word, quote=False)}<br>{effect_label} {caption_number(float(value))}"
                 for word, value in zip(words, values, strict=True)]
        fig.add_scatter(x=points[:, 0], y=points[:, 1], mode="markers", name=name, legendgroup=name, hovertext=hover,
                        hovertemplate="%{hovertext}<extra></extra>", customdata=[["ab"[side], str(place)] for place in at[side]],
                        marker={"color": rgba(colour, 0.75), "size": 8, "symbol": symbol},
                        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}})
        if plane.basis is None:
            continue  # a mean of points on such a plane is no token's mean
        mean = points.mean(axis=0)
        fig.add_scatter(x=mean[:1], y=mean[1:], mode="markers", showlegend=False, legendgroup=name,
                        hovertemplate=f"mean of {name}<extra></extra>",
                        marker={"color": colour, "size": 15, "symbol": "x", "line": {"color": theme.paper, "width": 2}})
    if marked is not None and marked[1] in at[marked[0]]:  # last, or the other text's tokens and means would lie over it
        k, points = list(at[marked[0]]).index(marked[1]), (plane.x, plane.y)[marked[0]]
        fig.add_scatter(x=points[k:k + 1, 0], y=points[k:k + 1, 1], mode="markers+text", showlegend=False, hoverinfo="skip",
                        text=[html.escape(tokens[marked[0]][k], quote=False)], textposition="top center", name="marked",
                        textfont={"color": theme.ink, "family": style.MONO}, cliponaxis=False,
                        marker={"size": 17, "symbol": ("circle-open", "square-open")[marked[0]], "color": theme.ink,
                                "line": {"width": 2}})
    fig.update_layout(height=height, hovermode="closest", dragmode=False, clickmode="event+select",
                      margin={"l": 60, "r": 10, "t": 34, "b": 52},
                      legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
                      xaxis={"title": {"text": plane.axes[0]}, "nticks": 6 if narrow else 10},
                      yaxis={"title": {"text": plane.axes[1]}, "scaleanchor": "x", "nticks": 6})
    if span is not None:
        for axis, low, high in zip((fig.layout.xaxis, fig.layout.yaxis), *extent(plane), strict=True):
            axis.range = [(low + high - span) / 2, (low + high + span) / 2]
    return fig


def extent(plane: Projection) -> tuple[FloatArray, FloatArray]:
    """(2,) lowest and (2,) highest coordinates of what is drawn: tokens, and the ellipses of two standard deviations."""
    drawn = [plane.x, plane.y, *([ellipse(plane.x, 2), ellipse(plane.y, 2)] if plane.basis is not None else [])]
    both = np.concatenate(drawn)
    return both.min(axis=0), both.max(axis=0)


def span_of(planes: Sequence[Projection]) -> float:
    """Length of axis on which each of the planes fits, with air."""
    return 1.06 * max((float(np.subtract(*extent(plane)[::-1]).max()) for plane in planes), default=1.0) or 1.0


def token_plane_alt(plane: Projection) -> str:
    """The figure in words, for ``alt=``."""
    if plane.basis is None:
        return (f"{plane.name}: {len(plane.x)} tokens of text A and {len(plane.y)} of text B, neighbours among the states put "
                "together; distances on it mean little.")
    gap = float(np.linalg.norm(plane.x.mean(axis=0) - plane.y.mean(axis=0)))
    return (f"{plane.name}: {len(plane.x)} tokens of text A and {len(plane.y)} of text B, with ellipses at one and two standard "
            f"deviations. On the plane, which holds {plane.share or 0:.0%} of their joint variance, the means lie "
            f"{caption_number(gap)} apart.")
