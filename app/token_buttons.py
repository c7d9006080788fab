"""A text as a row of buttons, one a token, tinted; a click says which. Streamlit's own widgets have no tint of their own each.

Words reach the page as text nodes only, so that a token that looks like HTML is drawn as what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from components.charts.token_strip import StripToken

EVENT = "token"
_CSS = """
.strip { margin: 0; font-family: var(--st-code-font, monospace); font-size: 0.85rem; line-height: 2; overflow-wrap: anywhere; }
button { font: inherit; color: var(--st-text-color); border: 0; border-radius: 3px; padding: 0.05rem 0.2rem; margin: 0 0.12rem;
  cursor: pointer; line-height: 1.5; max-width: 100%; overflow-wrap: anywhere; }
button:hover { box-shadow: 0 0 0 1px var(--st-border-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
button[aria-pressed=true] { box-shadow: 0 0 0 2px var(--st-text-color); }
button.out { opacity: 0.6; text-decoration: line-through; }
button.below { text-decoration: underline dotted; }
"""
_JS = """
export default function ({ data, parentElement, setTriggerValue }) {
  const row = parentElement.querySelector('.strip') ?? parentElement.appendChild(document.createElement('p'));
  row.className = 'strip';
  row.setAttribute('role', 'group');
  row.setAttribute('aria-label', data.label);
  // Buttons stay while the page around them runs anew, so that the focus does.
  while (row.children.length > data.tokens.length) row.lastElementChild.remove();
  data.tokens.forEach((token, at) => {
    const button = row.children[at] ?? row.appendChild(document.createElement('button'));
    button.type = 'button';
    button.textContent = token.word;
    button.title = token.words;
    button.setAttribute('aria-label', `${token.word}, ${token.words}`);
    button.setAttribute('aria-pressed', String(token.marked));
    button.style.background = token.tint;
    button.className = [token.out ? 'out' : '', token.underlined ? 'below' : ''].join(' ').trim();
    button.onclick = () => setTriggerValue('token', token.place);
  });
}
"""
_row = st.components.v2.component("poolscope_token_buttons", css=_CSS, js=_JS)


def token_buttons(strip: Sequence[StripToken], label: str, *, key: str, on_click: Callable[[], None]) -> None:
    """Draws the tokens; a click calls back, and ``clicked`` then says which.

    Args:
        label: what the row is, for readers.
        key: of the element.
    """
    _row(key=key, data={"tokens": [token.as_dict() for token in strip], "label": label}, on_token_change=on_click)


def clicked(key: str) -> int | None:
    """Place of the token just clicked, in its callback."""
    said = st.session_state.get(key) or {}
    place = said.get(EVENT)
    return place if isinstance(place, int) else None
