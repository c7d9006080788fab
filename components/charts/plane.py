"""The plane of d_mu and d_sigma that the Map's figures share: axes, SOCM field, marginals, rings, boxes, layout.

SOCM = (1 - d_mu) * d_sigma, the paper's measure of how much of the covariances' difference the mean hides, is a function
of the plane itself: a tint behind the marks, and lines of equal SOCM over them. A line is d_sigma = s / (1 - d_mu)
exactly, hence drawn from the formula, not contoured.

Back to front: tint (shapes, since plotly puts every scatter trace over every heatmap), marks, lines with a wider one in
the ground's colour under each, labels, rings, labelled pairs. Plotly puts WebGL traces over every SVG trace and shape, so
on a figure that has one, whatever is to lie over it must be WebGL too (``line_or_marks`` sees to that).
"""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.grid import CountGrid, nice_step
from components.charts.style import ChartTheme, rgba
from components.errors import DataError
from components.types import FloatArray, IntArray

AIR, HOVER_CHARS, LINE_POINTS = 0.02, 120, 48
SHARE_X, SHARE_Y, GAP_X, GAP_Y = 0.875, 0.85, 0.006, 0.012
"""The plane's share of the drawing area beside the marginals, and the gaps between."""
TOP_NARROW, BOTTOM_NARROW = 30, 104
TINT, TINT_POINTS = 0.022, 0.05
"""Opacity that each SOCM level adds: under a density, and where the field is all that lies under points."""
ISO, BOX, RINGS = "iso", "box", "rings"
"""``meta`` of traces, ``name`` of shapes and annotations, by which they are found again."""
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


@dataclass(frozen=True)
class Plane:
    """What a figure's frame is drawn from.

    Attributes:
        theme: colours.
        mu, sigma: axis ranges.
        height: of the figure in pixels.
        narrow: for widths around 390 px: no marginals, colour bar below, fewer ticks, no box by touch (it would keep a
            thumb from scrolling the page).
        scale: factor on text sizes.
        levels: values of the equal-SOCM lines; None = round values.
        tint: opacity that each level adds to the field.
    """

    theme: ChartTheme
    mu: Range
    sigma: Range
    height: int = 560
    narrow: bool = False
    scale: float = 1.0
    levels: tuple[float, ...] | None = None
    tint: float = TINT


def spanning(*values: FloatArray | None) -> Range:
    """From the least to the greatest value, and 2% air; never [0, 1] by habit, since d_sigma may pass 1."""
    there = [float(end) for part in values if part is not None and len(part) for end in (np.min(part), np.max(part))]
    low, high = (min(there), max(there)) if there else (0.0, 1.0)
    air = AIR * ((high - low) or 1.0)
    return low - air, high + air


def new_figure(plane: Plane) -> go.Figure:
    """An empty figure that remembers how its plane is drawn."""
    fig = go.Figure(layout={"template": style.template(plane.theme, scale=plane.scale)})
    fig.layout.meta = {"narrow": plane.narrow, "scale": plane.scale, "tint": plane.tint,
                       "levels": None if plane.levels is None else list(plane.levels)}
    return fig


def line_or_marks(fig: go.Figure, **trace: Any) -> None:
    """Adds a scatter trace above what the figure has: WebGL over WebGL, SVG otherwise. ``cliponaxis`` is SVG's only."""
    if any(there.type == "scattergl" for there in fig.data):
        trace.pop("cliponaxis", None)
        fig.add_scattergl(**trace)
    else:
        fig.add_scatter(**trace)


