"""The controls and panels of the Layers page, top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from app import layer_data, links, resources, state, tables, viewport, widgets
from app.exports import button
from app.figure_files import figure_files, file_word
from app.layer_data import MAIN, MORE, TITLES, Layers
from components.charts.head_map import head_map, head_map_alt
from components.charts.layer_panels import layer_panels, layer_panels_alt
from components.charts.style import LIGHT, ChartTheme, caption_number
from components.charts.text_shares import text_shares, text_shares_alt
from components.charts.titles import add_title
from components.files import plural
from components.html_export import View
from components.pair_map import UNKNOWN_WARNING
from components.types import FINAL, Layer

MOST = 4
USUAL = ("nano-backbone", "nano-contrastive", "nano-mrl")
"""Compared with unless told otherwise: a backbone and what tuning made of it."""
CHART = {"displaylogo": False, "displayModeBar": False}
LOOKED_AT = {"Normalised spread": "normalized_spread", "Mean token cosine": "mean_cosine",
             "Mean token cosine, no self-pairs": "mean_cosine_no_self", "λ, mean over heads": "lambda", "r": "r", "C": "C"}


def compared(model_name: str) -> list[str]:
    """Up to three further models, from the link or the menu."""
    others = [name for name in resources.model_names() if name != model_name]
    usual = [name for name in USUAL if name in others][:MOST - 1]
    links.say_missing_some("a model that this server", "with", [model_name, *others])
    chosen = st.sidebar.multiselect("Compared with", others, usual, key="with", bind="query-params", max_selections=MOST - 1,
                                    help="Hollow marks and dashed lines: a backbone, whose files declare no pooling.")
    return [str(name) for name in chosen][:MOST - 1]


def controls() -> tuple[bool, str]:
    """Whether to draw published curves, and the quantity that the chosen layer is looked at in."""
    published = bool(st.sidebar.toggle("Published curves", key="published", bind="query-params",
                                       help="The paper's means for its own models on its own texts, dotted; no intervals were "
                                            "published."))
    return published, LOOKED_AT[str(st.sidebar.selectbox("Quantity over texts", list(LOOKED_AT), key="over", bind="query-params"))]


def headline(data: Layers, layer: Layer) -> None:
    """The first model at the chosen layer: spread, cosine, SOCM, heads that do not contract."""
    with st.container(key="headline"):
        for column, (label, value, below, help_) in zip(st.columns(4), numbers(data, layer), strict=False):
            widgets.number(column, label, value, below, help_)


def numbers(data: Layers, layer: Layer) -> list[tuple[str, float | None, str, str]]:
    """Label, value, what it rests on and how to read it, of each headline number."""
    curves = data.first.curves
    spread, cosine, pairs = curves.mean("normalized_spread", layer), curves.mean("mean_cosine_no_self", layer), curves.pairs(layer)
    found: list[tuple[str, float | None, str, str]] = [
        ("Normalised spread", spread.value, f"{widgets.spread_of(spread)}; {layer_words(layer)}",
         "Mean squared distance of a text's tokens to their mean, over the mean's squared length."),
        ("Mean token cosine", cosine.value, f"{widgets.spread_of(cosine)}; without self-pairs",
         "Cosine of two different tokens of a text, averaged; the paper's curve includes each token with itself."),
        ("Mean SOCM", pairs["socm"].value, f"{widgets.spread_of(pairs['socm'])}; below {caption_number(pairs['socm_ceiling'].value)}",
         "SOCM over pairs at this layer; Theorem 2 puts its mean below the mean of (1 − $d_\\mu$)(tr Σ₁ + tr Σ₂)/4.")]
    if curves.available:
        heads = curves.heads()
        found.append(("Heads with λ of 1 or more", int((heads >= 1).sum()),
                      f"of {heads.size:,} heads in {curves.n_layers} layers; largest {caption_number(float(heads.max()))}",
                      "λ is the scale by which attention shrinks or grows a text's spread, an average over directions."))
    return found


def curves(data: Layers, layer: Layer, theme: ChartTheme, *, published: bool) -> None:
    """Small multiples on one layer axis."""
    with st.container(key="curves"):
        _panels(data, MAIN, layer, theme, published=published, key="layer_curves")
    st.caption(f"{caption(data)} SOCM: {data.first.curves.pairs_in_words}; dotted, the ceiling of its mean after Theorem 2.")
    reasons = {one.name: one.curves.reason for one in data.models if not one.curves.available}
    for name, reason in reasons.items():
        st.info(widgets.plain(f"λ, r and C are not available for {name}: {reason}"))


def _panels(data: Layers, quantities: tuple[str, ...], layer: Layer, theme: ChartTheme, *, published: bool, key: str) -> None:
    narrow = viewport.is_narrow()

    def draw() -> tuple[go.Figure, str]:
        found = layer_data.panels(data, quantities, published=published)
        return layer_panels(found, theme, axis=data.axis, chosen=data.depth(data.first, layer), ticks=data.ticks(),
                            narrow=narrow), layer_panels_alt(found)

    drawn, alt = resources.made_once(data.signature(quantities, layer, published, theme.name, narrow), draw)
    name = f"{key}_{'narrow' if narrow else 'wide'}"
    st.plotly_chart(drawn, theme=None, key=name, alt=alt, config=CHART, selection_mode="points",
                    on_select=partial(state.keep_layer, name, data.layer_of))


def caption(data: Layers) -> str:
    """What the figure is made of."""
    models = ", ".join(f"{widgets.plain(one.name)} (revision {one.revision}, {one.curves.n_layers} layers)" for one in data.models)
    meta = data.first.curves.meta
    parts = [f"{widgets.plain(data.corpus.name)}: {data.first.curves.n_texts:,} texts, all tokens, special ones included", models,
             f"{plural(meta['n_cut'], 'text')} cut at {meta['max_length']} tokens" if meta["n_cut"] else "no text cut"]
    if meta["unknown_share"] > UNKNOWN_WARNING:
        parts.append(f"{meta['unknown_share']:.1%} of tokens unknown: read nothing into these numbers")
    return "; ".join(parts) + "."


def at_layer(data: Layers, quantity: str, layer: Layer, theme: ChartTheme) -> None:
    """The chosen layer: the quantity's distribution over texts, and the texts at both ends."""
    name = TITLES[quantity]
    st.subheader(f"{name} over texts, {layer_words(layer)}")
    columns, narrow = layer_data.values_at(data, quantity, layer), viewport.is_narrow()
    if not columns or layer not in data.first.curves.layers(quantity):
        st.info(f"{name} belongs to a block: choose a layer from 1 to {data.first.curves.n_layers}."
                if data.first.curves.available else "This quantity is not available for this model; choose another.")
        return
    drawn, alt = resources.made_once(data.signature("shares", quantity, layer, theme.name, narrow), lambda: (
        text_shares(columns, theme, quantity_label=name, narrow=narrow), text_shares_alt(columns, quantity_label=name)))
    st.plotly_chart(drawn, theme=None, key="shares", alt=alt, config=CHART)
    table = layer_data.extremes(data, quantity, layer)
    if not len(table):
        st.info("No text has two tokens that differ at this layer.")
        return
    st.caption(f"The {len(table):,} texts of smallest and largest value under {widgets.plain(data.first.name)}, of "
               f"{data.first.curves.n_texts:,}; select one to open it beside the text at the other end.")
    shown = {"value": st.column_config.NumberColumn(name, format="%.3f"), "tokens": st.column_config.NumberColumn("Tokens"),
             "text": st.column_config.TextColumn("Text", width="large"), "row": st.column_config.NumberColumn("Row")}
    event = st.dataframe(table, hide_index=True, key="extreme_texts", on_select="rerun", selection_mode="single-row", height=320,
                         column_config=shown, column_order=list(shown))
    rows = event.selection.rows
    if rows and rows[0] < len(table):
        chosen, ends = int(table["row"].iloc[rows[0]]), (int(table["row"].iloc[0]), int(table["row"].iloc[-1]))
        st.text(data.corpus.texts[chosen])
        if (other := ends[rows[0] < len(table) / 2]) != chosen:
            widgets.open_pair("Open this text in Pair", chosen, other)


