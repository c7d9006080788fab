"""Titles of exported figures: they say what the figure is, add room for it, and run nothing."""

from __future__ import annotations

import numpy as np
import pytest

from components.charts.labelled_pairs import add_labelled_pairs
from components.charts.length_curve import length_curve
from components.charts.pair_points import pair_points
from components.charts.style import DARK, LIGHT
from components.charts.titles import add_title


def plane():
    fig = pair_points(np.array([0.1, 0.4]), np.array([0.2, 1.1]), LIGHT, height=520)
    add_labelled_pairs(fig, np.array([0.2]), np.array([0.5]), ["negation"], ["a"], ["b"], LIGHT)
    return fig


def test_what_is_drawn_keeps_its_size_and_the_legend_its_distance_from_the_foot():
    fig = plane()
    height, margin = fig.layout.height, fig.layout.margin
    inner, foot = height - margin.t - margin.b, fig.layout.legend2.y * height
    add_title(fig, "A title", "What it is made of", LIGHT, width=1000)
    assert fig.layout.height > height and fig.layout.width == 1000
    assert fig.layout.height - fig.layout.margin.t - fig.layout.margin.b == inner
    assert fig.layout.legend2.y * fig.layout.height == pytest.approx(foot)


def test_long_words_are_cut_or_wrapped_and_tags_shown():
    fig = length_curve([], DARK, quantity_label="Mean SOCM")
    add_title(fig, "<b>x</b> & " + "word " * 100, "<i>made</i> " * 60, DARK)
    title = fig.layout.title
    assert title.text.startswith("<b>&lt;b&gt;x&lt;/b&gt; &amp; word") and title.text.endswith("…</b>")
    assert len(title.text) < 160
    lines = title.subtitle.text.split("<br>")
    assert len(lines) > 1 and all("<i>" not in line for line in lines)
    assert title.font.color == DARK.ink
