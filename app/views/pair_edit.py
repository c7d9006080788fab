"""A second version of either text beside the original."""

from __future__ import annotations

import streamlit as st

from app import pair_data, pair_tables, results, state, widgets
from app.pair_data import MOST_CHARS, Switches, TokenPair
from app.results import Request
from app.views.pair_controls import Texts
from components.charts.style import caption_number
from components.errors import PoolscopeError
from components.types import Layer

PATIENCE = 0.9
"""Seconds that a page waits for a changed text before it shows progress; a model in memory takes a tenth of it."""
PROBLEM = "_edit_problem"


@st.fragment
def edited(texts: Texts, model_name: str, pair: TokenPair, layer: Layer) -> None:
    """Numbers before and after a change of either text; what is typed here is in no link.

    A fragment: a change of a word redraws this panel and not the page around it.
    """
    with st.expander("Change a word", on_change="rerun", key="edit_open") as folded:
        if not folded.open:
            return
        bare = Switches(pair.switches.special, pair.switches.punctuation)
        keys = tuple(f"edit_{side}_{hash((texts.a, texts.b))}" for side in "ab")
        with st.form("edit", border=False):
            for column, key, name, text in zip(st.columns(2), keys, "AB", (texts.a, texts.b), strict=True):
                column.text_area(f"Text {name}, changed", text, key=key, max_chars=MOST_CHARS)
            st.form_submit_button("Compare with the original", type="primary", on_click=_start, args=(keys, model_name, bare))
        if problem := st.session_state.pop(PROBLEM, None):
            st.error(widgets.plain(problem))
            return
        a, b = (str(st.session_state.get(key, text)) for key, text in zip(keys, (texts.a, texts.b), strict=True))
        if (a, b) == (texts.a, texts.b):
            st.caption("Change a word in either text to see what becomes of the numbers. What you type here is in no link.")
            return
        try:
            after, before = (pair_data.load(*version, model_name, bare, own=own)
                             for version, own in (((a, b), True), ((texts.a, texts.b), texts.own)))
            if isinstance(after, Request) or isinstance(before, Request):
                widgets.compute_or_wait(after if isinstance(after, Request) else pair.request, height=160)
                return
            _beside(before, after, layer)
        except PoolscopeError as error:
            st.error(widgets.plain(str(error)))


def _start(keys: tuple[str, ...], model_name: str, switches: Switches) -> None:
    """Callback: the changed texts are computed at once, since the button asked for it."""
    a, b = (str(st.session_state[key]) for key in keys)
    try:
        found = pair_data.load(a, b, model_name, switches, own=True)
        if isinstance(found, Request):
            results.start_and_wait(found, state.watcher(), PATIENCE)
    except PoolscopeError as error:
        st.session_state[PROBLEM] = str(error)


def _beside(before: TokenPair, after: TokenPair, layer: Layer) -> None:
    was, now = before.numbers(layer), after.numbers(layer)
    with st.container(key="edited"):
        for column, (label, name) in zip(st.columns(4), (
                ("SOCM", "socm"), ("Mean distance $d_\\mu$", "d_mu"), ("Covariance distance $d_\\Sigma$", "d_sigma"),
                ("Alignment", "align")), strict=True):
            old, new = getattr(was, name), getattr(now, name)
            change = f"{new - old:+.3f}".replace("-", "−") if new == new and old == old else "not compared"
            column.metric(label, caption_number(new), change, delta_color="off")
            column.caption(f"{caption_number(old)} before")
    st.dataframe(pair_tables.pooled_table(before, after, layer), hide_index=True, key="edited_cosines",
                 column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("Before", "After")})
    counts = [f"{len(p.kept[0])} and {len(p.kept[1])}" for p in (before, after)]
    st.caption(f"{widgets.plain(after.model)}, same layer; {counts[0]} tokens before, {counts[1]} after; no single token is left out "
               "in either. A change of length changes $d_\\Sigma$ by itself.")
