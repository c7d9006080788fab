"""The figures of the plane: nothing lost, nothing clipped, nothing run, and legible in both themes."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from components.charts.labelled_pairs import STYLES, add_labelled_pairs
from components.charts.length_curve import length_curve, length_curve_alt
from components.charts.pair_density import pair_density, pair_density_alt
from components.charts.pair_means import pair_means
from components.charts.pair_points import pair_points
from components.charts.plane import TopPairs
from components.charts.style import DARK, LIGHT, caption_number, interval_text
from components.types import Interval

THEMES = (LIGHT, DARK)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5))]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_text_and_marks_stand_out_from_their_ground(theme):
    for ground in (theme.paper, theme.panel):
        assert contrast(theme.ink, ground) >= 4.5 and contrast(theme.secondary, ground) >= 4.5
    for mark in (theme.text_a, theme.text_b, *theme.models):
        assert contrast(mark, theme.paper) >= 3 - 0.05, mark


# Machado, Oliveira and Fernandes 2009, deuteranopia at severity 1.0, on linear RGB.
DEUTERANOPIA = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])


def seen(colour: str) -> np.ndarray:
    """Lab of a colour as a deuteranope sees it (sRGB, D65)."""
    rgb = np.array([int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(DEUTERANOPIA @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_categories_stay_apart_under_deuteranopia(theme):
    for one, other in combinations(theme.sequence, 2):
        assert np.linalg.norm(seen(one) - seen(other)) > 8, (one, other)
    # Red against green, which the palette avoids, would fail: the check can fail.
    assert np.linalg.norm(seen("#C0504D") - seen("#7F7F2F")) < 30


def test_the_density_scale_darkens_or_brightens_in_one_direction():
    for theme in THEMES:
        steps = np.diff([luminance(colour) for _, colour in theme.density])
        assert (steps < 0).all() or (steps > 0).all()
        assert contrast(theme.density[0][1], theme.paper) < contrast(theme.density[-1][1], theme.paper)


def test_labels_differ_in_shape_as_well_as_in_colour():
    marks = [(mark.symbol, mark.filled) for mark in STYLES.values()]
    assert len(set(marks)) == len(marks)


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(0)
    mu, sigma = np.clip(rng.normal(0.48, 0.05, 50_000), 0, 1), np.abs(rng.normal(0.85, 0.3, 50_000))
    edges = np.linspace(mu.min(), mu.max(), 111), np.linspace(sigma.min(), sigma.max(), 101)
    return mu, sigma, np.histogram2d(mu, sigma, edges)[0].astype(int), *edges


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_the_density_draws_every_pair_on_axes_from_the_data(cloud, theme, narrow):
    mu, sigma, counts, mu_edges, sigma_edges = cloud
    figure = pair_density(counts, mu_edges, sigma_edges, theme, narrow=narrow)
    z = np.asarray(figure.data[0].z, dtype=float)
    assert round(float(np.nansum(10 ** z))) == pytest.approx(50_000, abs=5)
    low, high = figure.layout.yaxis.range
    assert low <= sigma.min() and sigma.max() <= high and high > 1.5, "d_sigma passes 1 and so does the axis"
    low, high = figure.layout.xaxis.range
    assert low <= mu.min() and mu.max() <= high < 1
    assert len(figure.to_json()) < 1_000_000


def test_texts_in_the_hover_are_escaped_and_cut():
    top = TopPairs(np.array([0.2]), np.array([1.2]), ("<script>alert(1)</script> " * 20,), ("<b>bold</b> & more",))
    figure = pair_density(np.ones((2, 2), int), np.array([0, 0.5, 1]), np.array([0, 1, 2.0]), LIGHT, top=top)
    text = json.dumps([trace.hovertext for trace in figure.data if trace.hovertext is not None])
    assert "<script" not in text and "<b>" not in text and "&lt;script&gt;" in text
    assert text.count("script") <= 12


@pytest.mark.parametrize("counts", [np.zeros((3, 3), int), np.eye(1, dtype=int), np.zeros((0, 0), int)])
def test_nothing_to_draw_is_no_error(counts):
    edges = [np.linspace(0, 1, n + 1) if n else np.zeros(0) for n in counts.shape]
    figure = pair_density(counts, *edges, LIGHT)
    assert figure.layout.height
    assert pair_density_alt(counts, *edges)


def test_alt_says_how_many_and_where(cloud):
    _, _, counts, mu_edges, sigma_edges = cloud
    words = pair_density_alt(counts, mu_edges, sigma_edges)
    assert "50,000 pairs" in words and re.search(r"crowded near mean distance 0\.4\d", words)


def test_points_and_means_and_labels(cloud):
    mu, sigma, counts, mu_edges, sigma_edges = cloud
    points = pair_points(mu[:20_000], sigma[:20_000], DARK)
    assert sum(len(t.x) for t in points.data if t.type == "scattergl" and t.mode == "markers") == 20_000
    assert len(points.to_json()) < 1_400_000
    means = pair_means(counts * 2.5, counts, mu_edges, sigma_edges, LIGHT, quantity_label="Alignment", least=5)
    z = np.asarray(next(t for t in means.data if t.type == "heatmap").z, dtype=float)
    assert np.nanmin(z) == pytest.approx(2.5) and np.nanmax(z) == pytest.approx(2.5)
    figure = pair_density(counts, mu_edges, sigma_edges, LIGHT)
    add_labelled_pairs(figure, np.array([0.01, 0.5]), np.array([0.02, 3.5]), ["negation", "unrelated"], ["a", "b"], ["c", "d"],
                       LIGHT)
    assert {"negation", "unrelated"} <= {trace.name for trace in figure.data}
    assert figure.layout.yaxis.range[1] > 3.5, "the axes widen for labelled pairs beyond the map"


def test_length_curve_states_its_bins():
    bins = [SimpleNamespace(low=3, high=9, mean=Interval(0.3, 0.2, 0.4, 50, "texts"), n_pairs=1225),
            SimpleNamespace(low=10, high=40, mean=Interval(0.6, None, None, 4, "texts"), n_pairs=6)]
    assert length_curve(bins, LIGHT, quantity_label="Mean SOCM").data
    assert "rising in every bin" in length_curve_alt(bins, quantity_label="Mean SOCM")


@pytest.mark.parametrize(("value", "text"), [(0.43694, "0.437"), (12.345, "12.3"), (1234, "1,234"), (0.0, "0"), (-0.5, "−0.500"),
                                             (None, "–"), (float("nan"), "–"), (1e-9, "1.00e−9")])
def test_numbers_have_three_digits(value, text):
    assert caption_number(value) == text


def test_intervals():
    assert interval_text(0.4273, 0.4466) == "[0.427, 0.447]"
    assert interval_text(None, None) == ""


def test_pages_and_figures_share_their_colours():
    config = (Path(__file__).parents[3] / ".streamlit" / "config.toml").read_text()
    light, dark = config.split("[theme.dark]")
    for theme, part in ((LIGHT, light.split("[theme.light]")[1]), (DARK, dark)):
        for name, colour in (("backgroundColor", theme.paper), ("textColor", theme.ink), ("primaryColor", theme.accent)):
            assert f'{name} = "{colour}"' in part


@pytest.mark.parametrize("height", [430, 560])
def test_where_narrow_the_legend_stands_above_the_plane_and_covers_no_pair(height):
    full = np.ones((30, 30), dtype=int)
    top = TopPairs(np.array([0.9]), np.array([0.9]), ("a",), ("b",))
    fig = pair_density(full, np.linspace(0, 1, 31), np.linspace(0, 1, 31), LIGHT, top=top, narrow=True, height=height)
    assert (fig.layout.legend.y, fig.layout.legend.yanchor) == (1, "bottom") and fig.layout.margin.t >= 30


def test_planes_on_one_scale_of_colours_draw_equal_counts_alike():
    few, many = np.full((3, 3), 10), np.full((3, 3), 1000)
    edges = np.linspace(0, 1, 4)
    one, other = (pair_density(counts, edges, edges, LIGHT, most=1000).data[0] for counts in (few, many))
    assert one.zmax == other.zmax == 3 and np.allclose(one.z, 1)
