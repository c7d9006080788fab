"""Menus of names, some of which may be the visitor's own and then stand in no link."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import links, private, state, uploads


def pick(label: str, names: Sequence[str], *, key: str, help_: str | None = None, index: int = 0,
         missing: str = "what this server") -> str:
    """A menu of names whose choice is in the link, unless it is the visitor's own; what a link names and is not there is said.

    Streamlit writes a bound menu's choice into the address, so a menu that holds a name of the visitor's own is not bound:
    it writes the other names itself.

    Args:
        missing: what a link may name and who lacks it, as ``links.say_missing`` says it.
    """
    asked = st.query_params.get(key)
    if key in st.session_state and st.session_state[key] not in names:  # removed, or nothing for this page
        del st.session_state[key]
    links.say_missing(missing, key, names, names[index])
    own = uploads.own()
    if not any(name in own for name in names):
        return str(st.sidebar.selectbox(label, names, index, key=key, bind="query-params", help=help_))
    chosen = _unbound(label, names, key, help_, asked if asked is not None and asked in names else names[index])
    st.query_params.pop(key, None)
    if chosen not in own and chosen != names[0]:
        st.query_params[key] = chosen
    return chosen


def _unbound(label: str, names: Sequence[str], key: str, help_: str | None, usual: str) -> str:
    """A menu that is in no link and still keeps its choice from page to page, where Streamlit makes a new widget of it."""
    session, own = private.session(), list(uploads.own())
    place = st.query_params.get(state.OWN, "")
    if key in (state.CORPUS, state.SET) and place:
        del st.query_params[state.OWN]
        if place in map(str, range(len(own))):
            session.choices[key] = ("", own[int(place)])
    page, kept = session.choices.get(key, ("", usual))
    if page != session.page:
        st.session_state[key] = kept if kept in names else usual
    chosen = str(st.sidebar.selectbox(label, names, key=key, help=help_))
    session.choices[key] = (session.page, chosen)
    return chosen
