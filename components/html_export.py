"""A view as one HTML file that opens anywhere: figures still interactive, tables sortable, nothing fetched.

The file holds plotly.js once (the copy inside the installed plotly package), the figures as data, and two small scripts of
our own; a content security policy in its head allows exactly these scripts, by their digests, and no connection at all. A
static site keeps plotly.js, scripts and style beside its pages instead (``ASSETS``), so that many pages share them.

Words come in the markdown that pages use (escaped characters, ``**bold**``, ``*italic*`` and the two symbols); everything
else in them is text and stays text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from components.cells import inert
from components.charts.style import caption_number
from components.html_look import PAGE_SCRIPT, page_style

LONG = 40
"""Characters from which a cell is given room."""
MAX_ROWS = 2_000
"""Rows of a table in a file; how many there are in all is always said beside it."""
ASSETS = ("plotly.min.js", "page.js", "page.css")
_MARKS = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|~:$<>&])|\$d_\\(mu|Sigma)\$|\*\*(.+?)\*\*|\*(\w[^*]*)\*")
_SYMBOLS = {"mu": "d<sub>μ</sub>", "Sigma": "d<sub>Σ</sub>"}


@dataclass(frozen=True)
class Number:
    """A headline number: what it is, its value (None draws a dash), and what it rests on. Label and ``below`` are words."""

    label: str
    value: float | int | None
    below: str


@dataclass(frozen=True)
class FigurePart:
    """A figure with its heading, its caption (words) and the same in words for those who cannot see it."""

    figure: go.Figure
    alt: str
    caption: str = ""
    heading: str = ""


@dataclass(frozen=True)
class TablePart:
    """A table: its rows (the first ``MAX_ROWS`` are written), how many there are in all, and which these are.

    Attributes:
        titles: column -> words above it; a column without an entry keeps its name.
    """

    heading: str
    table: pd.DataFrame
    total: int
    caption: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """What one file shows, top to bottom.

    Attributes:
        title: the page's question.
        of: what it is a view of (model, texts), for the window's title and the site's index.
        reading: how to read the figure (words).
        finding: the computed sentence (words); empty where there is none.
        notes: what to know before believing the numbers (words).
        about: what the file was made from: parameter -> value.
        command: the command that makes it again; empty where none does.
    """

    title: str
    of: str
    reading: str
    numbers: Sequence[Number]
    parts: Sequence[FigurePart | TablePart]
    finding: str
    notes: Sequence[str]
    about: Mapping[str, str]
    command: str


def words(text: str) -> str:
    """HTML of words in the pages' markdown; whatever is not one of its few marks is escaped."""
    out, at = [], 0
    for found in _MARKS.finditer(text):
        out.append(html.escape(text[at:found.start()]))
        escaped, symbol, bold, italic = found.groups()
        out.append(html.escape(escaped) if escaped else _SYMBOLS[symbol] if symbol else
                   f"<strong>{words(bold)}</strong>" if bold else f"<em>{words(italic)}</em>")
        at = found.end()
    return "".join(out) + html.escape(text[at:])


