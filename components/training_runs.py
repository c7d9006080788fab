"""Runs that are started from a page: from a fixed list of recipes, into a folder of the store's, one folder a run.

A visitor chooses a recipe's name and a seed, never a file or a place. The folders lie in ``.runs`` below the store's root
(hidden, so that the store does not take them for results); how many there may be is capped.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from components.corpora import DATA_DIR
from components.errors import DataError, StoreError, shown
from components.models import resolve_model
from components.recipes import Recipe, parse_recipe, read_recipe
from components.store import ResultKey, ResultStore
from components.training_folder import EVALUATION, RECIPE, RunFolder
from components.training_record import as_stored, read_record
from components.types import CancelEvent, Progress, no_progress

RECIPES: Mapping[str, Path] = MappingProxyType({
    name: DATA_DIR / "recipes" / f"nano-{name}.yaml" for name in ("mrl", "contrastive", "mic")})
"""Recipes that come along, for about a minute on two cores each."""
SEEDS = tuple(range(5))
RUNS = ".runs"
MOST_RUNS = 12
SCHEMA = 1
RECORDED_SEED = 0


@dataclass(frozen=True)
class RunPlace:
    """A run's recipe with its seed, its key and its folder."""

    name: str
    seed: int
    recipe: Recipe
    key: ResultKey
    folder: RunFolder

    @property
    def state(self) -> str:
        """"none", "finished", "stopped" (may go on), "changed" (made by another recipe) or "damaged"."""
        if not self.folder.path.is_dir():
            return "none"
        if not (self.folder.beside / RECIPE).is_file():
            return "damaged"
        mark = self.folder.beside / "digest"
        if not mark.is_file() or mark.read_text(encoding="utf-8", errors="replace") != self.recipe.digest:
            return "changed" if mark.is_file() else "damaged"
        return "finished" if (self.folder.beside / EVALUATION).is_file() else "stopped"


def place_of(root: Path, name: str, file: Path, seed: int) -> RunPlace:
    """Where a run lies, and by which key it is known.

    The key holds the recipe as written, digests of its pairs and of its model, and no path of this machine.

    Args:
        root: of the store.
        name: the recipe's name on screen.
        file: the recipe.
        seed: replaces the recipe's own.

    Raises:
        DataError, ModelError: the recipe or what it names is gone or cannot be read.
    """
    recipe = read_recipe(file).model_copy(update={"seed": seed})
    plain = parse_recipe(file.read_text(encoding="utf-8")).model_copy(update={"seed": seed})
    ref = resolve_model(recipe.model)
    try:
        pairs = hashlib.sha256(Path(recipe.pairs).read_bytes()).hexdigest() if Path(recipe.pairs).suffix else recipe.pairs
    except OSError as error:
        raise DataError(f"pairs of recipe {shown(file.name)}", "must be a readable file", error.strerror or "no such file",
                        "put the file back, or mend the recipe") from error
    key = ResultKey("training_run", pairs, ref.model_id, ref.revision, {"recipe": plain.digest, "seed": seed}, SCHEMA)
    word = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
    return RunPlace(name, seed, recipe, key, RunFolder(root / RUNS / f"{word}-seed{seed}"))


def count_runs(root: Path) -> int:
    """How many runs' folders there are."""
    there = root / RUNS
    return sum(path.is_dir() for path in there.iterdir()) if there.is_dir() else 0


def finished_runs(root: Path) -> list[Path]:
    """Folders of finished runs; each is a model that every page takes."""
    there = root / RUNS
    return sorted(path for path in there.iterdir() if (path / "config.json").is_file() and (path / "training" / EVALUATION).is_file()) \
        if there.is_dir() else []


def check_room(place: RunPlace, root: Path) -> None:
    """Raises DataError where a new run would be one too many."""
    if not place.folder.path.is_dir() and (there := count_runs(root)) >= MOST_RUNS:
        raise DataError("runs on this server", f"must be at most {MOST_RUNS}", f"{there}", "remove one that is not needed")


def remove_run(place: RunPlace) -> None:
    """Removes a run's folder, weights and checkpoints included.

    Raises:
        StoreError: the file system refuses.
    """
    try:
        shutil.rmtree(place.folder.path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"the run {place.folder.path.name}", "must be a folder that can be removed",
                         error.strerror or type(error).__name__, "remove it by hand") from error


def run_training_run(args: Mapping[str, Any], *, store: ResultStore, progress: Progress = no_progress,
                     cancelled: CancelEvent | None = None) -> str:
    """The worker's task: trains, or goes on, and returns the run's key.

    Args:
        args: name, file (the recipe, from the server's own list), seed, device.
    """
    from components.training_pipeline import run_training

    place = place_of(store.root, str(args["name"]), Path(args["file"]), int(args["seed"]))
    check_room(place, store.root)
    recipe = place.recipe.model_copy(update={"device": str(args["device"])})
    run_training(recipe, place.folder.path, progress=progress, cancelled=cancelled)
    return place.key.digest


def record_run(name: str, work: ResultStore, gallery: ResultStore, *, progress: Progress = no_progress) -> int:
    """Trains a recipe that comes along, unless that lies finished in ``work``, and puts its record into a gallery.

    Returns:
        Bytes of the record's arrays.
    """
    from components.training_pipeline import run_training

    place = place_of(work.root, name, RECIPES[name], RECORDED_SEED)
    if place.state != "finished":
        if place.state in ("changed", "damaged"):
            remove_run(place)
        run_training(place.recipe, place.folder.path, progress=progress)
    record = read_record(place.folder)
    assert record is not None and record.finished
    arrays, meta = as_stored(record)
    # The files of the recipe by their names: a record is looked at on other machines.
    meta["recipe"] = {**meta["recipe"], "pairs": Path(place.recipe.pairs).name,
                      "probe": {**meta["recipe"]["probe"], "texts": Path(place.recipe.probe.texts).name,
                                "retrieval": Path(place.recipe.probe.retrieval or "").name}}
    gallery.put(place.key, arrays, {**meta, "from_gallery": True}, {"training": float(record.seconds.sum())})
    return int(sum(array.nbytes for array in arrays.values()))
