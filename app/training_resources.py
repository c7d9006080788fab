"""The caches of the Training page: the line of runs, where each lies, and what was recorded of it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import resources
from app.jobs import JobRegistry
from app.settings import settings
from components.store import ResultKey
from components.training_record import TrainingRecord, from_stored
from components.training_runs import RECIPES, RunPlace, place_of

MOST_WAITING = 6
"""Training runs that may wait."""


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
        named[resources.unused(Path(recipe).stem, named)] = recipe
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
    found = resources.read_stored(_key)
    return from_stored(found.arrays, found.meta, {"created": found.created.date().isoformat(), "versions": dict(found.versions)})
