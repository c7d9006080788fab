"""``poolscope layers``: the long table, the object it prints, and one sentence for what cannot be used."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from components.layer_curves import LayerCurves
from components.store import ResultStore
from tests.app.command import call, refused
from tests.components import tiny_models

pytestmark = pytest.mark.usefixtures("place")
QUANTITIES = {"lambda", "r", "C", "normalized_spread", "mean_cosine", "mean_cosine_no_self", "attention_gain", "residual_gain"}


def stored(place: Path) -> LayerCurves:
    store = ResultStore(place / "store")
    found = store.get(store.entries()[-1].key)
    return LayerCurves.from_stored(found.arrays, found.meta)


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_the_table_holds_every_text_layer_head_and_quantity(place, model, name):
    result = call("layers", model, "texts.txt", "--out", name)
    assert result.code == 0 and result.out == ""
    table = pd.read_csv(name, dtype={"layer": str}) if name.endswith("csv") else pd.read_parquet(name)
    assert table.columns.tolist() == ["text", "layer", "head", "quantity", "value"] and set(table["quantity"]) == QUANTITIES
    assert set(table["layer"]) == {"0", "1", "2", "final"} and len(table) == 10 * (2 * 4 + 2 * 4 + 4 * 3)
    assert (table["head"].isna() == (table["quantity"] != "lambda")).all()
    curves = stored(place)
    row = table[(table["quantity"] == "lambda") & (table["layer"] == "2") & (table["head"] == 3) & (table["text"] == 6)]
    assert row["value"].item() == pytest.approx(curves.lambda_[6, 1, 2], rel=1e-12)
    single = table[(table["text"] == 8) & (table["quantity"] == "C")]  # "rain": three tokens, special ones included
    assert single["value"].notna().all()


def test_json_gives_means_intervals_and_pairs_by_layer(place, model):
    result = call("layers", model, "texts.txt", "--json")
    said = json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert result.out.count("\n") == 1 and (said["n_texts"], said["n_layers"], said["n_heads"], said["n_pairs"]) == (10, 2, 4, 45)
    curves = stored(place)
    spread = said["means"]["normalized_spread"]["final"]
    assert spread["mean"] == pytest.approx(curves.values["normalized_spread"][:, -1].mean()) and spread["n"] == 10
    assert spread["interval"][0] < spread["mean"] < spread["interval"][1]
    assert set(said["pairs"]) == {"0", "1", "2", "final"}
    assert all(pairs["socm"]["mean"] <= pairs["socm_ceiling"]["mean"] for pairs in said["pairs"].values()), "Theorem 2"
    assert call("layers", model, "texts.txt", "--json").out != "" and said["available"] and said["reason"] == ""


def test_socm_by_layer_is_that_of_the_map(place, model):
    said = json.loads(call("layers", model, "texts.txt", "--json").out)
    for layer in ("0", "2", "final"):
        pairs = json.loads(call("pairs", model, "texts.txt", "--layer", layer, "--json").out)
        assert said["pairs"][layer]["socm"]["mean"] == pytest.approx(pairs["mean_socm"], rel=1e-6)


def test_a_model_whose_attention_cannot_be_followed_gives_the_rest_and_says_so(place, tmp_path):
    folder = tiny_models.save("albert", tmp_path / "albert")
    result = call("layers", str(folder), "texts.txt", "--out", "l.csv", "--json")
    said = json.loads(result.out)
    assert not said["available"] and said["means"]["lambda"] == {} and said["means"]["normalized_spread"]["1"]["n"] == 10
    assert re.search("note: lambda, r and C are not available for this model: .*albert", result.err, re.IGNORECASE)
    assert set(pd.read_csv("l.csv")["quantity"]) == {"normalized_spread", "mean_cosine", "mean_cosine_no_self"}


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("texts.txt",), "--out must name a .csv or .parquet file, unless --json is given"),
    (("texts.txt", "--out", "l.xlsx"), "--out must end in .csv or .parquet"),
    (("texts.txt", "--out", "no/where/l.csv"), "--out must lie in a folder that can be written"),
    (("missing.txt", "--json"), "missing.txt"), (("one.txt", "--json"), "must hold at least two texts"),
    (("texts.txt", "--json", "--device", "abacus"), "device must be auto or one of cpu"),
    (("texts.txt", "--json", "--column", "name"), "name")])
def test_what_cannot_be_used_is_one_sentence(place, model, arguments, sentence):
    (place / "one.txt").write_text("the cat sat on the mat .\n")
    assert sentence in refused(place, "layers", model, *arguments)


def test_an_unknown_model_is_one_sentence(place):
    assert "nowhere" in refused(place, "layers", "nowhere", "texts.txt", "--json", HF_HUB_OFFLINE="1")


def test_a_damaged_result_is_made_again(place, model):
    first = json.loads(call("layers", model, "texts.txt", "--json").out)
    file = next((place / "store").rglob("*.npz"))
    file.write_bytes(file.read_bytes()[:200])
    result = call("layers", model, "texts.txt", "--json")
    assert "warning:" in result.err and json.loads(result.out)["means"] == first["means"]
    shutil.rmtree(place / "store")
