"""Single pairs on the SOCM field: what the map of all pairs counts, as points that can be told apart and picked.

Half a million points would be 8 MB and ten seconds, so the page gives a sample; the histograms beside the plane are
those of all pairs where it gives their counts. The points are WebGL and float32.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.grid import CountGrid
from components.charts.pair_density import add_marginals
from components.charts.plane import (
    STEADY,
    TINT_POINTS,
    Plane,
    Range,
    TopPairs,
    add_field,
    add_rings,
    colour_bar,
    lay_out,
    line_or_marks,
    new_figure,
    spanning,
)
from components.charts.style import ChartTheme, Scale, caption_number, plotly_scale
from components.errors import DataError
from components.types import FloatArray, IntArray

MAX_POINTS = 20_000
SIZE, SIZE_CROWDED, CROWD = 6.0, 3.5, 2_000
OPACITY = 0.95
MARK_CONTRAST = 3.0
MARGINAL_BINS = 80


def pair_points(
    d_mu: FloatArray,
    d_sigma: FloatArray,
    theme: ChartTheme,
    *,
    rows: IntArray | None = None,
    socm_range: Range | None = None,
    grid: CountGrid | None = None,
    top: TopPairs | None = None,
    highlighted: IntArray | None = None,
    socm_levels: tuple[float, ...] | None = None,
    height: int = 560,
    narrow: bool = False,
    mu_range: Range | None = None,
    sigma_range: Range | None = None,
    scale: float = 1.0,
) -> go.Figure:
    """Draws pairs as points coloured by SOCM. Pure; show it with ``theme=None``.

    Args:
        d_mu: (n,) mean distances, at most 20,000.
        d_sigma: (n,) covariance distances.
        theme: ``style.LIGHT`` or ``style.DARK``.
        rows: (n,) row number of each pair among all pairs, its ``customdata``; default 0, 1, 2 ...
        socm_range: ends of the colour scale, to share it across panels; default the points' own.
        grid: counts of all pairs, for the histograms; default those of the points.
        top: pairs to ring.
        highlighted: row numbers of the pairs to mark; those that are not drawn are passed over.
        socm_levels, height, narrow, mu_range, sigma_range, scale: as in ``pair_density``.

    Returns:
        The figure. Its first trace, where there are points, is the points.

    Raises:
        DataError: more than 20,000 points, or arrays of different lengths.
    """
    d_mu, d_sigma = np.asarray(d_mu, dtype=float), np.asarray(d_sigma, dtype=float)
    rows = np.arange(len(d_mu)) if rows is None else np.asarray(rows)
    if not len(d_mu) == len(d_sigma) == len(rows):
        raise DataError("points", "must have as many d_mu as d_sigma and row numbers",
                        f"{len(d_mu)}, {len(d_sigma)} and {len(rows)}", "give one of each for every pair")
    if len(d_mu) > MAX_POINTS:
        raise DataError("points", f"must be at most {MAX_POINTS:,}", f"{len(d_mu):,}", "draw a sample of the pairs")
    counted = grid if grid is not None and grid.total else _counted(d_mu, d_sigma)
    around = counted.cropped()
    plane = Plane(theme, mu_range or spanning(around.mu_edges, d_mu, top.d_mu if top else None),
                  sigma_range or spanning(around.sigma_edges, d_sigma, top.d_sigma if top else None),
                  height, narrow, scale, socm_levels, TINT_POINTS)
    fig = new_figure(plane)
    if len(d_mu):
        fig.add_trace(_points(d_mu, d_sigma, rows, plane, socm_range))
    add_field(fig, plane)
    if not narrow and counted.total:
        add_marginals(fig, plane, counted)
    if highlighted is not None:
        at = np.flatnonzero(np.isin(rows, highlighted))
        _mark(fig, d_mu[at], d_sigma[at], rows[at], theme)
    if top is not None:
        add_rings(fig, top, theme)
    lay_out(fig, plane, counted)
    return fig


def pair_points_alt(d_mu: FloatArray, d_sigma: FloatArray, *, of: int | None = None) -> str:
    """The figure in words, for ``alt=``; ``of`` is the number of pairs that the points were drawn from."""
    n = len(d_mu)
    if not n:
        return "Pairs of texts by mean distance and covariance distance: no pairs to draw."
    socm = (1 - d_mu) * d_sigma
    sample = f", a sample of {caption_number(of)}," if of is not None and of > n else ""
    spans = [f"{caption_number(float(v.min()))} to {caption_number(float(v.max()))}" for v in (d_mu, d_sigma, socm)]
    best = int(np.argmax(socm))
    pairs = "1 pair" if n == 1 else f"{caption_number(n)} pairs"
    return (f"{pairs} of texts{sample} as points coloured by SOCM: mean distance from {spans[0]}, covariance distance from "
            f"{spans[1]}, SOCM from {spans[2]}, largest at mean distance {caption_number(float(d_mu[best]))} and "
            f"covariance distance {caption_number(float(d_sigma[best]))}.")


def contrast(one: str, other: str) -> float:
    """Contrast of two ``#RRGGBB`` colours, 1 to 21, as WCAG 2 defines it."""
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def mark_scale(theme: ChartTheme, opacity: float = OPACITY) -> Scale:
    """``theme.magnitude`` for marks on paper: without the end that is lost on it, and the clearest colour for the largest."""
    n = 64
    colours = [_between(theme.magnitude, i / (n - 1)) for i in range(n)]
    seen = [contrast(_mixed(theme.paper, colour, opacity), theme.paper) for colour in colours]
    kept = [colour for colour, value in zip(colours, seen, strict=True) if value >= MARK_CONTRAST]
    if seen[0] > seen[-1]:
        kept.reverse()
    return style.even(tuple(kept[round(i * (len(kept) - 1) / 8)] for i in range(9)))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(ground: str, colour: str, share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in zip(_rgb(ground), _rgb(colour), strict=True))


