"""The controls and panels of the Pair page, top to bottom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from app import pair_data, resources, results, state, uploads, viewport, widgets
from app.map_data import MapData
from app.pair_data import PLANES, TINTS, Switches, TokenPair
from app.results import Request
from components.charts.layer_panels import layer_panels, layer_panels_alt
from components.charts.style import ChartTheme, caption_number
from components.charts.token_matrix import token_matrix, token_matrix_alt
from components.charts.token_plane import token_plane, token_plane_alt
from components.charts.token_strip import token_strip
from components.types import FINAL, Layer

ROWS, LABELLED, TYPED = SOURCES = ("Rows of the corpus", "Labelled pairs", "Typed")
CHART = {"displaylogo": False, "displayModeBar": False}
LINKED = ("text_a", "text_b")
MOST_IN_A_LINK = 1_500
TYPED_A, TYPED_B = "Mean pooling keeps one vector.", "One vector is what mean pooling keeps."


@dataclass(frozen=True)
class Texts:
    """The two texts, where they come from, whether they are the visitor's, and their rows where they are a corpus's."""

    a: str
    b: str
    source: str
    own: bool
    rows: tuple[int, int] | None = None

    @property
    def same(self) -> bool:
        return self.rows is not None and self.rows[0] == self.rows[1]


def choose_texts(corpus_name: str) -> Texts:
    """Two rows of the corpus, a labelled pair, or what is typed; what is typed is in no link."""
    side = st.sidebar
    source = ROWS if uploads.is_states(corpus_name) else str(side.radio("Texts from", SOURCES, key="from", bind="query-params"))
    if source == ROWS:
        corpus = resources.corpus(corpus_name)
        last = len(corpus.texts) - 1
        a = widgets.choose_row("Row of text A", last, min(state.ROW_A, last), key="a")
        b = widgets.choose_row("Row of text B", last, min(state.ROW_B, last), key="b")
        return Texts(corpus.texts[a], corpus.texts[b], f"row {a} and row {b}", corpus_name in uploads.own(), (a, b))
    if source == LABELLED:
        lists = resources.pair_list_names()
        name = widgets.pick("List of pairs", lists, key="list", index=len(lists) - 1) if len(lists) > 1 else lists[0]
        listed = results.listed(name)
        item = widgets.choose_row("Labelled pair", len(listed.texts_a) - 1, 0, key="item")
        return Texts(listed.texts_a[item], listed.texts_b[item], listed.labels[item] if listed.labels else f"pair {item}",
                     name in uploads.own())
    linked = [st.query_params.get(key, usual) for key, usual in zip(LINKED, (TYPED_A, TYPED_B), strict=True)]
    a_text = side.text_area("Text A", linked[0], key="typed_a", max_chars=20_000)
    b_text = side.text_area("Text B", linked[1], key="typed_b", max_chars=20_000)
    share = side.toggle("Put both into the link", value=LINKED[0] in st.query_params, key="share_typed",
                        help="Off, what you type is in no link. It is computed on this server and kept with your session.")
    if share and len(a_text) + len(b_text) <= MOST_IN_A_LINK:
        st.query_params.update(dict(zip(LINKED, (a_text, b_text), strict=True)))
    else:
        for key in LINKED:
            st.query_params.pop(key, None)
        if share:
            side.caption(f"Together they are {len(a_text) + len(b_text):,} characters; a link holds {MOST_IN_A_LINK:,}.")
    return Texts(a_text, b_text, "typed", True)


def show_texts(texts: Texts) -> None:
    for column, name, text in zip(st.columns(2), "AB", (texts.a, texts.b), strict=True):
        whence = f", row {texts.rows['AB'.index(name)]}" if texts.rows else f" ({widgets.plain(texts.source)})"
        column.caption(f"Text {name}{whence}")
        column.text(text)


def load(texts: Texts, corpus_name: str, model_name: str, special: bool) -> TokenPair | Request:
    """The tokens of both texts, those switched off that the sidebar says; or the request to start."""
    def loaded(chosen: Switches) -> TokenPair | Request:
        if uploads.is_states(corpus_name) and texts.rows:
            return pair_data.load_states(corpus_name, *texts.rows, chosen)
        return pair_data.load(texts.a, texts.b, model_name, chosen, own=texts.own)

    punctuation = bool(st.sidebar.toggle("Punctuation", value=True, key="punctuation", bind="query-params"))
    bare = loaded(Switches(special, punctuation))
    return loaded(_without(bare, special, punctuation, texts.own)) if isinstance(bare, TokenPair) else bare


def _without(bare: TokenPair, special: bool, punctuation: bool, own: bool) -> Switches:
    """Single tokens can be switched off; everything follows. Tokens of the visitor's own texts are in no link."""
    side = st.sidebar
    # Another key, or an unbound menu would keep what the link of a bound one said.
    before = "own_" if own else ""
    without = []
    for name, words in zip("AB", bare.tokens, strict=True):
        chosen = side.multiselect(f"Without tokens of text {name}", [f"{i} {word}" for i, word in enumerate(words)],
                                  key=f"{before}without_{name.lower()}", bind=None if own else "query-params")
        without.append(frozenset(int(str(one).split(" ", 1)[0]) for one in chosen))
    return Switches(special, punctuation, (without[0], without[1]))


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
               f"{widgets.plain(data.request.key.model_id)}, {data.layer_in_words}, {data.result.n_pairs:,} pairs.")


