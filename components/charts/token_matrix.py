"""Token by token: cosines between two texts' tokens, or how much of the mass moves from one to the other."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.style import ChartTheme, caption_number, plotly_scale
from components.types import FloatArray

NAMED = 60
"""Up to so many tokens a side every one is named on the axis."""


def token_matrix(values: FloatArray, tokens: tuple[Sequence[str], Sequence[str]], theme: ChartTheme, *, label: str,
                 centred: bool, narrow: bool = False, scale: float = 1.0,
                 titles: tuple[str, str] = ("Text A", "Text B")) -> go.Figure:
    """Heatmap of (n, m) values, the first text downwards. Pure; show it with ``theme=None``.

    Args:
        values: cosines (``centred``: a diverging scale over -1..1) or shares from 0 up.
        label: words beside the colour bar.
        titles: of the downward and of the rightward axis.
    """
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    n = len(values)
    top = 1.0 if centred else float(np.nanmax(values)) or 1.0
    bar = {"title": {"text": label, "side": "right"}, "thickness": 12, "outlinewidth": 0}
    if narrow:
        bar |= {"orientation": "h", "y": 1.02, "yanchor": "bottom", "title": {"text": label, "side": "top"}}
    words = [[html.escape(word, quote=False) for word in side] for side in tokens]
    what = html.escape(label, quote=False)
    hover = [[f"{a} and {b}<br>{what} {caption_number(float(v))}" for b, v in zip(words[1], row, strict=True)]
             for a, row in zip(words[0], values, strict=True)]
    fig.add_heatmap(z=values.astype(np.float32), zmin=-1.0 if centred else 0.0, zmax=top, colorbar=bar, hovertext=hover,
                    colorscale=plotly_scale(theme.diverging if centred else theme.magnitude),
                    hovertemplate="%{hovertext}<extra></extra>")
    named = [{"tickvals": list(range(len(side))), "ticktext": side} if len(side) <= NAMED else {"nticks": 10} for side in words]
    size = 11 * scale
    fig.update_layout(height=min(900, 150 + 18 * max(6, n)) + (40 if narrow else 0), dragmode=False,
                      margin={"l": 10, "r": 10, "t": 60 if narrow else 10, "b": 10},
                      xaxis={"title": {"text": titles[1]}, "tickangle": -60, "automargin": True, "showgrid": False,
                             "tickfont": {"size": size}, **named[1]},
                      yaxis={"title": {"text": titles[0]}, "autorange": "reversed", "automargin": True, "showgrid": False,
                             "tickfont": {"size": size}, **named[0]})
    return fig


def token_matrix_alt(values: FloatArray, tokens: tuple[Sequence[str], Sequence[str]], *, label: str,
                     sides: tuple[str, str] = ("token of text A", "token of text B")) -> str:
    """The figure in words, for ``alt=``: its shape and its largest entry."""
    i, j = (int(k) for k in np.unravel_index(int(np.nanargmax(values)), values.shape))
    return (f"{label}: {values.shape[0]} by {values.shape[1]}, {sides[0]} by {sides[1]}; largest "
            f"{caption_number(float(values[i, j]))} between {tokens[0][i]} and {tokens[1][j]}.")
