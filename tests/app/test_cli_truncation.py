"""``poolscope truncation``: the long table, the object it prints, and one sentence for what cannot be used."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from components.store import ResultStore
from components.truncation_result import QUALITY, TruncationResult
from tests.app.command import call, refused

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def folder(place):
    here = place / "set"
    here.mkdir()
    words = ("cat", "dog", "rain", "mat", "home", "far", "run", "the")
    documents = "".join(f"d{i},the {word} sat on the mat\n" for i, word in enumerate(words))
    (here / "documents.csv").write_text(f"document_id,text\n{documents}")
    (here / "queries.csv").write_text("query_id,text\n" + "".join(f"q{i},a {word}\n" for i, word in enumerate(words)))
    (here / "qrels.csv").write_text("query_id,document_id,relevance\n" + "".join(f"q{i},d{i},1\n" for i in range(len(words))))
    return "set"


def test_table_and_object_hold_every_dim_dtype_and_metric(place, model, folder):
    result = call("truncation", model, folder, "--out", "t.csv", "--json")
    assert result.code == 0, result.err
    table = pd.read_csv("t.csv")
    assert table.columns.tolist() == ["model", "dim", "dtype", "metric", "value", "low", "high"]
    store = ResultStore(place / "store")
    found = store.get(store.entries()[-1].key)
    cuts = TruncationResult.from_stored(found.arrays, found.meta)
    assert set(table["dim"]) == {8, 16, 32} and set(table["dtype"]) == {"float32", "int8", "binary"}
    quality = table[table["metric"].isin(QUALITY)]
    assert len(quality) == 3 * 3 * len(QUALITY)
    row = quality[(quality["dim"] == 16) & (quality["dtype"] == "int8") & (quality["metric"] == "mrr@10")]
    assert row["value"].item() == pytest.approx(cuts.value("mrr@10", 16, "int8").value, rel=1e-12)
    assert {"effective_dims", "uniformity", "mic_cv", "mean_abs_c_without_special", "info_nce"} <= set(table["metric"])
    said = json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert result.out.count("\n") == 1 and said["full_dim"] == 32 and set(said["dims"]) == {"8", "16", "32"}
    assert said["dims"]["8"]["binary"]["bytes_per_vector"] == 1 and said["recommendation"]["points"] == 2
    assert said["dims"]["32"]["float32"]["metrics"]["ndcg@10"]["loss"]["value"] == 0 and said["embedding_yaml"].startswith("embedding:")
    assert len(said["dims"]["8"]["random"]["ndcg@10"]) == 3 and "random" in said["dims"]["32"]
    parquet = call("truncation", model, folder, "--out", "t.parquet", "--points", "30")
    assert parquet.code == 0 and len(pd.read_parquet("t.parquet")) == len(table)


def test_dims_of_one_s_own(place, model, folder):
    assert call("truncation", model, folder, "--out", "t.csv", "--dims", "1, 5").code == 0
    assert set(pd.read_csv("t.csv")["dim"]) == {1, 5, 32}


@pytest.mark.parametrize(("more", "said"), [
    (("--dims", "8,64"), "dims must lie in 1 to 32, the dim of tiny; found 64: leave these out."),
    (("--dims", "0"), "dims must lie in 1 to 32, the dim of tiny; found 0: leave these out."),
    (("--dims", "8;16"), "--dims must be whole numbers separated by commas; found '8;16': write 16,64,256."),
    (("--points", "0"), "--points must lie between 0 and 100; found 0.0: give a loss such as 2."),
    (("--out", "t.txt"), "--out must end in .csv or .parquet; found 't.txt': choose one of these.")])
def test_what_cannot_be_used_is_one_sentence(place, model, folder, more, said):
    assert refused(place, "truncation", model, folder, *(() if "--out" in more else ("--out", "t.csv")), *more) == said


def test_neither_file_nor_json(place, model, folder):
    assert "--out must name a .csv or .parquet file" in refused(place, "truncation", model, folder)
    assert "must be a folder with queries, documents and qrels" in refused(place, "truncation", model, "nowhere", "--json")
