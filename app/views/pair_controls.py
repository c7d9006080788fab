"""The Pair page's own controls: two texts, the tokens that take part, and settings to look at side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from app import pair_data, pair_settings, resources, results, state, uploads, widgets
from app.pair_data import MOST_CHARS, Switches, TokenPair, checked
from app.pair_settings import MOST_PINNED, Setting
from app.results import Request
from components.types import Layer

ROWS, LABELLED, TYPED = SOURCES = ("Rows of the corpus", "Labelled pairs", "Typed")
LINKED = ("text_a", "text_b")
MOST_IN_A_LINK = 1_500
TYPED_A, TYPED_B = "Mean pooling keeps one vector.", "One vector is what mean pooling keeps."
PINS, REFUSED = "pins", "_pins_refused"
WITHOUT = ("without_a", "without_b")
"""In a link a token is its number, since its word may be of a text that is in no link."""


@dataclass(frozen=True)
class Texts:
    """The two texts, where they come from, their rows where they are a corpus's, and whether they are the visitor's."""

    a: str
    b: str
    source: str
    rows: tuple[int, int] | None = None
    own: bool = False

    @property
    def same(self) -> bool:
        return self.rows is not None and self.rows[0] == self.rows[1]


def choose_texts(corpus_name: str) -> Texts:
    """Two rows of the corpus, a labelled pair, or what is typed; what is typed is in no link unless asked for.

    Raises:
        DataError: a text in a link that is too long.
    """
    side = st.sidebar
    source = ROWS if uploads.is_states(corpus_name) else str(side.radio("Texts from", SOURCES, key="from", bind="query-params"))
    if source == ROWS:
        corpus = resources.corpus(corpus_name)
        last = len(corpus.texts) - 1
        a = widgets.choose_row("Row of text A", last, min(state.ROW_A, last), key="a")
        b = widgets.choose_row("Row of text B", last, min(state.ROW_B, last), key="b")
        return Texts(corpus.texts[a], corpus.texts[b], f"row {a} and row {b}", (a, b), corpus_name in uploads.own())
    if source == LABELLED:
        lists = resources.pair_list_names()
        name = widgets.pick("List of pairs", lists, key="list", index=len(lists) - 1) if len(lists) > 1 else lists[0]
        listed = results.listed(name)
        item = widgets.choose_row("Labelled pair", len(listed.texts_a) - 1, 0, key="item")
        return Texts(listed.texts_a[item], listed.texts_b[item], listed.labels[item] if listed.labels else f"pair {item}",
                     own=name in uploads.own())
    linked = [checked(name, st.query_params[key]) if key in st.query_params else usual
              for name, key, usual in zip("AB", LINKED, (TYPED_A, TYPED_B), strict=True)]
    a_text = side.text_area("Text A", linked[0], key="typed_a", max_chars=MOST_CHARS)
    b_text = side.text_area("Text B", linked[1], key="typed_b", max_chars=MOST_CHARS)
    share = side.toggle("Put both into the link", value=LINKED[0] in st.query_params, key="share_typed",
                        help="Off, what you type is in no link. It is computed on this server and kept with your session.")
    if share and len(a_text) + len(b_text) <= MOST_IN_A_LINK:
        st.query_params.update(dict(zip(LINKED, (a_text, b_text), strict=True)))
    else:
        for key in LINKED:
            st.query_params.pop(key, None)
        if share:
            side.caption(f"Together they are {len(a_text) + len(b_text):,} characters; a link holds {MOST_IN_A_LINK:,}.")
    return Texts(a_text, b_text, TYPED.lower(), own=True)


def load(texts: Texts, corpus_name: str, model_name: str, special: bool) -> TokenPair | Request:
    """The tokens of both texts, without those that the sidebar switches off; or the request to start.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    def loaded(chosen: Switches) -> TokenPair | Request:
        if uploads.is_states(corpus_name) and texts.rows:
            return pair_data.load_states(corpus_name, *texts.rows, chosen)
        return pair_data.load(texts.a, texts.b, model_name, chosen, own=texts.own)

    punctuation = bool(st.sidebar.toggle("Punctuation", value=True, key="punctuation", bind="query-params"))
    bare = loaded(Switches(special, punctuation))
    if not isinstance(bare, TokenPair):
        return bare
    one, other = (_without(k, bare.tokens[k]) for k in (0, 1))
    return loaded(Switches(special, punctuation, (one, other)))


def _without(text: int, words: list[str]) -> frozenset[int]:
    key, labels = WITHOUT[text], token_labels(words)
    if key not in st.session_state:
        # Links once held the word behind the number.
        said = [value.split(" ", 1)[0] for value in st.query_params.get_all(key)]
        st.session_state[key] = [labels[int(at)] for at in dict.fromkeys(said) if at.isdecimal() and int(at) < len(labels)]
    # Another model cuts a text into other tokens: what is no token of it any more is dropped.
    st.session_state[key] = [label for label in st.session_state[key] if label in labels]
    chosen = st.sidebar.multiselect(f"Without tokens of text {'AB'[text]}", labels, key=key)
    numbers = [str(labels.index(str(label))) for label in chosen]
    if numbers != st.query_params.get_all(key):
        if numbers:
            st.query_params[key] = numbers
        else:
            st.query_params.pop(key, None)
    return frozenset(map(int, numbers))


def token_labels(words: list[str]) -> list[str]:
    return [f"{place} {word}" for place, word in enumerate(words)]


def switch_token(text: int, label: str) -> None:
    """Callback: a token takes part no more, or again."""
    there = list(st.session_state.get(WITHOUT[text], []))
    st.session_state[WITHOUT[text]] = [one for one in there if one != label] if label in there else [*there, label]


def pinned(model_name: str, layer: Layer) -> list[Setting]:
    """Settings to look at side by side with the page's own, from the link, the menu or the button."""
    known, side = pair_settings.every_setting(), st.sidebar
    # Streamlit drops what is no option from the link without a word.
    if unknown := [one[:60] for one in st.query_params.get_all(PINS) if one not in known]:
        st.session_state[REFUSED] = unknown[:MOST_PINNED]
    chosen = side.multiselect("Side by side with", list(known), key=PINS, bind="query-params", max_selections=MOST_PINNED,
                              on_change=_forget,
                              help="The same two texts under further models (before the @) and layers (after it), three at the most; "
                                   "the link names them.")
    if refused := st.session_state.get(REFUSED):
        side.caption(f"No model and layer of this server, so left out: {widgets.plain(', '.join(refused))}.")
    own = Setting(model_name, layer)
    side.button("Pin this setting", on_click=partial(state.pin, str(own), PINS, MOST_PINNED), disabled=str(own) in chosen,
                help=f"Keeps {widgets.plain(own.words)} beside what you look at next.")
    return [known[str(one)] for one in chosen]


def _forget() -> None:
    """Callback: other settings are chosen, and what the link asked for is past."""
    st.session_state.pop(REFUSED, None)