def heads(data: Layers, theme: ChartTheme) -> None:
    """lambda of every head of the first model."""
    if not data.first.curves.available:
        return
    st.subheader(f"λ of every head of {widgets.plain(data.first.name)}")
    values, narrow = data.first.curves.heads(), viewport.is_narrow()
    drawn, alt = resources.made_once(data.signature("heads", theme.name, narrow),
                                 lambda: (head_map(values, theme, narrow=narrow), head_map_alt(values)))
    st.plotly_chart(drawn, theme=None, key="heads", alt=alt, config=CHART)
    st.caption(heads_caption(data))


def heads_caption(data: Layers) -> str:
    """What a head's lambda is."""
    before = "; this model normalises before attention, and λ refers to the normalised input" if data.first.curves.pre_norm else ""
    return (f"λ = σ²(W_o W_v) ‖P A‖² / (n − 1) of each head, means over {data.first.curves.n_texts:,} texts. Below 1, a head's "
            f"output is less spread than its input, averaged over directions{before}.")


def more(data: Layers, layer: Layer, theme: ChartTheme) -> None:
    """What is measured beside what the theorem scales, folded."""
    with st.expander("Measured, beside the theorem", on_change="rerun", key="more_open") as folded:
        if not folded.open:
            return
        _panels(data, MORE, layer, theme, published=False, key="layer_more")
        st.caption(more_caption(data))


