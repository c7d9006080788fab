"""What the Training page shows, put together from a run's record: curves, views at a step, what changed and what did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from app import resources
from app.job import JobSnapshot
from app.settings import settings
from app.state import watcher
from components.charts.layer_panels import BACKBONE, TUNED, Line, Panel
from components.charts.style import caption_number, interval_text
from components.charts.training_curves import MEASURED, REFERENCE, STEPWISE, Curve, CurvePanel
from components.errors import DataError, PoolscopeError
from components.seed_spread import seed_ranges, within_seeds
from components.token_pair import Projection
from components.training_record import TrainingRecord, quantity, read_record
from components.training_runs import RunPlace, check_room, remove_run
from components.types import FINAL, FloatArray, Interval

RECORDED = "recorded"
TITLES = {"contrastive": "Contrastive", "mrl": "Matryoshka (MRL)", "mic": "MIC"}
TERMS = {"total": "Loss on the probe", "mrl": "Matryoshka part", "scr": "SCR (spectrum)", "sir": "SIR (prefix and residual)",
         "correlation": "Mean |C|, prefix and residual", "variance": "Variance term", "cv": "CV of variances",
         "uniformity": "Uniformity"}
AXES = ("From mean to mean", "Where the covariances differ most")


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
        return TITLES.get(self.name, self.name)

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
        place = resources.run_place(name, 0 if seed == RECORDED else int(seed))
    except PoolscopeError as error:
        return Run(name, seed, colour, None, None, None, "gone", str(error))
    if seed == RECORDED:
        try:
            return Run(name, seed, colour, place, resources.recorded_run(place.key.digest, place.key), None, "recorded")
        except resources.NotStored:
            return Run(name, seed, colour, place, None, None, "none", "No run of this recipe was recorded; choose a seed and train it.")
    job = resources.training_jobs().get(place.key.digest)
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
    args = {"name": run.name, "file": str(resources.recipe_names()[run.name].absolute()), "seed": run.place.seed,
            "device": settings().device}
    resources.training_jobs().submit("training_run", args, run.place.key.digest, watcher())


def stop(run: Run) -> None:
    """Stops the run after its present step, whose weights are kept."""
    assert run.place is not None
    resources.training_jobs().stop(run.place.key.digest)


def remove(run: Run) -> None:
    """Removes the run's folder."""
    assert run.place is not None
    remove_run(run.place)


def _curve(run: Run, name: str, kind: str = MEASURED, words: str = "") -> Curve:
    found = [(line["step"], value) for line in run.rec.lines if (value := quantity(line, name)) is not None]
    none = np.nan
    ends = [(none if v.low is None else v.low, none if v.high is None else v.high) for _, v in found]
    return Curve(run.title, run.colour, kind, np.array([step for step, _ in found], dtype=np.int64),
                 np.array([v.value for _, v in found], dtype=float), np.array([low for low, _ in ends], dtype=float),
                 np.array([high for _, high in ends], dtype=float), words)


def _stepwise(run: Run) -> Curve:
    record, none = run.rec, np.full(len(run.rec.steps), np.nan)
    return Curve(run.title, run.colour, STEPWISE, record.steps, record.losses, none, none)


def panels(runs: Sequence[Run]) -> list[CurvePanel]:
    """The page's own panels."""
    small, full = runs[0].dims
    d_sigma = [curve for run in runs for curve in (
        _curve(run, "mean_d_sigma"), _curve(run, "socm_within", REFERENCE, "halves of one text"),
        _curve(run, "socm_between", REFERENCE, "halves of two texts"))]
    return [CurvePanel("Training loss", tuple(_stepwise(run) for run in runs), "No step yet"),
            CurvePanel("Mean SOCM", tuple(_curve(run, "mean_socm") for run in runs)),
            CurvePanel("Mean covariance distance d<sub>Σ</sub>".replace("<sub>Σ</sub>", "Σ"), tuple(c for c in d_sigma if len(c.steps))),
            CurvePanel(f"Recall@10, {small} dims", tuple(_curve(run, f"recall_at_10_dim_{small}") for run in runs)),
            CurvePanel(f"Recall@10, {full} dims (all)", tuple(_curve(run, f"recall_at_10_dim_{full}") for run in runs)),
            CurvePanel(f"Effective dims of {full}, by axes", tuple(_curve(run, f"effective_dims_axes_dim_{full}") for run in runs))]


def layer_curves(runs: Sequence[Run]) -> list[CurvePanel]:
    """Normalised spread over the steps, a panel for each layer."""
    return [CurvePanel(f"Normalised spread, layer {layer}", tuple(_curve(run, f"normalized_spread_layer_{layer}") for run in runs))
            for layer in runs[0].layers]


