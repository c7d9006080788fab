from __future__ import annotations

import pytest

from components.charts.audit_distances import CandidateDistance, audit_distances, audit_distances_alt
from components.charts.style import LIGHT, ChartTheme
from tests.components.charts.figures import HOSTILE, THEMES, hovers

SHOWN = [CandidateDistance("CLS pooling, normalised", 4e-8, 9e-8, 60, 60),
         CandidateDistance("mean pooling, normalised", 0.95, 1.2, 0, 60),
         CandidateDistance("max pooling", 0.0, 0.0, 59, 60)]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_what_reproduces_is_filled_and_named(theme: ChartTheme, narrow: bool) -> None:
    fig = audit_distances(SHOWN, theme, narrow=narrow)
    marks = {trace.name: trace for trace in fig.data if trace.mode == "markers"}
    assert list(marks["reproduces every row"].x) == [4e-8] and list(marks["does not"].x) == [0.95, 1e-8]
    assert marks["does not"].marker.color == theme.paper and fig.layout.xaxis.type == "log"
    assert list(fig.layout.yaxis.categoryarray)[-1].startswith("1. CLS"), "the nearest on top"
    assert "59 of 60 rows reproduced" in hovers(fig) and "Relative distance" in fig.layout.xaxis.title.text


def test_hostile_words_are_text_and_none_says_so() -> None:
    assert "<script" not in hovers(audit_distances([CandidateDistance(HOSTILE, 1, 2, 0, 3)], LIGHT))
    assert "No setting" in audit_distances([], LIGHT).to_json() and "none" in audit_distances_alt([])
    assert "CLS pooling, normalised: median 4.00e−8, 60 of 60" in audit_distances_alt(SHOWN)
