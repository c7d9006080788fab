"""The plane in its three forms, with the box and the labelled pairs over it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.map_data import Labelled, MapData
from app.views.map_controls import DENSITY, MEANS, POINTS, QUANTITIES, Plane
from components.charts.grid import CountGrid
from components.charts.labelled_pairs import add_labelled_pairs, labelled_pairs_alt
from components.charts.pair_density import pair_density, pair_density_alt
from components.charts.pair_means import pair_means, pair_means_alt
from components.charts.pair_points import MAX_POINTS, pair_points, pair_points_alt
from components.charts.plane import TopPairs, add_box
from components.charts.style import ChartTheme
from components.pair_selection import Box, Pairs, cell_sums

RINGS = 20
LEAST = 5
CHART: dict[str, Any] = {"displaylogo": False, "scrollZoom": False, "doubleClick": "reset",
                         # A picture without its title does not say what it is: the Export panel saves it with one.
                         "modeBarButtonsToRemove": ["lasso2d", "autoScale2d", "toImage"]}
Range = tuple[float, float]


def draw(data: MapData, plane: Plane, theme: ChartTheme, *, narrow: bool, box: Box | None = None,
         labelled: Labelled | None = None, mu_range: Range | None = None, sigma_range: Range | None = None) -> tuple[go.Figure, str]:
    """The figure that the controls ask for, and the same in words."""
    height = 430 if narrow else 520
    size: dict[str, Any] = {"narrow": narrow, "height": height, "mu_range": mu_range, "sigma_range": sigma_range}
    counts, mu_edges, sigma_edges = data.counts
    if plane.kind == POINTS:
        at = sample(data.pairs)
        d_mu, d_sigma = data.pairs.d_mu[at], data.pairs.d_sigma[at]
        fig = pair_points(d_mu, d_sigma, theme, rows=at, grid=CountGrid(counts, mu_edges, sigma_edges), **size)
        alt = pair_points_alt(d_mu, d_sigma, of=len(data.pairs))
    elif plane.kind == MEANS:
        sums, kept = cell_sums(data.pairs, data.values(QUANTITIES[plane.quantity]), mu_edges, sigma_edges)
        label = plane.quantity
        fig = pair_means(sums, kept, mu_edges, sigma_edges, theme, quantity_label=label, least=LEAST, **size)
        alt = pair_means_alt(sums, kept, mu_edges, sigma_edges, quantity_label=label, least=LEAST)
    else:
        top = None if labelled else top_pairs(data)
        fig = pair_density(counts, mu_edges, sigma_edges, theme, top=top, **size)
        alt = pair_density_alt(counts, mu_edges, sigma_edges, top=top)
    if labelled is not None:
        add_labelled_pairs(fig, labelled.d_mu, labelled.d_sigma, labelled.labels, labelled.texts_a, labelled.texts_b, theme,
                           narrow)
        alt += " " + labelled_pairs_alt(labelled.d_mu, labelled.d_sigma, labelled.labels)
    if box is not None:
        add_box(fig, box.mu_low, box.mu_high, box.sigma_low, box.sigma_high, theme)
    return fig, alt


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
        counts = data.counts[0]
        thin = (counts > 0) & (counts < LEAST)
        return (f"Cells of fewer than {LEAST} pairs are left blank: {int(thin.sum()):,} cells with "
                f"{int(counts[thin].sum()):,} pairs. ")
    return ""


__all__ = ["CHART", "DENSITY", "draw", "drawn_note"]
