"""``poolscope nano table`` over made-up figures, and the recipes that come along."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from components.nano import DIMS
from components.nano_table import MODELS
from components.recipes import read_recipe
from components.training_pipeline import prepare
from tests.app.command import ROOT, call, refused

pytestmark = pytest.mark.usefixtures("place")
RECIPES = sorted((ROOT / "data" / "recipes").glob("*.yaml"))


def interval(value: float) -> dict[str, object]:
    return {"value": value, "low": None, "high": None, "n": 8, "of": "questions"}


def figures(socm: float, found: list[bool]) -> dict[str, object]:
    """What ``nano.evaluate`` writes, of eight questions with these hits at every dim."""
    return {"socm": interval(socm), "d_mu": interval(0.3), "d_sigma": interval(0.8), "references": {"ratio": interval(0.9)},
            "spread": {"0": interval(4.0), "final": interval(2.0)}, "n_texts": 12, "n_questions": 8,
            "retrieval": {str(d): {"recall": interval(float(np.mean(found))), "mrr": interval(0.2)} for d in DIMS},
            "graded": {str(d): interval(0.4) for d in DIMS}, "dims": {str(d): [d * 0.9, d * 0.5] for d in DIMS},
            "correlation": {str(d): {"special_tokens": 0.4, "without": 0.1} for d in DIMS[:-1]},
            "ranks": {str(d): [1 if hit else 99 for hit in found] for d in DIMS}}


@pytest.fixture
def families(place):
    for seed in range(3):
        for k, model in enumerate(MODELS):
            folder = place / f"seed{seed}" / f"nano-{model}" / "training"
            folder.mkdir(parents=True)
            socm = 0.6 if model == "backbone" else 0.5 - 0.1 * k + 0.01 * seed
            hits = [i < 2 + k for i in range(8)]
            (folder / "figures.json").write_text(json.dumps(figures(socm, hits)))
    return [f"seed{seed}" for seed in range(3)]


def rows(file) -> list[dict[str, str]]:
    with file.open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_means_intervals_and_differences_over_the_seeds(place, families):
    result = call("nano", "table", *families, "--out", "tables")
    assert result.code == 0 and "3 seeds" in result.out
    seeds = {(row["model"], row["quantity"]): row for row in rows(place / "tables" / "seeds.csv")}
    mrl = seeds["mrl", "mean_socm"]
    assert [float(mrl[f"seed_{k}"]) for k in range(3)] == pytest.approx([0.2, 0.21, 0.22])
    half = 4.302653 * 0.01 / 3 ** 0.5
    assert float(mrl["mean"]) == pytest.approx(0.21) and float(mrl["high"]) == pytest.approx(0.21 + half, rel=1e-5)
    assert seeds["backbone", "mean_socm"]["low"] == "none", "one backbone has no spread over seeds"
    gains = {(row["model"], row["minus"], row["quantity"]): row for row in rows(place / "tables" / "differences.csv")}
    gain = gains["mrl", "contrastive", "recall_at_10_dim_16"]
    assert float(gain["mean"]) == pytest.approx(2 / 8) and float(gain["low_over_questions"]) < 2 / 8
    assert gains["mic", "mrl", "mean_socm"]["low_over_questions"] == "none"


def test_a_folder_without_a_family_is_one_sentence(place, families):
    assert "must hold a family made by nano build" in refused(place, "nano", "table", *families, "nowhere", "--out", "tables")


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_the_recipes_that_come_along_can_be_run(file):
    recipe = read_recipe(file)
    prepared = prepare(recipe)
    assert len(prepared.train) == 12_800 and recipe.steps * recipe.batch <= 2 * 12_800
    # The runs of a minute that the Training page starts are measured every 20 steps, on fewer.
    assert (len(prepared.probe.queries), len(prepared.probe.texts)) == ((527, 100) if file.stem == "minilm-mrl" else (250, 64))


def test_there_are_recipes():
    assert [file.stem for file in RECIPES] == ["minilm-mrl", "nano-contrastive", "nano-mic", "nano-mrl"]
