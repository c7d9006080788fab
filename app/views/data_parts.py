"""The panels of the page Your data, top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from app import navigation, resources, state, uploads, widgets
from app.settings import settings
from app.uploads import PAIRS, RETRIEVAL, STATES, TEXTS, File, Own
from components.errors import PoolscopeError
from components.tables import EXTENSIONS

PREVIEWED = 8
NONE = "none"
PARTS = {"queries": "Queries", "documents": "Documents", "qrels": "Judgements (qrels)"}
_FORM = "_upload_form"


def promise() -> str:
    """Where uploaded data are and where they are not."""
    own = settings()
    stored = "Results stay in this session, too, and go with it" if own.hosted else \
        "The result store of this machine keeps the numbers computed from it, and no text" if not own.keep_texts else \
        "The result store of this machine keeps what is computed from it, tokens included (POOLSCOPE_KEEP_TEXTS)"
    return ("What you upload is read into this session's memory, is on every page of the session, and is gone when you close or "
            f"reload it; it is in no link and goes to no other machine. {stored}.")


def choose_kind() -> str:
    """What is to be uploaded."""
    kind = st.segmented_control("What you have", uploads.KINDS, default=TEXTS, key="kind", bind="query-params")
    return str(kind or TEXTS)


def caps(kind: str) -> None:
    """What may be uploaded, and how much of it is used."""
    own = settings()
    one = f"unpacked at most {own.max_states_mb:g} MB" if kind == STATES else \
        f"at most {own.max_file_mb:g} MB and {own.max_texts:,} rows a file, {own.max_text_chars:,} characters a text"
    st.caption(f"Limits: {one}; {own.max_upload_mb:g} MB of texts and states in this session, of which "
               f"{uploads.megabytes(uploads.used())} are used.")


def upload(kind: str) -> dict[str, File] | None:
    """The files chosen, or None while some are missing."""
    number = st.session_state.setdefault(_FORM, 0)
    parts = PARTS if kind == RETRIEVAL else {"file": "File of token states (.npz)" if kind == STATES else "File"}
    types = [".npz"] if kind == STATES else [one for one in EXTENSIONS if kind == TEXTS or one != ".txt"]
    most = settings().max_states_mb if kind == STATES else settings().max_file_mb
    found = {}
    for (part, label), column in zip(parts.items(), st.columns(len(parts)), strict=True):
        got = column.file_uploader(label, key=f"upload_{kind}_{part}_{number}", max_upload_size=max(1, round(most)),
                                   help=f"One of {', '.join(types)}.")
        if got is not None:
            found[part] = File(got.name, got.file_id, got.getvalue())
    return found if len(found) == len(parts) else None


def from_hub(kind: str) -> None:
    """A dataset of the hub by its name, where the owner allows it; nothing is asked for until the button is pressed."""
    if kind != TEXTS or not resources.models_allowed():
        return
    with st.expander("From the Hugging Face hub"), st.form("hub", border=False):
        wanted = st.text_input("Dataset, split and column", key="hub_name", max_chars=300,
                               placeholder="hf:owner/name:train[:1000]:text")
        if st.form_submit_button("Fetch") and wanted.strip():
            with st.spinner("Fetching rows from the hub"):
                _add(TEXTS, uploads.hub(wanted.strip()))
            if problem := st.session_state.pop("_add_problem", None):
                st.error(widgets.plain(problem))


def reading(kind: str, files: dict[str, File]) -> None:
    """Columns, preview, and the button that puts what was read into the session; or the sentence that says why not."""
    read = {TEXTS: _texts, PAIRS: _pairs, RETRIEVAL: _retrieval, STATES: _states}[kind]
    found = read(files)
    if found is None:
        return
    data, rows, what = found
    st.markdown(f"**{what}**")
    st.dataframe(rows, hide_index=True, key=f"preview_{kind}")
    for note in data.notes:
        st.caption(widgets.plain(note))
    st.button("Use them in this session", type="primary", on_click=_add, args=(kind, data), key="use")
    if problem := st.session_state.pop("_add_problem", None):
        st.error(widgets.plain(problem))


def _add(kind: str, data: Any) -> None:
    try:
        made = uploads.add(kind, data, resources.taken_names())
    except PoolscopeError as error:
        st.session_state["_add_problem"] = str(error)
        return
    st.session_state["_added"] = made.name
    st.session_state[_FORM] += 1  # new uploaders, so that the files' bytes are let go


Read = tuple[Any, Mapping[str, Sequence[object]], str]


def _texts(files: dict[str, File]) -> Read | None:
    file = files["file"]
    column, label = None, None
    if not file.plain:
        table = uploads.table(file)
        left, right = st.columns(2)
        column = _column(left, "Column of texts", table.columns, uploads.usual_text(table))
        label = _column(right, "Column of labels", table.columns, NONE, optional=True)
    corpus = uploads.corpus(file, column, label)
    rows: dict[str, Sequence[object]] = {"text": corpus.texts[:PREVIEWED]}
    if corpus.labels:
        rows["label"] = corpus.labels[:PREVIEWED]
    return corpus, rows, f"{len(corpus.texts):,} texts; the first {len(rows['text'])}:"


def _pairs(files: dict[str, File]) -> Read | None:
    table = uploads.table(files["file"])
    first, second = uploads.usual_pair(table)
    left, middle, right = st.columns(3)
    a = _column(left, "Column of first texts", table.columns, first)
    b = _column(middle, "Column of second texts", table.columns, second)
    label = _column(right, "Column of labels", table.columns, NONE, optional=True)
    pairs = uploads.pairs(files["file"], a, b, label)
    rows: dict[str, Sequence[object]] = {"first text": pairs.texts_a[:PREVIEWED], "second text": pairs.texts_b[:PREVIEWED]}
    if pairs.labels:
        rows["label"] = pairs.labels[:PREVIEWED]
    return pairs, rows, f"{len(pairs.texts_a):,} pairs; the first {len(rows['first text'])}:"


def _retrieval(files: dict[str, File]) -> Read | None:
    columns: dict[str, dict[str, str]] = {}
    for part, place in zip(PARTS, st.columns(len(PARTS)), strict=True):
        table = uploads.table(files[part])
        columns[part] = {role: str(_column(place, label, table.columns, usual, key=part))
                         for role, (label, usual) in uploads.usual_roles(part, table).items()}
    found = uploads.retrieval(files, columns)
    some = found.judged[:PREVIEWED].tolist()
    rows = {"query": [found.queries[q] for q, _, _ in some], "document": [found.documents[d] for _, d, _ in some],
            "relevance": [r for _, _, r in some]}
    return found, rows, \
        f"{len(found.queries):,} queries, {len(found.documents):,} documents, {len(found.judged):,} judgements; the first {len(some)}:"


def _states(files: dict[str, File]) -> Read | None:
    found = uploads.states(files["file"])
    n = found.states.lengths[:PREVIEWED].tolist()
    return found, {"text": found.corpus.texts[:PREVIEWED], "tokens": n}, \
        f"{len(found.states):,} texts, {len(found.states.states):,} tokens of {found.states.dim} dims; the first {len(n)} texts:"


def _column(place: Any, label: str, columns: Sequence[str], usual: str | None, *, optional: bool = False, key: str = "") -> str | None:
    """One of a table's columns by its place, so that no name, whatever it is, can be mistaken for another or for none."""
    options = [-1, *range(len(columns))] if optional else list(range(len(columns)))
    at = columns.index(usual) if usual in columns else options[0]
    chosen = place.selectbox(label, options, options.index(at), format_func=_shown(columns),
                             key=f"column_{key}_{label}_{hash(tuple(columns))}")
    return None if chosen is None or chosen < 0 else columns[chosen]


