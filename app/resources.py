"""The only caches of the pages: texts, the store, the jobs, and stored results kept in memory.

Keys are names, digests and numbers, never arrays; what is handed out is shared between sessions and read-only. A session's
own data are read from the session (``app.uploads``), and what is made of them is kept there (``app.private``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from app import presence, private, uploads
from app.jobs import JobRegistry
from app.settings import settings
from components.corpora import DATA_DIR, bundled_names, load_corpus, load_pairs
from components.errors import ModelError, shown
from components.hub_datasets import is_hub_name
from components.layer_curves import LayerCurves
from components.models import EMBEDDED, bundled_models, hidden_size, layer_count, resolve_model
from components.pair_map import PairMap
from components.pair_selection import Pairs, pairs_of
from components.pooling_result import PoolingResult
from components.retrieval_sets import BUNDLED_SETS, load_retrieval_set
from components.store import ResultKey, ResultStore, StoredResult
from components.training_runs import finished_runs
from components.truncation_result import TruncationResult
from components.types import Corpus, PairList, RetrievalSet

Made = TypeVar("Made")
PAIRS = "pairs"
"""The bundled pairs that are labelled by how the two texts differ."""
MOST_MODELS = 20
_own_store: ContextVar[ResultStore | None] = ContextVar("own_store", default=None)


class NotStored(Exception):
    """The result is not in the store; raised so that its absence is not cached."""


def corpus_files() -> dict[str, str]:
    """Name on screen -> bundled name or file, in the order of the menu. Links carry names, never files."""
    named = {name: name for name in bundled_names("corpus")}
    for file in settings().texts:
        named[unused(file if is_hub_name(file) else Path(file).name, named)] = file
    return named


def corpus_names() -> tuple[str, ...]:
    """Names of the menu of texts: what the server offers, then this session's own texts and token states."""
    return (*corpus_files(), *(name for kind in (uploads.TEXTS, uploads.STATES) for name in uploads.own(kind)))


def pair_list_names() -> tuple[str, ...]:
    """Names of lists of labelled pairs: the bundled one, then this session's own."""
    return (PAIRS, *uploads.own(uploads.PAIRS))


def retrieval_sources() -> dict[str, str]:
    """Name on screen -> what ``load_retrieval_set`` takes: the bundled sets, then the server's folders."""
    named = {name: name for name in BUNDLED_SETS}
    for folder in settings().retrieval_sets:
        named[unused(Path(folder).name, named)] = folder
    return named


def retrieval_sets() -> tuple[str, ...]:
    """Names of the menu of retrieval sets: what the server offers, then this session's own."""
    return (*retrieval_sources(), *uploads.own(uploads.RETRIEVAL))


def retrieval_set(name: str) -> RetrievalSet:
    """The queries, documents and judgements of a set in the menu."""
    own = uploads.own(uploads.RETRIEVAL).get(name)
    found: RetrievalSet = own.data if own else _retrieval_set(name, retrieval_sources()[name])
    return found


@st.cache_resource(max_entries=8, show_spinner=False)
def _retrieval_set(name: str, source: str) -> RetrievalSet:
    # Two folders may have one name, and pages ask for a set by the menu's.
    return replace(load_retrieval_set(source, settings().limits), name=name)


def taken_names() -> set[str]:
    """Every name that a menu has already."""
    return {*corpus_files(), PAIRS, *retrieval_sources(), *model_names(), *uploads.own()}


def model_names() -> dict[str, str]:
    """Name on screen -> what ``resolve_model`` takes."""
    named: dict[str, str] = {name: name for name in (EMBEDDED, *bundled_models())}
    for model in (*settings().models, *_own_models()):
        named[unused(Path(model).name if Path(model).is_dir() else model, named)] = model
    for run in finished_runs(settings().store):
        named[unused(run.name, named)] = str(run.absolute())
    return named


def models_allowed() -> bool:
    """Whether visitors may name models of their own."""
    return settings().models_allowed(st.get_option("server.address"))


def add_model(wanted: str) -> str:
    """Puts a folder or a cached Hugging Face id into the menu of models until the server ends; never downloads.

    Returns:
        Its name in the menu, which links carry; of a folder the last part only.

    Raises:
        ModelError: not allowed here, not there, no model, or the menu is full.
    """
    if not models_allowed():
        raise ModelError("model", "must be one that this server offers", shown(wanted),
                         "choose one from the menu, or ask the server's owner (POOLSCOPE_ALLOW_MODELS)")
    ref = resolve_model(wanted)
    layer_count(ref), hidden_size(ref)
    target = str(ref.folder) if ref.origin == "folder" else ref.model_id
    names = {what: name for name, what in model_names().items()}
    if target not in names:
        if len(_own_models()) >= MOST_MODELS:
            raise ModelError("models", f"must be at most {MOST_MODELS} added to the menu", f"{MOST_MODELS}", "start the server again")
        _own_models()[target] = None
        names = {what: name for name, what in model_names().items()}
    return names[target]


