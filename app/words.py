"""Text on a page that stays text."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:$<>&])")
_LINKING = re.compile(r"www(?=\.)|https?(?=:)|@(?=\w)|:(?=\w)", re.IGNORECASE)
"""Beginnings of addresses and icon names, which Streamlit finds in finished text, escaped or not."""


def plain(text: str) -> str:
    """Text with everything that Streamlit's markdown would act on made inert: its characters, addresses and icon names."""
    return _MARKDOWN.sub(r"\\\1", _LINKING.sub("\\g<0>\u2060", text))