def html_page(view: View, *, assets: str | None = None, home: str = "") -> str:
    """The view as an HTML document.

    Args:
        view: what it shows.
        assets: relative folder of ``ASSETS`` for a page of a site; None puts everything into the file.
        home: relative address of the site's index, if there is one.
    """
    # Figures are data, not code: a block of a type that no browser runs.
    figures = [part for part in view.parts if isinstance(part, FigurePart)]
    data = "".join(f'<script type="application/json" id="figure-{k}">{_data(part.figure)}</script>\n' for k, part in enumerate(figures))
    body = [f'<nav><a href="{html.escape(home)}">All views</a></nav>' if home else "",
            f"<h1>{html.escape(view.title)}</h1>", f'<p class="reading">{words(view.reading)}</p>', _numbers(view.numbers)]
    place = 0
    for part in view.parts:
        if isinstance(part, FigurePart):
            body.append(_figure(part, place))
            place += 1
            if place == 1 and view.finding:
                body.append(f'<p class="finding"><strong>What this shows.</strong> {words(view.finding)}</p>')
        else:
            body.append(_table(part))
    if view.notes:
        body.append("<details><summary>What these numbers rest on</summary>"
                    + "".join(f"<p>{words(note)}</p>" for note in view.notes) + "</details>")
    rows = "".join(f"<tr><th scope=row>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                   for name, value in view.about.items() if value)
    body.append(f"<h2>What this was made from</h2><table class=about><tbody>{rows}</tbody></table>")
    if view.command:
        body.append("<p>The command that makes this file again, with Poolscope installed:</p>"
                    f"<pre><code>{html.escape(view.command)}</code></pre>")
    return document(f"{view.title} {view.of}", "\n".join(body), assets=assets, data=data)


def document(title: str, body: str, *, assets: str | None = None, data: str = "", scripts: bool = True) -> str:
    """A whole HTML document around a body that is escaped already.

    Args:
        title: of the window, as text.
        body: HTML.
        assets: as in ``html_page``.
        data: blocks of data, ahead of the scripts.
        scripts: whether the page needs plotly and the page's script at all.
    """
    if assets is None:
        sources = [get_plotlyjs(), PAGE_SCRIPT] if scripts else []
        allowed = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" for code in sources)
        run = "".join(f"<script>{code}</script>\n" for code in sources)
        style = f"<style>{page_style()}</style>"
    else:
        # 'self' is the site's own host; file: the same folder on a disk or a stick, where no page has a host.
        allowed = "'self' file:" if scripts else ""
        run = "".join(f'<script src="{assets}/{name}"></script>\n' for name in ASSETS[:2]) if scripts else ""
        style = f'<link rel="stylesheet" href="{assets}/{ASSETS[2]}">'
    policy = (f"default-src 'none'; script-src {allowed or chr(39) + 'none' + chr(39)}; style-src 'unsafe-inline'"
              f"{' ' + chr(39) + 'self' + chr(39) + ' file:' if assets is not None else ''}; img-src data: blob:; font-src data:; "
              "base-uri 'none'; form-action 'none'")
    return ("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name=viewport content="width=device-width, initial-scale=1">\n<meta name=referrer content=no-referrer>\n'
            f"<title>{html.escape(' '.join(title.split()))}</title>\n{style}\n</head>\n<body>\n<main>\n{body}\n</main>\n"
            f"{data}{run}</body>\n</html>\n")


def asset(name: str) -> str:
    """The text of one of ``ASSETS``."""
    return {"plotly.min.js": get_plotlyjs, "page.js": lambda: PAGE_SCRIPT, "page.css": page_style}[name]()


def _numbers(listed: Sequence[Number]) -> str:
    cells = "".join(f'<div><dt>{words(one.label)}</dt><dd class=value>{html.escape(caption_number(one.value))}</dd>'
                    f"<dd>{words(one.below)}</dd></div>" for one in listed)
    return f"<dl class=numbers>{cells}</dl>" if listed else ""


def _figure(part: FigurePart, place: int) -> str:
    heading = f"<h2>{words(part.heading)}</h2>" if part.heading else ""
    height = int(part.figure.layout.height or 450)
    return (f"{heading}<figure><div class=scroll><div class=plot id=plot-{place} role=img aria-label=\"{html.escape(part.alt)}\" "
            f'style="height:{height}px"></div></div><figcaption>{words(part.caption)}</figcaption></figure>')


def _data(figure: go.Figure) -> str:
    """The figure as JSON that cannot end its block; WebGL traces as SVG, since WebGL's compiler needs what the policy forbids."""
    plain = go.Figure(figure)
    spec = json.loads(plain.to_json())
    for trace in spec["data"]:
        if trace.get("type") == "scattergl":
            trace["type"] = "scatter"
    spec["layout"].pop("width", None)
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _table(part: TablePart) -> str:
    shown = part.table.head(MAX_ROWS)
    count = f"All {part.total:,} rows." if len(shown) == part.total else f"{len(shown):,} of {part.total:,} rows."
    head = "".join(f'<th scope=col><button type=button>{html.escape(part.titles.get(str(name), str(name)))}</button></th>'
                   for name in shown.columns)
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>\n" for row in shown.itertuples(index=False, name=None))
    return (f"<h2>{words(part.heading)}</h2><p class=caption>{count} {words(part.caption)} Press a column's title to sort by it.</p>"
            f"<div class=rows tabindex=0 role=region aria-label=\"{html.escape(part.heading)}\"><table class=sortable>"
            f"<thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>")


def _cell(value: Any) -> str:
    """A number at three digits with its full value beside it for sorting; text inert; nothing where there is no value."""
    if isinstance(value, str):
        return f"<td{' class=long' if len(value) > LONG else ''}>{html.escape(inert(value))}</td>"
    if isinstance(value, (bool, np.bool_)):
        return f"<td>{'yes' if value else 'no'}</td>"
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "<td data-v></td>"
    shown = int(value) if isinstance(value, numbers.Integral) else float(value)
    return f'<td data-v="{float(value)!r}">{html.escape(caption_number(shown))}</td>'
