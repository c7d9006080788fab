"""The panels of the Pair page, top to bottom."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import pair_data, pair_references, state, token_buttons, viewport, widgets
from app.map_data import MapData
from app.pair_data import PLANES, TINTS, TokenPair
from app.pair_references import Among, LengthHalves
from app.results import Request
from app.views.pair_controls import WITHOUT, Texts, switch_token, token_labels
from components.charts.style import ChartTheme, caption_number
from components.charts.token_matrix import token_matrix, token_matrix_alt
from components.charts.token_plane import token_plane, token_plane_alt
from components.charts.token_strip import token_strip, token_strip_alt
from components.pair_findings import pair_finding
from components.token_pair import Projection
from components.types import FINAL, Layer

CHART = {"displaylogo": False, "displayModeBar": False}


def show_texts(texts: Texts) -> None:
    for column, name, text in zip(st.columns(2), "AB", (texts.a, texts.b), strict=True):
        whence = f", row {texts.rows['AB'.index(name)]}" if texts.rows else f" ({widgets.plain(texts.source)})"
        column.caption(f"Text {name}{whence}")
        column.text(text)


def map_numbers(data: MapData, a: int, b: int) -> None:
    """The pair's numbers from its corpus's map, before its tokens are computed."""
    found = data.one(a, b)
    if found is None:
        st.info("This map does not hold every pair (it was streamed or estimated), and this one is not among those it kept.")
        return
    _numbers([("SOCM", found["socm"], found.below("socm")), ("Mean distance $d_\\mu$", found["d_mu"], found.below("d_mu")),
              ("Covariance distance $d_\\Sigma$", found["d_sigma"], found.below("d_sigma")),
              ("Alignment", found["align"], found.below("align"))])
    st.caption(f"Covariance distance = size {caption_number(found['size'])} + shape {caption_number(found['shape'])}; "
               f"{widgets.plain(data.request.key.model_id)} (revision {data.revision}), {data.layer_in_words}, "
               f"{data.result.n_pairs:,} pairs.")


def headline(pair: TokenPair, layer: Layer, among: Among | None) -> None:
    """The pair's numbers from the tokens that take part, and where they lie among the corpus's pairs of like length."""
    _numbers(numbers_of(pair, layer, among))
    st.caption(made_of(pair, layer, among))


def numbers_of(pair: TokenPair, layer: Layer, among: Among | None) -> list[tuple[str, float | None, str]]:
    """Label, value and what it rests on, of each headline number."""
    numbers = pair.numbers(layer)

    def below(name: str, *first: str) -> str:
        words = among.words(name, getattr(numbers, name)) if among else "its corpus's map is not stored"
        return "; ".join(part for part in (*first, words) if part)

    return [("SOCM", numbers.socm, below("socm")),
            ("Mean distance $d_\\mu$", numbers.d_mu, below("d_mu", f"cosine {caption_number(1 - 2 * numbers.d_mu)}")),
            ("Covariance distance $d_\\Sigma$", numbers.d_sigma,
             below("d_sigma", f"size {caption_number(numbers.size)} + shape {caption_number(numbers.shape)}")),
            ("Alignment", numbers.align, below("align") if numbers.align == numbers.align else "0/0: a text without spread")]


def made_of(pair: TokenPair, layer: Layer, among: Among | None) -> str:
    """What the numbers are of: model, layer, tokens, and what is of like length."""
    of = [f"{len(at)} of {len(words)} tokens" for at, words in zip(pair.kept, pair.tokens, strict=True)]
    alike = f" Pairs of like length: both texts of {widgets.plain(among.data.corpus.name)} within a quarter of these counts." \
        if among else ""
    return (f"{widgets.plain(pair.model)} (revision {pair.revision}), {where(pair, layer)}; text A with {of[0]}, text B with "
            f"{of[1]}; $d_\\mu$ + $d_\\Sigma$ = {caption_number(pair.numbers(layer).distance)}, a quarter of the squared 2-Wasserstein "
            f"distance.{alike}")


def _numbers(rows: list[tuple[str, float | None, str]]) -> None:
    helps = {"SOCM": "SOCM = (1 − $d_\\mu$) · $d_\\Sigma$: large only where the means agree and the covariances do not.",
             "Mean distance $d_\\mu$": "(1 − cosine of the means) / 2.",
             "Covariance distance $d_\\Sigma$": "A quarter of the squared Bures-Wasserstein distance of the token covariances; not "
                                                "bounded by 1, since tokens may spread by more than the mean is long.",
             "Alignment": "How far the directions of the two covariances agree, from 0 to 1; limited by the number of tokens."}
    with st.container(key="headline"):
        for column, (label, value, below) in zip(st.columns(4), rows, strict=True):
            widgets.number(column, label, pair_data.rounded(value), below, helps[label])


def where(pair: TokenPair, layer: Layer) -> str:
    """Which states these are, in words."""
    return "token states as given" if pair.given else layer_words(layer)


def layer_words(layer: Layer) -> str:
    return "final layer" if layer == FINAL else f"layer {layer}"


def plane(pair: TokenPair, layer: Layer, theme: ChartTheme) -> Projection | None:
    """Both texts' tokens on a plane, with means and ellipses; None while it has to be computed first."""
    name = str(st.segmented_control("Plane", PLANES, default=PLANES[0], key="projection", bind="query-params") or PLANES[0])
    found = pair.projection(layer, name)
    if isinstance(found, Request):
        widgets.compute_or_wait(found, height=480)
        return None
    shares = pair.effects(layer, "spread")
    assert shares is not None
    narrow, marked = viewport.is_narrow(), state.token()
    drawn = pair.once(pair.signature("plane", layer, name, theme.name, narrow, marked), lambda: token_plane(
        found, pair.kept_tokens, shares, theme, effect_label="share of the spread", places=pair.kept, marked=marked, narrow=narrow))
    key = f"plane_of_tokens_{PLANES.index(name)}"
    with st.container(key="token_plane"):
        st.plotly_chart(drawn, theme=None, key=key, alt=token_plane_alt(found), config=CHART, selection_mode="points",
                        on_select=partial(state.mark_clicked, key))
    st.caption(plane_caption(pair, layer, found))
    return found