def term_curves(runs: Sequence[Run]) -> list[CurvePanel]:
    """The loss on the probe's pairs and its terms, measured for every loss."""
    made = [CurvePanel(words, tuple(_curve(run, f"loss_{term}") for run in runs)) for term, words in TERMS.items()]
    return [panel for panel in made if any(len(curve.steps) for curve in panel.curves)]


def layer_profile(runs: Sequence[Run], step: int) -> tuple[Panel, float]:
    """Normalised spread by layer before training and at the step, and the axis's end for all steps."""
    def line(run: Run, at: int, role: str, name: str, colour: int) -> Line:
        spread = run.rec.line(at)["spread"]
        return Line(name, role, colour, tuple(int(layer) for layer in run.layers), np.array([float(x) for x in run.layers]),
                    tuple(Interval(**spread[layer]) for layer in run.layers))

    lines = [line(runs[0], 0, BACKBONE, "before training", 3), *(line(run, step, TUNED, run.title, run.colour) for run in runs)]
    high = max(float(one["spread"][layer]["high"] or one["spread"][layer]["value"]) for run in runs for one in run.rec.lines
               for layer in run.layers)
    return Panel("Normalised spread S/‖μ‖²", tuple(lines)), 1.04 * high


@dataclass(frozen=True)
class Drawn:
    """The pairs of a probe at a step, with ranges that hold at all steps of all runs shown."""

    d_mu: FloatArray
    d_sigma: FloatArray
    mu_range: tuple[float, float]
    sigma_range: tuple[float, float]
    socm_range: tuple[float, float]


def drawn_pairs(run: Run, runs: Sequence[Run], step: int) -> Drawn | None:
    """What the small map shows; None where that step's file cannot be read."""
    now = run.rec.views.get(int(run.rec.line(step)["step"]))
    if now is None:
        return None
    every = [(np.asarray(view["d_mu"], float), np.asarray(view["d_sigma"], float)) for one in runs for view in one.rec.views.values()]
    mu, sigma = np.concatenate([a for a, _ in every]), np.concatenate([b for _, b in every])
    socm = (1 - mu) * sigma

    def around(values: FloatArray) -> tuple[float, float]:
        low, high = float(values.min()), float(values.max())
        return low - 0.02 * (high - low or 1), high + 0.02 * (high - low or 1)

    return Drawn(np.asarray(now["d_mu"], float), np.asarray(now["d_sigma"], float), around(mu), around(sigma),
                 (float(socm.min()), float(socm.max())))


def top_pairs(run: Run, step: int, most: int = 5) -> pd.DataFrame:
    """The pairs of largest SOCM at the step, with their texts."""
    view, texts = run.rec.views.get(int(run.rec.line(step)["step"])), run.rec.words.get("texts", [])
    if view is None or not texts:
        return pd.DataFrame()
    mu, sigma = np.asarray(view["d_mu"], float), np.asarray(view["d_sigma"], float)
    best = np.argsort(-(1 - mu) * sigma, kind="stable")[:most]
    return pd.DataFrame({"SOCM": ((1 - mu) * sigma)[best], "d_mu": mu[best], "d_sigma": sigma[best],
                         "text A": [texts[int(view["pair_i"][k])] for k in best],
                         "text B": [texts[int(view["pair_j"][k])] for k in best]})


