"""The Pair page's figures and tables as files that say what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from app import pair_data, pair_references, pair_settings, pair_tables, state, tables, widgets
from app.exports import button
from app.figure_files import figure_files, file_word
from app.pair_data import TINTS, TokenPair
from app.pair_references import Among
from app.pair_settings import Shown
from app.views.pair_beside import models_of
from app.views.pair_controls import TYPED, Texts
from app.views.pair_parts import where
from components.charts.layer_panels import layer_panels
from components.charts.style import LIGHT
from components.charts.titles import add_title
from components.charts.token_matrix import token_matrix
from components.charts.token_plane import token_plane
from components.html_export import View
from components.token_pair import Projection
from components.types import Layer


def exports(pair: TokenPair, layer: Layer, texts: Texts, shown: Projection | None, tint: str, among: Among | None,
            beside: Sequence[Shown], view: Callable[[], View]) -> None:
    """Every figure and table that the page shows; nothing is drawn until the panel is opened."""
    with st.expander("Export", on_change="rerun", key="pair_export_open") as folded:
        if not folded.open:
            return
        st.caption("Images are drawn on white and carry model, revision, layer and texts in their title; tables hold these "
                   "in columns (CSV) or in the file's description (Parquet)."
                   + (" They hold the texts that you typed." if texts.source == TYPED.lower() else ""))
        said, name = about(pair, layer, texts), f"poolscope-pair-{file_word(pair.model)}-{layer}"
        for label, (fig, what) in figures(pair, layer, shown, tint, beside).items():
            figure_files(described(fig, what, pair, layer, texts, said), label, f"{name}-{label.lower().replace(' ', '-')}",
                         key=f"export_pair_{label.lower().replace(' ', '_')}")
        for label, make in (("Tokens", partial(pair_tables.token_table, pair, layer, shown)),
                            ("Numbers", partial(pair_references.number_table, pair, layer, among)),
                            *(() if pair.given else (("By layer", partial(pair_tables.layer_table, models_of(beside))),
                                                     ("Settings", partial(pair_settings.table, beside))))):
            tables.table_files(make, label, f"{name}-{label.lower().replace(' ', '-')}", said,
                               key=f"export_pair_table_{label.lower().replace(' ', '_')}")
        button.one_file(view, name, key="export_pair_html")


def figures(pair: TokenPair, layer: Layer, shown: Projection | None, tint: str,
            beside: Sequence[Shown]) -> dict[str, tuple[go.Figure, str]]:
    """Label -> figure and what it shows, on white."""
    found: dict[str, tuple[go.Figure, str]] = {}
    effects = pair.effects(layer, TINTS[tint])
    if shown is not None and effects is not None:
        found["Plane"] = (token_plane(shown, pair.kept_tokens, effects, LIGHT, effect_label=tint.lower(), places=pair.kept,
                                      marked=state.token()), f"Tokens of two texts, plane: {shown.name}")
    if not pair.given:
        panels, axis = pair_data.by_layer(models_of(beside))
        found["Layers"] = layer_panels(panels, LIGHT, axis=axis), "Two texts through the layers"
    cosines = token_matrix(pair.cosines(layer), pair.kept_tokens, LIGHT, label="Cosine", centred=True)
    found["Cosines"] = cosines, "Cosines token by token"
    plan = pair.plan(layer)
    if isinstance(plan, np.ndarray):
        found["Transport"] = (token_matrix(plan * len(plan), pair.kept_tokens, LIGHT, label="Share moved", centred=False),
                              "Optimal transport of tokens")
    return found


def about(pair: TokenPair, layer: Layer, texts: Texts) -> dict[str, str]:
    """What a file was made from, enough to make it again."""
    one, other = (sorted(out) for out in pair.switches.without)
    return {"model": pair.request.key.model_id, "revision": pair.request.key.model_revision, "layer": str(layer),
            "text A": texts.a, "text B": texts.b, "texts from": texts.source, "texts digest": pair.request.key.corpus_digest,
            "special tokens": str(pair.switches.special), "punctuation": str(pair.switches.punctuation),
            "tokens left out": json.dumps({"A": one, "B": other}), "poolscope": widgets.version(),
            "versions": json.dumps(dict(pair.found.versions), sort_keys=True)}


def described(fig: go.Figure, what: str, pair: TokenPair, layer: Layer, texts: Texts, said: dict[str, str]) -> go.Figure:
    """The figure with a title that names what it is made of, and the same in full in ``layout.meta``."""
    counts = " and ".join(f"{len(at)} of {len(words)}" for at, words in zip(pair.kept, pair.tokens, strict=True))
    add_title(fig, f"{what}: {pair.model}, {where(pair, layer)}",
              f"“{_short(texts.a)}” and “{_short(texts.b)}” ({counts} tokens, texts digest {said['texts digest'][:10]}); model "
              f"revision {pair.revision}; Poolscope {said['poolscope']}", LIGHT)
    fig.layout.meta = {**(fig.layout.meta or {}), **said}
    return fig


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
