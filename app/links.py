"""Links to views: a button that copies the one to what is shown, and what to do with one that names what is not there.

A view's address holds the state of its controls, so it opens the same view on any server that has the same results. What
a server lacks (a model, texts, a layer) is said on the page, with the nearest that it has.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import streamlit as st

from app.words import plain

_NAME = re.compile(r"\w[\w .+()/\-]{0,79}")
_CSS = """
button { font: inherit; font-family: var(--st-font); font-size: 0.875rem; min-height: 2rem; padding: 0.15rem 0.75rem; cursor: pointer;
  color: var(--st-text-color); background: transparent; border: 1px solid var(--st-border-color); border-radius: 0.375rem; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible, input:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
[role=status] { font-family: var(--st-font); font-size: 0.875rem; color: var(--st-text-color); margin-left: 0.5rem; }
input { display: block; width: 100%; box-sizing: border-box; margin-top: 0.5rem; font-size: 0.8125rem; color: var(--st-text-color);
  background: var(--st-background-color); border: 1px solid var(--st-border-color); padding: 0.3rem; }
"""
_JS = """
export default function ({ parentElement }) {
  if (parentElement.querySelector('button')) return;
  const button = document.createElement('button'), said = document.createElement('span');
  button.type = 'button';
  button.textContent = 'Copy link';
  button.title = 'The address of this view with its controls as they are';
  said.setAttribute('role', 'status');
  let field = null;
  button.onclick = async () => {
    const address = window.location.href;
    field?.remove();
    field = null;
    try {
      await navigator.clipboard.writeText(address);
      said.textContent = 'Copied.';
      setTimeout(() => { said.textContent = ''; }, 4000);
    } catch {
      // Without https, or in another site's frame, a browser may refuse: then it is there to be copied by hand.
      field = document.createElement('input');
      field.readOnly = true;
      field.value = address;
      field.setAttribute('aria-label', 'Link to this view');
      parentElement.append(field);
      field.select();
      said.textContent = 'Copy it here:';
    }
  };
  parentElement.append(button, said);
}
"""
_button = st.components.v2.component("poolscope_copy_link", css=_CSS, js=_JS)


def copy_link() -> None:
    """The button, in the sidebar of every page."""
    with st.sidebar:
        _button(key="copy_link")


def say_missing(what: str, key: str, names: Sequence[str], usual: str | None = None) -> None:
    """Says that a link names what is not there, and offers the nearest that is; call before the control is drawn.

    Args:
        what: the thing and who lacks it, as in "a model that this server".
        key: of the control, which is also its name in links.
        names: what the control offers.
        usual: what the control falls back to; the first name unless given.
    """
    usual, remembered = usual if usual is not None else names[0], f"_missing_{key}"
    asked = [name for name in st.query_params.get_all(key) if name not in names]
    if asked and key not in st.session_state:
        st.session_state[remembered] = asked[0]
    missing = st.session_state.get(remembered)
    if missing is None:
        return
    if st.session_state.get(key, usual) != usual:  # something was chosen since
        del st.session_state[remembered]
        return
    near = nearest(missing, names)
    st.info(f"The link names {what} does not have{_said(missing)}; shown is {plain(usual)}."
            + (f" The nearest here is {plain(near)}." if near and near != usual else ""))
    if near and near != usual:
        st.button(f"Show {plain(near)}", key=f"nearest_{key}", on_click=_choose, args=(key, near))


def say_missing_some(what: str, key: str, names: Sequence[str]) -> None:
    """The same for a control that takes several: what a link names beside what is there is said once."""
    missing = [name for name in st.query_params.get_all(key) if name not in names]
    if missing and key not in st.session_state:
        st.info(f"The link names {what} does not have{_said(missing[0])}; the view is shown without.")


def nearest(asked: str, names: Sequence[str]) -> str | None:
    """The name that is most like the one asked for: the nearest number among numbers, else the most alike in letters."""
    if asked.isdecimal() and len(asked) < 10:
        numbers = [name for name in names if name.isdecimal()]
        return min(numbers, key=lambda name: abs(int(name) - int(asked)), default=None)
    found = difflib.get_close_matches(asked[:200].lower(), [name.lower() for name in names], 1, 0.4)
    return next((name for name in names if name.lower() == found[0]), None) if found else None


def _said(name: str) -> str:
    """A name from a link, where it is one: nothing else of a link is repeated on a page."""
    return f" ({plain(name)})" if _NAME.fullmatch(name) and ".." not in name else ""


def _choose(key: str, name: str) -> None:
    st.session_state[key] = name
