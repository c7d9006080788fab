"""The runs that the Training page shows, where they stand, and what starts, stops and removes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from app import resources, training_resources
from app.job import JobSnapshot
from app.settings import settings
from app.state import watcher
from components.charts.style import interval_text
from components.errors import DataError, PoolscopeError
from components.training_record import TrainingRecord, quantity, read_record
from components.training_runs import MOST_RUNS, SEEDS, RunPlace, check_room, remove_run
from components.types import FINAL, Interval

__all__ = ["MOST_RUNS", "SEEDS", "Run", "load"]

RECORDED = "recorded"
TITLES = {"contrastive": "Contrastive", "mrl": "MRL", "mic": "MIC"}
"""Names on screen and in links; other recipes keep their own."""


@dataclass(frozen=True)
class Run:
    """One run that the page shows.

    Attributes:
        name: of its recipe. seed: "recorded" or a number. colour: its place among those shown.
        place: where it lies; None where its recipe cannot be read. record: what there is of it so far.
        job: the latest in this server's life; None for none.
        state: "recorded", "none", "queued", "running", "finished", "stopped", "changed", "damaged" or "gone".
        problem: what is wrong, as a sentence.
    """

    name: str
    seed: str
    colour: int
    place: RunPlace | None
    record: TrainingRecord | None
    job: JobSnapshot | None
    state: str
    problem: str = ""

    @property
    def title(self) -> str:
        """Its name on screen."""
        return title_of(self.name)

    @property
    def active(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def shown(self) -> bool:
        """Whether there is anything to draw."""
        return self.record is not None and bool(self.record.lines)

    @property
    def rec(self) -> TrainingRecord:
        assert self.record is not None
        return self.record

    @property
    def dims(self) -> tuple[str, str]:
        """The truncation dim looked at (16 where it was probed, else the smallest) and the full one."""
        there = sorted(map(int, self.rec.lines[0]["dims"]))
        return str(16 if 16 in there else there[0]), str(there[-1])

    @property
    def layers(self) -> list[str]:
        """Layers by number, as text, without "final"."""
        return [layer for layer in self.rec.lines[0]["spread"] if layer != FINAL]

    def at(self, step: int, name: str) -> Interval | None:
        return quantity(self.rec.line(step), name)


def load(name: str, seed: str, colour: int) -> Run:
    """The run of a recipe and a seed in its present state; what is wrong with it becomes its ``problem``."""
    try:
        place = training_resources.run_place(name, 0 if seed == RECORDED else int(seed))
    except PoolscopeError as error:
        return Run(name, seed, colour, None, None, None, "gone", str(error))
    if seed == RECORDED:
        try:
            return Run(name, seed, colour, place, training_resources.recorded_run(place.key.digest, place.key), None, "recorded")
        except resources.NotStored:
            return Run(name, seed, colour, place, None, None, "none", "No run of this recipe was recorded; choose a seed and train it.")
    job = training_resources.training_jobs().get(place.key.digest)
    now = job.snapshot() if job is not None else None
    state = place.state
    if now is not None and now.active:
        state = now.state
    if state == "changed":
        return Run(name, seed, colour, place, None, now, state, "This run was made by an earlier version of the recipe or from other "
                   "files, so it cannot go on; remove it and start it again.")
    try:
        if state == "damaged":
            raise DataError(f"the run {place.folder.path.name}", "must hold its recipe and its log", "a folder half written",
                            "remove it and start it again")
        record = read_record(place.folder) if state != "none" and place.folder.path.is_dir() else None
    except DataError as error:
        if now is not None and now.active:  # it is just being written
            return Run(name, seed, colour, place, None, now, state)
        return Run(name, seed, colour, place, None, now, "damaged", str(error))
    failed = now.sentence if now is not None and now.state == "failed" else ""
    return Run(name, seed, colour, place, record, now, state, failed)


def start(run: Run) -> None:
    """Queues the run, from its start or from its last checkpoint.

    Raises:
        DataError: training is switched off, too many runs lie here, or too many wait.
    """
    if not settings().training:
        raise DataError("training", "must be allowed on this server", "POOLSCOPE_TRAINING is off", "look at a recorded run")
    assert run.place is not None
    check_room(run.place, settings().store)
    args = {"name": run.name, "file": str(training_resources.recipe_names()[run.name].absolute()), "seed": run.place.seed,
            "device": settings().device}
    training_resources.training_jobs().submit("training_run", args, run.place.key.digest, watcher())


def stop(run: Run) -> None:
    """Stops the run after its present step, whose weights are kept."""
    assert run.place is not None
    training_resources.training_jobs().stop(run.place.key.digest)


def remove(run: Run) -> None:
    """Removes the run's folder."""
    assert run.place is not None
    remove_run(run.place)