def _shown(columns: Sequence[str]) -> Callable[[int], str]:
    return lambda at: NONE if at < 0 else uploads.short(columns[at])


def own_data() -> None:
    """What this session has, with where to go from here."""
    own = uploads.own()
    if added := st.session_state.pop("_added", None):
        st.success(f"{widgets.plain(added)} is on the pages of this session.")
    if not own:
        return
    st.subheader("In this session")
    st.caption(f"{uploads.megabytes(uploads.used())} of {settings().max_upload_mb:g} MB are used.")
    for place, one in enumerate(own.values()):
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"own_{place}"):
            st.text(one.name, width="stretch")
            st.caption(f"{one.kind}, {uploads.megabytes(one.size)}", width="content")
            for path, title in _pages(one):
                st.page_link(navigation.page(path), label=title, query_params=_asking(path, one, place))
            st.button("Remove", on_click=uploads.remove, args=(one.name,), key=f"remove_{place}")


def _pages(one: Own) -> list[tuple[str, str]]:
    there = {row.path: row.title for row in navigation.PAGES}
    paths = {TEXTS: ("map", "layers", "pair"), PAIRS: ("map", "pair"), RETRIEVAL: ("pooling", "truncation"), STATES: ("map", "pair")}
    return [(path, there[path]) for path in paths[one.kind] if path in there]


def _asking(path: str, one: Own, place: int) -> dict[str, str]:
    """What a page is told: the place among this session's own data, which says nothing to anybody else."""
    if one.kind != PAIRS:
        return {state.OWN: str(place)}
    return {"map": {"labelled": "true"}, "pair": {"from": "Labelled pairs"}}.get(path, {})


def formats() -> None:
    """What each kind of file has to hold, folded."""
    with st.expander("What a file has to hold"):
        st.markdown("\n\n".join((
            "**Texts.** A .txt with a text a line, or a .csv, .tsv, .jsonl or .parquet with a column of texts, and one of labels "
            "if you like. UTF-8. Nothing is repaired or left out but blank rows, and these are listed.",
            "**Pairs of texts.** A table with two columns of texts, and one of labels if you like: they lie over the map as the "
            "labelled pairs do, and open in Pair.",
            "**Queries and documents.** Three tables, as in BEIR: queries (query_id, text), documents (document_id, text), "
            "judgements (query_id, document_id, relevance: a whole number from 0).",
            "**Token states.** A NumPy .npz without pickled objects: states (tokens, dim) of float16, float32 or float64, the texts' "
            "tokens one after the other without padding; offsets (texts + 1) whole numbers, text i having the rows offsets[i] to "
            "offsets[i + 1]; if you like, tokens (one string a row of states) and texts (one string a text).")))
