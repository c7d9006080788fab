from __future__ import annotations

import pytest

from components.charts.change_rows import Change, change_rows, change_rows_alt
from components.charts.model_scatter import ModelMark, Unscored, model_scatter, model_scatter_alt, name_places
from components.charts.style import LIGHT, ChartTheme
from tests.components.charts.figures import HOSTILE, THEMES, hovers

MARKS = [ModelMark("a/base", "A", True, 0.4, 0.4, note="as published"), ModelMark("a/tuned", "A", False, 0.1, 0.6),
         ModelMark("b/base", "B", True, 0.2, 0.3, left_out=True), ModelMark("mine", "", False, 0.3, 0.5, note="score from a table")]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_families_backbones_arrows_and_models_of_ones_own(theme: ChartTheme, narrow: bool) -> None:
    fig = model_scatter(MARKS, theme, x_label="SOCM", y_label="Score", narrow=narrow)
    a, b, mine = fig.data
    assert a.marker.symbol != b.marker.symbol and list(a.marker.color) == [theme.paper, theme.models[0]], "backbones hollow"
    assert list(b.marker.opacity) == [0.3] and mine.name == "computed here" and mine.marker.color[0] == theme.accent
    assert len(fig.layout.annotations) == 1
    arrow = fig.layout.annotations[0]
    assert (arrow.ax, arrow.ay, arrow.x, arrow.y) == (0.4, 0.4, 0.1, 0.6)
    assert [list(point) for point in a.customdata] == [["a/base"], ["a/tuned"]]
    assert "a/base<br>0.400, score 0.400<br>as published" in hovers(fig) and "left out" in hovers(fig)
    (x0, x1), (y0, y1) = fig.layout.xaxis.range, fig.layout.yaxis.range
    assert x0 < 0.1 and x1 > 0.4 and y0 < 0.3 and y1 > 0.6


def test_models_without_a_score_are_ticks_inside_the_axes() -> None:
    fig = model_scatter(MARKS, LIGHT, x_label="SOCM", y_label="Score", unscored=[Unscored(HOSTILE, True, 0.9, "computed here")])
    ticks = fig.data[-1]
    assert ticks.name == "computed here, no score" and list(ticks.x) == [0.9] and ticks.customdata is None
    assert fig.layout.xaxis.range[1] > 0.9 and fig.layout.yaxis.range[0] < ticks.y[0] < 0.3 and "<script" not in hovers(fig)
    assert "Computed here, without a score: mine 0.500." in model_scatter_alt(MARKS, x_label="x", y_label="y",
                                                                             unscored=[Unscored("mine", False, 0.5)])


def test_names_lie_over_no_other_name() -> None:
    close = [ModelMark(f"model-number-{k}", "A", False, 0.1 + 0.002 * k, 0.5 + 0.002 * k) for k in range(3)] + \
        [ModelMark("far", "A", False, 0.9, 0.9)]
    places = name_places(close, (0, 1), (0, 1), 400)
    assert len({places[mark.name] for mark in close[:3]}) == 3
    assert name_places([ModelMark("x" * 40, "A", False, 1.0, 0.5), close[0]], (0, 1), (0, 1), 400)["x" * 40].endswith("left")


def test_what_rises_is_told_apart_and_named() -> None:
    changes = [Change("down", "base", 0.4, 0.1, "as published"), Change("up", "base", 0.2, 0.3, "computed here")]
    fig = change_rows(changes, LIGHT, x_label="Mean SOCM")
    assert {trace.name for trace in fig.data if trace.mode == "markers"} == {"backbone", "tuned: falls", "tuned: rises"}
    rises = next(trace for trace in fig.data if trace.name == "tuned: rises")
    assert list(rises.x) == [0.3] and rises.marker.color == LIGHT.text_b
    assert list(fig.layout.yaxis.categoryarray) == ["up", "down"], "the first on top"
    assert "down 0.400 to 0.100; up 0.200 to 0.300" in change_rows_alt(changes, x_label="Q")
    assert "No pair of backbone" in change_rows([], LIGHT, x_label="Q").to_json()


def test_hostile_names_are_text() -> None:
    fig = model_scatter([ModelMark(HOSTILE, HOSTILE, False, 0.1, 0.2, note=HOSTILE)], LIGHT, x_label="x", y_label="y")
    assert "<script" not in hovers(fig) and "<script" not in str(fig.data[0].text)
    assert "<script" not in hovers(change_rows([Change(HOSTILE, HOSTILE, 1, 2, HOSTILE)], LIGHT, x_label="x"))
    assert "none" in model_scatter_alt([], x_label="x", y_label="y")
    assert "No model" in model_scatter([], LIGHT, x_label="x", y_label="y").to_json()