def headline(pair: TokenPair, layer: Layer, data: MapData | None) -> None:
    """The pair's numbers from the tokens that take part, and where they lie among the corpus's pairs."""
    numbers = pair.numbers(layer)
    called = widgets.plain(data.corpus.name) if data else ""
    below = {name: pair_data.share_below(data, name, getattr(numbers, name), called) for name in ("socm", "d_mu", "d_sigma", "align")}
    _numbers([("SOCM", numbers.socm, below["socm"]),
              ("Mean distance $d_\\mu$", numbers.d_mu, f"{below['d_mu']}; cosine {caption_number(1 - 2 * numbers.d_mu)}"
               .removeprefix("; ")),
              ("Covariance distance $d_\\Sigma$", numbers.d_sigma, f"size {caption_number(numbers.size)}, shape "
               f"{caption_number(numbers.shape)}; {below['d_sigma']}".removesuffix("; ")),
              ("Alignment", numbers.align, below["align"])])
    of = [f"{len(at)} of {len(words)} tokens" for at, words in zip(pair.kept, pair.tokens, strict=True)]
    references = data.result.references if data else None
    within = f" Halves of one text of this corpus lie {caption_number(references.within.value)} apart in covariance on average." \
        if references and references.within else ""
    where = "token states as given" if pair.given else layer_words(layer)
    cosines = ", ".join(f"{name} {caption_number(value)}" for name, value in pair.pooled(layer).items())
    st.caption(f"{widgets.plain(pair.model)}, {where}; text A with {of[0]}, text B with {of[1]}; cosine by pooling: "
               f"{cosines}; $d_\\mu$ + $d_\\Sigma$ = {caption_number(numbers.distance)}, a quarter of the squared "
               f"2-Wasserstein distance.{within}")


def _numbers(rows: list[tuple[str, float | None, str]]) -> None:
    with st.container(key="headline"):
        for column, (label, value, below) in zip(st.columns(4), rows, strict=True):
            widgets.number(column, label, value, below or "not compared: the corpus's map is not stored",
                           "The share says how many of the corpus's pairs have a smaller value.")


def layer_words(layer: Layer) -> str:
    return "final layer" if layer == FINAL else f"layer {layer}"


def plane(pair: TokenPair, layer: Layer, theme: ChartTheme) -> None:
    """Both texts' tokens on a plane, with means and ellipses."""
    name = str(st.segmented_control("Plane", list(PLANES), default=next(iter(PLANES)), key="projection", bind="query-params")
               or next(iter(PLANES)))
    found = pair.projection(layer, name)
    shares = pair.effects(layer, "spread")
    assert shares is not None
    drawn = token_plane(found, pair.kept_tokens, shares, theme, effect_label="share of the spread", narrow=viewport.is_narrow())
    st.plotly_chart(drawn, theme=None, key="plane_of_tokens", alt=token_plane_alt(found), config=CHART)
    st.caption(f"The plane holds {found.share:.0%} of the tokens' joint variance. Crosses: means; ellipses: one and two standard "
               "deviations of the projected Gaussians. Each text is divided by the length of its mean.")


def strips(pair: TokenPair, layer: Layer, theme: ChartTheme) -> None:
    """Both texts as tokens, tinted by what each carries."""
    tint = str(st.segmented_control("Tokens tinted by", list(TINTS), default=next(iter(TINTS)), key="tint", bind="query-params")
               or next(iter(TINTS)))
    effects = pair.effects(layer, TINTS[tint])
    if effects is None:
        st.info(f"Each token is left out in turn only in texts of up to {pair_data.MOST_LEFT_OUT} tokens; tint by share of the spread.")
        return
    for name, words, at, values, colour in zip("AB", pair.tokens, pair.kept, effects, (theme.text_a, theme.text_b), strict=True):
        st.caption(f"Text {name}: {tint[0].lower()}{tint[1:]}")
        st.html(token_strip(words, values, at, theme, colour=colour, label=tint, signed=TINTS[tint] != "spread"))
    if TINTS[tint] != "spread":
        st.caption("A token's effect is the number with it minus the number without it, computed again from the states that are left; "
                   "dotted underline: the number falls with it. States are those of the whole text: the model did not read it anew.")


