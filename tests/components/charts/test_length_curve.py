from __future__ import annotations

import numpy as np
import pytest

from components.charts.length_curve import length_curve, length_curve_alt
from components.charts.style import LIGHT, ChartTheme
from components.pair_selection import LengthBin
from components.types import Interval
from tests.components.charts.figures import HOSTILE, THEMES, hovers


def bins(*rows: tuple[int, int, float]) -> list[LengthBin]:
    return [LengthBin(low, high, Interval(value, value - 0.05, value + 0.05, 90, "texts"), 12_345) for low, high, value in rows]


THREE = bins((3, 5, 0.3), (6, 6, 0.4), (7, 40, 1.2))


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_curve_band_and_bins_width(theme: ChartTheme, narrow: bool) -> None:
    fig = length_curve(THREE, theme, quantity_label="Mean SOCM", narrow=narrow)
    band, curve = fig.data
    assert np.allclose(curve.x, [4, 6, 23.5]) and np.allclose(curve.y, [0.3, 0.4, 1.2])
    assert np.allclose(band.y, [0.35, 0.45, 1.25, 1.15, 0.35, 0.25])
    assert np.allclose(np.asarray(curve.x) + curve.error_x.array, [5, 6, 40])
    assert np.allclose(np.asarray(curve.x) - curve.error_x.arrayminus, [3, 6, 7])
    assert fig.layout.yaxis.title.text == "Mean SOCM" and fig.layout.xaxis.title.text == "Tokens of the shorter text"


def test_axes_cover_bins_and_intervals_and_pass_1() -> None:
    fig = length_curve(THREE, LIGHT, quantity_label="Q")
    (x0, x1), (y0, y1) = fig.layout.xaxis.range, fig.layout.yaxis.range
    assert x0 < 3 and x1 > 40 and y0 < 0.25 and y1 > 1.25


def test_long_tails_are_logarithmic() -> None:
    axis = length_curve(bins((2, 4, 0.1), (5, 256, 0.5)), LIGHT, quantity_label="Q").layout.xaxis
    assert axis.type == "log" and axis.range[0] < np.log10(2) and axis.range[1] > np.log10(256)
    assert length_curve(THREE, LIGHT, quantity_label="Q").layout.xaxis.type is None


def test_hover_gives_tokens_mean_interval_and_n() -> None:
    shown = hovers(length_curve(THREE, LIGHT, quantity_label="Mean SOCM"))
    assert "3 to 5 tokens<br>Mean SOCM 0.300 [0.250, 0.350]<br>12,345 pairs, 90 texts" in shown
    assert "6 tokens<br>" in shown


def test_without_intervals_the_band_closes_on_the_curve() -> None:
    alone = [LengthBin(3, 3, Interval(0.5, None, None, 2, "texts"), 1), LengthBin(4, 4, Interval(0.6, None, None, 2, "texts"), 1)]
    assert np.allclose(length_curve(alone, LIGHT, quantity_label="Q").data[0].y, [0.5, 0.6, 0.6, 0.5])


@pytest.mark.parametrize("narrow", [False, True])
def test_none_and_one(narrow: bool) -> None:
    empty = length_curve([], LIGHT, quantity_label="Q", narrow=narrow)
    assert not empty.data and "No pairs to draw" in [note.text for note in empty.layout.annotations]
    one = length_curve(bins((8, 8, 0.5)), LIGHT, quantity_label="Q", narrow=narrow)
    assert one.layout.xaxis.range[0] < 8 < one.layout.xaxis.range[1]
    assert "no pairs" in length_curve_alt([], quantity_label="Q")
    assert "one bin" in length_curve_alt(bins((1, 1, 0.5)), quantity_label="Q")


def test_hostile_label_is_escaped() -> None:
    fig = length_curve(THREE, LIGHT, quantity_label=HOSTILE)
    assert "<script" not in hovers(fig) + fig.layout.yaxis.title.text


def test_alt_says_how_it_runs() -> None:
    assert length_curve_alt(THREE, quantity_label="Mean SOCM").endswith("1.20 at 7 to 40 tokens (12,345 pairs); rising in every bin.")
    assert "between 0.100 and 0.500" in length_curve_alt(bins((1, 1, 0.1), (2, 2, 0.5), (3, 3, 0.2)), quantity_label="Q")
