"""Text on a page that stays text."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:$<>&])")


def plain(text: str) -> str:
    """Text with every character that Streamlit's markdown would act on made inert."""
    return _MARKDOWN.sub(r"\\\1", text)
