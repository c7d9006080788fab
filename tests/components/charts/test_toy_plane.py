"""The Home page's two figures: what is drawn lies where the numbers say."""

from __future__ import annotations

import numpy as np
import pytest

from components.charts.plane import ISO
from components.charts.style import DARK, LIGHT
from components.charts.toy_plane import POINT, toy_ellipses, toy_ellipses_alt, toy_plane, toy_plane_alt
from components.errors import DataError
from components.toy_gaussians import CORNERS, ToyPair, toy_statistics

NAMES = [(name, "what it means") for name in CORNERS]


def traces(figure, meta: str):
    return [trace for trace in figure.data if trace.meta == meta]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("deviations", [1, 2])
def test_ellipses_lie_at_their_standard_deviations(theme, deviations):
    pair = ToyPair(70, 30, 1.5, 0.4, 0.8, 0.3)
    figure = toy_ellipses(pair.means, pair.covariances, theme)
    for trace, mean, covariance, colour in zip(traces(figure, f"{deviations} sd"), pair.means, pair.covariances,
                                               (theme.text_a, theme.text_b), strict=True):
        away = np.stack([trace.x, trace.y]) - mean[:, None]
        distances = np.sqrt(np.einsum("in,ij,jn->n", away, np.linalg.inv(covariance), away))
        np.testing.assert_allclose(distances, deviations, rtol=1e-9)
        assert trace.line.color == colour


def test_arrows_run_from_the_origin_to_the_means_and_colours_are_never_the_only_sign():
    pair = ToyPair(100, 0, 1, 1, 0.5, 0.5)
    figure = toy_ellipses(pair.means, pair.covariances, LIGHT)
    arrows, outlines = traces(figure, "mean"), traces(figure, "1 sd")
    for arrow, mean in zip(arrows, pair.means, strict=True):
        assert (arrow.x[0], arrow.y[0]) == (0, 0)
        assert (arrow.x[1], arrow.y[1]) == pytest.approx(tuple(mean))
    assert [trace.name for trace in outlines if trace.showlegend] == ["Text A", "Text B"]
    assert outlines[0].line.dash != outlines[1].line.dash
    # Where both coincide the one beneath has to show.
    assert arrows[0].line.width > arrows[1].line.width


@pytest.mark.parametrize("name", CORNERS)
def test_the_window_holds_still_from_corner_to_corner(name):
    start = CORNERS["Both agree"]
    still = toy_ellipses(start.means, start.covariances, LIGHT)
    figure = toy_ellipses(CORNERS[name].means, CORNERS[name].covariances, LIGHT)
    assert figure.layout.xaxis.range == still.layout.xaxis.range
    assert figure.layout.yaxis.range == still.layout.yaxis.range


@pytest.mark.parametrize("values", [(0, 90, 3, 3, 1, 1), (180, 90, 3, 3, 1, 1), (180, 45, 3, 3, 1, 1), (90, 0, 0, 0, 0, 0)])
def test_everything_drawn_lies_in_the_window(values):
    pair = ToyPair(*values)
    figure = toy_ellipses(pair.means, pair.covariances, LIGHT)
    for trace in figure.data:
        assert np.isfinite(np.array(trace.x)).all()
        for drawn, (low, high) in ((trace.x, figure.layout.xaxis.range), (trace.y, figure.layout.yaxis.range)):
            assert low < min(drawn) and max(drawn) < high
    assert figure.layout.yaxis.scaleanchor == "x"


@pytest.mark.parametrize("d_mu, d_sigma", [(0, 0), (1, 0), (0, 0.413), (1, 1.5), (0.5, 2.5)])
def test_the_point_lies_in_the_plane_with_its_socm_beside_it(d_mu, d_sigma):
    figure = toy_plane(d_mu, d_sigma, NAMES, LIGHT)
    point, = traces(figure, POINT)
    assert (point.x[0], point.y[0]) == (d_mu, d_sigma)
    x, y = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert x[0] < 0 and x[1] > 1 and y[0] < d_sigma < y[1] and y[0] < 0
    label, = (note for note in figure.layout.annotations if note.name == POINT)
    assert label.xanchor == ("left" if d_mu <= 0.5 else "right")
    assert float(label.text.removeprefix("<b>SOCM ").removesuffix("</b>")) == pytest.approx((1 - d_mu) * d_sigma, rel=5e-3)


def test_lines_join_points_of_equal_socm_and_the_lowest_carries_the_word():
    figure = toy_plane(0, 0.4, NAMES, LIGHT)
    line = traces(figure, ISO)[-1]
    x, y = np.array(line.x, dtype=float), np.array(line.y, dtype=float)
    parts = np.split(np.arange(len(x)), np.flatnonzero(np.isnan(x)))
    levels = [np.median((1 - x[part[1:]]) * y[part[1:]]) for part in parts if len(part) > 1]
    for part, level in zip([part for part in parts if len(part) > 1], levels, strict=True):
        np.testing.assert_allclose((1 - x[part[1:]]) * y[part[1:]], level, rtol=1e-5)
    labels = [note.text for note in figure.layout.annotations if note.name == ISO]
    assert labels[0] == "SOCM 0.1"
    assert [float(label.removeprefix("SOCM ")) for label in labels] == pytest.approx(levels, rel=1e-5)
    assert all("SOCM" not in label for label in labels[1:])


def test_the_four_corners_are_named_outside_the_plane():
    figure = toy_plane(0.2, 0.3, NAMES, DARK)
    corners = [note for note in figure.layout.annotations if note.name == "corner"]
    assert [(note.x, note.y) for note in corners] == [(0, 1), (1, 1), (0, 0), (1, 0)]
    assert all(name in note.text for note, name in zip(corners, CORNERS, strict=True))
    assert [note.yanchor for note in corners] == ["bottom", "bottom", "top", "top"]


def test_no_underscore_is_shown():
    pair = CORNERS["Both agree"]
    for figure in (toy_plane(0.2, 0.3, NAMES, LIGHT), toy_ellipses(pair.means, pair.covariances, LIGHT)):
        layout = figure.layout
        shown = [note.text for note in layout.annotations] + [layout.xaxis.title.text, layout.yaxis.title.text]
        assert not any("_" in text for text in shown)


def test_alt_texts_say_the_values():
    pair = CORNERS["Only the covariances differ"]
    words = toy_ellipses_alt(pair.angle, pair.turn, (pair.spread_a, pair.spread_b), (pair.long_a, pair.long_b))
    assert "means stand 0 degrees apart" in words and "text B spreads 1.20, elongation 95%" in words
    found = toy_statistics(pair)
    words = toy_plane_alt(found.d_mu, found.d_sigma, "Only the covariances differ")
    assert "covariance distance 0.413" in words and "only the covariances differ" in words and "_" not in words


def test_other_shapes_are_refused():
    with pytest.raises(DataError, match="two means"):
        toy_ellipses(np.zeros((3, 2)), np.zeros((3, 2, 2)), LIGHT)
    with pytest.raises(DataError, match="four"):
        toy_plane(0, 0, NAMES[:3], LIGHT)
