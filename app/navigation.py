"""Every page, for the menu and for links to it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st
from streamlit.navigation.page import StreamlitPage

FOLDER = Path(__file__).parent
"""Pages are found from here, whichever script starts them."""


@dataclass(frozen=True)
class PageRow:
    """One page: its file under app/, its address and its name in the menu."""

    file: str
    path: str
    title: str


PAGES = (
    PageRow("views/home.py", "", "Poolscope"),
    PageRow("views/map.py", "map", "Map of pairs"),
    PageRow("views/layers.py", "layers", "Layers"),
    PageRow("views/pooling.py", "pooling", "Pooling"),
    PageRow("views/truncation.py", "truncation", "Truncation"),
    PageRow("views/models.py", "models", "Models"),
    PageRow("views/pair.py", "pair", "Pair"),
    PageRow("views/audit.py", "audit", "Audit"),
    PageRow("views/data.py", "data", "Your data"),
    PageRow("views/connection.py", "connection", "Connection"),
)


def pages() -> list[StreamlitPage]:
    """The pages for ``st.navigation``; the first is the default."""
    return [st.Page(FOLDER / row.file, title=row.title, url_path=row.path or None, default=not row.path) for row in PAGES]


def page(path: str) -> StreamlitPage:
    """One page, for ``st.page_link``."""
    return pages()[[row.path for row in PAGES].index(path)]


def link(path: str, label: str, parameters: Mapping[str, str]) -> None:
    """A link that loads another page anew, so that the browser's Back returns to this one as it was.

    ``st.page_link`` puts two more entries into the history, and on the way back a control that both pages have, like the
    corpus, falls to its default.
    """
    address = html.escape(f"{path}?{urlencode(parameters)}")
    st.html(f'<a class="house-link" href="{address}">{html.escape(label)}</a>')