def model_link(run: Run) -> dict[str, str] | None:
    """What opens the finished run as a model on another page; None where it is no model."""
    folder = run.place.folder.path if run.place else None
    name = next((name for name, source in resources.model_names().items() if source == str(folder)), None)
    return None if name is None else {"model": name}


def title_of(name: str) -> str:
    """A recipe's name on screen."""
    return TITLES.get(name, name)


def made_of(runs: Sequence[Run]) -> str:
    """What the figures rest on: model, probe, and where each run was made."""
    record = runs[0].rec
    parts = [f"{record.recipe['model']}" if run.place is None else
             f"{run.title}: {run.place.key.model_id} (revision {run.place.key.model_revision.removeprefix('sha256:')[:10]}), seed "
             f"{run.rec.recipe['seed']}, {run.rec.recipe['batch']} pairs a step"
             + (f", recorded on {run.rec.about['created']}" if "created" in run.rec.about else "") for run in runs]
    return f"{'; '.join(parts)}. Probe: {record.lines[0]['probe']}."


def recipe_words(run: Run) -> str:
    """A run's recipe in a line."""
    recipe = run.rec.recipe
    dims = f"dims {', '.join(map(str, recipe['dims']))}" if recipe["dims"] else "no truncation dims"
    mic = f"; MIC's terms with gamma {recipe['mic']['gamma']:g}, tau {recipe['mic']['tau']:g}" if recipe["mic"] else ""
    pairs = str(recipe["pairs"]).rsplit("/", 1)[-1]
    return (f"{recipe['loss']}, temperature {recipe['temperature']:g}, {dims}{mic}; {recipe['steps']:,} steps of "
            f"{recipe['batch']} pairs of {pairs}, learning rate {recipe['lr']:g}, {recipe['pooling']} pooling.")


def about(runs: Sequence[Run], version: str) -> dict[str, Any]:
    """What an export was made from."""
    return {"runs": ", ".join(run.name for run in runs), "seeds": ", ".join(str(run.rec.recipe["seed"]) for run in runs),
            "model": runs[0].place.key.model_id if runs[0].place else "", "probe": runs[0].rec.lines[0]["probe"],
            "revision": runs[0].place.key.model_revision if runs[0].place else "", "poolscope": version}


def long_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Every figure of every probe, and the loss of every step: run, seed, step, quantity, value, low, high."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        own = {"run": run.name, "seed": int(run.rec.recipe["seed"])}
        dims = run.rec.lines[0]["dims"]
        names = ["mean_socm", "mean_d_mu", "mean_d_sigma", "socm_within", "socm_between", "socm_ratio",
                 *(f"normalized_spread_layer_{layer}" for layer in run.rec.lines[0]["spread"]),
                 *(f"effective_dims_axes_dim_{dim}" for dim in dims), *(f"recall_at_10_dim_{dim}" for dim in dims),
                 *(f"loss_{term}" for term in run.rec.lines[0].get("loss") or {})]
        for line in run.rec.lines:
            for name in names:
                if (found := quantity(line, name)) is not None:
                    rows.append({**own, "step": line["step"], "quantity": name, "value": found.value, "low": found.low,
                                 "high": found.high})
        rows += [{**own, "step": int(step), "quantity": "training_loss", "value": float(loss), "low": None, "high": None}
                 for step, loss in zip(run.rec.steps, run.rec.losses, strict=True)]
    return pd.DataFrame(rows).astype({"low": "Float64", "high": "Float64"})


def interval_words(found: Interval | None) -> str:
    """A figure with its interval and what it is over."""
    if found is None:
        return "not measured"
    return f"{interval_text(found.low, found.high)} over {found.n:,} {found.of}" if found.low is not None else ""
