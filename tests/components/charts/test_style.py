from __future__ import annotations

import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from components.charts import style
from components.charts.labelled_pairs import OTHER_STYLE, SPARE, STYLES
from components.charts.pair_points import OPACITY, contrast, mark_scale
from components.charts.style import DARK, LIGHT, ChartTheme, caption_number, interval_text
from tests.components.charts.figures import THEMES

# Machado, Oliveira and Fernandes (2009), deuteranomaly of severity 1.0, on linear RGB.
DEUTERANOPIA = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
# sRGB to XYZ (D65), for CIE Lab.
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def wcag(one: str, other: str) -> float:
    bright, dim = sorted((float(linear(c) @ (0.2126, 0.7152, 0.0722)) for c in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    x = XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def deuteranope(colour: str) -> np.ndarray:
    return lab(DEUTERANOPIA @ linear(colour))


def mixed(ground: str, colour: str, share: float) -> str:
    return "#" + "".join(f"{round(int(ground[i:i + 2], 16) * (1 - share) + int(colour[i:i + 2], 16) * share):02X}"
                         for i in (1, 3, 5))


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_text_has_4_5_to_1_on_both_grounds(theme: ChartTheme) -> None:
    for ground, colour in itertools.product((theme.paper, theme.panel), (theme.ink, theme.secondary)):
        assert wcag(ground, colour) >= 4.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_marks_have_3_to_1_on_paper(theme: ChartTheme) -> None:
    for colour in (*theme.sequence, theme.accent, theme.published, theme.ink):
        assert wcag(theme.paper, colour) >= 3, colour


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_points_have_3_to_1_on_paper_as_drawn_and_the_largest_the_most(theme: ChartTheme) -> None:
    seen = [wcag(mixed(theme.paper, colour, OPACITY), theme.paper) for _, colour in mark_scale(theme)]
    assert min(seen) >= 3
    assert seen == sorted(seen)


def test_contrast_is_wcags() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(wcag("#777777", "#FFFFFF"))


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_the_sequence_stays_apart_under_deuteranopia(theme: ChartTheme) -> None:
    for one, other in itertools.combinations(theme.sequence, 2):
        assert np.linalg.norm(deuteranope(one) - deuteranope(other)) > 12, (one, other)


def test_the_simulation_would_catch_red_against_green() -> None:
    assert np.linalg.norm(deuteranope("#C04040") - deuteranope("#707040")) < 12
    assert np.linalg.norm(lab(linear("#C04040")) - lab(linear("#707040"))) > 40


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("name", ["density", "magnitude"])
def test_magnitudes_keep_one_direction_of_lightness_under_deuteranopia(theme: ChartTheme, name: str) -> None:
    lightness = [deuteranope(colour)[0] for _, colour in getattr(theme, name)]
    steps = np.diff(lightness)
    assert (steps > 0).all() or (steps < 0).all()


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_the_ends_of_the_diverging_scale_stay_apart_under_deuteranopia(theme: ChartTheme) -> None:
    colours = [colour for _, colour in theme.diverging]
    middle = len(colours) // 2
    for k in range(1, middle + 1):
        assert np.linalg.norm(deuteranope(colours[middle - k]) - deuteranope(colours[middle + k])) > 15


def test_every_label_has_a_mark_of_its_own_without_colour() -> None:
    marks = [(mark.symbol, mark.filled) for mark in (*STYLES.values(), *SPARE, OTHER_STYLE)]
    assert len(set(marks)) == len(marks)
    assert ("circle", False) not in marks  # the ring of the largest SOCM


def test_a_label_that_shares_a_colour_does_not_share_its_shape() -> None:
    for one, other in itertools.combinations(STYLES.values(), 2):
        if one.colour == other.colour:
            assert one.symbol != other.symbol


def test_the_pages_colours_are_the_figures() -> None:
    config = tomllib.loads((Path(__file__).parents[3] / ".streamlit/config.toml").read_text())["theme"]
    for theme in (LIGHT, DARK):
        page = config[theme.name]
        assert (page["backgroundColor"], page["secondaryBackgroundColor"]) == (theme.paper, theme.panel)
        assert (page["textColor"], page["primaryColor"]) == (theme.ink, theme.accent)
        assert page["grayTextColor"] == theme.secondary


@pytest.mark.parametrize(("value", "words"), [
    (499_500, "499,500"), (0.4372, "0.437"), (1.0, "1.00"), (12.34, "12.3"), (1234.5, "1,230"), (-0.012345, "−0.0123"),
    (0.0, "0"), (None, "–"), (math.nan, "–"), (math.inf, "infinite"), (2.5e-7, "2.50e−7"), (np.int64(1000), "1,000"),
])
def test_caption_numbers(value: float | None, words: str) -> None:
    assert caption_number(value) == words


def test_intervals_have_equal_decimals() -> None:
    assert interval_text(0.427, 0.4471) == "[0.427, 0.447]"
    assert interval_text(None, 1.0) == ""


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_projector_mode_is_a_third_larger(theme: ChartTheme) -> None:
    small, large = style.template(theme), style.template(theme, scale=style.PROJECTOR)
    assert large.layout.font.size == pytest.approx(small.layout.font.size * 4 / 3)
    assert large.layout.xaxis.title.font.size == pytest.approx(small.layout.xaxis.title.font.size * 4 / 3)
