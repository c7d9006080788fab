"""The button that saves a page's view as one HTML file; nothing is built until it is pressed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app import private
from components.html_export import View, html_page

LABEL = "This view as one HTML file"
HELP = ("Figures stay interactive and tables can be sorted; with parameters, versions and the command that makes it again. Opens "
        "without a network, about 5 MB.")


def one_file(make: Callable[[], View], file_name: str, *, key: str) -> None:
    """The button.

    Args:
        make: builds the view; called when the button is pressed.
        file_name: without its ending.
    """
    bound = private.bound(make)
    st.download_button(LABEL, lambda: html_page(bound()).encode("utf-8"), file_name=f"{file_name}.html", mime="text/html", help=HELP,
                       on_click="ignore", key=key)
