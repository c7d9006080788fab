from __future__ import annotations

import numpy as np
import pytest

from components.charts.company_curve import FLOOR, MASKED, UNMASKED, CompanyLine, company_curve, company_curve_alt
from components.charts.interval_rows import (
    FAULT,
    HYPOTHESIS,
    PLAIN,
    REFERENCE,
    IntervalRow,
    interval_rows,
    interval_rows_alt,
)
from components.charts.pooled_planes import PooledPlane, pooled_planes, pooled_planes_alt
from components.charts.style import LIGHT, ChartTheme
from components.types import Interval
from tests.components.charts.figures import HOSTILE, THEMES, hovers


def interval(value: float, half: float = 0.05) -> Interval:
    return Interval(value, value - half, value + half, 300, "queries")


ROWS = [IntervalRow("mean", REFERENCE, interval(0.8)), IntervalRow("cls", PLAIN, interval(0.6), interval(-0.2), 0.002, chosen=True),
        IntervalRow("mean_unmasked", FAULT, interval(0.7), interval(-0.1), 0.04),
        IntervalRow("w2", HYPOTHESIS, Interval(0.5, None, None, 4, "queries"), interval(-0.3), None, note=HOSTILE)]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_values_left_differences_right_and_roles_apart(theme: ChartTheme, narrow: bool) -> None:
    fig = interval_rows(ROWS, theme, label="nDCG@10", difference_label="Difference to mean", narrow=narrow)
    marks = [t for t in fig.data if t.mode == "markers"]
    left, right = [t for t in marks if t.xaxis in (None, "x")], [t for t in marks if t.xaxis == "x2"]
    assert [t.x[0] for t in left] == [0.8, 0.6, 0.7, 0.5] and [t.x[0] for t in right] == [-0.2, -0.1, -0.3]
    assert left[0].marker.color == theme.accent and left[2].marker.color == theme.paper and left[3].marker.symbol == "diamond"
    assert "p 0.00200 after Holm" in hovers(fig) and "<script>" not in hovers(fig)
    assert len([shape for shape in fig.layout.shapes if shape.type == "rect"]) == 2, "the chosen row on both sides"
    assert fig.layout.yaxis.categoryarray[-1] == "mean", "the first row on top"


def test_without_differences_there_is_one_panel() -> None:
    fig = interval_rows(ROWS[:1], LIGHT, label="nDCG@10", difference_label="")
    assert "xaxis2" not in fig.layout and interval_rows_alt(ROWS[:2], label="nDCG@10") == \
        "nDCG@10: mean 0.800 [0.750, 0.850]; cls 0.600 [0.550, 0.650], difference −0.200 [−0.250, −0.150]."
    assert "nothing to draw" in interval_rows_alt([], label="x")


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_company_draws_drift_and_its_cost(theme: ChartTheme) -> None:
    drift = np.array([[0.0, 0.0], [0.01, 0.2]])
    lines = [CompanyLine(name, d, [interval(0.8), interval(v)], d[:, 1])
             for name, d, v in ((MASKED, drift * 0, 0.8), (UNMASKED, drift, 0.6))]
    fig = company_curve(["alone", "8"], lines, theme, metric_label="nDCG@10", one_label=f"document {HOSTILE}")
    middles = [t for t in fig.data if t.mode == "lines+markers" and t.xaxis in (None, "x")]
    assert list(middles[1].y) == pytest.approx([FLOOR, 0.105]) and list(middles[0].y) == [FLOOR, FLOOR]
    assert fig.layout.yaxis.type == "log" and "<script>" not in hovers(fig)
    assert "nDCG@10 from 0.800 to 0.600" in company_curve_alt(["alone", "8"], lines, metric_label="nDCG@10")


@pytest.mark.parametrize("narrow", [False, True])
def test_a_marked_document_is_joined_to_its_queries_in_every_plane(narrow: bool) -> None:
    rng = np.random.default_rng(0)
    planes = [PooledPlane(f"p{k}, 8%", rng.normal(size=(3, 2)), rng.normal(size=(5, 2))) for k in range(5)]
    fig = pooled_planes(planes, ([HOSTILE] * 3, ["d"] * 5), LIGHT, marked=2, answered_by=[2, 0, 2], axis="Principal axis",
                        narrow=narrow)
    marked = [t for t in fig.data if t.name == "marked"]
    assert len(marked) == 5 and list(marked[1].x) == pytest.approx([planes[1].documents[2, 0], *planes[1].queries[[0, 2], 0]])
    queries = [t for t in fig.data if t.name == "query"]
    assert [point[0] for point in queries[0].customdata] == [2, 0, 2], "a query leads to its document"
    assert "<script>" not in hovers(fig) and fig.layout.height > (1200 if narrow else 500)
    assert pooled_planes_alt(planes, n_queries=3, n_documents=5).startswith("3 queries and 5 documents")