def plane_caption(pair: TokenPair, layer: Layer, found: Projection) -> str:
    """What the plane of tokens shows, and how far it can be trusted."""
    made = f"{widgets.plain(pair.model)}, {where(pair, layer)}, {sum(map(len, pair.kept))} tokens."
    if found.share is None:
        return (f"{widgets.plain(pair.umap_words(layer))}. Neighbours are put together; distances on it mean little and its axes "
                f"nothing, so there are no means and no ellipses. {made}")
    return (f"The plane holds {found.share:.0%} of the tokens' joint variance. Crosses: means; ellipses: one and two standard "
            f"deviations of the projected Gaussians. Each text is divided by the length of its mean. {made}")


def strips(pair: TokenPair, layer: Layer, theme: ChartTheme) -> str:
    """Both texts as tokens, tinted by what each carries; gives the tint."""
    tint = str(st.segmented_control("Tokens tinted by", list(TINTS), default=next(iter(TINTS)), key="tint", bind="query-params")
               or next(iter(TINTS)))
    effects = pair.effects(layer, TINTS[tint])
    if effects is None:
        st.info(f"Each token is left out in turn only in texts of up to {pair_data.MOST_LEFT_OUT} tokens; tint by share of the spread.")
        return tint
    signed, at = TINTS[tint] != "spread", state.token()
    for text, (values, colour) in enumerate(zip(effects, (theme.text_a, theme.text_b), strict=True)):
        name, key = f"Text {'AB'[text]}: {tint[0].lower()}{tint[1:]}", f"strip_{'ab'[text]}"
        strip = token_strip(pair.tokens[text], values, pair.kept[text], colour=colour, label=tint, signed=signed,
                            marked=at[1] if at and at[0] == text else None)
        st.caption(name)
        token_buttons.token_buttons(strip, token_strip_alt(strip, name=name), key=key, on_click=partial(_mark, text, key))
    if signed:
        st.caption("A token's effect is the number with it minus the number without it, computed again from the states that are left; "
                   "dotted underline: the number rises without it. States are those of the whole text: the model did not read it anew.")
    return tint


def _mark(text: int, key: str) -> None:
    state.mark_token(text, token_buttons.clicked(key))


def clicked_token(pair: TokenPair, layer: Layer) -> None:
    """The token that was clicked: its share, what the numbers are without it, and a switch."""
    at = state.token()
    if at is None or at[1] >= len(pair.tokens[at[0]]):
        return
    text, place = at
    label = token_labels(pair.tokens[text])[place]
    name = f"“{widgets.plain(pair.tokens[text][place])}”, token {place} of text {'AB'[text]}"
    with st.container(horizontal=True, vertical_alignment="center", key="clicked_token"):
        if place in pair.kept[text]:
            k, parts = pair.kept[text].index(place), []
            for tint, what in TINTS.items():
                effects = pair.effects(layer, what)
                if effects is not None:
                    value = float(effects[text][k])
                    parts.append(f"{tint[0].lower()}{tint[1:]} " + (f"{value:.1%}" if what == "spread" else caption_number(value)))
            st.markdown(f"**{name}**: {', '.join(parts)}.", width="stretch")
        else:
            st.markdown(f"**{name}** takes no part.", width="stretch")
        # A token that special tokens' or punctuation's switch takes out has no switch of its own.
        if place in pair.kept[text] or label in st.session_state.get(WITHOUT[text], []):
            st.button("Leave it out" if place in pair.kept[text] else "Take it in again", on_click=switch_token, args=(text, label),
                      key="switch_token")