def pairs_shown(run: Run) -> list[str]:
    """The pairs whose tokens are kept, in words."""
    texts = run.rec.words.get("texts", [])
    cut = [text if len(text) <= 60 else text[:59].rstrip() + "…" for text in texts]
    return [f"{cut[2 * k]} | {cut[2 * k + 1]}" for k in range(len(run.rec.words.get("tokens", [])) // 2)]


@dataclass(frozen=True)
class Tokens:
    """A pair's tokens at a step: their plane, words, shares of spread, the pair's numbers, and the span for all steps."""

    plane: Projection
    words: tuple[list[str], list[str]]
    shares: tuple[FloatArray, FloatArray]
    d_mu: float | None
    d_sigma: float | None
    span: float


def pair_tokens(run: Run, runs: Sequence[Run], step: int, number: int) -> Tokens | None:
    """The tokens of a pair shown; None where that step's file cannot be read or the pair had no plane."""
    view = run.rec.views.get(int(run.rec.line(step)["step"]))
    sides = [f"plane_{number}_{side}" for side in "ab"]
    if view is None or sides[0] not in view:
        return None
    tokens = run.rec.words["tokens"]
    plane = Projection("Means and covariances", np.eye(2), *(np.asarray(view[side], float) for side in sides), None, AXES)
    every = [np.concatenate([np.asarray(other[side], float) for side in sides]) for one in runs for other in one.rec.views.values()
             if sides[0] in other]
    span = 1.15 * max(float((points.max(axis=0) - points.min(axis=0)).max()) for points in every)
    at = np.flatnonzero((np.asarray(view["pair_i"]) == 2 * number) & (np.asarray(view["pair_j"]) == 2 * number + 1))
    numbers = (float(view["d_mu"][at[0]]), float(view["d_sigma"][at[0]])) if len(at) else (None, None)
    return Tokens(plane, (tokens[2 * number], tokens[2 * number + 1]),
                  (np.asarray(view[f"share_{number}_a"], float), np.asarray(view[f"share_{number}_b"], float)), *numbers, span)


def verdict(run: Run, name: str, step: int) -> str:
    """How a figure at a step stands to the one before training, judged by the recorded seeds."""
    first, now = run.at(0, name), run.at(step, name)
    if first is None or now is None:
        return "not measured"
    if run.rec.line(step)["step"] == run.rec.lines[0]["step"]:
        return "before training"
    within = within_seeds(now.value - first.value, (run.name,), name)
    return {None: "change not judged: no recorded seeds", True: "no change: within the seeds' spread",
            False: "changed beyond the seeds' spread"}[within]


def finding(runs: Sequence[Run], step: int) -> str:
    """What the steps up to this one did, and how the two runs differ, in sentences that follow from the numbers."""
    run = runs[0]
    small, full = run.dims
    at = int(run.rec.line(step)["step"])
    names = {"mean SOCM": "mean_socm", f"Recall@10 at {small} dims": f"recall_at_10_dim_{small}",
             f"Recall@10 at {full}": f"recall_at_10_dim_{full}",
             "normalised spread in the last layer": f"normalized_spread_layer_{run.layers[-1]}"}
    if at == int(run.rec.lines[0]["step"]):
        said = "Nothing has been trained yet at this step; move the slider on."
    else:
        moved, same, unjudged = [], [], []
        for words, name in names.items():
            first, now = run.at(0, name), run.at(at, name)
            if first is None or now is None:
                continue
            within = within_seeds(now.value - first.value, (run.name,), name)
            change = f"{words} from {caption_number(first.value)} to {caption_number(now.value)}"
            {True: same, False: moved, None: unjudged}[within].append(change)
        parts = []
        if moved:
            parts.append(f"{at} steps of {run.title} took {'; '.join(moved)}: more than the recorded seeds differ by")
        if same:
            parts.append(f"no change, within the spread of the recorded seeds: {'; '.join(same)}")
        if unjudged:
            parts.append(f"{at} steps took {'; '.join(unjudged)}; no seeds are recorded for this recipe to judge it by")
        said = ". ".join(part[0].upper() + part[1:] for part in parts) + "."
    return f"{said} {_difference(runs, step, names)}".strip()


def _difference(runs: Sequence[Run], step: int, names: dict[str, str]) -> str:
    if len(runs) < 2:
        return ""
    one, other = runs
    steps = [int(run.rec.line(step)["step"]) for run in runs]
    if steps[0] != steps[1]:
        return f"The two runs are not compared: one stands at step {steps[0]}, the other at {steps[1]}."
    apart, alike = [], []
    for words, name in names.items():
        a, b = one.at(step, name), other.at(step, name)
        if a is None or b is None:
            continue
        within = within_seeds(a.value - b.value, (one.name, other.name), name)
        if within is None:
            continue
        gap = a.value - b.value
        (alike if within else apart).append(words if within else f"{words} {'+' if gap > 0 else '−'}{caption_number(abs(gap))}")
    parts = [f"{one.title} minus {other.title} at step {steps[0]}: {', '.join(apart)}" if apart else "",
             f"no difference beyond the seeds' spread between {one.title} and {other.title}: {', '.join(alike)}" if alike else ""]
    return " ".join(part[0].upper() + part[1:] + "." for part in parts if part)


def spread_words(run: Run, name: str) -> str:
    """The yardstick of a figure, for a help text."""
    found = seed_ranges().get((run.name, name))
    return f"{found[1]} recorded seeds of {run.title} differ by {caption_number(found[0])}." if found else \
        "No seeds are recorded for this recipe."


def long_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Every figure of every probe, and the loss of every step: run, seed, step, quantity, value, low, high."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        own = {"run": run.name, "seed": int(run.rec.recipe["seed"])}
        dims = run.rec.lines[0]["dims"]
        names = ["mean_socm", "mean_d_mu", "mean_d_sigma", "socm_within", "socm_between", "socm_ratio",
                 *(f"normalized_spread_layer_{layer}" for layer in run.rec.lines[0]["spread"]),
                 *(f"effective_dims_axes_dim_{dim}" for dim in dims), *(f"recall_at_10_dim_{dim}" for dim in dims),
                 *(f"loss_{term}" for term in TERMS)]
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
