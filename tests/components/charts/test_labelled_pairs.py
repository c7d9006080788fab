from __future__ import annotations

import numpy as np
import pytest

from components.charts.labelled_pairs import (
    LEGEND,
    OTHER,
    STYLES,
    add_labelled_pairs,
    label_styles,
    labelled_pairs_alt,
)
from components.charts.pair_density import pair_density
from components.charts.pair_points import pair_points
from components.charts.plane import ISO
from components.charts.style import LIGHT, ChartTheme
from components.errors import DataError
from tests.components.charts.figures import HOSTILE, THEMES, cloud, counted, covers, hovers, mega, traces

LABELS = [name for name in STYLES for _ in range(20)]
N = len(LABELS)
MU, SIGMA = np.linspace(0.0, 0.95, N), np.linspace(3.0, 0.001, N)


def laid_over(theme: ChartTheme = LIGHT, narrow: bool = False, labels: list[str] | None = None, text: str = "a text"):
    grid = counted()
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, theme, narrow=narrow)
    add_labelled_pairs(fig, MU, SIGMA, labels or LABELS, [text] * N, [text] * N, theme, narrow)
    return fig


def marks(fig) -> list:
    return [trace for trace in fig.data if trace.meta == "label" and trace.showlegend]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_every_pair_is_drawn_once_under_its_label(theme: ChartTheme, narrow: bool) -> None:
    shown = marks(laid_over(theme, narrow))
    assert [trace.legendgroup for trace in shown] == list(STYLES)
    assert sorted(row for trace in shown for row in np.asarray(trace.customdata)[:, 0]) == list(range(N))
    for trace in shown:
        rows = np.asarray(trace.customdata)[:, 0].astype(int)
        assert {LABELS[row] for row in rows} == {trace.legendgroup}
        assert np.allclose(trace.x, MU[rows], atol=1e-6)
        assert np.allclose(np.asarray(trace.customdata)[:, 3], (1 - MU[rows]) * SIGMA[rows], atol=1e-5)


def test_shapes_are_told_apart_without_colour() -> None:
    seen = [(trace.marker.symbol, trace.marker.color == LIGHT.paper) for trace in marks(laid_over())]
    assert len(set(seen)) == len(STYLES)


def test_a_mark_and_its_halo_hide_together() -> None:
    fig = laid_over()
    for trace in marks(fig):
        group = [other for other in fig.data if other.legendgroup == trace.legendgroup]
        assert len(group) == 2 and {other.legend for other in group} == {LEGEND}
        assert group[0].marker.size > group[1].marker.size and group[0].hoverinfo == "skip"


@pytest.mark.parametrize("narrow", [False, True])
def test_the_plane_keeps_its_size_and_widens_its_axes(narrow: bool) -> None:
    grid = counted()
    before, after = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT, narrow=narrow), laid_over(narrow=narrow)
    inner = [fig.layout.height - fig.layout.margin.t - fig.layout.margin.b for fig in (before, after)]
    assert inner[0] == inner[1]
    assert covers(after, MU, SIGMA) and not covers(before, MU, SIGMA)
    for axis in ("xaxis", "yaxis"):
        (old_low, old_high), (low, high) = before.layout[axis].range, after.layout[axis].range
        assert low <= old_low and old_high <= high


def test_lines_follow_the_widened_axes() -> None:
    fig = laid_over()
    lines = [trace for trace in fig.data if trace.meta == ISO]
    assert len(lines) == 2
    x0, y1 = fig.layout.xaxis.range[0], fig.layout.yaxis.range[1]
    x, y = np.asarray(lines[0].x), np.asarray(lines[0].y)
    assert np.nanmin(x) == pytest.approx(x0, abs=1e-5) and np.nanmax(y) == pytest.approx(y1, abs=1e-3)
    assert len([shape for shape in fig.layout.shapes if shape.name == ISO]) == \
        len([note for note in fig.layout.annotations if note.name == ISO]) > 0


def test_pairs_inside_leave_the_axes_alone() -> None:
    grid = counted()
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT)
    before = fig.layout.xaxis.range, fig.layout.yaxis.range
    add_labelled_pairs(fig, np.array([0.4]), np.array([1.4]), ["negation"], ["a"], ["b"], LIGHT)
    assert (fig.layout.xaxis.range, fig.layout.yaxis.range) == before


def test_over_points_the_marks_are_webgl() -> None:
    fig = pair_points(*cloud(300), LIGHT)
    add_labelled_pairs(fig, MU, SIGMA, LABELS, ["a"] * N, ["b"] * N, LIGHT)
    assert not traces(fig, "scatter") and len(marks(fig)) == len(STYLES)


def test_hostile_texts_and_labels_are_escaped_and_cut() -> None:
    labels = [HOSTILE if k % 2 else "negation" for k in range(N)]
    shown = hovers(laid_over(labels=labels, text=HOSTILE))
    assert "<script" not in shown and "<b " not in shown and "&lt;script&gt;" in shown and "…" in shown
    assert hovers(laid_over(labels=[""] * N)).count("(no label)") > 1


def test_many_unknown_labels_become_one() -> None:
    labels = [f"label {k}" for k in range(N)]
    styles = label_styles(labels)
    assert len(styles) == len(STYLES) + 1 and OTHER in styles
    fig = laid_over(labels=labels)
    assert sum(len(trace.x) for trace in marks(fig)) == N
    assert len({(mark.symbol, mark.filled) for mark in styles.values()}) == len(styles)


def test_unknown_labels_take_free_shapes_the_most_frequent_first() -> None:
    styles = label_styles(["negation", "b", "b", "a"])
    assert list(styles) == ["negation", "b", "a"]
    assert styles["negation"] == STYLES["negation"]


def test_less_than_a_megabyte_on_a_full_plane() -> None:
    bins = 110
    fig = pair_density(np.ones((bins, bins), dtype=int), np.linspace(0, 1, bins + 1), np.linspace(0, 3, bins + 1), LIGHT)
    add_labelled_pairs(fig, MU, SIGMA, LABELS, [HOSTILE] * N, [HOSTILE] * N, LIGHT)
    assert mega(fig) < 1


def test_none_and_what_does_not_fit() -> None:
    grid = counted()
    fig = pair_density(grid.counts, grid.mu_edges, grid.sigma_edges, LIGHT)
    before = fig.to_json()
    add_labelled_pairs(fig, np.zeros(0), np.zeros(0), [], [], [], LIGHT)
    assert fig.to_json() == before
    with pytest.raises(DataError, match="labelled pairs"):
        add_labelled_pairs(fig, np.zeros(2), np.zeros(2), ["a"], ["b", "c"], ["d", "e"], LIGHT)


def test_alt_ranks_the_labels() -> None:
    words = labelled_pairs_alt(np.array([0.0, 0.5, 0.5]), np.array([1.0, 1.0, 1.0]), ["x", "y", "y"])
    assert words == "3 labelled pairs lie over it; mean SOCM by label: x 1.00 (1 pair); y 0.500 (2 pairs)."
    assert labelled_pairs_alt(np.zeros(0), np.zeros(0), []) == "No labelled pairs."
