"""The map of all pairs: how far apart two texts' means are against how far apart their covariances are.

Every pair of a corpus is a point (d_mu, d_sigma); half a million of them are drawn as counts on a grid, on a log scale,
so that a single pair and the crowd are both visible. SOCM = (1 - d_mu) * d_sigma, the paper's measure of how much of the
covariances' difference the mean hides, is a function of the plane itself: it is a tint behind the counts, and lines of
equal SOCM lie over them. A line is d_sigma = s / (1 - d_mu) exactly, hence drawn from the formula, not contoured.

Order from back to front: tint (shapes, since plotly puts every scatter trace over every heatmap), counts, each line
with a wider one in the ground's colour under it, labels, rings around the pairs with the largest SOCM.
"""

from __future__ import annotations

import html
import math
import textwrap
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.grid import CountGrid, edge_decimals, filled_span, merged, nice_step
from components.charts.style import ChartTheme, caption_number, plotly_scale, rgba
from components.errors import DataError
from components.types import FloatArray, IntArray

MAX_BINS, MAX_BINS_NARROW, MAX_MARGINAL_BINS = 110, 64, 220
AIR = 0.02
HOVER_CHARS = 120
LINE_POINTS = 48
Range = tuple[float, float]


@dataclass(frozen=True)
class TopPairs:
    """The pairs with the largest SOCM: (k,) float arrays and as many first and second texts, best first."""

    d_mu: FloatArray
    d_sigma: FloatArray
    texts_a: tuple[str, ...]
    texts_b: tuple[str, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.d_mu), len(self.d_sigma), len(self.texts_a), len(self.texts_b)}
        if len(lengths) > 1:
            raise DataError("top pairs", "must have as many distances as texts", f"lengths {sorted(lengths)}",
                            "give one d_mu, d_sigma and two texts for each pair")

    def __len__(self) -> int:
        return len(self.d_mu)

    @property
    def socm(self) -> FloatArray:
        return (1 - self.d_mu) * self.d_sigma


