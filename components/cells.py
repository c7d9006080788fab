"""Cells of exported tables that a spreadsheet must not run: one rule for pages and commands."""

from __future__ import annotations

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: str) -> str:
    """The cell with a quote in front where a spreadsheet would take it for a formula."""
    return "'" + cell if cell.startswith(_DANGEROUS) else cell
