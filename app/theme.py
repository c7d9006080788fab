"""The viewer's theme, for figures: the page's colours come from .streamlit/config.toml, a figure's from here."""

from __future__ import annotations

import streamlit as st

from components.charts.style import DARK, LIGHT, ChartTheme


def current() -> ChartTheme:
    """The chart theme of the viewer's light or dark mode; light while the browser has not said yet."""
    return DARK if st.context.theme.type == "dark" else LIGHT