def pair_density(
    counts: IntArray,
    mu_edges: FloatArray,
    sigma_edges: FloatArray,
    theme: ChartTheme,
    *,
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
    x_range = mu_range or _range(grid, 0, top.d_mu if top else None)
    y_range = sigma_range or _range(grid, 1, top.d_sigma if top else None)
    levels = socm_levels if socm_levels is not None else _round_levels(x_range, y_range, 4 if narrow else 7)
    lines = [line for line in (_iso_line(level, x_range, y_range) for level in sorted(levels)) if line is not None]

    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    if grid.total:
        fig.add_trace(_heatmap(grid, theme, narrow, scale))
    _draw_lines(fig, lines, theme, x_range, y_range, scale)
    if not narrow and grid.total:
        _draw_marginals(fig, whole, marginal_mu, marginal_sigma, theme)
    if top is not None and len(top):
        _draw_top(fig, top, theme)
    _lay_out(fig, grid, theme, x_range, y_range, height, narrow, scale)
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


def _range(grid: CountGrid, axis: int, points: FloatArray | None) -> Range:
    """What is filled and marked, and 2% air; never [0, 1] by habit, since d_sigma may pass 1."""
    edges = (grid.mu_edges, grid.sigma_edges)[axis]
    values = list(map(float, edges[[0, -1]])) if len(edges) > 1 else []
    if points is not None and len(points):
        values += [float(points.min()), float(points.max())]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    air = AIR * ((high - low) or 1.0)
    return low - air, high + air


def _round_levels(x_range: Range, y_range: Range, at_most: int) -> tuple[float, ...]:
    """Round SOCM values that pass through the plane in view."""
    highest = (1 - x_range[0]) * y_range[1]
    if highest <= 0:
        return ()
    step = nice_step(highest, at_most)
    return tuple(round(step * i, 12) for i in range(1, at_most + 1) if step * i < highest)


def _iso_line(level: float, x_range: Range, y_range: Range) -> tuple[float, FloatArray, FloatArray] | None:
    """(level, x, y) of the part of d_sigma = level / (1 - d_mu) in view, from left to right, or None."""
    if level <= 0 or y_range[1] <= 0:
        return None
    left = max(x_range[0], 1 - level / y_range[0]) if y_range[0] > 0 else x_range[0]
    right = min(x_range[1], 1 - level / y_range[1])
    if left >= right:
        return None
    x = np.linspace(left, right, LINE_POINTS)
    return level, x.astype(np.float32), (level / (1 - x)).astype(np.float32)


def _heatmap(grid: CountGrid, theme: ChartTheme, narrow: bool, scale: float) -> go.Heatmap:
    counts = grid.counts.T
    z = np.full(counts.shape, np.nan, dtype=np.float32)
    np.log10(counts, out=z, where=counts > 0, casting="same_kind")
    top = max(1.0, float(np.nanmax(z)))
    mu, sigma = np.meshgrid(grid.mu_edges, grid.sigma_edges)
    centre = (1 - (mu[:-1, :-1] + mu[1:, 1:]) / 2) * (sigma[:-1, :-1] + sigma[1:, 1:]) / 2
    # (n_sigma, n_mu, 6): a cell's edges, its count and the SOCM at its centre.
    hover = np.stack([mu[:-1, :-1], mu[1:, 1:], sigma[:-1, :-1], sigma[1:, 1:], counts, centre], axis=-1)
    decades = range(0, math.floor(top + 1e-9) + 1, 1 if top < 5 else 2)
    x_digits, y_digits = edge_decimals(grid.mu_edges), edge_decimals(grid.sigma_edges)
    bar = {
        "orientation": "h", "thickness": 8, "outlinewidth": 0, "ticks": "", "xpad": 0, "ypad": 0,
        "tickvals": list(decades), "ticktext": [caption_number(10 ** d) for d in decades],
        "tickfont": {"size": 12 * scale, "color": theme.secondary},
        "title": {"text": "Pairs per cell", "side": "top", "font": {"size": 12 * scale, "color": theme.secondary}},
    }
    # In the corner between the marginals: nothing else can use it, and nothing is nearer to the plane.
    bar |= ({"x": 0.5, "xanchor": "center", "y": 0, "yref": "container", "yanchor": "bottom", "len": 0.7} if narrow
            else {"x": 1, "xanchor": "right", "y": 1, "yanchor": "top", "len": 1 - PLANE_X - GAP_X - 0.012})
    return go.Heatmap(
        x=grid.mu_edges.astype(np.float32), y=grid.sigma_edges.astype(np.float32), z=z,
        customdata=hover.astype(np.float32), zmin=0, zmax=top, hoverongaps=False, name="",
        colorscale=plotly_scale(theme.density), colorbar=bar,
        hovertemplate=(
            f"{style.SYMBOL_D_MU} %{{customdata[0]:.{x_digits}f}} to %{{customdata[1]:.{x_digits}f}}<br>"
            f"{style.SYMBOL_D_SIGMA} %{{customdata[2]:.{y_digits}f}} to %{{customdata[3]:.{y_digits}f}}<br>"
            "SOCM at the centre %{customdata[5]:.3r}<br>pairs %{customdata[4]:,d}<extra></extra>"
        ),
    )


PLANE_X, PLANE_Y, GAP_X, GAP_Y = 0.875, 0.85, 0.006, 0.012
"""The plane's share of the drawing area beside the marginals, and the gaps between."""


def _draw_lines(
    fig: go.Figure, lines: list[tuple[float, FloatArray, FloatArray]], theme: ChartTheme,
    x_range: Range, y_range: Range, scale: float,
) -> None:
    """Tint, equal-SOCM lines and their labels."""
    for level, x, y in lines:
        # Each level tints all that lies above its line, so tints add up towards the corner of high SOCM.
        corner = f"L {x[-1]:.5g} {y_range[1]:.5g} L {x_range[0]:.5g} {y_range[1]:.5g} L {x_range[0]:.5g} {y[0]:.5g} Z"
        outline = "M " + " L ".join(f"{a:.5g} {b:.5g}" for a, b in zip(x, y, strict=True))
        fig.add_shape(type="path", path=f"{outline} {corner}", xref="x", yref="y", layer="below",
                      line_width=0, fillcolor=rgba(theme.field, 0.022))
        first = level == lines[-1][0]
        fig.add_annotation(
            x=float(x[0]), y=float(y[0]), text=f"SOCM {level:g}" if first else f"{level:g}", showarrow=False,
            xanchor="left", yanchor="bottom", xshift=4, yshift=-1,
            font={"size": 12 * scale, "color": theme.secondary, "shadow": _glow(theme)},
        )
    gap = np.array([np.nan], dtype=np.float32)
    if lines:
        xs = np.concatenate([part for _, x, _ in lines for part in (x, gap)])
        ys = np.concatenate([part for _, _, y in lines for part in (y, gap)])
        for colour, width in ((rgba(theme.paper, 0.7), 3.2), (rgba(theme.ink, 0.75), 1.0)):
            fig.add_scatter(x=xs, y=ys, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip",
                            showlegend=False, name="")


def _glow(theme: ChartTheme) -> str:
    """Keeps small text legible over cells of any colour."""
    return ", ".join(f"{x}px {y}px 1px {theme.paper}" for x in (-1, 0, 1) for y in (-1, 0, 1))


def _draw_marginals(
    fig: go.Figure, grid: CountGrid, mu: IntArray | None, sigma: IntArray | None, theme: ChartTheme
) -> None:
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
            marker={"color": theme.marginal, "line": {"width": 0}}, showlegend=False, name="",
            customdata=np.column_stack([edges[:-1], edges[1:], values]).astype(np.float32),
            hovertemplate=f"{symbol} %{{customdata[0]:.{digits}f}} to %{{customdata[1]:.{digits}f}}<br>"
                          "pairs %{customdata[2]:,d}<extra></extra>",
        )


