"""Whether the page is as narrow as a phone, told by the browser itself.

Figures cannot be drawn for both widths and hidden by style: each drawing costs the browser a fifth of a second, and a
hidden one is read out twice. So the page draws for a wide window first, and once more only where the window is narrow.
"""

from __future__ import annotations

import streamlit as st

NARROW_PIXELS = 640
"""At and below this width Streamlit puts columns under each other."""
_KEY = "_viewport"

_SCRIPT = """
export default function (component) {
  const { data, setStateValue } = component;
  const narrow = window.matchMedia(`(max-width: ${data.pixels}px)`);
  const tell = () => setStateValue("narrow", narrow.matches);
  if (narrow.matches !== data.known) tell();
  narrow.addEventListener("change", tell);
  return () => narrow.removeEventListener("change", tell);
}
"""
_watch = st.components.v2.component("poolscope_viewport", js=_SCRIPT)


def is_narrow() -> bool:
    """What the browser last said; until then whether it calls itself a phone's ("Mobi" in its user agent)."""
    said = st.session_state.get(_KEY)
    return bool(said["narrow"]) if said else "Mobi" in (st.context.headers.get("User-Agent") or "")


def watch() -> None:
    """Listens to the window's width; draws nothing. Call once on a page that asks ``is_narrow``, at its end."""
    _watch(key=_KEY, data={"pixels": NARROW_PIXELS, "known": is_narrow()}, default={"narrow": is_narrow()}, height=1,
           on_narrow_change=lambda: None)