def add_field(fig: go.Figure, plane: Plane) -> None:
    """Tint, equal-SOCM lines and their labels; what the figure had of these goes."""
    theme = plane.theme
    fig.layout.shapes = [shape for shape in fig.layout.shapes if shape.name != ISO]
    fig.layout.annotations = [note for note in fig.layout.annotations if note.name != ISO]
    levels = _round_levels(plane) if plane.levels is None else plane.levels
    lines = [line for line in (_iso_line(level, plane) for level in sorted(levels)) if line is not None]
    for level, x, y in lines:
        # Each level tints all that lies above its line, so tints add up towards the corner of high SOCM.
        corner = f"L {x[-1]:.5g} {plane.sigma[1]:.5g} L {plane.mu[0]:.5g} {plane.sigma[1]:.5g} L {plane.mu[0]:.5g} {y[0]:.5g} Z"
        outline = "M " + " L ".join(f"{a:.5g} {b:.5g}" for a, b in zip(x, y, strict=True))
        fig.add_shape(type="path", path=f"{outline} {corner}", xref="x", yref="y", layer="below", name=ISO,
                      line_width=0, fillcolor=rgba(theme.field, plane.tint))
        # Clipped, since plotly drops a label that float32 has pushed out of the range by a hair.
        left, start = np.clip(float(x[0]), *plane.mu), np.clip(float(y[0]), *plane.sigma)
        fig.add_annotation(
            x=float(left), y=float(start), text=f"SOCM {level:g}", name=ISO,
            showarrow=False, xanchor="left", xshift=4,
            # Below its line, which rises away from it; above where there is no room.
            yanchor="top" if start > plane.sigma[0] + 0.05 * (plane.sigma[1] - plane.sigma[0]) else "bottom",
            font={"size": 12 * plane.scale, "color": theme.secondary, "shadow": _glow(theme)},
        )
    gap = np.array([np.nan], dtype=np.float32)
    xs, ys = (np.concatenate([gap, *(part for line in lines for part in (line[axis], gap))]) for axis in (1, 2))
    for trace in (there := [trace for trace in fig.data if trace.meta == ISO]):
        trace.update(x=xs, y=ys)
    if not there and lines:
        for colour, width in ((rgba(theme.paper, 0.7), 3.2), (rgba(theme.ink, 0.75), 1.0)):
            line_or_marks(fig, x=xs, y=ys, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip",
                          showlegend=False, name="", meta=ISO)


def _round_levels(plane: Plane) -> tuple[float, ...]:
    """Round SOCM values that pass through the plane in view."""
    at_most, highest = 4 if plane.narrow else 7, (1 - plane.mu[0]) * plane.sigma[1]
    if highest <= 0:
        return ()
    step = nice_step(highest, at_most)
    return tuple(round(step * i, 12) for i in range(1, at_most + 1) if step * i < highest)


def _iso_line(level: float, plane: Plane) -> tuple[float, FloatArray, FloatArray] | None:
    """(level, x, y) of the part of d_sigma = level / (1 - d_mu) in view, from left to right, or None."""
    if level <= 0 or plane.sigma[1] <= 0:
        return None
    left = max(plane.mu[0], 1 - level / plane.sigma[0]) if plane.sigma[0] > 0 else plane.mu[0]
    right = min(plane.mu[1], 1 - level / plane.sigma[1])
    if left >= right:
        return None
    x = np.linspace(left, right, LINE_POINTS)
    return level, x.astype(np.float32), (level / (1 - x)).astype(np.float32)


def _glow(theme: ChartTheme) -> str:
    """Keeps small text legible over cells of any colour."""
    return ", ".join(f"{x}px {y}px 1px {theme.paper}" for x in (-1, 0, 1) for y in (-1, 0, 1))


def hover_text(text: str) -> str:
    """A text for a hover label: one line, cut, escaped (plotly reads tags and entities), then wrapped."""
    line = " ".join(text.split())
    line = line if len(line) <= HOVER_CHARS else line[:HOVER_CHARS - 1].rstrip() + "…"
    return "<br>".join(html.escape(part, quote=False) for part in textwrap.wrap(line, 64)) or "(empty)"


def hover_texts(texts_a: tuple[str, ...], texts_b: tuple[str, ...]) -> list[str]:
    """Both texts of each pair for a hover label."""
    return [f"A  {hover_text(a)}<br>B  {hover_text(b)}" for a, b in zip(texts_a, texts_b, strict=True)]


PAIR_NUMBERS = (f"{style.SYMBOL_D_MU} %{{customdata[1]:.3r}}   {style.SYMBOL_D_SIGMA} %{{customdata[2]:.3r}}   "
                "SOCM %{customdata[3]:.3r}")
