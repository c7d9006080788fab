"""The viewer's theme, for figures: the page's colours come from .streamlit/config.toml, a figure's from here."""

from __future__ import annotations

import streamlit as st

from components.charts.style import DARK, LIGHT, ChartTheme


def current() -> ChartTheme:
    """The chart theme of the viewer's light or dark mode; light while the browser has not said yet."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def viewport_is_narrow() -> bool:
    """Whether the viewer's browser calls itself a phone's.

    Streamlit does not tell a page how wide it is. A phone's browser says "Mobi" in its user agent (the sign that MDN
    recommends); a narrow window on a desktop is not seen, so that wide figures have to survive there.
    """
    return "Mobi" in (st.context.headers.get("User-Agent") or "")