def _between(scale: Scale, position: float) -> str:
    for (low, first), (high, second) in pairwise(scale):
        if position <= high:
            return _mixed(first, second, (position - low) / (high - low))
    return scale[-1][1]


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _counted(d_mu: FloatArray, d_sigma: FloatArray) -> CountGrid:
    """The points themselves in cells."""
    if not len(d_mu):
        return CountGrid(np.zeros((0, 0), dtype=np.int64), np.zeros(0), np.zeros(0))
    edges = []
    for values in (d_mu, d_sigma):
        low, high = float(values.min()), float(values.max())
        pad = 1e-9 if high - low > 1e-9 else 0.01
        edges.append(np.linspace(low - pad, high + pad, MARGINAL_BINS + 1))
    counts = np.histogram2d(d_mu, d_sigma, bins=edges)[0].astype(np.int64)
    return CountGrid(counts, edges[0], edges[1])


def _points(d_mu: FloatArray, d_sigma: FloatArray, rows: IntArray, plane: Plane, socm_range: Range | None) -> go.Scattergl:
    socm = (1 - d_mu) * d_sigma
    low, high = socm_range or (float(socm.min()), float(socm.max()))
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return go.Scattergl(
        x=d_mu.astype(np.float32), y=d_sigma.astype(np.float32), mode="markers", customdata=rows.astype(np.int32),
        name="", showlegend=False,
        marker={"color": socm.astype(np.float32), "cmin": low, "cmax": high, "opacity": OPACITY, "line": {"width": 0},
                "size": SIZE if len(d_mu) <= CROWD else SIZE_CROWDED,
                "colorscale": plotly_scale(mark_scale(plane.theme)), "colorbar": colour_bar(plane, "SOCM", nticks=4)},
        hovertemplate=f"{style.SYMBOL_D_MU} %{{x:.3r}}<br>{style.SYMBOL_D_SIGMA} %{{y:.3r}}<br>"
                      "SOCM %{marker.color:.3r}<extra></extra>",
    )


def _mark(fig: go.Figure, d_mu: FloatArray, d_sigma: FloatArray, rows: IntArray, theme: ChartTheme) -> None:
    if not len(rows):
        return
    at = {"x": d_mu.astype(np.float32), "y": d_sigma.astype(np.float32), "mode": "markers", "showlegend": False, "name": "",
          **STEADY}
    line_or_marks(fig, **at, marker={"symbol": "circle", "size": 11, "color": theme.paper}, hoverinfo="skip")
    line_or_marks(fig, **at, marker={"symbol": "circle", "size": 7, "color": theme.accent},
                  customdata=rows.astype(np.int32), meta="highlighted",
                  hovertemplate=f"Marked<br>{style.SYMBOL_D_MU} %{{x:.3r}}<br>{style.SYMBOL_D_SIGMA} %{{y:.3r}}<extra></extra>")
