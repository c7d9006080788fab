"""The only caches of the pages: texts, the store, the jobs, and stored results kept in memory.

Keys are names, digests and numbers, never arrays; what is handed out is shared between sessions and read-only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import streamlit as st

from app import presence
from app.jobs import JobRegistry
from app.settings import settings
from components.corpora import DATA_DIR, bundled_names, load_corpus, load_pairs
from components.layer_curves import LayerCurves
from components.models import EMBEDDED, bundled_models
from components.pair_map import PairMap
from components.pair_selection import Pairs, pairs_of
from components.pooling_result import PoolingResult
from components.retrieval_sets import BUNDLED_SETS, load_retrieval_set
from components.store import ResultKey, ResultStore, StoredResult
from components.training_record import TrainingRecord, from_stored
from components.training_runs import RECIPES, RunPlace, finished_runs, place_of
from components.truncation_result import TruncationResult
from components.types import Corpus, PairList, RetrievalSet

Made = TypeVar("Made")
MOST_WAITING = 6
"""Training runs that may wait."""


class NotStored(Exception):
    """The result is not in the store; raised so that its absence is not cached."""


def corpus_files() -> dict[str, str]:
    """Name on screen -> bundled name or file, in the order of the menu. Links carry names, never files."""
    named = {name: name for name in bundled_names("corpus")}
    for file in settings().texts:
        named[_unused(Path(file).name, named)] = file
    return named


def model_names() -> dict[str, str]:
    """Name on screen -> what ``resolve_model`` takes."""
    named: dict[str, str] = {name: name for name in (EMBEDDED, *bundled_models())}
    for model in settings().models:
        named[_unused(Path(model).name if Path(model).is_dir() else model, named)] = model
    for run in finished_runs(settings().store):
        named[_unused(run.name, named)] = str(run.absolute())
    return named


def _unused(name: str, taken: dict[str, str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def corpus(name: str) -> Corpus:
    """The texts of a corpus in the menu; a changed file is read again."""
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
def training_jobs() -> JobRegistry:
    """The line of training runs, in a process of their own.

    A run takes a minute or more; in the one line of computations every other visitor would wait behind it. Its process steps
    back behind the others (nice), is ended when idle, and is not started again by itself: a run goes on from its last
    checkpoint when somebody asks. Its threads sleep while they wait for each other: spinning, two threads on a busy machine
    take turns at waiting.
    """
    own = settings()
    return JobRegistry({"root": str(own.store), "max_bytes": own.store_max_bytes}, time_limit_s=own.time_limit, max_queue=MOST_WAITING,
                       env={"POOLSCOPE_WORKER_NICE": "5", "OMP_WAIT_POLICY": "PASSIVE"}, cancel_grace_s=30.0, tries=1, idle_s=300.0,
                       lost="and what it had saved is kept")


def recipe_names() -> dict[str, Path]:
    """Name on screen -> recipe, in the order of the menu."""
    named = {name: str(file) for name, file in RECIPES.items()}
    for recipe in settings().recipes:
        named[_unused(Path(recipe).stem, named)] = recipe
    return {name: Path(file) for name, file in named.items()}


def run_place(name: str, seed: int) -> RunPlace:
    """Where a run of a recipe in the menu lies; a changed recipe is read again.

    Raises:
        DataError, ModelError: the recipe, its pairs or its model is gone.
    """
    file = recipe_names()[name]
    return _run_place(str(settings().store), name, str(file), file.stat().st_mtime_ns if file.is_file() else 0, seed)


@st.cache_resource(max_entries=64, show_spinner=False)
def _run_place(root: str, name: str, file: str, modified: int, seed: int) -> RunPlace:
    return place_of(Path(root).absolute(), name, Path(file), seed)


@st.cache_resource(max_entries=8, show_spinner=False)
def recorded_run(digest: str, _key: ResultKey) -> TrainingRecord:
    """A recorded run in memory (a megabyte).

    Raises:
        NotStored: none was recorded of this recipe.
    """
    found = _stored(_key)
    return from_stored(found.arrays, found.meta, {"created": found.created.date().isoformat(), "versions": dict(found.versions)})


@st.cache_resource(show_spinner=False)
def gallery() -> ResultStore:
    """The results that come with the project; only read."""
    return ResultStore(DATA_DIR / "gallery")


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_pair_map(digest: str, _key: ResultKey) -> PairMap:
    """A stored pair map in memory (8 MB for 1,000 texts).

    Raises:
        NotStored: it is not in the store (any more).
    """
    found = _stored(_key)
    return PairMap.from_stored(found.arrays, {**found.meta, "versions": dict(found.versions)})


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
    found = _stored(_key)
    return LayerCurves.from_stored(found.arrays, {**found.meta, "versions": dict(found.versions)})


def retrieval_sets() -> dict[str, str]:
    """Name on screen -> what ``load_retrieval_set`` takes, in the order of the menu."""
    named = {name: name for name in BUNDLED_SETS}
    for folder in settings().retrieval_sets:
        named[_unused(Path(folder).name, named)] = folder
    return named


def retrieval_set(name: str) -> RetrievalSet:
    """The queries, documents and judgements of a set in the menu."""
    return _retrieval_set(retrieval_sets()[name])


@st.cache_resource(max_entries=8, show_spinner=False)
def _retrieval_set(source: str) -> RetrievalSet:
    return load_retrieval_set(source, settings().limits)


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_pooling(digest: str, _key: ResultKey) -> PoolingResult:
    """Stored poolings in memory (a megabyte for 300 queries).

    Raises:
        NotStored: they are not in the store (any more).
    """
    found = _stored(_key)
    return PoolingResult.from_stored(found.arrays, {**found.meta, "versions": dict(found.versions)})


@st.cache_resource(max_entries=16, show_spinner=False)
def stored_truncation(digest: str, _key: ResultKey) -> TruncationResult:
    """One model's stored cuts in memory (half a megabyte for 300 queries).

    Raises:
        NotStored: they are not in the store (any more).
    """
    found = _stored(_key)
    return TruncationResult.from_stored(found.arrays, {**found.meta, "versions": dict(found.versions)})


@st.cache_resource(max_entries=32, show_spinner=False)
def stored_result(digest: str, _key: ResultKey) -> StoredResult:
    """A stored result as it is: a list of pairs, or two texts' tokens (a megabyte for two sentences).

    Raises:
        NotStored: they are not in the store (any more).
    """
    return _stored(_key)


@st.cache_resource(max_entries=192, show_spinner=False)
def made_once(signature: str, _make: Callable[[], Made]) -> Made:
    """What takes a tenth of a second or more to make (a figure with its words, a correlation), made once for all visitors.

    Args:
        signature: everything that it depends on.
    """
    return _make()


@st.cache_resource(max_entries=4, show_spinner=False)
def pair_list(name: str) -> PairList:
    """A bundled list of pairs."""
    return load_pairs(name)


def _stored(key: ResultKey) -> StoredResult:
    found = store().get(key) or gallery().get(key)
    if found is None:
        raise NotStored
    return found
