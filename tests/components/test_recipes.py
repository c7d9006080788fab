"""Recipes: what is read, and one sentence for each way to get it wrong; nothing is left behind by a refused one."""

from __future__ import annotations

import os

import pytest

from components.errors import DataError, ModelError, PoolscopeError
from components.recipes import MAX_RECIPE_BYTES, Recipe, parse_recipe, read_recipe
from components.training_pipeline import run_training
from tests.components.tiny_models import save

GOOD = {"model": "m", "pairs": "pairs.csv", "steps": 2, "batch": 2, "probe": {"n_texts": 4, "held_out": 2}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("recipes")
    save("bert", where / "m")
    (where / "pairs.csv").write_text("text_a,text_b\n" + "".join(f"the cat {w},a dog {w}\n" for w in
                                                               ("sat", "ran", "far", "home", "in", "on", "mat", "rain")))
    (where / "one.csv").write_text("text_a,text_b\nthe cat,a dog\n")
    (where / "none.csv").write_text("text_a,text_b\n")
    (where / "other.csv").write_text("question,reply\na,b\n")
    return where


def text(**changes) -> str:
    import yaml

    return yaml.safe_dump({key: value for key, value in (GOOD | changes).items() if value is not ...})


BAD = [
    ("an unknown key", {"epochs": 3}, "is no key of a recipe"),
    ("an unknown loss", {"loss": "TripletLoss"}, "loss must be 'Multiple"),
    ("dims above the model's", {"dims": [16, 64]}, "dims must be at most 32, the dim of m; found 64"),
    ("dims not ascending", {"dims": [32, 16]}, "must be ascending"),
    ("dims of zero", {"dims": [0, 16]}, "must be ascending whole numbers from 1"),
    ("mic without dims", {"mic": {"gamma": 1}}, "mic needs dims"),
    ("a layer out of range", {"dims": [16], "mic": {"layers": [3]}}, r"mic.layers must lie in 0..2"),
    ("a negative gamma", {"dims": [16], "mic": {"gamma": -1}}, "gamma must be greater than or equal to 0"),
    ("a negative tau", {"dims": [16], "mic": {"tau": -0.1}}, "tau must be greater than or equal to 0"),
    ("no step", {"steps": 0}, "steps must be greater than or equal to 1"),
    ("a batch of one", {"batch": 1}, "batch must be greater than or equal to 2"),
    ("a batch larger than the data", {"batch": 7}, "batch must be at most the 6 pairs left for training; found 7"),
    ("a rate that is no number", {"lr": "fast"}, "lr must be a valid number"),
    ("a rate of nothing", {"lr": 0}, "lr must be greater than 0"),
    ("an infinite rate", {"lr": float("inf")}, "lr must be"),
    ("a temperature of 0", {"temperature": 0}, "temperature must be greater than 0"),
    ("a pooling nobody trains", {"pooling": "max"}, "pooling must be 'mean', 'cls' or 'declared'"),
    ("a pooling that is not declared", {"pooling": "declared"}, "pooling must be mean or cls where a model declares neither"),
    ("warming up for ever", {"warmup": 2}, "warmup must be shorter than steps"),
    ("one column of two", {"text_a": "text_a"}, "text_a and text_b must be given together"),
    ("a missing column", {"text_a": "question", "text_b": "reply"}, "question"),
    ("no model", {"model": ...}, "model must be given|model: model must be given|must be given"),
    ("a model that is nowhere", {"model": "./nowhere"}, "must be a folder with a model"),
    ("pairs that are nowhere", {"pairs": "nowhere.csv"}, "nowhere.csv"),
    ("empty pairs", {"pairs": "none.csv"}, "none.csv"),
    ("one pair", {"pairs": "one.csv"}, "pairs must be 4 or more"),
    ("pairs in other columns", {"pairs": "other.csv"}, "question, reply|question.*reply"),
    ("an unknown device", {"device": "tpu"}, "device must be auto or one of"),
    ("a negative seed", {"seed": -1}, "seed must be greater"),
    ("probe texts that are nowhere", {"probe": {"texts": "nowhere.txt"}}, "nowhere.txt"),
    ("a probe every 0 steps", {"probe": {"every": 0}}, "probe.every must be greater"),
]


@pytest.mark.parametrize(("changes", "sentence"), [(c, s) for _, c, s in BAD], ids=[name for name, _, _ in BAD])
def test_bad_recipes_are_refused_in_one_sentence(folder, changes, sentence):
    before = sorted(os.listdir(folder))
    (folder / "r.yaml").write_text(text(**changes))
    with pytest.raises((DataError, ModelError), match=sentence) as caught:
        run_training(read_recipe(folder / "r.yaml"), folder / "out")
    (folder / "r.yaml").unlink()
    assert sorted(os.listdir(folder)) == before
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "sentence"), [
    ("model: !!python/object/apply:os.system ['true']\npairs: p", "must be plain YAML.*python/object"),
    ("model: a\nmodel: b\npairs: p", "the key 'model' stands twice in line 2"),
    ("- model\n- pairs", "must be keys with values"), ("", "must be keys with values"), ("model: [", "must be plain YAML"),
    ("a: &a [*a]", "must|is no key"), ("model: a\npairs: p\nprobe: {texts: [1]}", "probe.texts must be a valid string"),
    ("? [1, 2]\n: 3", "must"),
])
def test_what_is_no_recipe(content, sentence):
    with pytest.raises(PoolscopeError, match=sentence):
        parse_recipe(content)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="must be a readable UTF-8 file; found No such file"):
        read_recipe(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="must be a readable UTF-8 file"):
        read_recipe(tmp_path / "b.yaml")
    (tmp_path / "long.yaml").write_text("#" * (MAX_RECIPE_BYTES + 1))
    with pytest.raises(DataError, match="must be smaller than 100,000 bytes"):
        read_recipe(tmp_path / "long.yaml")


def test_files_are_meant_from_the_recipes_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (folder / "r2.yaml").write_text(text())
    read = read_recipe(folder / "r2.yaml")
    (folder / "r2.yaml").unlink()
    assert read.pairs == str(folder / "pairs.csv") and read.model == str(folder / "m")
    assert read.probe.texts == "encyclopedia"


def test_a_recipe_written_and_read_again_is_the_same():
    recipe = Recipe(model="m", pairs="p", dims=(8, 16), mic={"layers": {1: [8], "final": [16]}, "gamma": 2})
    assert parse_recipe(recipe.as_yaml()) == recipe


def test_the_device_is_no_part_of_the_digest_and_all_else_is():
    recipe = Recipe(model="m", pairs="p")
    assert recipe.model_copy(update={"device": "cuda"}).digest == recipe.digest
    changes = {"model": "n", "pairs": "q", "text_a": "a", "loss": "CachedMultipleNegativesRankingLoss", "temperature": 0.1,
               "symmetric": False, "dims": (8,), "steps": 3, "batch": 4, "lr": 0.1, "warmup": 1, "schedule": "constant",
               "weight_decay": 0.1, "seed": 1, "pooling": "cls", "max_length": 9, "half": True, "text_b": "b",
               "bf16": True, "group_by_length": False,
               "mic": Recipe(model="m", pairs="p", dims=(8,), mic={}).mic, "probe": recipe.probe.model_copy(update={"every": 7})}
    assert set(changes) == set(Recipe.model_fields) - {"device"}
    assert len({recipe.model_copy(update={name: value}).digest for name, value in changes.items()} | {recipe.digest}) \
        == len(changes) + 1
