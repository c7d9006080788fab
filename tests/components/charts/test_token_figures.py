from __future__ import annotations

import re

import numpy as np
import pytest

from components.charts.style import LIGHT, ChartTheme
from components.charts.token_matrix import token_matrix, token_matrix_alt
from components.charts.token_plane import token_plane, token_plane_alt
from components.charts.token_strip import token_strip
from components.token_pair import joint_pca
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


def test_a_matrix_has_the_first_text_downwards_and_names_its_tokens() -> None:
    values = np.array([[0.1, -0.5], [0.9, 0.2], [0.0, 0.3]])
    tokens = (["x", HOSTILE, "z"], ["u", "v"])
    fig = token_matrix(values, tokens, LIGHT, label="Cosine", centred=True)
    heat = fig.data[0]
    assert heat.z.shape == (3, 2) and (heat.zmin, heat.zmax) == (-1, 1) and fig.layout.yaxis.autorange == "reversed"
    assert list(fig.layout.xaxis.ticktext) == ["u", "v"] and "<script" not in str(fig.layout.yaxis.ticktext)
    assert token_matrix_alt(values, tokens, label="Cosine").endswith(f"largest 0.900 between {HOSTILE} and u.")
    assert token_matrix(values, tokens, LIGHT, label="Share", centred=False).data[0].zmax == 0.9


def test_a_strip_tints_by_magnitude_marks_signs_and_escapes() -> None:
    strip = token_strip(["[CLS]", "a", HOSTILE, "c"], np.array([0.5, -1.0, np.nan]), [1, 2, 3], LIGHT, colour="#0072B2",
                        label="Effect", signed=True)
    spans = re.findall(r"<span [^>]*>.*?</span>", strip)
    assert len(spans) == 4 and "line-through" in spans[0] and "<script" not in strip
    alphas = [float(a) for a in re.findall(r"rgba\(0,114,178,([\d.]+)\)", strip)]
    assert alphas == [0.325, 0.65, 0.0] and "underline" in spans[2] and "underline" not in spans[1]
    assert 'title="Effect 0.500"' in spans[1]
    assert "rgba(0,114,178,0.000)" in token_strip(["a"], np.array([0.0]), [0], LIGHT, colour="#0072B2", label="E", signed=False)
