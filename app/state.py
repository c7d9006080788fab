"""What a session remembers outside its widgets, and the names its controls have in the URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import streamlit as st

from app import private
from components.pair_selection import Box

CORPUS, MODEL, LAYER, SPECIAL, SET = "corpus", "model", "layer", "special", "set"
"""Widget keys shared by the pages; each is also the name of its URL parameter."""
OWN = "own"
"""URL parameter: place of the corpus or retrieval set among the session's own data; read once by the page that it leads to."""
BOX, TOKEN = "box", "token"
ROW_A, ROW_B = 0, 1
"""Rows that the Pair page shows unless told otherwise."""


def watcher() -> str:
    """This session's name towards the jobs; it says nothing about who the visitor is."""
    return private.session().id


def box() -> Box | None:
    """The box drawn on the plane, from the link; anything that is not four numbers is no box."""
    return Box.parse(st.query_params.get(BOX, ""))


def keep_box(chart_key: str) -> None:
    """Callback of a plane: what was drawn goes into the link (a changed figure would forget its selection)."""
    drawn = st.session_state[chart_key].get("selection", {}).get("box", [])
    plane = [b for b in drawn if b.get("xref", "x") == "x" and b.get("yref", "y") == "y"]
    if plane:
        x, y = plane[-1]["x"], plane[-1]["y"]
        st.query_params[BOX] = str(Box(min(x), max(x), min(y), max(y)))


def set_box(keys: Sequence[str]) -> None:
    """Callback of the box's four number fields: they go into the link, in either order of their ends."""
    mu_one, mu_two, sigma_one, sigma_two = (float(st.session_state[key]) for key in keys)
    st.query_params[BOX] = str(Box(min(mu_one, mu_two), max(mu_one, mu_two), min(sigma_one, sigma_two), max(sigma_one, sigma_two)))


def drop_box() -> None:
    """Callback: no box any more."""
    st.query_params.pop(BOX, None)


def keep_layer(chart_key: str, layer_of: Callable[[str, str], str]) -> None:
    """Callback of figures by layer: the layer of the point clicked becomes that of every page.

    Args:
        chart_key: of the figure, whose points carry (model, layer).
        layer_of: the layer of the page's model at the depth of that model's layer.
    """
    if data := _clicked(chart_key):
        st.session_state[LAYER] = layer_of(data[0], data[1])


def toggle_clicked(chart_key: str, list_key: str) -> None:
    """Callback of a figure of models: the model clicked goes into a list, or out of it."""
    if data := _clicked(chart_key):
        there, name = list(st.session_state.get(list_key, [])), data[0]
        st.session_state[list_key] = [one for one in there if one != name] if name in there else [*there, name]


def keep_clicked(chart_key: str, key: str, names: Sequence[str]) -> None:
    """Callback of a figure whose points carry a number: the name at that place goes into a widget's state."""
    if data := _clicked(chart_key):
        st.session_state[key] = names[int(data[0])]


def token() -> tuple[int, int] | None:
    """The token that was clicked, from the link: text (0, 1) and place; anything else is none."""
    found = re.fullmatch(r"([ab])(\d{1,5})", st.query_params.get(TOKEN, ""))
    return ("ab".index(found[1]), int(found[2])) if found else None


def mark_token(text: int, place: int | None) -> None:
    """The token of a text is marked in every view; the one that is marked already is not any more."""
    if place is None:
        return
    if token() == (text, place):
        st.query_params.pop(TOKEN, None)
    else:
        st.query_params[TOKEN] = f"{'ab'[text]}{place}"


def mark_clicked(chart_key: str) -> None:
    """Callback of a plane of tokens, whose points carry (text, place)."""
    data = _clicked(chart_key)
    if len(data) == 2 and data[0] in ("a", "b") and data[1].isdecimal():
        mark_token("ab".index(data[0]), int(data[1]))


def pin(setting: str, list_key: str, most: int) -> None:
    """Callback: a setting goes to the end of a list, whose first one makes room."""
    there = [one for one in st.session_state.get(list_key, []) if one != setting]
    st.session_state[list_key] = [*there, setting][-most:]


def _clicked(chart_key: str) -> list[str]:
    """What the point clicked carries; empty where none was."""
    points = st.session_state[chart_key].get("selection", {}).get("points", [])
    return [str(part) for part in (points[0].get("customdata") if points else None) or ()]
