"""How far seeds alone move a figure: the range over the recorded seeds of the nano family, the yardstick for "no change"."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from components.corpora import DATA_DIR

SEEDS = DATA_DIR / "nano" / "seeds.csv"


@cache
def seed_ranges() -> Mapping[tuple[str, str], tuple[float, int]]:
    """(model, quantity) -> largest minus smallest value over the seeds, and how many seeds.

    What all seeds share (the backbone, which has no chance of its own) is left out.
    """
    found = {}
    with SEEDS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values = [float(value) for name, value in row.items() if name.startswith("seed_")]
            if max(values) > min(values):
                found[row["model"], row["quantity"]] = (max(values) - min(values), len(values))
    return MappingProxyType(found)


def within_seeds(change: float, models: tuple[str, ...], quantity: str) -> bool | None:
    """Whether a change is no larger than the widest range over seeds of the models; None where no seeds are recorded.

    Args:
        change: one figure minus another.
        models: kinds of the family (contrastive, mrl, mic) that the figures belong to.
        quantity: as in data/nano/seeds.csv.
    """
    ranges = [seed_ranges().get((model, quantity)) for model in models]
    known = [found[0] for found in ranges if found is not None]
    return abs(change) <= max(known) if known and len(known) == len(ranges) else None
