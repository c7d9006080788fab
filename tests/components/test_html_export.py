"""One HTML file: what is in it, that hostile text stays text, that its policy allows its own scripts and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.html_export import ASSETS, MAX_ROWS, FigurePart, Number, TablePart, View, asset, html_page, words

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028'\"&"


class Read(HTMLParser):
    """Every element with its attributes, every script's text, and the text between."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.cells: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        if self.inside == "td":
            self.cells[-1] += data


def view(table: pd.DataFrame | None = None, total: int | None = None, text: str = "fine", figure: go.Figure | None = None) -> View:
    made = table if table is not None else pd.DataFrame({"a": [1.0, float("nan")], "b": ["x", text]})
    drawn = figure or go.Figure(go.Scatter(x=[1, 2], y=[3, 4], text=[text, "b"]), {"height": 300, "width": 900})
    return View(
        f"Title {text}",
        text,
        f"read {text}".replace("*", ""),
        (Number(text, 0.5, text),),
        (FigurePart(drawn, text, text, text), TablePart(text, made, total or len(made), text, {"a": f"A {text}"})),
        text,
        (text,),
        {"model": text},
        f"poolscope export map --label {text}",
    )


def test_hostile_text_makes_no_element_and_no_script():
    safe, bad = Read(html_page(view())), Read(html_page(view(text=HOSTILE)))
    assert [tag for tag, _ in bad.tags] == [tag for tag, _ in safe.tags] and len(bad.scripts) == 3
    assert not [name for _, attributes in bad.tags for name in attributes if name.startswith("on") or name in ("srcset", "action")]
    assert json.loads(bad.scripts[0][1])["data"][0]["text"][0] == HOSTILE, "the figure has its text unchanged"


@given(st.text(max_size=200))
def test_any_text_makes_no_element(text):
    plain = Read(f"<p>{words(text)}</p>")
    assert {tag for tag, _ in plain.tags} <= {"p", "strong", "em", "sub"}


@pytest.mark.parametrize(
    ("markdown", "made"),
    [
        ("Mean distance $d_\\mu$ and $d_\\Sigma$", "Mean distance d<sub>μ</sub> and d<sub>Σ</sub>"),
        ("all\\-MiniLM\\-L6", "all-MiniLM-L6"),
        ("**Bold** and *final*", "<strong>Bold</strong> and <em>final</em>"),
        ("\\<b\\>", "&lt;b&gt;"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("\\*not bold\\*", "*not bold*"),
    ],
)
def test_words_are_those_of_the_pages(markdown, made):
    assert words(markdown) == made


def test_the_policy_names_exactly_the_files_own_scripts():
    page = html_page(view())
    policy = next(a["content"] for tag, a in Read(page).tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    code = [text for attributes, text in Read(page).scripts if "type" not in attributes]
    digests = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in code}
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert set(directives["script-src"].split()) == digests and len(digests) == 2 and directives["default-src"] == "'none'"
    assert "connect-src" not in directives and "unsafe-eval" not in policy and directives["form-action"] == "'none'"


def test_nothing_is_fetched_and_plotly_is_there_once():
    page = html_page(view())
    assert not [a for _, a in Read(page).tags if set(a) & {"src", "href"}] and page.count("* plotly.js v") == 1
    shared = html_page(view(), assets="assets", home="index.html")
    found = [a.get("src") or a.get("href") for _, a in Read(shared).tags if set(a) & {"src", "href"}]
    assert sorted(found) == sorted([*(f"assets/{name}" for name in ASSETS), "index.html"]) and "* plotly.js v" not in shared
    assert all(asset(name) for name in ASSETS)


def test_tables_say_how_many_there_are_and_cells_are_inert():
    rows = pd.DataFrame({"text": ["=HYPERLINK(1)", "+1", "-1", "@x", *["t"] * MAX_ROWS], "n": range(MAX_ROWS + 4)})
    page = html_page(view(rows, total=499_500))
    read = Read(page)
    assert "2,000 of 499,500 rows." in page and page.count("<tr><td") == MAX_ROWS
    assert read.cells[:8:2] == ["'=HYPERLINK(1)", "'+1", "'-1", "'@x"]
    assert "All 2 rows." in html_page(view())


def test_numbers_carry_their_full_value_for_sorting():
    table = pd.DataFrame(
        {"f": [1 / 3, np.nan], "i": np.array([1_234_567, -2]), "o": pd.array([0.1, None], "Float64"), "b": [True, False]}
    )
    page = html_page(view(table))
    assert f'data-v="{1 / 3!r}">0.333<' in page and 'data-v="1234567.0">1,234,567<' in page and 'data-v="-2.0">−2<' in page
    assert (
        page.count("<td data-v></td>") == 2
        and "<td>yes</td>" in page
        and "nan" not in page.lower().split("<tbody>")[1].split("</table>")[0]
    )


def test_webgl_becomes_svg_since_its_compiler_is_forbidden():
    page = html_page(view(figure=go.Figure(go.Scattergl(x=np.arange(5.0), y=np.arange(5.0)), {"height": 400})))
    spec = json.loads(re.search(r'id="figure-0">(.*?)</script>', page, re.DOTALL).group(1))
    assert spec["data"][0]["type"] == "scatter" and "width" not in spec["layout"]
