from __future__ import annotations

import numpy as np
import pytest

from components.charts.pair_points import MAX_POINTS, pair_points, pair_points_alt
from components.charts.plane import add_box
from components.charts.style import LIGHT, ChartTheme
from components.errors import DataError
from tests.components.charts.figures import HOSTILE, THEMES, cloud, counted, covers, hovers, mega, top_pairs, traces


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_points_are_float32_webgl_with_their_row_numbers(theme: ChartTheme, narrow: bool) -> None:
    d_mu, d_sigma = cloud(500)
    rows = np.arange(500) * 999 + 7
    points = pair_points(d_mu, d_sigma, theme, rows=rows, narrow=narrow).data[0]
    assert points.type == "scattergl"
    assert np.asarray(points.x).dtype == np.asarray(points.y).dtype == np.asarray(points.marker.color).dtype == np.float32
    assert np.array_equal(points.customdata, rows)
    assert np.allclose(points.marker.color, (1 - d_mu) * d_sigma, atol=1e-6)
    assert points.marker.colorbar.title.text == "SOCM" and ":.3r" in points.hovertemplate


def test_twenty_thousand_points_are_less_than_a_megabyte() -> None:
    d_mu, d_sigma = cloud(MAX_POINTS)
    fig = pair_points(d_mu, d_sigma, LIGHT, rows=np.arange(MAX_POINTS) * 24, grid=counted(), top=top_pairs(200, HOSTILE),
                      highlighted=np.arange(0, 2_400, 24))
    assert mega(fig) < 1


def test_more_are_refused() -> None:
    with pytest.raises(DataError, match="20,000"):
        pair_points(*cloud(MAX_POINTS + 1), LIGHT)
    with pytest.raises(DataError, match="points"):
        pair_points(np.zeros(3), np.zeros(2), LIGHT)


def test_axes_cover_points_rings_and_all_pairs() -> None:
    d_mu, d_sigma = cloud(400)
    top, grid = top_pairs(), counted()
    fig = pair_points(d_mu, d_sigma, LIGHT, top=top, grid=grid)
    crop = grid.cropped()
    assert covers(fig, np.concatenate([d_mu, top.d_mu, crop.mu_edges]), np.concatenate([d_sigma, top.d_sigma, crop.sigma_edges]))
    assert fig.layout.yaxis.range[1] > 1


def test_marginals_are_those_of_all_pairs_where_given() -> None:
    d_mu, d_sigma = cloud(400)
    grid = counted()
    for given, total in ((grid, grid.total), (None, 400)):
        above, beside = traces(pair_points(d_mu, d_sigma, LIGHT, grid=given), "bar")
        assert np.sum(above.y) == np.sum(beside.x) == total


def test_what_lies_over_webgl_is_webgl() -> None:
    # Plotly draws WebGL over SVG whatever the order: a line or a ring in SVG would lie under the points.
    fig = pair_points(*cloud(400), LIGHT, top=top_pairs(), highlighted=np.array([3]))
    add_box(fig, 0.1, 0.3, 1, 2, LIGHT)
    assert not traces(fig, "scatter")
    assert len(traces(fig, "scattergl")) == 1 + 2 + 2 + 2 + 2


def test_marked_pairs_are_found_by_row_number() -> None:
    d_mu, d_sigma = cloud(50)
    fig = pair_points(d_mu, d_sigma, LIGHT, rows=np.arange(50) * 10, highlighted=np.array([20, 490, 21, 10_000]))
    marked = next(trace for trace in fig.data if trace.meta == "highlighted")
    assert np.array_equal(marked.customdata, [20, 490])
    assert np.allclose(marked.x, d_mu[[2, 49]])


def test_colours_can_be_shared() -> None:
    marker = pair_points(*cloud(50), LIGHT, socm_range=(0.0, 2.0)).data[0].marker
    assert (marker.cmin, marker.cmax) == (0.0, 2.0)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("narrow", [False, True])
def test_none_one_and_equal_points(n: int, narrow: bool) -> None:
    d_mu, d_sigma = np.full(n, 0.25), np.full(n, 1.5)
    fig = pair_points(d_mu, d_sigma, LIGHT, narrow=narrow)
    if n:
        assert covers(fig, d_mu, d_sigma) and fig.data[0].marker.cmin < fig.data[0].marker.cmax
    else:
        assert "No pairs to draw" in [note.text for note in fig.layout.annotations]
    words = {0: "no pairs", 1: "1 pair of", 2: "2 pairs of"}[n]
    assert words in pair_points_alt(d_mu, d_sigma)


def test_alt_says_that_it_is_a_sample() -> None:
    assert "a sample of 499,500" in pair_points_alt(*cloud(100), of=499_500)


def test_hostile_text_is_escaped() -> None:
    assert "<script" not in hovers(pair_points(*cloud(10), LIGHT, top=top_pairs(1, HOSTILE)))
