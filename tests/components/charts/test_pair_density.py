from __future__ import annotations

import numpy as np
import pytest

from components.charts.pair_density import MAX_BINS, MAX_BINS_NARROW, TopPairs, pair_density, pair_density_alt
from components.charts.plane import BOX, ISO, add_box, add_rings, hover_text, spanning
from components.charts.style import LIGHT, ChartTheme
from components.errors import DataError
from tests.components.charts.figures import HOSTILE, THEMES, counted, covers, hovers, mega, top_pairs, traces


def drawn_counts(fig) -> np.ndarray:
    z = np.asarray(traces(fig, "heatmap")[0].z, dtype=float)
    return np.rint(10 ** z[~np.isnan(z)])


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_no_pair_is_lost(theme: ChartTheme, narrow: bool) -> None:
    grid = counted()
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, theme, narrow=narrow)
    assert drawn_counts(fig).sum() == grid.total
    assert np.asarray(traces(fig, "heatmap")[0].customdata)[:, :, 4].sum() == grid.total
    assert max(np.asarray(traces(fig, "heatmap")[0].z).shape) <= (MAX_BINS_NARROW if narrow else MAX_BINS)


def test_marginals_count_every_pair() -> None:
    grid = counted()
    above, beside = traces(pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT), "bar")
    assert np.sum(above.y) == np.sum(beside.x) == grid.total
    assert not traces(pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, narrow=True), "bar")


def test_axes_cover_the_pairs_and_pass_1() -> None:
    grid, top = counted(), top_pairs()
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, top=top)
    crop = grid.cropped()
    assert covers(fig, np.append(crop.mu_edges, top.d_mu), np.append(crop.sigma_edges, top.d_sigma))
    assert fig.layout.yaxis.range[1] > 1 and fig.layout.xaxis.range[0] > grid.mu_edges[0]


def test_given_ranges_are_kept() -> None:
    grid = counted()
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, mu_range=(0, 0.7), sigma_range=(0.2, 3))
    assert (fig.layout.xaxis.range, fig.layout.yaxis.range) == ((0, 0.7), (0.2, 3))


@pytest.mark.parametrize("mu_low", [0.0300000001, 0.1, -0.0127417])
def test_lines_are_equal_socm_and_labelled_inside_the_plane(mu_low: float) -> None:
    grid, levels = counted(), (0.4, 0.8, 1.2)
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, socm_levels=levels,
                       mu_range=(mu_low, 0.7), sigma_range=(0.21, 1.83))
    line = next(trace for trace in fig.data if trace.meta == ISO)
    socm = (1 - np.asarray(line.x)) * np.asarray(line.y)
    assert {round(float(value), 4) for value in socm[~np.isnan(socm)]} == set(levels)
    notes = [note for note in fig.layout.annotations if note.name == ISO]
    assert [note.text for note in notes] == ["SOCM 0.4", "SOCM 0.8", "SOCM 1.2"]
    for note in notes:
        # Outside by a float32 rounding is enough for plotly to hide a label.
        assert mu_low <= note.x <= 0.7 and 0.21 <= note.y <= 1.83


def test_hostile_text_is_escaped_and_cut() -> None:
    grid = counted()
    shown = hovers(pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, top=top_pairs(2, HOSTILE)))
    assert "<script" not in shown and "<b " not in shown and "&lt;script&gt;" in shown
    assert "…" in shown
    plain = hover_text("word " * 100).replace("<br>", " ")
    assert len(plain) <= 120 and plain.endswith("…")
    assert hover_text("  \n ") == "(empty)"


def test_less_than_a_megabyte_at_most_bins() -> None:
    grid = counted(200_000, (1100, 1100))
    full = pair_density(np.ones((MAX_BINS, MAX_BINS), dtype=int), np.linspace(0, 1, MAX_BINS + 1),
                        np.linspace(0, 3, MAX_BINS + 1), LIGHT, top=top_pairs(200, HOSTILE),
                        marginal_mu=np.ones(MAX_BINS, dtype=int))
    assert mega(full) < 1
    assert mega(pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT)) < 1


@pytest.mark.parametrize("narrow", [False, True])
def test_nothing_to_draw(narrow: bool) -> None:
    for counts, edges in ((np.zeros((3, 3), dtype=int), np.arange(4.0)), (np.zeros((0, 0), dtype=int), np.zeros(0))):
        fig = pair_density(counts, edges, edges, LIGHT, narrow=narrow)
        assert not traces(fig, "heatmap") and "No pairs to draw" in [note.text for note in fig.layout.annotations]
        assert "no pairs" in pair_density_alt(counts, edges, edges)


def test_one_cell() -> None:
    counts, mu, sigma = np.array([[7]]), np.array([0.0, 0.02]), np.array([-0.01, 0.01])
    fig = pair_density(counts, mu, sigma, LIGHT)
    assert drawn_counts(fig).tolist() == [7]
    assert covers(fig, mu, sigma)
    assert "7 pairs" in pair_density_alt(counts, mu, sigma)


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(DataError, match="counts"):
        pair_density(np.ones((2, 2), dtype=int), np.arange(3.0), np.arange(4.0), LIGHT)
    with pytest.raises(DataError, match="marginal"):
        pair_density(np.ones((2, 2), dtype=int), np.arange(3.0), np.arange(3.0), LIGHT, marginal_mu=np.ones(5, dtype=int))
    with pytest.raises(DataError, match="top pairs"):
        TopPairs(np.zeros(2), np.zeros(2), ("a",), ("b", "c"))


def test_narrow_keeps_the_thumb_free() -> None:
    grid = counted()
    wide, narrow = (pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, narrow=n) for n in (False, True))
    assert wide.layout.dragmode == "select" and narrow.layout.dragmode is False


def test_rings_and_box_come_from_state() -> None:
    grid, top = counted(), top_pairs(4)
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT)
    add_rings(fig, top, LIGHT)
    assert fig.data[-1].name == "4 largest SOCM"
    assert np.asarray(fig.data[-1].customdata)[:, 0].tolist() == [0, 1, 2, 3]
    add_box(fig, 0.3, 0.1, 1.0, 2.0, LIGHT)
    boxes = [shape for shape in fig.layout.shapes if shape.name == BOX]
    assert {(b.x0, b.x1, b.y0, b.y1) for b in boxes} == {(0.3, 0.1, 1.0, 2.0)}
    assert fig.layout.xaxis.range == pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT).layout.xaxis.range


def test_alt_says_where_the_crowd_is() -> None:
    grid = counted()
    words = pair_density_alt(grid.counts, grid.mu_edges, grid.sigma_edges, top=top_pairs(3))
    assert "50,000 pairs" in words and "rings mark the 3 largest" in words


def test_spanning_has_air_and_no_habit() -> None:
    assert spanning(np.array([0.0, 2.0]), None, np.zeros(0)) == pytest.approx((-0.04, 2.04))
    low, high = spanning(np.array([0.5]))
    assert low < 0.5 < high