def _hover_text(text: str) -> str:
    """A text for a hover label: one line, cut, escaped (plotly reads tags and entities), then wrapped."""
    line = " ".join(text.split())
    line = line if len(line) <= HOVER_CHARS else line[:HOVER_CHARS - 1].rstrip() + "…"
    return "<br>".join(html.escape(part, quote=False) for part in textwrap.wrap(line, 64)) or "(empty)"


def _draw_top(fig: go.Figure, top: TopPairs, theme: ChartTheme) -> None:
    numbers = np.column_stack([np.arange(len(top)), top.d_mu, top.d_sigma, top.socm]).astype(np.float32)
    at = {"x": top.d_mu.astype(np.float32), "y": top.d_sigma.astype(np.float32), "mode": "markers", "cliponaxis": False}
    fig.add_scatter(**at, marker={"symbol": "circle-open", "size": 9, "color": theme.paper, "line": {"width": 4}},
                    hoverinfo="skip", showlegend=False, name="", opacity=0.8)
    fig.add_scatter(
        **at, marker={"symbol": "circle-open", "size": 9, "color": theme.text_b, "line": {"width": 1.8}},
        # A box on the map selects from all pairs on the server; it must not pale the rings outside it.
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        name="Largest SOCM" if len(top) == 1 else f"{len(top)} largest SOCM", showlegend=True, customdata=numbers,
        hovertext=[f"A  {_hover_text(a)}<br>B  {_hover_text(b)}" for a, b in zip(top.texts_a, top.texts_b, strict=True)],
        hovertemplate="%{hovertext}<br>"
                      f"{style.SYMBOL_D_MU} %{{customdata[1]:.3r}}   {style.SYMBOL_D_SIGMA} %{{customdata[2]:.3r}}   "
                      "SOCM %{customdata[3]:.3r}<extra></extra>",
    )


def _emptiest_corner(grid: CountGrid, x_range: Range, y_range: Range) -> tuple[float, float]:
    """(1, 0) or (1, 1), whichever right-hand corner holds fewer pairs; on the left are the lines' labels."""
    if not grid.total:
        return 1, 1
    right = grid.mu_edges[:-1] > x_range[0] + 0.75 * (x_range[1] - x_range[0])
    middle = (grid.sigma_edges[:-1] - y_range[0]) / (y_range[1] - y_range[0])
    low = int((grid.counts[right][:, middle < 0.12] > 0).sum())
    high = int((grid.counts[right][:, middle > 0.86] > 0).sum())
    return (1, 0) if low < high else (1, 1)


def _lay_out(
    fig: go.Figure, grid: CountGrid, theme: ChartTheme, x_range: Range, y_range: Range,
    height: int, narrow: bool, scale: float,
) -> None:
    corner = _emptiest_corner(grid, x_range, y_range)
    marginals = not narrow and grid.total > 0
    plane_x, plane_y = (PLANE_X, PLANE_Y) if marginals else (1.0, 1.0)
    fig.update_layout(
        height=height, bargap=0, hovermode="closest", dragmode=False if narrow else "select",
        # The tools that appear on hover stand in the top margin, not on the colour bar.
        margin={"l": 52 if narrow else 60, "r": 10, "t": 10 if narrow else 30, "b": 104 if narrow else 50},
        xaxis={"domain": [0, plane_x], "range": x_range, "title": {"text": style.LABEL_D_MU},
               "nticks": 6 if narrow else 12},
        yaxis={"domain": [0, plane_y], "range": y_range, "title": {"text": style.LABEL_D_SIGMA},
               "nticks": 7 if narrow else 10},
        legend={"x": corner[0] * plane_x - 0.005, "xanchor": "right", "y": (0.015 if not corner[1] else plane_y - 0.015),
                "yanchor": "top" if corner[1] else "bottom", "bgcolor": rgba(theme.paper, 0.75)},
    )
    if marginals:
        hidden = {"showgrid": False, "showticklabels": False, "title": {"text": ""}, "rangemode": "tozero", "fixedrange": True}
        fig.update_layout(xaxis2={**hidden, "domain": [PLANE_X + GAP_X, 1], "anchor": "y"},
                          yaxis2={**hidden, "domain": [PLANE_Y + GAP_Y, 1], "anchor": "x"})
    if not grid.total:
        fig.add_annotation(text="No pairs to draw", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False,
                           font={"size": 16 * scale, "color": theme.secondary})
