"""The Training page in words: what changed and what did not, judged by what the seeds alone do."""

from __future__ import annotations

from collections.abc import Sequence

from app.training_data import Run
from components.charts.style import caption_number
from components.seed_spread import seed_ranges, within_seeds
from components.types import Interval

BEFORE = "before training"


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
        moved: list[str] = []
        same: list[str] = []
        unjudged: list[str] = []
        for words, name in names.items():
            first, now = run.at(0, name), run.at(at, name)
            if first is None or now is None:
                continue
            within = within_seeds(now.value - first.value, (run.name,), name)
            change = f"{words} from {caption_number(first.value)} to {caption_number(now.value)}{_overlap(first, now)}"
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


def _overlap(one: Interval, other: Interval) -> str:
    """Says where chance of the texts or questions alone could explain a difference that the seeds do not."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return ""
    apart = one.high < other.low or other.high < one.low
    return "" if apart else f" (their intervals over {one.of} overlap)"


def _difference(runs: Sequence[Run], step: int, names: dict[str, str]) -> str:
    if len(runs) < 2:
        return ""
    one, other = runs
    steps = [int(run.rec.line(step)["step"]) for run in runs]
    if steps[0] != steps[1]:
        return f"The two runs are not compared: one stands at step {steps[0]}, the other at {steps[1]}."
    apart: list[str] = []
    alike: list[str] = []
    for words, name in names.items():
        a, b = one.at(step, name), other.at(step, name)
        if a is None or b is None:
            continue
        within = within_seeds(a.value - b.value, (one.name, other.name), name)
        if within is None:
            continue
        gap = a.value - b.value
        sign = "+" if gap > 0 else "−"
        (alike if within else apart).append(words if within else f"{words} {sign}{caption_number(abs(gap))}{_overlap(a, b)}")
    parts = [f"{one.title} minus {other.title} at step {steps[0]}: {', '.join(apart)}" if apart else "",
             f"no difference beyond the seeds' spread between {one.title} and {other.title}: {', '.join(alike)}" if alike else ""]
    return " ".join(part[0].upper() + part[1:] + "." for part in parts if part)


def spread_words(run: Run, name: str) -> str:
    """The yardstick of a figure, for a help text."""
    found = seed_ranges().get((run.name, name))
    return f"{found[1]} recorded seeds of {run.title} differ by {caption_number(found[0])}." if found else \
        "No seeds are recorded for this recipe."
