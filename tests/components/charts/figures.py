"""Small corpora of pairs and readers of figures for the chart tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from components.charts.grid import CountGrid
from components.charts.plane import TopPairs
from components.charts.style import DARK, LIGHT

THEMES = (LIGHT, DARK)
HOSTILE = '<script>alert(1)</script> & <b onclick="x">bold</b> %{customdata[0]} ' + "long " * 60


def cloud(n: int = 5_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(d_mu, d_sigma) of n pairs; d_sigma passes 1."""
    rng = np.random.default_rng(seed)
    return rng.beta(4, 5, n), rng.gamma(20, 0.07, n)


def counted(n: int = 50_000, bins: tuple[int, int] = (150, 140)) -> CountGrid:
    """Pairs per cell of such a cloud, over a range wider than it."""
    counts, mu, sigma = np.histogram2d(*cloud(n), bins=bins, range=((-0.1, 1.1), (0, 5)))
    return CountGrid(counts.astype(np.int64), mu, sigma)


def top_pairs(k: int = 3, text: str = "a text") -> TopPairs:
    """k pairs in the upper left."""
    return TopPairs(np.linspace(0.1, 0.2, k), np.linspace(1.9, 1.7, k), (text,) * k, (text,) * k)


def traces(fig: go.Figure, kind: str) -> list[Any]:
    """The figure's traces of one type."""
    return [trace for trace in fig.data if trace.type == kind]


def covers(fig: go.Figure, d_mu: np.ndarray, d_sigma: np.ndarray) -> bool:
    """Whether both axes reach beyond all these pairs."""
    (x0, x1), (y0, y1) = fig.layout.xaxis.range, fig.layout.yaxis.range
    return bool(x0 < d_mu.min() and d_mu.max() < x1 and y0 < d_sigma.min() and d_sigma.max() < y1)


def hovers(fig: go.Figure) -> str:
    """Every text and template that the figure would show on hover or in its legend."""
    parts: list[str] = []
    for trace in fig.data:
        parts += [str(trace.hovertemplate or ""), str(trace.name or "")]
        parts += [str(text) for text in (getattr(trace, "hovertext", None) if getattr(trace, "hovertext", None) is not None
                                         else ())]
    return "\n".join(parts)


def mega(fig: go.Figure) -> float:
    """Size of the figure as sent, in megabytes."""
    return len(fig.to_json().encode()) / 1e6
