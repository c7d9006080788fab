from __future__ import annotations

import numpy as np
import pytest

from components.charts.head_map import head_map, head_map_alt
from components.charts.layer_panels import BACKBONE, BOUND, PUBLISHED, TUNED, Line, Panel, layer_panels, layer_panels_alt
from components.charts.style import LIGHT, ChartTheme
from components.charts.text_shares import text_shares, text_shares_alt
from components.types import FINAL, Interval
from tests.components.charts.figures import HOSTILE, THEMES, hovers


def line(model: str, role: str, colour: int, values: list[float], wide: float | None = 0.1) -> Line:
    means = tuple(Interval(v, None if wide is None else v - wide, None if wide is None else v + wide, 40, "texts") for v in values)
    return Line(model, role, colour, tuple(range(len(values))), np.arange(len(values), dtype=float), means)


PANELS = [Panel("Normalised spread", (line("base", BACKBONE, 0, [4.0, 3.0, 2.0]), line("tuned", TUNED, 1, [4.0, 2.5, 1.0]),
                                      line("theirs", PUBLISHED, 0, [5.0, 4.0, 3.0], None)), level=1.0),
          Panel("Mean SOCM", (line("tuned", TUNED, 1, [0.9, 0.5, 0.1]), line("tuned", BOUND, 1, [2.0, 1.5, 1.0], None))),
          Panel("λ", (), "Not available for these models")]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_roles_are_told_by_dash_marker_and_colour(theme: ChartTheme, narrow: bool) -> None:
    fig = layer_panels(PANELS, theme, axis="Layer", chosen=1.0, narrow=narrow)
    drawn = {(t.name, t.line.dash): t for t in fig.data if t.mode != "lines" or t.line.dash}
    base, tuned = drawn["base", "dash"], drawn["tuned", "solid"]
    assert base.marker.color == theme.paper and base.marker.line.color == theme.models[0], "hollow"
    assert tuned.marker.color == theme.models[1] == tuned.line.color
    assert drawn["published, named at their points", "dot"].line.color == theme.published
    assert [list(map(str, pair)) for pair in tuned.customdata] == [["tuned", "0"], ["tuned", "1"], ["tuned", "2"]]
    bands = [t for t in fig.data if t.fill == "toself"]
    assert len(bands) == 3 and np.allclose(bands[0].y, [4.1, 3.1, 2.1, 1.9, 2.9, 3.9]), "none where no interval was published"
    assert sum(s.name == "chosen" for s in fig.layout.shapes) == 2 and sum(s.name == "level" for s in fig.layout.shapes) == 1
    assert any("Not available" in a.text for a in fig.layout.annotations)


def test_a_model_stands_once_in_the_legend_and_hovers_give_interval_and_n() -> None:
    fig = layer_panels(PANELS, LIGHT, axis="Layer")
    assert sorted(t.name for t in fig.data if t.showlegend is not False) == ["base", "published, named at their points", "tuned"]
    shown = hovers(fig)
    assert "tuned, layer 1<br>Normalised spread 2.50 [2.40, 2.60]<br>40 texts" in shown
    assert "theirs, layer 2<br>Normalised spread 3.00 as published" in shown


def test_hostile_names_are_text_and_final_is_named() -> None:
    hostile = line(HOSTILE, TUNED, 0, [1.0, 2.0])
    fig = layer_panels([Panel("Q", (Line(HOSTILE, TUNED, 0, (0, FINAL), hostile.depth, hostile.means),))], LIGHT, axis="Layer",
                       ticks=[(0.0, "0"), (1.0, "final")])
    assert "<script" not in fig.to_json() and "what pooling sees" in hovers(fig)
    assert fig.layout.xaxis.ticktext == ("0", "final")


def test_the_figure_in_words() -> None:
    said = layer_panels_alt(PANELS)
    assert "Normalised spread: base from 4.00 at layer 0 to 2.00 at layer 2; tuned" in said and "theirs" not in said
    assert "λ: Not available for these models." in said


@pytest.mark.parametrize("narrow", [False, True])
def test_the_head_map_has_layers_from_1_and_says_its_extremes(narrow: bool) -> None:
    values = np.array([[0.1, 0.2], [1.5, 0.4], [0.3, 1.0]])
    fig = head_map(values, LIGHT, narrow=narrow)
    assert fig.data[0].y.tolist() == [1, 2, 3] and fig.data[0].x.tolist() == [1, 2] and fig.data[0].zmax == 1.5
    assert head_map_alt(values) == ("λ by layer and head, 3 layers of 2 heads: from 0.100 to 1.50, largest at layer 2, head 1; "
                                    "2 of 6 are 1 or more.")
    assert "Nothing to draw" in head_map(np.empty((0, 0)), LIGHT).to_json()


def test_shares_rise_from_the_smallest_to_the_largest_value() -> None:
    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(size=1000), np.nan]
    fig = text_shares([("m", True, 0, values)], LIGHT, quantity_label="Q")
    curve = fig.data[0]
    assert len(curve.x) == 400 and curve.y[0] == 0 and curve.y[-1] == 1 and (np.diff(curve.x) >= 0).all()
    assert curve.x[0] == pytest.approx(np.nanmin(values), rel=1e-5) and curve.line.dash == "dash"
    middle = float(np.interp(0.5, curve.y, curve.x))
    assert middle == pytest.approx(np.nanmedian(values), abs=0.01)
    assert "1,000 texts" in text_shares_alt([("m", True, 0, values)], quantity_label="Q")
    assert "Nothing to draw" in text_shares([("m", False, 0, np.array([np.nan]))], LIGHT, quantity_label="Q").to_json()
