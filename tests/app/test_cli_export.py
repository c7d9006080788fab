"""``poolscope export`` and ``export-site``: the file's own command makes it again, the page makes the same, bad input is a sentence."""

from __future__ import annotations

import html
import re
import shlex

import pytest

from app import layer_data, map_data
from app.exports.layers import TITLE as LAYERS_TITLE
from app.exports.layers import layers_view
from app.exports.map import TITLE as MAP_TITLE
from app.exports.map import map_view
from app.exports.models import TITLE as MODELS_TITLE
from app.exports.pair import TITLE as PAIR_TITLE
from app.settings import settings
from app.views.layers_parts import USUAL
from app.views.map_controls import Plane
from components.html_export import html_page
from components.pair_map import PairOptions
from components.pair_selection import Box, Filter
from tests.app.command import ROOT, call, contents, refused

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.mark.parametrize(
    ("view", "title"), [("map", MAP_TITLE), ("layers", LAYERS_TITLE), ("models", MODELS_TITLE), ("pair", PAIR_TITLE)]
)
def test_a_file_has_its_pages_title(view, title):
    assert f'st.title("{title}")' in (ROOT / "app" / "views" / f"{view}.py").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        "map",
        "map --model nano-mic --plane Points --labelled --box=-0.1,0.3,0.2,0.9 --tokens 8,40",
        "map --model nano-cls --vs-model nano-mrl --plane 'Mean of a quantity' --quantity Alignment",
        "layers --model nano-mic --model nano-cls --layer 2 --over r --published",
        "models --measure 'SOCM, MS MARCO' --subset 'Contrastive only'",
        "models --without thenlper/gte-base",
    ],
)
def test_the_command_in_a_file_makes_it_again(place, arguments):
    first = call("export", *shlex.split(arguments), "--out", "first.html")
    assert first.code == 0, first.err
    page = (place / "first.html").read_text("utf-8")
    again = shlex.split(html.unescape(re.search(r"<pre><code>(.*?)</code>", page).group(1)))
    assert again[:2] == ["poolscope", "export"] and call(*again[1:]).code == 0
    assert (place / f"{again[2]}.html").read_text("utf-8") == page


def test_the_page_and_the_command_make_the_same_file(place):
    settings.cache_clear()
    box = Box.parse("0.2,0.5,0.4,0.8")
    data = map_data.apply(map_data.load("encyclopedia", "nano-mic", PairOptions()), Filter((8, 40)))
    assert call("export", "map", "--model", "nano-mic", "--box", str(box), "--tokens", "8,40", "--out", "m.html").code == 0
    assert (place / "m.html").read_text("utf-8") == html_page(
        map_view([data], Plane("Density", "Tokens of the shorter text", False), box, [])
    )
    layers = layer_data.load("encyclopedia", ["all-MiniLM-L6-v2", *USUAL])
    assert call("export", "layers", "--out", "l.html").code == 0
    assert (place / "l.html").read_text("utf-8") == html_page(layers_view(layers, "normalized_spread", "final", published=False))


def test_texts_and_a_model_of_ones_own_are_computed(place, model):
    (place / "texts.txt").write_text(
        "\n".join([*(f"line {k} of the text" for k in range(6)), "<script>alert(1)</script>", "=1+1"]) + "\n"
    )
    done = call("export", "map", "--model", model, "--texts", "texts.txt", "--out", "own.html")
    assert done.code == 0, done.err
    page = (place / "own.html").read_text("utf-8")
    assert (
        "All 28 rows." in page and "&lt;script&gt;alert(1)" in page and "<script>alert(1)" not in page and "<td>&#x27;=1+1</td>" in page
    )
    assert "--texts texts.txt" in page and str(place) not in page
    pair = call("export", "pair", "--model", model, "--text-a", "the cat sat", "--text-b", "a dog ran", "--out", "pair.html")
    assert pair.code == 0, pair.err
    assert "the cat sat" in (place / "pair.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["map", "--out", "x.pdf"], "--out must end in .html"),
        (["map", "--out", "no/such/x.html"], "folder that can be written"),
        (["map", "--layer", "first", "--out", "x.html"], "--layer must be a number"),
        (["map", "--box", "1,2", "--out", "x.html"], "--box must be four"),
        (["map", "--plane", "Pie", "--out", "x.html"], "--plane must be one of"),
        (["map", "--tokens", "9,1", "--out", "x.html"], "--tokens must be"),
        (["map", "--tokens", "900,901", "--out", "x.html"], "the filter must leave a pair"),
        (["map", "--label", "none", "--out", "x.html"], "--label must be one of the texts"),
        (["map", "--texts", "none.csv", "--out", "x.html"], "--texts must be a file"),
        (["map", "--model", "a b", "--out", "x.html"], "model must"),
        (
            ["layers", *["--model", "a", "--model", "b", "--model", "c", "--model", "d", "--model", "e"], "--out", "x.html"],
            "at most 4 models",
        ),
        (["layers", "--layer", "99", "--out", "x.html"], "--layer must be from 0 to 6"),
        (["models", "--without", "x", "--out", "x.html"], "--without must"),
        (["pair", "--text-a", "one", "--out", "x.html"], "must be given together"),
        (["pair", "--a", "9999", "--out", "x.html"], "--a must be a row"),
        (["pair", "--item", "999", "--out", "x.html"], "--item must be a pair"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_leaves_nothing(place, arguments, said):
    assert said in refused(place, "export", *arguments)


def test_a_site_replaces_a_site_and_nothing_else(place):
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("all of it")
    assert "holds something else" in refused(place, "export-site", "--out", "mine")
    first = call("export-site", "--out", "site")
    assert first.code == 0 and "18 pages" not in first.err, first.err
    before = contents(place / "site")
    (place / "site" / "old.html").write_text("old")
    assert call("export-site", "--out", "site").code == 0 and contents(place / "site") == before
    index = (place / "site" / "index.html").read_text("utf-8")
    assert "http:" not in index and "https:" not in index and "<h2>Lessons</h2>" not in index, "no lesson yet, no heading for them"
