"""A training run as it is looked at: what its folder holds so far, or what was recorded of it once.

Both are one thing to a page. Nothing here knows the trainer, so that a server can follow a run that another process makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from components.errors import DataError
from components.recipes import parse_recipe
from components.training_folder import EVALUATION, RECIPE, RunFolder
from components.types import FloatArray, IntArray, Interval

RECENT = 20
"""Steps whose seconds say how long the next ones take."""


@dataclass(frozen=True)
class TrainingRecord:
    """One run, whole or as far as it has come.

    Attributes:
        recipe: as JSON.
        lines: the probes' figures in order of step, each as ``probe.measure`` gives it with step, loss and seconds.
        steps, losses, seconds: (n,) each step's number, training loss and duration.
        views: step -> arrays of ``probe_views``; a step whose file was torn is missing.
        words: "texts" and "tokens" of the probe.
        finished: whether the run has ended as it should.
        stopped: why it ended otherwise, where the log says so.
    """

    recipe: Mapping[str, Any]
    lines: tuple[Mapping[str, Any], ...]
    steps: IntArray
    losses: FloatArray
    seconds: FloatArray
    views: Mapping[int, Mapping[str, Any]]
    words: Mapping[str, Any]
    finished: bool
    stopped: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Steps that the recipe asks for."""
        return int(self.recipe["steps"])

    @property
    def probed(self) -> tuple[int, ...]:
        """Steps at which the probe was measured."""
        return tuple(int(line["step"]) for line in self.lines)

    def line(self, step: int) -> Mapping[str, Any]:
        """The figures at a step, or at the last probed one before it."""
        return next((line for line in reversed(self.lines) if line["step"] <= step), self.lines[0])

    def seconds_left(self) -> float | None:
        """What is left at the rate of the last steps and of the last probe; None before a step was measured."""
        if not len(self.seconds) or not self.lines:
            return None
        done, every = int(self.steps[-1]), int(self.recipe["probe"]["every"])
        probes = len({*range(every, self.total + 1, every), self.total} - set(self.probed) - set(range(done)))
        return float((self.total - done) * np.median(self.seconds[-RECENT:]) + probes * float(self.lines[-1].get("seconds", 0)))


def read_record(folder: RunFolder) -> TrainingRecord | None:
    """What a run's folder holds; None where nothing was measured yet.

    Raises:
        DataError: the folder is half written or was changed by another hand.
    """
    file = folder.beside / RECIPE
    if not folder.path.is_dir():
        return None
    try:
        recipe = parse_recipe(file.read_text(encoding="utf-8"), f"run {folder.path.name}").model_dump(mode="json")
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(folder, "no recipe that can be read") from error
    log = folder.log()
    lines = tuple(line for line in log if "socm" in line)
    if not all(_whole(line) for line in lines):
        raise _damaged(folder, "a log line without its figures")
    lines = tuple(sorted({int(line["step"]): line for line in lines}.values(), key=lambda line: int(line["step"])))
    steps = [line for line in folder.steps() if {"step", "loss", "seconds"} <= line.keys()]
    views = {int(line["step"]): found for line in lines if (found := folder.views(int(line["step"]))) is not None}
    stopped = next((str(line["stopped"]) for line in reversed(log) if "stopped" in line), "")
    return TrainingRecord(recipe, lines, np.array([line["step"] for line in steps], dtype=np.int64),
                          np.array([line["loss"] for line in steps], dtype=np.float64),
                          np.array([line["seconds"] for line in steps], dtype=np.float64), views, folder.words(),
                          (folder.beside / EVALUATION).is_file(), stopped)


def _whole(line: Mapping[str, Any]) -> bool:
    return isinstance(line.get("step"), int) and all(isinstance(line.get(name), dict) for name in ("socm", "spread", "dims"))


def _damaged(folder: RunFolder, found: str) -> DataError:
    return DataError(f"the run {folder.path.name}", "must hold its recipe and its log", found, "remove it and start it again")


def as_stored(record: TrainingRecord) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and meta of a finished run, for the store; pairs' distances in float16, to be drawn only.

    A relative rounding of 5e-4, a third of a pixel; every number in words comes from the lines, which are kept as they are.
    """
    first = record.views[record.probed[0]]
    arrays: dict[str, Any] = {"steps": record.steps, "losses": record.losses, "seconds": record.seconds,
                              **{name: first[name].astype(np.int16) for name in ("pair_i", "pair_j")}}
    for step in record.probed:
        arrays |= {f"at_{step}_{name}": value.astype(np.float16) for name, value in record.views[step].items()
                   if name not in ("pair_i", "pair_j")}
    return arrays, {"recipe": dict(record.recipe), "lines": list(record.lines), "words": dict(record.words),
                    "finished": record.finished}


def from_stored(arrays: Mapping[str, Any], meta: Mapping[str, Any], about: Mapping[str, Any]) -> TrainingRecord:
    """The run that ``as_stored`` was made from."""
    pairs = {name: arrays[name].astype(np.int64) for name in ("pair_i", "pair_j")}
    views = {int(line["step"]): {**pairs, **{name.split("_", 2)[2]: value.astype(np.float32) for name, value in arrays.items()
                                             if name.startswith(f"at_{line['step']}_")}} for line in meta["lines"]}
    return TrainingRecord(meta["recipe"], tuple(meta["lines"]), arrays["steps"], arrays["losses"], arrays["seconds"], views,
                          meta["words"], bool(meta["finished"]), about=dict(about))


def quantity(line: Mapping[str, Any], name: str) -> Interval | None:
    """One of a probe's figures; None where it was not measured.

    Args:
        line: of ``TrainingRecord.lines``.
        name: as in data/nano/seeds.csv: mean_socm, mean_d_sigma, socm_ratio, normalized_spread_layer_L,
            effective_dims_axes_dim_D, recall_at_10_dim_D, or loss_T for a term of the loss.
    """
    references = line.get("references") or {}
    if name.startswith("normalized_spread_layer_"):
        found = line["spread"].get(name.removeprefix("normalized_spread_layer_"))
    elif name.startswith("recall_at_10_dim_"):
        found = ((line.get("retrieval") or {}).get(name.removeprefix("recall_at_10_dim_")) or {}).get("recall")
    elif name.startswith("effective_dims_axes_dim_"):
        found = (line["dims"].get(name.removeprefix("effective_dims_axes_dim_")) or [None, None])[1]
    elif name.startswith("loss_"):
        found = (line.get("loss") or {}).get(name.removeprefix("loss_"))
    else:
        found = {"mean_socm": line["socm"], "mean_d_mu": line.get("d_mu"), "mean_d_sigma": line.get("d_sigma"),
                 "socm_within": references.get("within"), "socm_between": references.get("between"),
                 "socm_ratio": references.get("ratio")}.get(name)
    if found is None:
        return None
    return Interval(**found) if isinstance(found, Mapping) else Interval(float(found), None, None, 0, "")