def compared(model_name: str) -> list[str]:
    """Up to three further models for the same two texts, from the link or the menu."""
    others = [name for name in resources.model_names() if name != model_name]
    chosen = st.sidebar.multiselect("Compared with", others, key="pair_with", bind="query-params", max_selections=3,
                                    help="The same two texts under further models, layer by layer.")
    return [str(name) for name in chosen][:3]


def through_layers(pair: TokenPair, texts: Texts, others: list[str], layer: Layer, theme: ChartTheme) -> None:
    """The pair's three numbers at every layer, under this model and others; a click sets the layer."""
    found = [pair]
    for name in others:
        other = pair_data.load(texts.a, texts.b, name, Switches(pair.switches.special, pair.switches.punctuation), own=texts.own)
        if isinstance(other, TokenPair):
            found.append(other)
        else:
            st.caption(f"{widgets.plain(name)}:")
            widgets.compute_or_wait(other, height=160)
    panels, axis = pair_data.by_layer(found)
    last = int(pair.found.meta["n_layers"])
    at = float(last if layer == FINAL else layer)
    relative = axis != "Layer"
    with st.container(key="pair_layers"):
        drawn = layer_panels(panels, theme, axis=axis, chosen=at / last if relative else at, narrow=viewport.is_narrow())
        st.plotly_chart(drawn, theme=None, key="through", alt=layer_panels_alt(panels), config=CHART, selection_mode="points",
                        on_select=partial(state.keep_layer, "through", partial(_own_layer, found)))
    if len(found) > 1:
        st.caption("Single tokens are left out under the page's own model only, since other models cut texts into other tokens.")


def _own_layer(found: list[TokenPair], model: str, layer: str) -> str:
    """The page's model's layer at the depth of a layer of one of the models."""
    clicked = next((pair for pair in found if pair.model == model), found[0])
    return str(round(int(layer) / int(clicked.found.meta["n_layers"]) * int(found[0].found.meta["n_layers"])))


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
        if plan is None:
            st.info("The transport plan is of all tokens: switch every token on, and for long texts look at the final layer.")
            return
        moved = plan * len(plan)
        st.plotly_chart(token_matrix(moved, pair.tokens, theme, label="Share moved", centred=False, narrow=narrow), theme=None,
                        key="plan", alt=token_matrix_alt(moved, pair.tokens, label="Share moved"), config=CHART)
        st.caption("Which token moves where: the exact optimal transport plan between the two clouds at the least squared distance, as "
                   "the share of each token of text A that goes to each of text B.")


def edited(texts: Texts, model_name: str, pair: TokenPair, layer: Layer) -> None:
    """A second version of either text beside the original: numbers before and after."""
    with st.expander("Change a word", on_change="rerun", key="edit_open") as folded:
        if not folded.open:
            return
        columns = st.columns(2)
        a = columns[0].text_area("Text A, changed", texts.a, key=f"edit_a_{hash(texts.a)}", max_chars=20_000)
        b = columns[1].text_area("Text B, changed", texts.b, key=f"edit_b_{hash(texts.b)}", max_chars=20_000)
        if (a, b) == (texts.a, texts.b):
            st.caption("Change a word in either text to see what becomes of the numbers.")
            return
        after = pair_data.load(a, b, model_name, Switches(pair.switches.special, pair.switches.punctuation), own=True)
        if not isinstance(after, TokenPair):
            widgets.compute_or_wait(after, height=160)
            return
        before, now = pair.numbers(layer), after.numbers(layer)
        for column, (label, name) in zip(st.columns(4), (("SOCM", "socm"), ("Mean distance $d_\\mu$", "d_mu"),
                                                        ("Covariance distance $d_\\Sigma$", "d_sigma"), ("Alignment", "align")),
                                         strict=True):
            was, becomes = getattr(before, name), getattr(now, name)
            column.metric(label, caption_number(becomes), f"{becomes - was:+.3f}".replace("-", "−"), delta_color="off")
            column.caption(f"{caption_number(was)} before")


def caveats(pair: TokenPair) -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        lines = ["**Numbers follow the switches.** They are computed from the states of the tokens that take part; the model has "
                 "read the whole text either way.",
                 "**Ellipses** are those of the projected Gaussians, which are what $d_\\mu$ and $d_\\Sigma$ compare; a plane of two "
                 "directions shows a part of them only, and says how much.",
                 "**A pair among its corpus.** Shares are of the corpus's map at this layer, with all tokens as the switch for special "
                 "tokens says."]
        if pair.found.meta["cut"]:
            lines.append(f"**Cut.** {' and '.join('Text ' + 'AB'[i] for i in pair.found.meta['cut'])} was cut at "
                         f"{pair.found.meta['max_length']} tokens.")
        if any(pair.found.meta["unknown"]):
            one, other = pair.found.meta["unknown"]
            lines.append(f"**Unknown tokens.** {one} in text A and {other} in text B.")
        st.markdown("\n\n".join(lines))
