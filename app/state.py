"""What a session remembers outside its widgets, and the names its controls have in the URL."""

from __future__ import annotations

import uuid

import streamlit as st

CORPUS, MODEL, LAYER, SPECIAL = "corpus", "model", "layer", "special"
"""Widget keys shared by the pages; each is also the name of its URL parameter."""


def watcher() -> str:
    """This session's name towards the jobs; it says nothing about who the visitor is."""
    if "_watcher" not in st.session_state:
        st.session_state["_watcher"] = uuid.uuid4().hex
    return str(st.session_state["_watcher"])