"""Hover line of a pair whose customdata is (row number, d_mu, d_sigma, SOCM)."""
# A box on the map selects from all pairs on the server; it must not pale the marks outside it.
STEADY = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}


def pair_numbers(d_mu: FloatArray, d_sigma: FloatArray, rows: IntArray | None = None) -> FloatArray:
    """(n, 4) float32 for ``PAIR_NUMBERS``; row numbers 0, 1, 2 ... unless given."""
    rows = np.arange(len(d_mu)) if rows is None else rows
    return np.column_stack([rows, d_mu, d_sigma, (1 - d_mu) * d_sigma]).astype(np.float32)


def add_rings(fig: go.Figure, top: TopPairs, theme: ChartTheme) -> None:
    """Rings around the pairs of largest SOCM, texts in the hover; a ring's row number leads its customdata."""
    if not len(top):
        return
    at = {"x": top.d_mu.astype(np.float32), "y": top.d_sigma.astype(np.float32), "mode": "markers", "cliponaxis": False,
          "meta": RINGS, **STEADY}
    line_or_marks(fig, **at, marker={"symbol": "circle-open", "size": 9, "color": theme.paper, "line": {"width": 4}},
                  hoverinfo="skip", showlegend=False, name="", opacity=0.8)
    line_or_marks(
        fig, **at, marker={"symbol": "circle-open", "size": 9, "color": theme.text_b, "line": {"width": 1.8}},
        name="Largest SOCM" if len(top) == 1 else f"{len(top)} largest SOCM", showlegend=True,
        customdata=pair_numbers(top.d_mu, top.d_sigma), hovertext=hover_texts(top.texts_a, top.texts_b),
        hovertemplate=f"%{{hovertext}}<br>{PAIR_NUMBERS}<extra></extra>",
    )


def add_box(fig: go.Figure, x0: float, x1: float, y0: float, y1: float, theme: ChartTheme) -> None:
    """The selected box, drawn from the page's state (plotly forgets its own whenever a figure changes)."""
    for colour, width, fill in ((rgba(theme.paper, 0.85), 4.5, 0.12), (theme.accent, 2.0, 0.0)):
        line = {"color": colour, "width": width}
        fig.add_shape(type="rect", x0=x0, x1=x1, y0=y0, y1=y1, xref="x", yref="y", name=BOX, layer="above", line=line,
                      fillcolor=rgba(theme.accent, fill))
        if any(trace.type == "scattergl" for trace in fig.data):
            line_or_marks(fig, x=[x0, x1, x1, x0, x0], y=[y0, y0, y1, y1, y0], mode="lines", line=line, hoverinfo="skip",
                          showlegend=False, name="", meta=BOX)


def stretch(fig: go.Figure, d_mu: FloatArray, d_sigma: FloatArray, theme: ChartTheme) -> None:
    """Widens a figure's plane where it does not cover these pairs, field and lines with it."""
    new = [_covering(tuple(axis.range), values) for axis, values in ((fig.layout.xaxis, d_mu), (fig.layout.yaxis, d_sigma))]
    if new == [tuple(fig.layout.xaxis.range), tuple(fig.layout.yaxis.range)]:
        return
    fig.update_layout(xaxis_range=new[0], yaxis_range=new[1])
    meta = fig.layout.meta
    levels = None if meta["levels"] is None else tuple(meta["levels"])
    add_field(fig, Plane(theme, new[0], new[1], narrow=meta["narrow"], scale=meta["scale"], levels=levels, tint=meta["tint"]))


def _covering(given: Range, values: FloatArray) -> Range:
    if not len(values):
        return given
    low, high = min(given[0], float(values.min())), max(given[1], float(values.max()))
    air = AIR * (high - low)
    return (low - air if low < given[0] else low), (high + air if high > given[1] else high)


