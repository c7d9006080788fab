"""The Map page's own controls, each in the URL."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app import resources, uploads, widgets
from app.map_data import MapData
from components.pair_map import PairMap, PairOptions
from components.pair_selection import ALL, DIFFERENT, SAME, Filter
from components.types import Corpus

# What a menu shows is what a link carries, so the options are words.
DENSITY, POINTS, MEANS = PLANES = ("Density", "Points", "Mean of a quantity")
QUANTITIES = {"Tokens of the shorter text": "shorter", "Alignment": "align", "Share of size": "size_share",
              "Share with one label": "same_label"}
RELATIONS = {"All pairs": ALL, "Of one label": SAME, "Of different labels": DIFFERENT}
NOTHING = "nothing"


@dataclass(frozen=True)
class Plane:
    """What the plane shows; ``quantity`` is one of ``QUANTITIES``' words, ``labelled`` the list of pairs over it, or empty."""

    kind: str
    quantity: str
    labelled: str


def plane(data: MapData) -> Plane:
    """Which plane to draw, of which quantity, and whether with labelled pairs over it, for which a model is needed."""
    side, corpus = st.sidebar, data.corpus
    kind = str(side.radio("Plane shows", PLANES, key="plane", bind="query-params"))
    quantity = "Tokens of the shorter text"
    if kind == MEANS:
        there = [name for name, what in QUANTITIES.items() if corpus.labels or what != "same_label"]
        quantity = str(side.selectbox("Quantity", there, key="quantity", bind="query-params"))
    if data.given:
        return Plane(kind, quantity, "")
    labelled = bool(side.toggle("Labelled pairs", key="labelled", bind="query-params",
                                help="200 pairs that come with Poolscope, drawn over the map by their label: paraphrases, "
                                     "negations, role swaps, translations ... Pairs of your own come from the page Your data."))
    lists = resources.pair_list_names()
    chosen = lists[0]
    if labelled and len(lists) > 1:
        chosen = widgets.pick("Pairs over the map", lists, key="over_map", index=len(lists) - 1)
    return Plane(kind, quantity, chosen if labelled else "")


def pair_filter(result: PairMap, corpus: Corpus) -> Filter:
    """Which pairs to look at: token counts and labels of both texts; everything on the page follows."""
    side = st.sidebar
    low, high = int(result.n_tokens.min()), int(result.n_tokens.max())
    tokens = None
    if low < high:
        chosen = side.slider("Tokens in each text", low, high, (low, high), key="tokens", bind="query-params")
        tokens = None if chosen == (low, high) else (int(chosen[0]), int(chosen[1]))
    label, relation = None, ALL
    if corpus.labels:
        name = corpus.label_name or "label"
        any_label = f"any {name}"
        menu = [any_label, *sorted(set(corpus.labels))]
        if corpus.name in uploads.own():  # the visitor's own labels are in no link
            picked = side.selectbox(widgets.plain(name.capitalize()), menu, key="own_label")
        else:
            picked = side.selectbox(widgets.plain(name.capitalize()), menu, key="label", bind="query-params")
        label = None if picked == any_label else str(picked)
        if label is None:
            relation = RELATIONS[str(side.selectbox("Pairs", list(RELATIONS), key="relation", bind="query-params"))]
    return Filter(tokens, label, relation)


def compared(corpus_name: str, model_name: str, options: PairOptions) -> tuple[str, str, PairOptions] | None:
    """The second setting to compare with: another corpus, model or layer; None when it is the first one's."""
    side = st.sidebar
    if not side.toggle("Compare", key="compare", bind="query-params", help="A second map on the same axes."):
        return None
    corpora, models = resources.corpus_names(), list(resources.model_names())
    other_corpus = widgets.pick("Texts, second", corpora, key="vs_corpus", index=corpora.index(corpus_name))
    if uploads.is_states(other_corpus):
        other_model, other = uploads.OWN_STATES, PairOptions()
    else:
        at = models.index(model_name) if model_name in models else 0
        other_model = str(side.selectbox("Model, second", models, index=at, key="vs_model", bind="query-params"))
        layer = widgets.choose_layer(other_model, key="vs_layer", label="Layer, second")
        other = PairOptions(layer=layer, special_tokens=options.special_tokens)
    if (other_corpus, other_model, other) == (corpus_name, model_name, options):
        side.caption("The second setting is the first one: change texts, model or layer.")
        return None
    return other_corpus, other_model, other