def more_caption(data: Layers) -> str:
    """What the theorem's scale is beside what was measured."""
    return ("Theorem 1 gives (1+√λ)² r C as the scale of a layer's normalised spread. It is a statement in expectation over "
            f"directions and for one head, so measured spread may lie above it; λ here is the mean over heads of each text. "
            f"{caption(data)}")


def caveats(data: Layers) -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        st.markdown("\n\n".join(notes(data)))


def notes(data: Layers) -> list[str]:
    """What to know before believing the numbers, a paragraph each."""
    lines = [
        "**H, Z, Y, X.** H enters a block's attention, Z is what attention adds (projection and bias included), Y = H + Z, and X "
        "is the block's output. S is the mean squared distance of a text's tokens to their mean μ.",
        "**r = S(H) / ‖μ(Y)‖²**, **C = [S(X)/‖μ(X)‖²] / [S(Y)/‖μ(Y)‖²]**. Each is computed per text and averaged, as the "
        "authors' code does; their paper defines r as a ratio of expectations.",
        "**Layers** run from 0, the embedding output, to L; *final* is what pooling sees, after one more norm where a model has "
        "one. With models of different depth the axis is relative.",
        "**The sentence above** splits a block's change of normalised spread exactly: S(Y)/S(H), the mixing by attention; "
        "‖μ(H)‖²/‖μ(Y)‖², the lengthening of the mean; and C. Means of logarithms over texts, as factors.",
        "**Mean token cosine** includes each token with itself, as in the paper; the headline leaves these out.",
        "**Each model was checked** on its first texts: attention's output equals the sum over heads computed from the weights, "
        "and the block's output follows from Y, both within 1e-4. Where that fails, λ, r and C are not shown."]
    lines += [widgets.plain(note) for one in data.models
              for note in dict.fromkeys((*data.corpus.notes, *one.curves.meta["notes"], *one.curves.meta["model_notes"]))]
    return lines


def exports(data: Layers, quantity: str, layer: Layer, view: Callable[[], View], *, published: bool) -> None:
    """The figures and the per-text table as files, and all of it as one."""
    with st.expander("Export", on_change="rerun", key="layers_export_open") as folded:
        if not folded.open:
            return
        about = layer_data.about(data, widgets.version())
        name = f"poolscope-layers-{file_word(data.first.name)}"
        made = {"Curves": layer_panels(layer_data.panels(data, MAIN, published=published), LIGHT, axis=data.axis, ticks=data.ticks())}
        if columns := layer_data.values_at(data, quantity, layer):
            made["Distribution"] = text_shares(columns, LIGHT, quantity_label=TITLES[quantity], height=460)
        if data.first.curves.available:
            made["Heads"] = head_map(data.first.curves.heads(), LIGHT, height=460)
        for label, fig in made.items():
            add_title(fig, f"{label} by layer: {', '.join(one.name for one in data.models)}, {data.corpus.name}",
                      f"{data.first.curves.n_texts:,} texts (digest {data.corpus.digest[:10]}); model revisions "
                      f"{', '.join(one.revision for one in data.models)}; {layer_words(layer)}; Poolscope {about['poolscope']}", LIGHT)
            fig.layout.meta = about
            figure_files(fig, label, f"{name}-{label.lower()}", key=f"export_layers_{label.lower()}")
        tables.table_files(lambda: layer_data.long_table(data), "Per text", name, about, key="export_layers")
        button.one_file(view, name, key="export_layers_html")


def layer_words(layer: Layer) -> str:
    """A layer as captions call it."""
    return "what pooling sees" if layer == FINAL else f"layer {layer}"


