"""The panels of the Map page, top to bottom."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import resources, state, tables, viewport, widgets
from app.map_data import Labelled, MapData, by_length
from app.views.map_controls import Plane
from app.views.map_figures import CHART, draw, drawn_note
from components.charts.length_curve import length_curve, length_curve_alt
from components.charts.style import ChartTheme, caption_number, interval_text
from components.files import plural
from components.pair_map import UNKNOWN_WARNING
from components.pair_selection import box_rows


def headline(data: MapData) -> None:
    """Four numbers, each with its interval and what it rests on."""
    with st.container(key="headline"):
        for column, (label, value, below, help_) in zip(st.columns(4), numbers(data), strict=True):
            widgets.number(column, label, value, below, help_)


def numbers(data: MapData) -> list[tuple[str, float | None, str, str]]:
    """Label, value, what it rests on and how to read it, of each headline number."""
    ratio, (median, p95) = data.result.references.ratio, data.quantiles
    socm_mean, mu_mean, sigma_mean = data.mean("socm"), data.mean("d_mu"), data.mean("d_sigma")
    whole = " of the whole corpus" if data.filtered else ""
    return [
        ("Mean SOCM", socm_mean.value,
         f"{widgets.spread_of(socm_mean)}; median {caption_number(median)}, 95% below {caption_number(p95)}",
         "SOCM = (1 − $d_\\mu$) · $d_\\Sigma$: large only where the means agree and the covariances do not."),
        ("Mean distance $d_\\mu$", mu_mean.value,
         f"{interval_text(mu_mean.low, mu_mean.high)}; mean cosine {caption_number(1 - 2 * mu_mean.value)}",
         "A quarter of the squared distance between the two means, scaled to length 1: (1 − cosine) / 2."),
        ("Covariance distance $d_\\Sigma$", sigma_mean.value,
         f"{interval_text(sigma_mean.low, sigma_mean.high)}; size {caption_number(data.mean('size').value)}, "
         f"shape {caption_number(data.mean('shape').value)}",
         "A quarter of the squared Bures-Wasserstein distance between the token covariances. Size: how "
         "differently the texts spread; shape: how little their directions agree."),
        ("Halves of one text, of two", ratio.value if ratio else None, widgets.spread_of(ratio) + whole,
         "Covariance distance between random halves of one text, divided by that between halves of two "
         "texts of like length: how much of the distance finite samples give already.")]


def figure(data: MapData, plane: Plane, theme: ChartTheme, labelled: Labelled | None) -> None:
    """The plane, drawn for the window's width."""
    narrow = viewport.is_narrow()
    # Keys of their own: a figure that changes its form under one key would keep the other form's zoom.
    key = "narrow" if narrow else "wide"
    with st.container(key=key):
        drawn, alt = resources.made_once(data.signature(plane, theme.name, narrow, state.box(), labelled.name if labelled else ""),
                                     partial(draw, data, plane, theme, narrow=narrow, box=state.box(), labelled=labelled))
        name = f"map_{key}"
        # On a phone the tools would lie over the plane.
        config = {**CHART, "displayModeBar": False} if narrow else CHART
        st.plotly_chart(drawn, theme=None, key=name, alt=alt, config=config, selection_mode="box",
                        on_select=partial(state.keep_box, name))
    st.caption(drawn_note(data, plane) + (widgets.plain(labelled.note) if labelled else "") + caption(data))


def caption(data: MapData) -> str:
    """What the figure is made of: texts, pairs, model, revision, layer, tokens, and what was cut or unknown."""
    meta = data.result.meta
    if data.given:
        return (f"{widgets.plain(data.corpus.name)}: {data.result.n_texts:,} texts, {data.pairs_in_words}; token states as given "
                f"({meta['dim']:,} dims, digest {data.revision}).")
    parts = [f"{widgets.plain(data.corpus.name)}: {data.result.n_texts:,} texts, {data.pairs_in_words}",
             f"{widgets.plain(data.request.key.model_id)} (revision {data.revision}), {data.layer_in_words}",
             data.special_in_words,
             f"{plural(meta['n_cut'], 'text')} cut at {meta['max_length']} tokens" if meta["n_cut"] else "no text cut",
             f"{meta['unknown_share']:.1%} of tokens unknown" if meta["unknown_share"] else "no token unknown"]
    if meta["unknown_share"] > UNKNOWN_WARNING:
        parts.append(f"more than {UNKNOWN_WARNING:.0%} unknown tokens: read nothing into these numbers")
    return "; ".join(parts) + "."


