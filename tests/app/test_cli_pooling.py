"""``poolscope pooling``: the table, the object it prints, and one sentence for what cannot be used."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from components.pooling_result import SECOND_ORDER
from components.retrieval import METRICS
from tests.app.command import call, refused
from tests.app.retrieval_files import small_set

pytestmark = pytest.mark.usefixtures("place")
COLUMNS = ["pooling", "metric", "value", "low", "high", "difference", "difference_low", "difference_high", "p", "p_holm", "n", "of"]
POOLINGS = {"mean", "cls", "lasttoken", "max", "mean_sqrt_len", "weightedmean", "mean_unmasked"}


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_one_row_for_each_pooling_and_metric(place, model, name):
    small_set(place / "set")
    result = call("pooling", model, "set", "--out", name)
    assert result.code == 0 and result.out == "", result.err
    table = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
    assert table.columns.tolist() == COLUMNS and not table.duplicated(["pooling", "metric"]).any()
    assert set(table["pooling"]) == POOLINGS | set(SECOND_ORDER)
    assert set(table["metric"]) == {*METRICS, "spearman", "probe_accuracy", "probe_accuracy_held_out"}
    mean = table[table["pooling"] == "mean"]
    assert mean[["difference", "p", "p_holm"]].isna().all().all(), "the reference is not compared with itself"
    assert "the model's files declare no pooling, so the others are compared with the mean" in result.err


def test_json_says_what_it_rests_on(place):
    small_set(place / "set")
    result = call("pooling", "nano-cls", "set", "--retrieval-only", "--json")
    said = json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (said["declared"], said["reference"], said["n_queries"], said["n_documents"]) == ("cls", "cls", 20, 60)
    assert {row["metric"] for row in said["table"]} == set(METRICS) and {row["pooling"] for row in said["table"]} == POOLINGS
    assert set(said["geometry"]) == POOLINGS and said["options"]["more"] is False and said["versions"]
    assert said["n_cut_documents"] > 0 and "documents were cut at 64 tokens" in result.err


def test_prompts_are_the_models_own_unless_told(place):
    small_set(place / "set")
    plain = json.loads(call("pooling", "nano-cls", "set", "--retrieval-only", "--json").out)
    told = json.loads(call("pooling", "nano-cls", "set", "--retrieval-only", "--json", "--query-prompt", "search for: ").out)
    assert plain["options"]["query_prompt"] == "" and told["options"]["query_prompt"] == "search for: "
    assert plain["table"] != told["table"]


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("set",), "--out must name a .csv or .parquet file, unless --json is given"),
    (("nowhere", "--json"), "must be a folder with queries, documents and qrels, or the name of a bundled set"),
    (("texts.txt", "--json"), "found a file: name a folder"),
    (("set", "--out", "p.xlsx"), "--out must end in .csv or .parquet"),
    (("set", "--json", "--device", "abacus"), "abacus")])
def test_bad_input_gets_its_sentence(place, model, arguments, sentence):
    small_set(place / "set")
    assert sentence in refused(place, "pooling", model, *arguments)
