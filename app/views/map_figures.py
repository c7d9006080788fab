"""The plane in its three forms, with the box and the labelled pairs over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.map_data import Labelled, MapData
from app.views.map_controls import DENSITY, MEANS, POINTS, QUANTITIES, Plane
from components.charts.grid import CountGrid
from components.charts.labelled_pairs import add_labelled_pairs, labelled_pairs_alt
from components.charts.pair_density import MAX_BINS_NARROW as DENSITY_BINS
from components.charts.pair_density import pair_density, pair_density_alt
from components.charts.pair_means import MAX_BINS_NARROW as MEAN_BINS
from components.charts.pair_means import pair_means, pair_means_alt
from components.charts.pair_points import MAX_POINTS, pair_points, pair_points_alt
from components.charts.plane import TopPairs, add_box, spanning
from components.charts.style import ChartTheme
from components.pair_selection import Box, Pairs, cell_sums
from components.types import FloatArray

RINGS = 20
LEAST = 5
CHART: dict[str, Any] = {"displaylogo": False, "scrollZoom": False, "doubleClick": "reset",
                         # A picture without its title does not say what it is: the Export panel saves it with one.
                         "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "toImage"]}
Range = tuple[float, float]


@dataclass(frozen=True)
class Common:
    """What two planes have to share to be compared by eye.

    Attributes:
        mu_range, sigma_range: of the axes.
        edges: of the cells, d_mu's and d_sigma's; None = each plane's own.
        colours: ends of the colour scale; None = each plane's own.
    """

    mu_range: Range
    sigma_range: Range
    edges: tuple[FloatArray, FloatArray] | None
    colours: Range | None = None


def draw(data: MapData, plane: Plane, theme: ChartTheme, *, narrow: bool, box: Box | None = None,
         labelled: Labelled | None = None, common: Common | None = None) -> tuple[go.Figure, str]:
    """The figure that the controls ask for, and the same in words."""
    size: dict[str, Any] = {"narrow": narrow, "height": 450 if narrow else 520}
    counts, mu_edges, sigma_edges = data.counts
    colours = common.colours if common else None
    if common:
        size |= {"mu_range": common.mu_range, "sigma_range": common.sigma_range}
        if common.edges:
            (mu_edges, sigma_edges), counts = common.edges, data.counts_on(*common.edges)
    if plane.kind == POINTS:
        at = sample(data.pairs)
        d_mu, d_sigma = data.pairs.d_mu[at], data.pairs.d_sigma[at]
        fig = pair_points(d_mu, d_sigma, theme, rows=at, grid=CountGrid(counts, mu_edges, sigma_edges),
                          socm_range=colours, **size)
        alt = pair_points_alt(d_mu, d_sigma, of=len(data.pairs))
    elif plane.kind == MEANS:
        sums, kept = cell_sums(data.pairs, data.values(QUANTITIES[plane.quantity]), mu_edges, sigma_edges)
        label = plane.quantity
        fig = pair_means(sums, kept, mu_edges, sigma_edges, theme, quantity_label=label, least=LEAST, value_range=colours,
                         **size)
        alt = pair_means_alt(sums, kept, mu_edges, sigma_edges, quantity_label=label, least=LEAST)
    else:
        top = None if labelled else top_pairs(data)
        fig = pair_density(counts, mu_edges, sigma_edges, theme, top=top,
                           most=round(10 ** colours[1]) if colours else None, **size)
        alt = pair_density_alt(counts, mu_edges, sigma_edges, top=top)
    if labelled is not None:
        add_labelled_pairs(fig, labelled.d_mu, labelled.d_sigma, labelled.labels, labelled.texts_a, labelled.texts_b, theme,
                           narrow)
        alt += " " + labelled_pairs_alt(labelled.d_mu, labelled.d_sigma, labelled.labels)
    if box is not None:
        add_box(fig, box.mu_low, box.mu_high, box.sigma_low, box.sigma_high, theme)
    return fig, alt


def common_ground(sides: Sequence[MapData], plane: Plane, theme: ChartTheme, labelled: Sequence[Labelled]) -> Common:
    """Axes over all that the planes show, with the air that single planes have; the same cells; one scale of colours."""
    mu, sigma = [side.counts[1] for side in sides], [side.counts[2] for side in sides]
    mu_range, sigma_range = spanning(*mu, *(one.d_mu for one in labelled)), spanning(*sigma, *(one.d_sigma for one in labelled))
    cells = None
    # A streamed map's pairs are counted and not kept, in cells of its own.
    if all(side.filtered or side.result.method != "streamed" for side in sides):
        # So few that no builder joins them further.
        bins = MEAN_BINS if plane.kind == MEANS else DENSITY_BINS
        cells = _over(mu, bins), _over(sigma, bins)
    alone = Common(mu_range, sigma_range, cells)
    if cells is None:
        return alone
    found = [_colours(draw(side, plane, theme, narrow=True, common=alone)[0]) for side in sides]
    return replace(alone, colours=(min(low for low, _ in found), max(high for _, high in found)))


def _over(edges: Sequence[FloatArray], bins: int) -> FloatArray:
    return np.linspace(min(float(part[0]) for part in edges), max(float(part[-1]) for part in edges), bins + 1)


def _colours(fig: go.Figure) -> Range:
    first = fig.data[0]
    return (first.zmin, first.zmax) if first.type == "heatmap" else (first.marker.cmin, first.marker.cmax)


def sample(pairs: Pairs) -> Any:
    """Places of at most 20,000 pairs, drawn at random with a fixed seed, so that a rerun draws the same."""
    n = len(pairs)
    return np.arange(n) if n <= MAX_POINTS else np.sort(np.random.default_rng(0).choice(n, MAX_POINTS, replace=False))


def top_pairs(data: MapData) -> TopPairs:
    """The pairs of largest SOCM, with their texts."""
    at = data.largest(RINGS)
    part, texts = data.pairs.take(at), data.corpus.texts
    return TopPairs(part.d_mu, part.d_sigma, tuple(texts[k] for k in part.i), tuple(texts[k] for k in part.j))


def drawn_note(data: MapData, plane: Plane) -> str:
    """What of the pairs is drawn, where that is not all of them."""
    if plane.kind == POINTS and len(data.pairs) > MAX_POINTS:
        return f"{MAX_POINTS:,} of the {len(data.pairs):,} pairs are drawn, at random; the numbers and the box use all. "
    if plane.kind == MEANS:
        return f"Grey cells hold fewer than {LEAST} pairs, too few for a mean. "
    return ""


__all__ = ["CHART", "DENSITY", "Common", "common_ground", "draw", "drawn_note"]