def finding_and_halves(pair: TokenPair, layer: Layer, corpus_name: str, special: bool) -> None:
    """What this shows, and what it is read against: halves of these texts, and of the corpus's texts of like lengths."""
    halves = pair.halves(layer)
    corpus = pair_references.length_halves(corpus_name, pair, layer, special)
    known = corpus if isinstance(corpus, LengthHalves) else None
    sentence = pair_finding(pair.numbers(layer), halves, known.ratio if known else None, pair.strongest(layer))
    st.markdown(f"**What this shows.** {widgets.plain(sentence)}")
    st.subheader("Is it more than few tokens give?")
    if halves is None:
        st.info("Halves need four tokens in each text: choose longer ones, or switch more tokens on.")
        return
    words = [f"{pair_references.interval_words(mean)} in {widgets.plain(corpus_name)}"
             for mean in (known.within, known.between, known.ratio)] if known else [""] * 3
    with st.container(key="halves"):
        for column, label, value, below in zip(
                st.columns(4), ("Halves of text A", "Halves of text B", "A half of each", "One text, of two"),
                (halves.within_a, halves.within_b, halves.between, halves.ratio), (words[0], *words), strict=True):
            widgets.number(column, label, value, below,
                           "Covariance distance of random halves of equal token count. The last is the mean of the first two over "
                           "the third: near 1, two texts lie no further apart than few tokens of one.")
    st.caption(f"Covariance distance $d_\\Sigma$ only; halves of {halves.tokens} tokens, {halves.splits} random splits, seed 0. Tokens "
               "of a text depend on each other, so this is descriptive. "
               + (f"Beside each: {known.words}, halves of as many tokens, 95% over texts." if known else ""))
    if isinstance(corpus, Request):
        widgets.compute_or_wait(corpus, height=150)


def matrices(pair: TokenPair, layer: Layer, theme: ChartTheme) -> None:
    """Cosines token by token, and which token moves where, folded."""
    with st.expander("Token by token", on_change="rerun", key="matrices_open") as folded:
        if not folded.open:
            return
        narrow = viewport.is_narrow()
        cosines = pair.cosines(layer)
        st.plotly_chart(token_matrix(cosines, pair.kept_tokens, theme, label="Cosine", centred=True, narrow=narrow), theme=None,
                        key="cosines", alt=token_matrix_alt(cosines, pair.kept_tokens, label="Cosine"), config=CHART)
        plan = pair.plan(layer)
        if isinstance(plan, Request):
            widgets.compute_or_wait(plan, height=180)
            return
        moved = plan * len(plan)
        st.plotly_chart(token_matrix(moved, pair.kept_tokens, theme, label="Share moved", centred=False, narrow=narrow), theme=None,
                        key="plan", alt=token_matrix_alt(moved, pair.kept_tokens, label="Share moved"), config=CHART)
        st.caption("Which token moves where: the exact optimal transport plan between the two clouds at the least squared distance, as "
                   f"the share of each token of text A that goes to each of text B. {widgets.plain(pair.model)}, {where(pair, layer)}, "
                   f"{len(plan)} and {plan.shape[1]} tokens.")


def every_number(pair: TokenPair, layer: Layer, among: Among | None) -> None:
    """All numbers with their place among the corpus's pairs, and the cosine under each pooling."""
    with st.expander("Every number", on_change="rerun", key="numbers_open") as folded:
        if not folded.open:
            return
        share = st.column_config.NumberColumn(format="percent")
        st.dataframe(pair_references.number_table(pair, layer, among), hide_index=True, key="every_number", column_config={
            "Value": st.column_config.NumberColumn(format="%.4f"), "Below it, all pairs": share, "Below it, like length": share})
        st.caption(f"{widgets.plain(pair.model)}, {where(pair, layer)}, tokens that take part. "
                   + (f"Among {among.data.pairs_in_words} of {widgets.plain(among.data.corpus.name)}, "
                      f"{int(among.alike.sum()):,} of like length. " if among else "No corpus map is stored, so no shares. ")
                   + "Cosines of pooled vectors have no share: the map is made for mean pooling."
                   + ("" if pair.given else " The model's files declare: "
                      + widgets.plain(pair_references.declared_pooling(pair.model)) + "."))


def caveats(pair: TokenPair) -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        st.markdown("\n\n".join(rests_on(pair)))


def rests_on(pair: TokenPair) -> list[str]:
    """What to know before believing the numbers, a paragraph each."""
    lines = ["**Numbers follow the switches.** They are computed from the states of the tokens that take part; the model has "
             "read the whole text either way.",
             "**Ellipses** are those of the projected Gaussians, which are what $d_\\mu$ and $d_\\Sigma$ compare; a plane of two "
             "directions shows a part of them only, and says how much.",
             "**A pair among its corpus.** Shares are of the corpus's map at this layer, with special tokens as the switch says. "
             "$d_\\Sigma$ grows with length, so they are taken among pairs of like length where there are "
             f"{pair_references.LEAST_PAIRS} or more.",
             "**Halves** are read on $d_\\Sigma$ only; with SOCM the means of halves would make one text look worse than two."]
    if pair.found.meta["cut"]:
        lines.append(f"**Cut.** {' and '.join('Text ' + 'AB'[i] for i in pair.found.meta['cut'])} was cut at "
                     f"{pair.found.meta['max_length']} tokens.")
    if any(pair.found.meta["unknown"]):
        one, other = pair.found.meta["unknown"]
        lines.append(f"**Unknown tokens.** {one} in text A and {other} in text B.")
    return lines
