"""Per-layer curves that the paper's authors published, read from ``data/reference``: facts, with their source in data/README."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from components.corpora import DATA_DIR

CURVES = DATA_DIR / "reference" / "paper_layer_curves.csv"


@cache
def layer_curves() -> Mapping[str, Mapping[str, tuple[tuple[int, float], ...]]]:
    """quantity -> model id -> (layer, value), layers rising; means over texts, without intervals."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    with CURVES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["quantity"], {}).setdefault(row["model_id"], []).append((int(row["layer"]), float(row["value"])))
    return MappingProxyType({quantity: MappingProxyType({model: tuple(sorted(points)) for model, points in models.items()})
                             for quantity, models in found.items()})
