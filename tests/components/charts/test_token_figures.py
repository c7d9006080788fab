from __future__ import annotations

import numpy as np
import pytest

from components.charts.style import LIGHT, ChartTheme
from components.charts.token_matrix import token_matrix, token_matrix_alt
from components.charts.token_plane import extent, span_of, token_plane, token_plane_alt
from components.charts.token_strip import token_strip, token_strip_alt
from components.token_pair import Projection, joint_pca
from tests.components.charts.figures import HOSTILE, THEMES, hovers


@pytest.fixture
def plane():
    rng = np.random.default_rng(0)
    return joint_pca(rng.normal(1, 1, (4, 6)), rng.normal(1, 1, (3, 6)))


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_tokens_means_and_ellipses_of_both_texts(plane, theme: ChartTheme) -> None:
    fig = token_plane(plane, (["a", "b", "c", HOSTILE], ["d", "e", "f"]), (np.arange(4.0), np.arange(3.0)), theme, effect_label="share")
    assert sum(trace.fill == "toself" for trace in fig.data) == 4
    points = {trace.name: trace for trace in fig.data if trace.name in ("Text A", "Text B")}
    assert np.allclose(points["Text A"].x, plane.x[:, 0]) and np.allclose(points["Text B"].y, plane.y[:, 1])
    crosses = [trace for trace in fig.data if trace.marker.symbol == "x"]
    assert np.allclose([crosses[0].x[0], crosses[0].y[0]], plane.x.mean(axis=0))
    assert fig.layout.yaxis.scaleanchor == "x", "a circle is drawn as one"
    assert "<script" not in hovers(fig) and "b<br>share 1.00" in hovers(fig)
    assert "4 tokens of text A and 3 of text B" in token_plane_alt(plane)
    assert [list(point) for point in points["Text B"].customdata] == [["b", "0"], ["b", "1"], ["b", "2"]]


def test_a_clicked_token_has_a_ring_and_places_are_those_of_the_text(plane) -> None:
    effects = (np.arange(4.0), np.arange(3.0))
    fig = token_plane(plane, (list("abcd"), ["<i>", "e", "f"]), effects, LIGHT, effect_label="share", places=([0, 2, 5, 9], [1, 3, 4]),
                      marked=(1, 1))
    ring = next(trace for trace in fig.data if trace.name == "marked")
    assert ring.x[0] == pytest.approx(plane.y[0, 0]) and ring.text[0] == "&lt;i&gt;"
    assert [list(point) for point in fig.data[2].customdata] == [["a", "0"], ["a", "2"], ["a", "5"], ["a", "9"]]
    out = token_plane(plane, (list("abcd"), list("def")), effects, LIGHT, effect_label="share", marked=(0, 77))
    assert not [trace for trace in out.data if trace.name == "marked"], "a token that takes no part is nowhere"


def test_a_plane_that_is_no_projection_has_no_ellipse_and_no_mean(plane) -> None:
    umap = Projection("UMAP", None, plane.x, plane.y, None, ("first", "second"))
    fig = token_plane(umap, (list("abcd"), list("def")), (np.arange(4.0), np.arange(3.0)), LIGHT, effect_label="share")
    assert len(fig.data) == 2 and "distances on it mean little" in token_plane_alt(umap)


def test_planes_side_by_side_have_one_scale_that_holds_all(plane) -> None:
    other = Projection(plane.name, plane.basis, 3 * plane.x, 3 * plane.y, plane.share, plane.axes)
    span = span_of([plane, other])
    for one in (plane, other):
        fig = token_plane(one, (list("abcd"), list("def")), (np.arange(4.0), np.arange(3.0)), LIGHT, effect_label="share", span=span)
        for axis, low, high in zip((fig.layout.xaxis, fig.layout.yaxis), *extent(one), strict=True):
            assert axis.range[1] - axis.range[0] == pytest.approx(span) and axis.range[0] <= low and high <= axis.range[1]


def test_a_matrix_has_the_first_text_downwards_and_names_its_tokens() -> None:
    values = np.array([[0.1, -0.5], [0.9, 0.2], [0.0, 0.3]])
    tokens = (["x", HOSTILE, "z"], ["u", "v"])
    fig = token_matrix(values, tokens, LIGHT, label="Cosine", centred=True)
    heat = fig.data[0]
    assert heat.z.shape == (3, 2) and (heat.zmin, heat.zmax) == (-1, 1) and fig.layout.yaxis.autorange == "reversed"
    assert list(fig.layout.xaxis.ticktext) == ["u", "v"] and "<script" not in str(fig.layout.yaxis.ticktext)
    assert token_matrix_alt(values, tokens, label="Cosine").endswith(f"largest 0.900 between {HOSTILE} and u.")
    assert token_matrix(values, tokens, LIGHT, label="Share", centred=False).data[0].zmax == 0.9


def test_a_strip_tints_by_magnitude_marks_signs_and_what_was_clicked() -> None:
    strip = token_strip(["[CLS]", "a", HOSTILE, "c"], np.array([0.5, -1.0, np.nan]), [1, 2, 3], colour="#0072B2", label="Effect",
                        signed=True, marked=2)
    assert [token.out for token in strip] == [True, False, False, False] and [token.place for token in strip] == [0, 1, 2, 3]
    assert [token.tint for token in strip] == [f"rgba(0,114,178,{a})" for a in ("0", "0.325", "0.65", "0")]
    assert [token.underlined for token in strip] == [False, False, True, False] and [token.marked for token in strip][2]
    assert strip[1].words == "Effect 0.500" and strip[0].words == "left out" and strip[2].word == HOSTILE, "drawn as text by the page"
    assert "3 of 4 tokens take part; tinted most" in token_strip_alt(strip, name="Text A")
    assert token_strip(["a"], np.array([0.0]), [0], colour="#0072B2", label="E", signed=False)[0].tint == "rgba(0,114,178,0)"
    assert token_strip_alt([], name="Text A") == "Text A: 0 of 0 tokens take part."
