"""The Map page with a second setting: two planes on common axes, and what differs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.map_data import Compared, Labelled, MapData, compare
from app.views.map_controls import Plane
from app.views.map_figures import CHART, Range, draw
from app.views.map_parts import caption
from components.charts.plane import spanning
from components.charts.style import ChartTheme, caption_number, interval_text
from components.pair_selection import Box
from components.types import Interval

WORDS = {"socm": "SOCM", "d_mu": "Mean distance dμ", "d_sigma": "Covariance distance dΣ", "size": "Size part of dΣ",
         "shape": "Shape part of dΣ", "align": "Alignment"}
ORDER = ("First", "Second")


def common_ranges(data: MapData, other: MapData, labelled: Sequence[Labelled | None]) -> dict[str, Range]:
    """Both axes' ranges, from all that both planes show and with the air that single planes have."""
    (_, a_mu, a_sigma), (_, b_mu, b_sigma) = data.counts, other.counts
    marks = [one for one in labelled if one]
    return {"mu_range": spanning(a_mu, b_mu, *(one.d_mu for one in marks)),
            "sigma_range": spanning(a_sigma, b_sigma, *(one.d_sigma for one in marks))}


def comparison(data: MapData, other: MapData, plane: Plane, theme: ChartTheme, box: Box | None,
               labelled: Sequence[Labelled | None]) -> None:
    """Two planes on common axes, and every mean's difference with its interval."""
    ranges = common_ranges(data, other, labelled)
    for side, name, over, column in zip((data, other), ORDER, labelled or (None, None), st.columns(2), strict=True):
        with column:
            st.markdown(f"**{name}**")
            drawn, alt = draw(side, plane, theme, narrow=True, box=box, labelled=over, **ranges)
            st.plotly_chart(drawn, theme=None, key=f"map_side_{name.lower()}", alt=f"{name}: {alt}", config=CHART)
            st.caption(caption(side))
    st.dataframe([_in_words(data, other, row) for row in compare(data, other)], hide_index=True, key="differences")
    st.caption("Differences with 95 % intervals over texts; over the same pairs of the same texts they are paired. Like "
               "length: means within strata of 1 to 8, 9 to 14, 15 to 24, 25 to 40 and more words, equally weighted.")


def _in_words(data: MapData, other: MapData, row: Compared) -> dict[str, str]:
    like = "the same texts" if data.corpus is other.corpus else "no lengths in common"
    return {"Quantity": WORDS[row.name], "First": caption_number(row.one.value), "Second": caption_number(row.other.value),
            "Second minus first": _number(row.gap), "For texts of like length": _number(row.matched_gap) if row.matched_gap else like}


def _number(gap: Interval) -> str:
    return f"{caption_number(gap.value)} {interval_text(gap.low, gap.high)}"
