"""Tables that stand beside measured cuts: what was published for MIC, and our nano family over its seeds."""

from __future__ import annotations

import csv
from functools import cache
from typing import NamedTuple

from components.corpora import DATA_DIR

PUBLISHED = DATA_DIR / "reference" / "mic_bert_base.csv"
SEEDS, DIFFERENCES = DATA_DIR / "nano" / "seeds.csv", DATA_DIR / "nano" / "differences.csv"
DIMS = (16, 32, 64)
METHODS = ("simcse", "mrl", "ese", "mic")


class PublishedRow(NamedTuple):
    """One task at one dim; None where nothing was published."""

    task: str
    metric: str
    dim: int
    simcse: float | None
    mrl: float | None
    ese: float | None
    mic: float | None


@cache
def published_mic() -> tuple[PublishedRow, ...]:
    """Every published task at every one of ``DIMS``, as published, in per cent."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = {(row["task"], int(row["dim"])): row for row in rows}
    tasks = dict.fromkeys((row["task"], row["metric"]) for row in rows)
    return tuple(PublishedRow(task, metric, dim, *(float(row[name]) if (row := known.get((task, dim))) and row[name] else None
                                                   for name in METHODS))
                 for task, metric in tasks for dim in DIMS)


class Seeds(NamedTuple):
    """A quantity over seeds; without ends where all seeds share one model."""

    value: float
    low: float | None
    high: float | None
    n: int


@cache
def seeds() -> dict[tuple[str, str], Seeds]:
    """(model, quantity) -> its mean over the five seeds with a Student interval."""
    with SEEDS.open(encoding="utf-8", newline="") as file:
        return {(row["model"], row["quantity"]): Seeds(float(row["mean"]), _end(row["low"]), _end(row["high"]),
                                                       sum(name.startswith("seed_") for name in row))
                for row in csv.DictReader(file)}


class SeedDifference(NamedTuple):
    """What one model has more than another; intervals over seeds, and over questions for retrieval."""

    value: float
    seeds: tuple[float, float] | None
    questions: tuple[float, float] | None


@cache
def seed_differences() -> dict[tuple[str, str, str], SeedDifference]:
    """(model, other, quantity) -> the difference."""
    with DIFFERENCES.open(encoding="utf-8", newline="") as file:
        return {(row["model"], row["minus"], row["quantity"]):
                SeedDifference(float(row["mean"]), _ends(row, "seeds"), _ends(row, "questions")) for row in csv.DictReader(file)}


def _end(cell: str) -> float | None:
    return None if cell in ("", "none") else float(cell)


def _ends(row: dict[str, str], over: str) -> tuple[float, float] | None:
    low, high = _end(row[f"low_over_{over}"]), _end(row[f"high_over_{over}"])
    return None if low is None or high is None else (low, high)