def colour_bar(plane: Plane, title: str, **more: Any) -> dict[str, Any]:
    """A colour bar in the corner between the marginals: nothing else can use it, and nothing is nearer to the plane.

    Where narrow it lies below the plane. A long title is broken into lines.
    """
    # The corner does not grow with the text.
    larger = plane.scale if plane.narrow else min(plane.scale, 1.15)
    right = 0.992 - 0.1 * (larger - 1)
    small = {"size": 12 * larger, "color": plane.theme.secondary}
    # Below the axis title, counted from the plane, whose height a legend underneath leaves as it is.
    below = -58 * plane.scale / max(plane.height - TOP_NARROW - BOTTOM_NARROW, 1)
    where = ({"x": 0.5, "xanchor": "center", "y": max(below, -2), "yanchor": "top", "len": 0.7} if plane.narrow else
             {"x": right, "xanchor": "right", "y": 1, "yanchor": "top", "len": right - SHARE_X - GAP_X - 0.012})
    lines = textwrap.wrap(title, 60 if plane.narrow else int(18 / larger))
    words = "<br>".join(html.escape(line, quote=False) for line in lines)
    return {"orientation": "h", "thickness": 8, "outlinewidth": 0, "ticks": "", "xpad": 0, "ypad": 0, "tickfont": small,
            "tickangle": 0, "ticklabeloverflow": "allow", **where, **more,
            "title": {"text": words, "side": "top", "font": small}}


def _emptiest_corner(grid: CountGrid, plane: Plane) -> tuple[float, float]:
    """(1, 0) or (1, 1), whichever right-hand corner holds fewer pairs; on the left are the lines' labels."""
    if not grid.total:
        return 1, 1
    right = grid.mu_edges[:-1] > plane.mu[0] + 0.75 * (plane.mu[1] - plane.mu[0])
    middle = (grid.sigma_edges[:-1] - plane.sigma[0]) / (plane.sigma[1] - plane.sigma[0])
    low = int((grid.counts[right][:, middle < 0.12] > 0).sum())
    high = int((grid.counts[right][:, middle > 0.86] > 0).sum())
    return (1, 0) if low < high else (1, 1)


def lay_out(fig: go.Figure, plane: Plane, grid: CountGrid) -> None:
    """Axes, margins and legend; with marginals where wide. ``grid``: where the pairs are."""
    narrow, corner, marginals = plane.narrow, _emptiest_corner(grid, plane), not plane.narrow and grid.total > 0
    share_x, share_y = (SHARE_X, SHARE_Y) if marginals else (1.0, 1.0)
    # Where narrow no corner is sure to be empty, least of all on axes that two planes share.
    legend = ({"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "orientation": "h", "bgcolor": rgba(plane.theme.paper, 0)}
              if narrow else
              {"x": corner[0] * share_x - 0.005, "xanchor": "right", "y": (0.015 if not corner[1] else share_y - 0.015),
               "yanchor": "top" if corner[1] else "bottom", "bgcolor": rgba(plane.theme.paper, 0.75)})
    fig.update_layout(
        height=plane.height, bargap=0, hovermode="closest", dragmode=False if narrow else "select",
        # The tools that appear on hover stand in the top margin, not on the colour bar; where narrow, the legend does.
        margin={"l": 52 if narrow else 60, "r": 10, "t": TOP_NARROW if narrow else 30, "b": BOTTOM_NARROW if narrow else 50},
        # Plotly leaves the grid out under a heatmap unless told.
        xaxis={"domain": [0, share_x], "range": plane.mu, "title": {"text": style.LABEL_D_MU}, "showgrid": True,
               "nticks": 6 if narrow else 12},
        yaxis={"domain": [0, share_y], "range": plane.sigma, "title": {"text": style.LABEL_D_SIGMA}, "showgrid": True,
               "nticks": 7 if narrow else 10},
        legend=legend,
    )
    if marginals:
        hidden = {"showgrid": False, "showticklabels": False, "title": {"text": ""}, "rangemode": "tozero", "fixedrange": True}
        fig.update_layout(xaxis2={**hidden, "domain": [SHARE_X + GAP_X, 1], "anchor": "y"},
                          yaxis2={**hidden, "domain": [SHARE_Y + GAP_Y, 1], "anchor": "x"})
    if not grid.total:
        say_empty(fig, plane.theme, plane.scale)


def say_empty(fig: go.Figure, theme: ChartTheme, scale: float, words: str = "No pairs to draw") -> None:
    """Words in an empty figure."""
    fig.add_annotation(text=words, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False,
                       font={"size": 16 * scale, "color": theme.secondary})
