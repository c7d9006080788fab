"""The mean of a quantity over the plane: where on the map the long pairs lie, or those of one label.

A cell with few pairs shows chance, not the map, so such cells keep their place but not a colour.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.grid import CountGrid, edge_decimals, filled_span, merged, nice_step
from components.charts.pair_density import add_marginals
from components.charts.plane import (
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

MAX_BINS, MAX_BINS_NARROW = 56, 36
LEAST = 5


@dataclass(frozen=True)
class MeanGrid:
    """Cells as drawn: sums and counts (n_mu, n_sigma), and the fewest pairs that a mean may rest on."""

    sums: FloatArray
    grid: CountGrid
    least: int

    @property
    def means(self) -> FloatArray:
        """(n_mu, n_sigma), NaN where there are fewer than ``least`` pairs."""
        enough = self.grid.counts >= max(self.least, 1)
        return np.divide(self.sums, self.grid.counts, out=np.full(self.sums.shape, np.nan), where=enough)

    @property
    def masked(self) -> tuple[int, int]:
        """Cells with some pairs but too few, and how many pairs lie in them: for the caption."""
        few = (self.grid.counts > 0) & (self.grid.counts < self.least)
        return int(few.sum()), int(self.grid.counts[few].sum())


def mean_grid(sums: FloatArray, counts: IntArray, mu_edges: FloatArray, sigma_edges: FloatArray, *, least: int = LEAST,
              narrow: bool = False) -> MeanGrid:
    """The cells that ``pair_means`` draws: cropped to what is filled, and whole neighbours added up (arguments as there).

    Raises:
        DataError: sums, counts and edges do not fit together.
    """
    whole = CountGrid(np.asarray(counts), np.asarray(mu_edges), np.asarray(sigma_edges))
    sums = np.asarray(sums, dtype=float)
    if sums.shape != whole.counts.shape:
        raise DataError("sums", "must have one value for each count", f"{sums.shape} for {whole.counts.shape}",
                        "give sum and count of the same cells")
    if not whole.total:
        return MeanGrid(sums, whole, least)
    (k0, k1), (l0, l1) = (filled_span(whole.counts.sum(axis=axis)) for axis in (1, 0))
    sums, most = sums[k0:k1, l0:l1], MAX_BINS_NARROW if narrow else MAX_BINS
    grid = whole.cropped()
    for axis, edges in ((0, grid.mu_edges), (1, grid.sigma_edges)):
        sums = merged(sums, edges, most, axis=axis)[0]  # type: ignore[arg-type, assignment]
    return MeanGrid(sums, grid.coarsened(most), least)


def pair_means(
    sums: FloatArray,
    counts: IntArray,
    mu_edges: FloatArray,
    sigma_edges: FloatArray,
    theme: ChartTheme,
    *,
    quantity_label: str,
    least: int = LEAST,
    value_range: Range | None = None,
    marginal_mu: IntArray | None = None,
    marginal_sigma: IntArray | None = None,
    top: TopPairs | None = None,
    socm_levels: tuple[float, ...] | None = None,
    height: int = 560,
    narrow: bool = False,
    mu_range: Range | None = None,
    sigma_range: Range | None = None,
    scale: float = 1.0,
) -> go.Figure:
    """Draws the mean of a quantity per cell of the plane. Pure; show it with ``theme=None``.

    Args:
        sums: (n_mu, n_sigma) sum of the quantity over the pairs of each cell.
        counts: (n_mu, n_sigma) int, pairs per cell.
        mu_edges, sigma_edges: (n_mu + 1,) and (n_sigma + 1,) rising edges.
        theme: ``style.LIGHT`` or ``style.DARK``.
        quantity_label: words for the colour bar and the hover ("Tokens of the shorter text").
        least: cells with fewer pairs are masked: drawn in grey, with their count in the hover.
        value_range: ends of the colour scale, to share it across panels; default round values around the means of 98% of
            the pairs, the ticks marked ≤ and ≥ where cells lie beyond.
        marginal_mu, marginal_sigma, top, socm_levels, height, narrow, mu_range, sigma_range, scale: as in
            ``pair_density``.

    Returns:
        The figure. Its first trace is the heatmap of means, (n_sigma, n_mu); of the masked cells ``mean_grid`` tells.

    Raises:
        DataError: sums, counts and edges do not fit together.
    """
    drawn = mean_grid(sums, counts, mu_edges, sigma_edges, least=least, narrow=narrow)
    grid, whole = drawn.grid, CountGrid(np.asarray(counts), np.asarray(mu_edges), np.asarray(sigma_edges))
    plane = Plane(theme, mu_range or spanning(grid.mu_edges, top.d_mu if top else None),
                  sigma_range or spanning(grid.sigma_edges, top.d_sigma if top else None),
                  height, narrow, scale, socm_levels)
    fig = new_figure(plane)
    if grid.total:
        fig.add_trace(_means(drawn, plane, quantity_label, value_range))
        if drawn.masked[0]:
            fig.add_trace(_thin(drawn, plane))
    add_field(fig, plane)
    if not narrow and grid.total:
        add_marginals(fig, plane, whole, marginal_mu, marginal_sigma)
    if top is not None:
        add_rings(fig, top, theme)
    lay_out(fig, plane, grid)
    return fig


def pair_means_alt(sums: FloatArray, counts: IntArray, mu_edges: FloatArray, sigma_edges: FloatArray, *,
                   quantity_label: str, least: int = LEAST) -> str:
    """The figure in words, for ``alt=`` (arguments as there)."""
    drawn = mean_grid(sums, counts, mu_edges, sigma_edges, least=least)
    grid, means = drawn.grid, drawn.means
    words = f"{quantity_label}, mean per cell of the plane of mean distance and covariance distance"
    if not grid.total:
        return f"{words}: no pairs to draw."
    if np.isnan(means).all():
        return f"{words}: no cell holds {least} pairs or more."
    ends = []
    for name, k in (("lowest", np.nanargmin(means)), ("highest", np.nanargmax(means))):
        m, s = np.unravel_index(int(k), means.shape)
        mu, sigma = float(grid.mu_edges[m:m + 2].mean()), float(grid.sigma_edges[s:s + 2].mean())
        ends.append(f"{name}, {caption_number(float(means[m, s]))}, near mean distance {caption_number(mu)} and covariance "
                    f"distance {caption_number(sigma)}")
    cells, pairs = drawn.masked
    masked = ""
    if cells:
        some = "1 cell with fewer" if cells == 1 else f"{caption_number(cells)} cells with fewer"
        held = "1 pair" if pairs == 1 else f"{caption_number(pairs)} pairs"
        masked = f" {some} than {least} pairs {'is' if cells == 1 else 'are'} masked ({held})."
    return f"{words}, over {caption_number(grid.total)} pairs: {ends[0]}; {ends[1]}.{masked}"


def _cells(grid: CountGrid, values: FloatArray) -> tuple[FloatArray, str]:
    """Customdata (n_sigma, n_mu, 6) of each cell's edges, count and value, and the hover's first lines."""
    mu, sigma = np.meshgrid(grid.mu_edges, grid.sigma_edges)
    data = np.stack([mu[:-1, :-1], mu[1:, 1:], sigma[:-1, :-1], sigma[1:, 1:], grid.counts.T, values.T], axis=-1)
    x_digits, y_digits = edge_decimals(grid.mu_edges), edge_decimals(grid.sigma_edges)
    return data.astype(np.float32), (
        f"{style.SYMBOL_D_MU} %{{customdata[0]:.{x_digits}f}} to %{{customdata[1]:.{x_digits}f}}<br>"
        f"{style.SYMBOL_D_SIGMA} %{{customdata[2]:.{y_digits}f}} to %{{customdata[3]:.{y_digits}f}}<br>")


def _means(drawn: MeanGrid, plane: Plane, label: str, value_range: Range | None) -> go.Heatmap:
    grid, means = drawn.grid, drawn.means
    low, high, ticks = _scale(drawn, value_range)
    if plane.scale > 1 and not plane.narrow:
        ticks = {name: [values[0], values[-1]] for name, values in ticks.items()}
    data, where = _cells(grid, means)
    return go.Heatmap(
        x=grid.mu_edges.astype(np.float32), y=grid.sigma_edges.astype(np.float32), z=means.T.astype(np.float32),
        customdata=data, zmin=low, zmax=high, hoverongaps=False, name="",
        colorscale=plotly_scale(plane.theme.magnitude), colorbar=colour_bar(plane, label, **ticks),
        hovertemplate=f"{where}{html.escape(label, quote=False)}: %{{customdata[5]:.3r}}<br>pairs %{{customdata[4]:,d}}"
                      "<extra></extra>",
    )


def _scale(drawn: MeanGrid, given: Range | None) -> tuple[float, float, dict[str, list[Any]]]:
    """Ends of the colour scale, and its ticks.

    The ends are round values around the means of 98% of the pairs: the few cells at the rim, whose means rest on a
    handful of pairs, would otherwise take most of the colours. Where means lie beyond, the ticks say so.
    """
    means = drawn.means
    there = ~np.isnan(means)
    low, high = given or (0.0, 1.0)
    if given is None and there.any():
        order = np.argsort(means[there])
        share = np.cumsum(drawn.grid.counts[there][order]) / drawn.grid.counts[there].sum()
        low, high = (float(means[there][order][np.searchsorted(share, q)]) for q in (0.01, 0.99))
    if high <= low:
        low, high = low - 0.5, high + 0.5
    step = nice_step(high - low, 8)
    if given is None:
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    marks = [low, (low + high) / 2, high]
    words = [f"{mark:.3g}" for mark in marks]
    if there.any():
        words[0] = f"≤ {words[0]}" if means[there].min() < low else words[0]
        words[2] = f"≥ {words[2]}" if means[there].max() > high else words[2]
    return low, high, {"tickvals": marks, "ticktext": [word.replace("-", "−") for word in words]}


def _thin(drawn: MeanGrid, plane: Plane) -> go.Heatmap:
    """The masked cells, in one grey."""
    grid = drawn.grid
    few = (grid.counts > 0) & (grid.counts < drawn.least)
    data, where = _cells(grid, drawn.means)
    return go.Heatmap(
        x=grid.mu_edges.astype(np.float32), y=grid.sigma_edges.astype(np.float32),
        z=np.where(few, 0.0, np.nan).T.astype(np.float32), customdata=np.nan_to_num(data), zmin=0, zmax=1, showscale=False,
        colorscale=[[0, plane.theme.hairline], [1, plane.theme.hairline]], hoverongaps=False, name="",
        hovertemplate=f"{where}pairs %{{customdata[4]:,d}}: too few for a mean<extra></extra>",
    )