@st.cache_resource(show_spinner=False)
def _own_models() -> dict[str, None]:
    return {}


def unused(name: str, taken: dict[str, str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def corpus(name: str) -> Corpus:
    """The texts of a corpus in the menu; a changed file is read again."""
    if own := uploads.own().get(name):
        found: Corpus = own.data.corpus if own.kind == uploads.STATES else own.data
        return found
    source = corpus_files()[name]
    path = Path(source)
    return _corpus(source, path.stat().st_mtime_ns if path.is_file() else 0)


@st.cache_resource(max_entries=16, show_spinner=False)
def _corpus(source: str, modified: int) -> Corpus:
    return load_corpus(source, limits=settings().limits)


@st.cache_resource(show_spinner=False)
def store() -> ResultStore:
    return settings().open_store()


@st.cache_resource(show_spinner=False)
def jobs() -> JobRegistry:
    own = settings()
    registry = JobRegistry({"root": str(own.store), "max_bytes": own.store_max_bytes}, time_limit_s=own.time_limit,
                           max_queue=own.max_queue, max_own=own.max_own_jobs)
    presence.follow(registry)
    return registry


@st.cache_resource(show_spinner=False)
def gallery() -> ResultStore:
    """The results that come with the project; only read."""
    return ResultStore(DATA_DIR / "gallery")


def _described(found: StoredResult) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """A result's arrays, and its description with the versions it was made with."""
    return found.arrays, {**found.meta, "versions": dict(found.versions)}


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_pair_map(digest: str, _key: ResultKey) -> PairMap:
    """A stored pair map in memory (8 MB for 1,000 texts).

    Raises:
        NotStored: it is not in the store (any more).
    """
    return PairMap.from_stored(*_described(read_stored(_key)))


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_pairs(digest: str, _map: PairMap) -> Pairs:
    """The columns of all pairs of a stored map, ready to be filtered (60 MB for 1,000 texts)."""
    return pairs_of(_map)


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_layers(digest: str, _key: ResultKey) -> LayerCurves:
    """Stored layers in memory (2 MB for 1,000 texts and twelve layers of twelve heads).

    Raises:
        NotStored: they are not in the store (any more).
    """
    return LayerCurves.from_stored(*_described(read_stored(_key)))


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_pooling(digest: str, _key: ResultKey) -> PoolingResult:
    """Stored poolings in memory (a megabyte for 300 queries).

    Raises:
        NotStored: they are not in the store (any more).
    """
    return PoolingResult.from_stored(*_described(read_stored(_key)))


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_truncation(digest: str, _key: ResultKey) -> TruncationResult:
    """One model's stored cuts in memory (half a megabyte for 300 queries).

    Raises:
        NotStored: they are not in the store (any more).
    """
    return TruncationResult.from_stored(*_described(read_stored(_key)))


@st.cache_resource(max_entries=32, show_spinner=False)
def stored_result(digest: str, _key: ResultKey) -> StoredResult:
    """A stored result as it is: a list of pairs, or two texts' tokens (a megabyte for two sentences).

    Raises:
        NotStored: they are not in the store (any more).
    """
    return read_stored(_key)


def made_once(signature: str, _make: Callable[[], Made], *, own: bool = False) -> Made:
    """What takes a tenth of a second or more to make (a figure with its words, a correlation), made once for all visitors.

    A session that has data of its own makes its own figures, since their hovers show texts.

    Args:
        signature: everything that it depends on.
        own: it is of texts typed by the visitor, or of what only this session has.
    """
    if own or uploads.own():
        return private.session().kept(("made", signature), _make)
    made: Made = _made_once(signature, _make)
    return made


@st.cache_resource(max_entries=192, show_spinner=False)
def _made_once(signature: str, _make: Callable[[], Made]) -> Made:
    return _make()


def pair_list(name: str) -> PairList:
    """A list of labelled pairs of the menu."""
    own = uploads.own(uploads.PAIRS).get(name)
    found: PairList = own.data if own else _bundled_pairs(name)
    return found


@st.cache_resource(max_entries=4, show_spinner=False)
def _bundled_pairs(name: str) -> PairList:
    return load_pairs(name)


def read_private(read: Callable[[str, ResultKey], Made], key: ResultKey) -> Made:
    """What one of the readers above gives, from this session's own store and kept with the session.

    Raises:
        NotStored: it is not in that store.
    """
    own = private.session()

    def make() -> Made:
        token = _own_store.set(own.store())
        try:
            made: Made = read.__wrapped__(key.digest, key)  # type: ignore[attr-defined]
            return made
        finally:
            _own_store.reset(token)

    return own.kept((read.__name__, key.digest), make)  # type: ignore[attr-defined]


def read_stored(key: ResultKey) -> StoredResult:
    own = _own_store.get()
    # A hosted server's store holds nothing of its visitors', so it has nothing to say about theirs.
    found = own.get(key) if own is not None else None
    if own is None or not settings().hosted:
        found = found or store().get(key)
    found = found or gallery().get(key)
    if found is None:
        raise NotStored
    return found
