from __future__ import annotations

import numpy as np
import pytest

from components.charts.correlation_map import CorrelationBlocks, correlation_map, correlation_map_alt
from components.charts.dim_panels import DASHED, REFERENCE, SOLID, DimLine, DimPanel, dim_panels, dim_panels_alt, labelled
from components.charts.layer_panels import BACKBONE, TUNED
from components.charts.style import LIGHT
from components.charts.truncation_curves import AXES, RANDOM, Baseline, Curve, truncation_curves, truncation_curves_alt
from components.types import Interval
from tests.components.charts.figures import HOSTILE, THEMES, hovers

DIMS = (8, 16, 384)


def curve(model: str, role: str, colour: int, values: tuple[float, ...], wide: float | None = 0.1) -> Curve:
    return Curve(model, role, colour, DIMS, tuple(
        Interval(v, None if wide is None else v - wide, None if wide is None else v + wide, 40, "queries") for v in values))


CURVES = [curve("tuned", TUNED, 0, (0.3, 0.5, 0.6)), curve("base", BACKBONE, 1, (0.1, 0.2, 0.4), None)]
BASELINES = [Baseline(RANDOM, "tuned", 0, DIMS[:2], np.array([0.2, 0.4]), np.array([0.1, 0.3]), np.array([0.25, 0.45]), 20),
             Baseline(AXES, "tuned", 0, DIMS, np.array([0.4, 0.5, 0.6]), np.array([0.4, 0.5, 0.6]), np.array([0.4, 0.5, 0.6]))]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_curves_bands_and_baselines_are_told_apart(theme, narrow):
    fig = truncation_curves(CURVES, BASELINES, theme, label="nDCG@10", chosen=16, narrow=narrow)
    drawn = {t.name: t for t in fig.data if t.name}
    assert drawn["base"].line.dash == "dash" and drawn["base"].marker.color == theme.paper, "hollow and dashed"
    assert drawn["tuned"].line.color == theme.models[0] and drawn["20 random choices of dims"].line.color == theme.published
    assert drawn["principal axes of other texts"].line.color == theme.models[0]
    bands = [t for t in fig.data if t.fill == "toself"]
    assert len(bands) == 2, "none where there is no interval, nor for the axes"
    assert np.allclose(bands[0].y, [0.25, 0.45, 0.3, 0.1]) and fig.layout.xaxis.type == "log"
    assert list(fig.layout.xaxis.ticktext) == ["8", "16", "384"]
    assert labelled((8, 128, 192, 256, 384)) == ["8", "", "192", "", "384"]
    assert sum(shape.name == "chosen" for shape in fig.layout.shapes) == 1
    assert fig.layout.yaxis.range[0] < 0.1 and fig.layout.yaxis.range[1] > 0.7, "every band inside"


def test_hovers_give_interval_and_n_and_hostile_names_are_text():
    shown = hovers(truncation_curves(CURVES, BASELINES, LIGHT, label="nDCG@10"))
    assert "tuned, 16 dims<br>nDCG@10 0.500 [0.400, 0.600]<br>40 queries" in shown
    assert "tuned, 8 dims, 20 random choices of dims<br>nDCG@10 0.200 [0.100, 0.250]" in shown
    assert "<script" not in truncation_curves([curve(HOSTILE, TUNED, 0, (0.1, 0.2, 0.3))], (), LIGHT, label=HOSTILE).to_json()
    assert "tuned from 0.300 at 8 dims to 0.600 at 384" in truncation_curves_alt(CURVES, label="nDCG@10")
    assert truncation_curves([], (), LIGHT, label="x").layout.height and "nothing" in truncation_curves_alt([], label="x")


@pytest.mark.parametrize("narrow", [False, True])
def test_values_that_are_not_known_leave_a_gap_and_no_nan(narrow):
    broken = [curve("tuned", TUNED, 0, (np.nan, 0.5, 0.6), None)]
    fig = truncation_curves(broken, (), LIGHT, label="x", narrow=narrow)
    assert np.isfinite(fig.layout.yaxis.range).all() and "tuned, 8 dims<br>x –<br>40 queries" in hovers(fig)


PANELS = [DimPanel("Share of |C|", (DimLine("tuned", 0, SOLID, np.array([8.0, 16]), np.array([0.5, 0.4])),
                                    DimLine("tuned", 0, DASHED, np.array([8.0, 16]), np.array([0.3, 0.2]), words="plain"),
                                    DimLine("noise", None, REFERENCE, np.array([8.0, 16]), np.array([0.1, 0.1]), False))),
          DimPanel("Spectrum", (DimLine("tuned", 0, SOLID, np.arange(1.0, 30), np.r_[0.0, np.full(28, 0.1)], False),), "Axis",
                   log_x=False, log_y=True), DimPanel("None", (), missing="Not available")]


@pytest.mark.parametrize("narrow", [False, True])
def test_panels_share_names_and_say_what_is_missing(narrow):
    fig = dim_panels(PANELS, LIGHT, narrow=narrow)
    assert sorted(t.name for t in fig.data if t.showlegend) == ["noise", "tuned"]
    assert fig.layout.xaxis.type == "log" and fig.layout.yaxis2.type == "log" and list(fig.layout.xaxis.ticktext) == ["8", "16"]
    assert any(a.text == "Not available" for a in fig.layout.annotations)
    assert np.isnan(fig.data[3].y[0]) and fig.data[3].y[1] == 0.1, "zero has no logarithm"
    assert "tuned, 16<br>Share of |C| 0.400" in hovers(fig) and "tuned, plain, 16<br>Share of |C| 0.200" in hovers(fig)
    said = dim_panels_alt(PANELS)
    assert "Share of |C|: tuned from 0.500 at 8 to 0.400 at 16" in said and "None: Not available." in said


@pytest.mark.parametrize("narrow", [False, True])
def test_maps_share_a_scale_and_name_the_dims(narrow):
    edges = np.array([0, 1, 2, 4]), np.array([4, 8, 16])
    maps = [CorrelationBlocks("All tokens", np.array([[0.1, 0.2], [0.3, 0.05], [0.0, 0.1]]), *edges),
            CorrelationBlocks(HOSTILE, np.full((3, 2), np.nan), *edges)]
    fig = correlation_map(maps, LIGHT, named=(4, 8, 16), narrow=narrow)
    assert (fig.layout.coloraxis.cmin, fig.layout.coloraxis.cmax) == (0, 0.3) and "<script" not in fig.to_json()
    assert list(fig.layout.xaxis.ticktext) == ["4", "8", "16"] and list(fig.layout.yaxis.ticktext) == ["0", "4"]
    assert fig.data[0].hovertext[2][1] == "kept 3 to 4, dropped 9 to 16<br>mean |C| 0.100"
    assert fig.data[0].hovertext[1][0] == "kept 2, dropped 5 to 8<br>mean |C| 0.300"
    said = correlation_map_alt(maps)
    assert "All tokens: mean |C| highest, 0.300, between kept coordinates 2 and dropped ones 5 to 8" in said and "nothing" in said
