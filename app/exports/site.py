"""The stored views as a static site: pages with an index, plotly.js once beside them, every link relative.

Works from a folder, a USB stick or any host of static files. What the store and the gallery do not hold is left out and said
to be, unless it is asked to be computed.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from app import layer_data, map_data, model_data, resources, state, widgets
from app.exports import inputs
from app.exports.layers import layers_view
from app.exports.map import map_view
from app.exports.models import models_view
from app.exports.pair import pair_view
from app.figure_files import file_word
from app.model_data import MEASURES, SUBSETS
from app.pair_data import PLANES, TINTS, Switches
from app.pair_data import load as load_tokens
from app.pair_references import among
from app.results import Request
from app.views.layers_parts import MOST, USUAL
from app.views.map_controls import DENSITY, Plane
from app.views.pair_controls import Texts
from components.charts.style import caption_number
from components.corpora import bundled_names
from components.files import plural
from components.gallery import gallery_models
from components.html_export import ASSETS, View, asset, document, html_page, words
from components.pair_map import PairOptions
from components.token_pair import Projection
from components.types import FINAL, Progress

Found = TypeVar("Found")

ASSET_FOLDER, INDEX = "assets", "index.html"
SECTIONS = ("Lessons", "Map of pairs", "Layers", "Models", "Pair")
"""In the order of the index; a section without pages is not shown."""
PAIRS = ((state.ROW_A, state.ROW_B), (316, 687))
"""Rows of the corpora whose tokens are shown where they are stored: what Pair opens with, and Home's example."""


@dataclass(frozen=True)
class SitePage:
    """One page of the site: its file, its section, its name there, a line on it, and what makes its HTML."""

    file: str
    section: str
    name: str
    line: str
    make: Callable[[], str]


def site_pages(compute: Progress | None = None) -> tuple[list[SitePage], list[str]]:
    """Every page that can be made from stored results, and what is left out for want of them.

    Args:
        compute: hears of the computing of what is not stored; None computes nothing.
    """
    found: list[SitePage] = [*lessons()]
    missing: list[str] = []
    names = [name for name in resources.model_names() if name in gallery_models()]
    for corpus in bundled_names("corpus"):
        for name in names:
            stem, called = f"{file_word(corpus)}-{file_word(name)}", f"{name}, {corpus}"
            _add(found, missing, "Map of pairs", f"map-{stem}", called, partial(_map, corpus, name, compute))
            _add(found, missing, "Layers", f"layers-{stem}", called, partial(_layers, corpus, name, compute))
            for a, b in PAIRS:
                if max(a, b) < len(resources.corpus(corpus).texts):
                    _add(found, missing, "Pair", f"pair-{stem}-{a}-{b}", f"{called}, rows {a} and {b}",
                         partial(_pair, corpus, name, a, b, compute))
    for measure in MEASURES:
        _add(found, missing, "Models", f"models-{file_word(measure).lower()}", measure, partial(_models, measure))
    return found, missing


def lessons() -> Iterator[SitePage]:
    """The lessons' pages: the place where they join the site, in the first section of its index."""
    yield from ()


def assets() -> dict[str, str]:
    """Relative file -> text of what all pages share."""
    return {f"{ASSET_FOLDER}/{name}": asset(name) for name in ASSETS}


def index(pages: list[SitePage], sizes: dict[str, int], missing: list[str]) -> str:
    """The site's first page: every view by section, with its size."""
    body = ["<h1>See what pooling throws away</h1>",
            "<p class=reading>Poolscope's views of the texts and models that come with it, as pages that need no server and no "
            "network. Figures answer to the pointer and tables can be sorted; computing with texts or models of your own needs "
            "Poolscope itself.</p>"]
    for section in SECTIONS:
        rows = "".join(
            f'<tr><th scope=row><a href="{html.escape(page.file)}">{html.escape(page.name)}</a></th><td>{words(page.line)}</td>'
            f"<td data-v>{sizes[page.file] / 1e3:,.0f} kB</td></tr>" for page in pages if page.section == section)
        if rows:
            body.append(f"<h2>{section}</h2><table class=about><tbody>{rows}</tbody></table>")
    body.append(f'<p class="caption">{len(pages)} pages, {sum(sizes.values()) / 1e6:.1f} MB with what they share; Poolscope '
                f"{html.escape(widgets.version())}."
                + (f" Left out, since nothing was stored for them: {plural(len(missing), 'page')}." if missing else "") + "</p>")
    return document("Poolscope: see what pooling throws away", "\n".join(body), assets=ASSET_FOLDER, scripts=False)


def _add(found: list[SitePage], missing: list[str], section: str, stem: str, name: str, make: Callable[[], View | None]) -> None:
    view = make()
    if view is None:
        missing.append(f"{section}, {name}")
        return
    line = ", ".join(f"{one.label} {caption_number(one.value)}" for one in view.numbers[:2])
    found.append(SitePage(f"{stem}.html", section, name, line, partial(html_page, view, assets=ASSET_FOLDER, home=INDEX)))


def _there(load: Callable[[], Found | Request], compute: Progress | None) -> Found | None:
    if compute is not None:
        return inputs.ready(load, compute)
    found = load()
    return None if isinstance(found, Request) else found


def _map(corpus: str, name: str, compute: Progress | None) -> View | None:
    data = _there(lambda: map_data.load(corpus, name, PairOptions()), compute)
    return map_view([data], Plane(DENSITY, "", ""), None, []) if data else None


def _layers(corpus: str, name: str, compute: Progress | None) -> View | None:
    shown = [name, *(other for other in USUAL if other != name and other in resources.model_names())][:MOST]
    data = layer_data.load(corpus, shown) if compute is None else inputs.layers_of(corpus, shown, compute)
    return layers_view(data, "normalized_spread", FINAL, published=False) if not data.missing else None


def _models(measure: str) -> View:
    subset = next(iter(SUBSETS))
    return models_view(model_data.choose(measure, subset, []), measure, subset, [])


def _pair(corpus: str, name: str, a: int, b: int, compute: Progress | None) -> View | None:
    texts = resources.corpus(corpus).texts
    found = _there(lambda: load_tokens(texts[a], texts[b], name, Switches(True, True)), compute)
    if found is None:
        return None
    plane, whole = found.projection(FINAL, PLANES[0]), inputs.stored_map(corpus, name, PairOptions())
    return pair_view(found, FINAL, Texts(texts[a], texts[b], f"row {a} and row {b}", (a, b)),
                     plane if isinstance(plane, Projection) else None, next(iter(TINTS)), among(whole, found), [found], corpus)



