"""What the paper's authors published, read from ``data/reference``: facts, with their source in data/README."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from components.corpora import DATA_DIR

CURVES = DATA_DIR / "reference" / "paper_layer_curves.csv"
MODELS = DATA_DIR / "reference" / "paper_models.csv"
BACKBONE, CONTRASTIVE = "backbone", "contrastive"
TEXT_SETS = ("wiki", "msmarco", "hard_negatives")


@dataclass(frozen=True)
class PublishedModel:
    """One of the paper's twelve models.

    Attributes:
        model_id, family, kind: kind is "backbone" or "contrastive".
        socm: text set -> mean SOCM as published (biased low, see data/README).
        last_spread: normalised spread at the last layer, where its curve was published.
        mteb: mean score of MTEB(eng, v2), a fraction, read off a figure (+-0.001).
    """

    model_id: str
    family: str
    kind: str
    socm: Mapping[str, float]
    last_spread: float | None
    mteb: float

    @property
    def short(self) -> str:
        """The id without its owner."""
        return self.model_id.rsplit("/", 1)[-1]


@cache
def models() -> tuple[PublishedModel, ...]:
    """The twelve, in the file's order: each family's backbone first."""
    spread = layer_curves()["normalized_spread"]
    with MODELS.open(encoding="utf-8", newline="") as file:
        return tuple(PublishedModel(row["model_id"], row["family"], row["kind"],
                                    MappingProxyType({name: float(row[f"mean_socm_{name}"]) for name in TEXT_SETS}),
                                    spread[row["model_id"]][-1][1] if row["model_id"] in spread else None,
                                    float(row["mteb_eng_v2"])) for row in csv.DictReader(file))


@cache
def layer_curves() -> Mapping[str, Mapping[str, tuple[tuple[int, float], ...]]]:
    """quantity -> model id -> (layer, value), layers rising; means over texts, without intervals."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    with CURVES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["quantity"], {}).setdefault(row["model_id"], []).append((int(row["layer"]), float(row["value"])))
    return MappingProxyType({quantity: MappingProxyType({model: tuple(sorted(points)) for model, points in models.items()})
                             for quantity, models in found.items()})
