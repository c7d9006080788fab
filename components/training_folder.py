"""The folder of a training run: weights at the top, and below ``training/`` the recipe, the logs and the checkpoints.

Three logs: ``log.jsonl`` has a line for each probe, ``steps.jsonl`` one for each step (loss, seconds), and ``probes`` what is
drawn of each probe (see ``probe_views``).

``training/`` is no part of the model's revision (see ``models.folder_digest``): the same weights keep their name whatever
was written beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from components.errors import DataError, shown
from components.recipes import Recipe

RECIPE, LOG, EVALUATION, CHECKPOINTS = "recipe.yaml", "log.jsonl", "evaluation.json", "checkpoints"
STEPS, PROBES, TOKENS = "steps.jsonl", "probes", "tokens.json"


class RunFolder:
    """One run's folder.

    Args:
        path: where the finished model is to lie.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.beside = path, path / "training"

    @contextmanager
    def held(self, recipe: Recipe) -> Iterator[int]:
        """Claims the folder for one run of a recipe and yields the step of its last checkpoint, 0 for a fresh start.

        Raises:
            DataError: another run holds it; it belongs to another recipe or other files; it is finished; not writable.
        """
        called = f"--out {shown(self.path.name)}"
        try:
            if self.path.exists() and not self.path.is_dir():
                raise DataError(called, "must be a folder", "a file", "choose another name")
            foreign = self.path.is_dir() and any(self.path.iterdir()) and not (self.beside / RECIPE).is_file()
            if foreign:
                raise DataError(called, "must be new, or the folder of the same recipe's stopped run", "other files in it",
                                "choose another name")
            self.beside.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.beside / ".lock")
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout as error:
                raise DataError(called, "must not be in use", "another run that is still going",
                                "wait for it, or choose another name") from error
        except OSError as error:
            raise DataError(called, "must be a folder that can be written", error.strerror or type(error).__name__,
                            "choose another place") from error
        try:
            yield self._claim(recipe, called)
        finally:
            lock.release()

    def _claim(self, recipe: Recipe, called: str) -> int:
        mark = self.beside / "digest"
        if mark.is_file() and mark.read_text() != recipe.digest:
            raise DataError(called, "must be new, or hold a run of the same recipe", "a run of another recipe",
                            "choose another name, or delete the folder")
        if (self.beside / EVALUATION).is_file():
            raise DataError(called, "must be new, or hold a run that was stopped", "a finished run",
                            "use it as a model, or choose another name")
        (self.beside / RECIPE).write_text(recipe.as_yaml(), encoding="utf-8")
        mark.write_text(recipe.digest)
        step = self.last_step()
        self._trim_log(step)
        return step

    def last_step(self) -> int:
        """Step of the last whole checkpoint, 0 when there is none."""
        steps = [int(p.name.removeprefix("checkpoint-")) for p in (self.beside / CHECKPOINTS).glob("checkpoint-*")
                 if p.name.removeprefix("checkpoint-").isdigit() and (p / "trainer_state.json").is_file()]
        return max(steps, default=0)

    def checkpoint(self, step: int) -> Path:
        return self.beside / CHECKPOINTS / f"checkpoint-{step}"

    def append(self, line: Mapping[str, Any]) -> None:
        """Adds one line to the log."""
        _append(self.beside / LOG, line)

    def log(self) -> list[dict[str, Any]]:
        """The log's lines; a last line cut by a kill is left out."""
        return _lines(self.beside / LOG)

    def append_step(self, step: int, loss: float, seconds: float) -> None:
        """Notes the loss of a step and how long the step took."""
        _append(self.beside / STEPS, {"step": step, "loss": loss, "seconds": round(seconds, 4)})

    def steps(self) -> list[dict[str, Any]]:
        """What ``append_step`` noted, in order."""
        return _lines(self.beside / STEPS)

    def keep_views(self, step: int, arrays: Mapping[str, np.ndarray[Any, Any]], words: Mapping[str, Any]) -> None:
        """Writes what is drawn of a probe: arrays of this step, and texts and tokens, which are the same at each."""
        folder = self.beside / PROBES
        folder.mkdir(exist_ok=True)
        new = folder / f".{step}.tmp"
        with new.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(new, folder / f"{step}.npz")
        new.write_text(json.dumps(dict(words), ensure_ascii=False), encoding="utf-8")
        os.replace(new, folder / TOKENS)

    def views(self, step: int) -> dict[str, np.ndarray[Any, Any]] | None:
        """The arrays of a step's probe; None where there are none, or the file is torn."""
        try:
            with np.load(self.beside / PROBES / f"{step}.npz", allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def words(self) -> dict[str, Any]:
        """Texts and tokens of the probe; empty where they cannot be read."""
        try:
            found = json.loads((self.beside / PROBES / TOKENS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def finish(self, evaluation: Mapping[str, Any]) -> None:
        """Writes the evaluation, which marks the run as finished, and removes what only a resume would need."""
        (self.beside / EVALUATION).write_text(json.dumps(evaluation, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        shutil.rmtree(self.beside / CHECKPOINTS, ignore_errors=True)

    def _trim_log(self, step: int) -> None:
        """Drops what was logged after the checkpoint from which the run goes on, since those steps come again."""
        for file, lines in ((LOG, self.log()), (STEPS, self.steps())):
            kept = [line for line in lines if line.get("step", 0) <= step] if step else []
            (self.beside / file).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept), encoding="utf-8")


def _append(file: Path, line: Mapping[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")


def _lines(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            one = json.loads(line)
        except ValueError:
            break
        if not isinstance(one, dict):
            break
        found.append(one)
    return found