def selection(data: MapData, compared: bool) -> None:
    """The pairs in the box drawn on the plane, from all pairs; without a box, those of largest SOCM."""
    box = state.box()
    if box is None:
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
            st.subheader("Pairs of largest SOCM", width="content")
            box_by_numbers(data)
        at = data.largest(200)
        draw_one = "" if compared else "Draw a box on a wide plane, or give it by numbers, to list the pairs inside it. "
        st.caption(f"The {len(at):,} largest of {len(data.pairs):,}. {draw_one}"
                   "A large SOCM does not say that the mean confuses two texts: only labels can show that.")
    else:
        at = box_rows(data.pairs, box)
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
            st.subheader(f"{len(at):,} pairs in the box", width="content")
            with st.container(horizontal=True, width="content"):
                box_by_numbers(data)
                st.button("Clear the box", on_click=state.drop_box)
        st.caption(f"Mean distance {caption_number(box.mu_low)} to {caption_number(box.mu_high)}, covariance distance "
                   f"{caption_number(box.sigma_low)} to {caption_number(box.sigma_high)}; selected from "
                   f"{len(data.pairs):,} pairs"
                   + (f", the {tables.SHOWN:,} of largest SOCM listed." if len(at) > tables.SHOWN else "."))
    if len(at) == 0:
        st.info("No pair lies in this box.")
        return
    table = tables.pair_table(data.pairs, at[:tables.SHOWN], data.corpus)
    event = st.dataframe(table, column_config=dict(tables.columns()), hide_index=True, key="pairs",
                         on_select="rerun", selection_mode="single-row", height=320,
                         column_order=["SOCM", "d_mu", "d_sigma", "text A", "text B", "tokens A", "tokens B", "size",
                                       "shape", "align"])
    rows = event.selection.rows
    if rows and rows[0] < len(table):
        row = table.iloc[rows[0]]
        left, right = st.columns(2)
        for column, name in ((left, "A"), (right, "B")):
            column.caption(f"Text {name}, {row[f'tokens {name}']} tokens")
            # Not markdown: Streamlit turns addresses and icon names in it into links and icons, escaped or not.
            column.text(row[f"text {name}"])
        widgets.open_pair("Open this pair", int(row["row A"]), int(row["row B"]))


def box_by_numbers(data: MapData) -> None:
    """The box for those who cannot draw one: by keyboard, on a phone, or to the digit."""
    box, (_, mu_edges, sigma_edges) = state.box(), data.counts
    ends = (box.mu_low, box.mu_high, box.sigma_low, box.sigma_high) if box else \
        (float(mu_edges[0]), float(mu_edges[-1]), float(sigma_edges[0]), float(sigma_edges[-1]))
    names = ("Mean distance from", "Mean distance to", "Covariance distance from", "Covariance distance to")
    with st.popover("Box by numbers"):
        # New fields for every box, or they would keep what was typed before one was drawn.
        with st.form(f"box_form_{box}", border=False):
            keys = [f"{name} {box}" for name in names]
            for name, key, end, column in zip(names, keys, ends, [*st.columns(2), *st.columns(2)], strict=True):
                column.number_input(name, value=end, step=0.01, format="%.3f", key=key)
            st.form_submit_button("List the pairs inside", on_click=state.set_box, args=(keys,))


def lengths(data: MapData, theme: ChartTheme) -> None:
    """SOCM against the length of the shorter text: d_sigma grows with length, and SOCM with it."""
    if data.pairs.shorter.min() == data.pairs.shorter.max():
        return
    with st.expander("SOCM against length", on_change="rerun", key="lengths_open") as folded:
        # A closed expander would compute and draw its figure all the same, and the page would wait for it.
        if not folded.open:
            return
        bins = by_length(data.pairs, "socm")
        st.plotly_chart(length_curve(bins, theme, quantity_label="Mean SOCM"), theme=None, key="lengths",
                        alt=length_curve_alt(bins, quantity_label="Mean SOCM"), config=CHART)
        st.caption(LENGTHS)


LENGTHS = ("Mean SOCM of pairs by the tokens of their shorter text, about as many pairs in each bin, with 95% intervals over texts. "
           "Texts of more tokens have covariances of higher rank, which lie further apart.")


def caveats(data: MapData) -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        st.markdown("\n\n".join(notes(data)))


def notes(data: MapData) -> list[str]:
    """What to know before believing the numbers, a paragraph each."""
    result = data.result
    around = result.references
    lines = [
        "**Scaling.** All tokens of a text are divided by the length of their mean, so every mean has length 1.",
        "**$d_\\Sigma$ is not bounded by 1.** It is at most a quarter of the two texts' spreads together, and tokens "
        "round a mean of length 1 often spread by more than 2. "
        f"Here it reaches {caption_number(result.meta['highest']['d_sigma'])}; its mean, "
        f"{caption_number(result.means['d_sigma'].value)}, stays below the mean of that bound, "
        f"{caption_number(result.means['ceiling'].value)}.",
        "**Intervals** are 95% and over texts (delete-one jackknife): pairs share texts, so they are not "
        "independent.",
    ]
    if around.within and around.between and around.half_tokens:
        lines.append(
            f"**Finite samples.** Random halves of one text ({caption_number(around.half_tokens)} tokens on "
            f"average) lie {caption_number(around.within.value)} apart, halves of two texts "
            f"{caption_number(around.between.value)} ({around.within.n:,} texts of 20 tokens or more).")
    if around.unrelated and around.unrelated_norm:
        lines.append(
            f"**Tokens of unrelated texts.** With all tokens shuffled across texts $d_\\Sigma$ is "
            f"{caption_number(around.unrelated.value)} (estimated from {around.unrelated.n} "
            f"{around.unrelated.of}); most of that comes from shorter means: median length "
            f"{caption_number(around.unrelated_norm)} against {caption_number(around.norm)}.")
    lines += [widgets.plain(line) for line in dict.fromkeys((*around.missing, *data.corpus.notes, *result.meta["notes"],
                                                             *result.meta.get("model_notes", ())))]
    return lines
