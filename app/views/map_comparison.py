"""The Map page with a second setting: two planes on common axes, and what differs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.map_data import Compared, Labelled, MapData, compare
from app.views.map_controls import Plane
from app.views.map_figures import CHART, common_ground, draw
from app.views.map_parts import caption
from app.words import plain
from components.charts.style import ChartTheme, caption_number, interval_text
from components.pair_selection import Box
from components.types import Interval

WORDS = {"socm": "SOCM", "d_mu": "Mean distance dμ", "d_sigma": "Covariance distance dΣ", "size": "Size part of dΣ",
         "shape": "Shape part of dΣ", "align": "Alignment"}
ORDER = ("First", "Second")


def comparison(data: MapData, other: MapData, plane: Plane, theme: ChartTheme, box: Box | None,
               labelled: Sequence[Labelled | None]) -> None:
    """Two planes on common axes, and every mean's difference with its interval."""
    st.caption("The four numbers above and all that follows the comparison are the first setting's.")
    common = common_ground((data, other), plane, theme, [one for one in labelled if one])
    for side, name, over, column in zip((data, other), ORDER, labelled or (None, None), st.columns(2), strict=True):
        with column:
            st.markdown(f"**{name}**")
            drawn, alt = draw(side, plane, theme, narrow=True, box=box, labelled=over, common=common)
            st.plotly_chart(drawn, theme=None, key=f"map_side_{name.lower()}", alt=f"{name}: {alt}", config=CHART)
            st.caption((plain(over.note) if over else "") + caption(side))
    st.dataframe([_in_words(data, other, row) for row in compare(data, other)], hide_index=True, key="differences")
    st.caption("Differences with 95% intervals over texts" + (
        "; over the same pairs of the same texts they are paired." if data.corpus is other.corpus else ". Like length: means "
        "within strata of 1 to 8, 9 to 14, 15 to 24, 25 to 40 and more words, equally weighted."))


def _in_words(data: MapData, other: MapData, row: Compared) -> dict[str, str]:
    words = {"Quantity": WORDS[row.name], "First": caption_number(row.one.value), "Second": caption_number(row.other.value),
             "Second minus first": _number(row.gap)}
    if data.corpus is not other.corpus:
        words["For texts of like length"] = _number(row.matched_gap) if row.matched_gap else "no lengths in common"
    return words


def _number(gap: Interval) -> str:
    return f"{caption_number(gap.value)} {interval_text(gap.low, gap.high)}"
