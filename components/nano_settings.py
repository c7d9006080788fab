"""Which settings the nano family is tuned with: as many tried for each kind, compared on the development half alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from components.types import CancelEvent, Progress, no_progress

if TYPE_CHECKING:
    from components.nano import NanoText

KINDS = ("contrastive", "cls", "mrl", "mic")
STEPS, SEED = 200, 100
"""Of a trial: half a model's steps, and a seed that no reported model has."""


@dataclass(frozen=True)
class Setting:
    """What was compared; ``gamma`` is MIC's only."""

    lr: float
    temperature: float = 0.05
    gamma: float = 3.0


TRIED: Mapping[str, tuple[Setting, ...]] = MappingProxyType({
    **{kind: tuple(Setting(lr, temperature) for lr in (3e-4, 1e-3) for temperature in (0.05, 0.02))
       for kind in ("contrastive", "cls", "mrl")},
    "mic": tuple(Setting(lr, gamma=gamma) for lr in (3e-4, 1e-3) for gamma in (3.0, 20.0))})
"""Every setting tried for each kind."""
CHOSEN: Mapping[str, Setting] = MappingProxyType({kind: Setting(1e-3) for kind in KINDS})
"""The best of each kind by mean Recall@10 on the development half; data/nano/settings.csv holds all."""


def compare(out: Path, backbone: Path, text: NanoText, *, steps: int = STEPS, batch: int | None = None,
            progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> Iterator[dict[str, Any]]:
    """Trains every setting of ``TRIED`` for a few steps and measures it on the development half.

    Args:
        out: folder for the runs; the table is written to settings.csv in it. What is finished there is kept.
        backbone: the model that all start from.
        text: from ``nano.write_text``.

    Yields:
        Rows of the table: kind, lr, temperature, gamma, steps, seed, Recall@10 at each of the family's dims and their mean
        (by which a setting is chosen), mean SOCM, chosen.
    """
    from components.nano import BATCH, DIMS, recipe_of
    from components.training_folder import EVALUATION
    from components.training_pipeline import run_training

    rows: list[dict[str, Any]] = []
    for kind, settings in TRIED.items():
        for i, setting in enumerate(settings):
            folder = out / f"{kind}-{i}"
            done = folder / "training" / EVALUATION
            recipe = recipe_of(kind, backbone, text, seed=SEED, steps=steps, batch=batch or BATCH, every=steps, setting=setting)
            found = json.loads(done.read_text("utf-8")) if done.is_file() else \
                run_training(recipe, folder, progress=progress, cancelled=cancelled)
            recall = {f"recall_at_10_dim_{d}": found["after"]["retrieval"][str(d)]["recall"]["value"] for d in DIMS}
            rows.append({"kind": kind, "lr": setting.lr, "temperature": setting.temperature,
                         "gamma": setting.gamma if kind == "mic" else "none", "steps": steps, "seed": SEED, **recall,
                         "mean_recall": float(np.mean(list(recall.values()))), "mean_socm": found["after"]["socm"]["value"],
                         "chosen": setting == CHOSEN[kind]})
            with (out / "settings.csv").open("w", newline="", encoding="utf-8") as handle:
                writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            yield rows[-1]
