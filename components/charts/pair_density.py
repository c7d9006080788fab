"""The map of all pairs: how far apart two texts' means are against how far apart their covariances are.

Every pair of a corpus is a point (d_mu, d_sigma); half a million of them are drawn as counts on a grid, on a log scale,
so that a single pair and the crowd are both visible. What lies under and over the counts is in plane.py.
"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.grid import CountGrid, edge_decimals, filled_span, merged
from components.charts.plane import (
    AIR,
    HOVER_CHARS,
    Plane,
    Range,
    TopPairs,
    add_field,
    add_rings,
    colour_bar,
    lay_out,
    new_figure,
    spanning,
)
from components.charts.style import ChartTheme, caption_number, plotly_scale
from components.errors import DataError
from components.types import FloatArray, IntArray

__all__ = ["AIR", "HOVER_CHARS", "MAX_BINS", "MAX_BINS_NARROW", "Range", "TopPairs", "add_marginals", "pair_density",
           "pair_density_alt"]

MAX_BINS, MAX_BINS_NARROW, MAX_MARGINAL_BINS = 110, 64, 220


def pair_density(
    counts: IntArray,
    mu_edges: FloatArray,
    sigma_edges: FloatArray,
    theme: ChartTheme,
    *,
    marginal_mu: IntArray | None = None,
    marginal_sigma: IntArray | None = None,
    top: TopPairs | None = None,
    most: int | None = None,
    socm_levels: tuple[float, ...] | None = None,
    height: int = 560,
    narrow: bool = False,
    mu_range: Range | None = None,
    sigma_range: Range | None = None,
    scale: float = 1.0,
) -> go.Figure:
    """Draws all pairs on the plane of d_mu and d_sigma. Pure; show it with ``theme=None``.

    Args:
        counts: (n_mu, n_sigma) int, pairs per cell. Cropped and merged for drawing (to at most 110 bins an axis, 64
            where narrow); the drawn counts still sum to these.
        mu_edges: (n_mu + 1,) rising edges of d_mu.
        sigma_edges: (n_sigma + 1,) rising edges of d_sigma; may pass 1.
        theme: ``style.LIGHT`` or ``style.DARK``.
        marginal_mu: (n_mu,) int, pairs per d_mu bin; default the sums of ``counts``.
        marginal_sigma: (n_sigma,) int, likewise for d_sigma.
        top: pairs to ring, with their texts for the hover; a ring's row number is its ``customdata``.
        most: pairs at the upper end of the colour scale, to share it across panels on the same cells; default the
            fullest cell's.
        socm_levels: values of the equal-SOCM lines; default round values, about six in view.
        height: of the figure in pixels.
        narrow: for widths around 390 px: no marginals, colour bar below, fewer ticks, no box by touch (it would
            keep a thumb from scrolling the page).
        mu_range, sigma_range: axis ranges, to share them across panels; default what is filled, and 2% air.
        scale: factor on text sizes (``style.PROJECTOR`` for projector mode).

    Returns:
        The figure. Its first trace is the heatmap, ``z`` the decimal logarithm of the counts, (n_sigma, n_mu).

    Raises:
        DataError: counts and edges do not fit together.
    """
    whole = CountGrid(np.asarray(counts), np.asarray(mu_edges), np.asarray(sigma_edges))
    grid = whole.cropped().coarsened(MAX_BINS_NARROW if narrow else MAX_BINS)
    plane = Plane(theme, mu_range or spanning(grid.mu_edges, top.d_mu if top else None),
                  sigma_range or spanning(grid.sigma_edges, top.d_sigma if top else None),
                  height, narrow, scale, socm_levels)
    fig = new_figure(plane)
    if grid.total:
        fig.add_trace(_heatmap(grid, plane, most))
    add_field(fig, plane)
    if not narrow and grid.total:
        add_marginals(fig, plane, whole, marginal_mu, marginal_sigma)
    if top is not None:
        add_rings(fig, top, theme)
    lay_out(fig, plane, grid)
    return fig


def pair_density_alt(
    counts: IntArray, mu_edges: FloatArray, sigma_edges: FloatArray, *, top: TopPairs | None = None
) -> str:
    """The figure in words, for ``alt=``: how many pairs, where they lie and where they crowd (arguments as there)."""
    grid = CountGrid(np.asarray(counts), np.asarray(mu_edges), np.asarray(sigma_edges)).cropped()
    if not grid.total:
        return "Map of text pairs by mean distance and covariance distance: no pairs to draw."
    # The coarse grid's fullest cell, since on a fine one chance decides between neighbours.
    coarse = grid.coarsened(24)
    k, m = np.unravel_index(int(coarse.counts.argmax()), coarse.counts.shape)
    pairs = "1 pair" if grid.total == 1 else f"{caption_number(grid.total)} pairs"
    spans = [f"{caption_number(float(e[0]))} to {caption_number(float(e[-1]))}" for e in (grid.mu_edges, grid.sigma_edges)]
    peak = [caption_number(float(e[i:i + 2].mean())) for e, i in ((coarse.mu_edges, k), (coarse.sigma_edges, m))]
    words = (f"Density of {pairs} of texts: mean distance from {spans[0]}, covariance distance from {spans[1]}, "
             f"most crowded near mean distance {peak[0]} and covariance distance {peak[1]}.")
    if top is not None and len(top):
        words += f" The largest SOCM is {caption_number(float(top.socm.max()))}"
        words += f"; rings mark the {len(top)} largest." if len(top) > 1 else "; a ring marks it."
    return words


def _heatmap(grid: CountGrid, plane: Plane, most: int | None) -> go.Heatmap:
    counts = grid.counts.T
    z = np.full(counts.shape, np.nan, dtype=np.float32)
    np.log10(counts, out=z, where=counts > 0, casting="same_kind")
    top = max(1.0, float(np.nanmax(z)) if most is None else math.log10(most))
    mu, sigma = np.meshgrid(grid.mu_edges, grid.sigma_edges)
    centre = (1 - (mu[:-1, :-1] + mu[1:, 1:]) / 2) * (sigma[:-1, :-1] + sigma[1:, 1:]) / 2
    # (n_sigma, n_mu, 6): a cell's edges, its count and the SOCM at its centre.
    hover = np.stack([mu[:-1, :-1], mu[1:, 1:], sigma[:-1, :-1], sigma[1:, 1:], counts, centre], axis=-1)
    decades = range(0, math.floor(top + 1e-9) + 1, 1 if top < 5 else 2)
    x_digits, y_digits = edge_decimals(grid.mu_edges), edge_decimals(grid.sigma_edges)
    bar = colour_bar(plane, "Pairs per cell", tickvals=list(decades),
                     ticktext=[caption_number(10 ** d) for d in decades])
    return go.Heatmap(
        x=grid.mu_edges.astype(np.float32), y=grid.sigma_edges.astype(np.float32), z=z,
        customdata=hover.astype(np.float32), zmin=0, zmax=top, hoverongaps=False, name="",
        colorscale=plotly_scale(plane.theme.density), colorbar=bar,
        hovertemplate=(
            f"{style.SYMBOL_D_MU} %{{customdata[0]:.{x_digits}f}} to %{{customdata[1]:.{x_digits}f}}<br>"
            f"{style.SYMBOL_D_SIGMA} %{{customdata[2]:.{y_digits}f}} to %{{customdata[3]:.{y_digits}f}}<br>"
            "SOCM at the centre %{customdata[5]:.3r}<br>pairs %{customdata[4]:,d}<extra></extra>"
        ),
    )


def add_marginals(
    fig: go.Figure, plane: Plane, grid: CountGrid, mu: IntArray | None = None, sigma: IntArray | None = None
) -> None:
    """Histograms above and beside the plane: of the grid's counts, or those given on its edges."""
    for axis, given, edges, symbol in ((1, mu, grid.mu_edges, style.SYMBOL_D_MU),
                                       (0, sigma, grid.sigma_edges, style.SYMBOL_D_SIGMA)):
        values = grid.counts.sum(axis=axis) if given is None else np.asarray(given)
        if len(values) != len(edges) - 1:
            raise DataError("marginal", "must have one count for each bin", f"{len(values)} for {len(edges) - 1} bins",
                            "give the histogram on the same edges, or leave it out")
        if not values.any():
            continue
        first, end = filled_span(values)
        values, edges = merged(values[first:end], edges[first:end + 1], MAX_MARGINAL_BINS)
        along, across = ((edges[:-1] + edges[1:]) / 2).astype(np.float32), values.astype(np.int32)
        digits, upright = edge_decimals(edges), axis == 1
        where = {"x": along, "y": across, "yaxis": "y2"} if upright else {"x": across, "y": along, "xaxis": "x2"}
        fig.add_bar(
            **where, width=np.diff(edges).astype(np.float32), orientation="v" if upright else "h",
            marker={"color": plane.theme.marginal, "line": {"width": 0}}, showlegend=False, name="",
            customdata=np.column_stack([edges[:-1], edges[1:], values]).astype(np.float32),
            hovertemplate=f"{symbol} %{{customdata[0]:.{digits}f}} to %{{customdata[1]:.{digits}f}}<br>"
                          "pairs %{customdata[2]:,d}<extra></extra>",
        )
