"""``poolscope pairs``: the table it writes, the object it prints, and one sentence for every input that cannot be used."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import app.cli.pairs
import app.cli.tables
import components.pipeline as pipeline
from components.pair_map import PairMap
from components.store import ResultStore
from tests.app.command import Result, call, contents, refused, run
from tests.components import tiny_models

COLUMNS = ["text1", "text2", "d_mu", "d_sigma", "size", "shape", "align", "socm"]
KEYS = {"model", "revision", "layer", "n_texts", "n_pairs", "truncated", "mean_socm", "mean_socm_interval", "mean_d_mu",
        "mean_d_sigma", "references", "seconds", "versions"}


pytestmark = pytest.mark.usefixtures("place")


def summary_of(result: Result) -> dict[str, Any]:
    """The one JSON object on standard output, strictly valid."""
    assert result.code == 0, result
    assert result.out.count("\n") == 1
    return json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def stored(place: Path) -> PairMap:
    store = ResultStore(place / "store")
    found = store.get(store.entries()[-1].key)
    assert found is not None
    return PairMap.from_stored(found.arrays, found.meta)


def test_a_real_process_writes_a_table_and_one_object(place, model):
    result = run("pairs", model, "texts.txt", "--out", "p.csv", "--json")
    summary = summary_of(result)
    assert set(summary) >= KEYS and set(summary["seconds"]) >= {"load", "encode", "pairs", "write"}
    assert (summary["model"], summary["n_texts"], summary["n_pairs"], summary["truncated"]) == ("tiny", 10, 45, 0)
    assert summary["revision"].startswith("sha256:") and str(place) not in result.out
    assert result.err == "note: The finite-sample reference needs two texts of 20 tokens or more; this corpus has 0.\n", \
        "a progress line belongs on a terminal only"
    with (place / "p.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == COLUMNS and len(rows) == 46
    table = pd.read_csv(place / "p.csv")
    low, high = summary["mean_socm_interval"]
    assert low < summary["mean_socm"] < high
    for column in ("socm", "d_mu", "d_sigma"):
        assert table[column].mean() == pytest.approx(summary[f"mean_{column}"], abs=1e-12)
    assert oct((place / "p.csv").stat().st_mode & 0o777) == oct(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_csv_and_parquet_hold_the_stored_numbers(place, model):
    assert call("pairs", model, "texts.txt", "--out", "p.csv") == call("pairs", model, "texts.txt", "--out", "p.parquet")
    table, other = pd.read_csv("p.csv"), pd.read_parquet("p.parquet")
    assert list(table.columns) == list(other.columns) == COLUMNS
    pd.testing.assert_frame_equal(table, other.astype({"text1": "int64", "text2": "int64"}), check_exact=True)
    kept = stored(place)
    i, j, d_mu, d_sigma = kept.pairs
    for name, column in (("text1", i), ("text2", j), ("d_mu", d_mu), ("d_sigma", d_sigma)):
        assert np.array_equal(other[name], column)
    size = (np.sqrt(kept.spread[i]) - np.sqrt(kept.spread[j]))**2 / 4
    assert np.allclose(other["size"], size, atol=1e-12)
    assert np.allclose(other["size"] + other["shape"], d_sigma, atol=1e-12)
    assert np.allclose(other["socm"], (1 - d_mu) * d_sigma, atol=1e-15)
    assert np.allclose(other["shape"], np.sqrt(kept.spread[i] * kept.spread[j]) * (1 - other["align"]) / 2, atol=1e-12)
    assert len(ResultStore(place / "store").entries()) == 1


def test_two_texts_of_one_token(place, model):
    (place / "two.txt").write_text("cat\ndog\n")
    arguments = ("pairs", model, "two.txt", "--no-special-tokens", "--json", "--out")
    summary = summary_of(call(*arguments, "two.csv"))
    assert summary["mean_socm_interval"] is None and summary["undefined_align"] == summary["n_pairs"] == 1
    assert summary["mean_d_sigma"] == 0 and summary["references"]["ratio"] is None
    row = next(csv.DictReader((place / "two.csv").open()))
    assert row["align"] == "" and float(row["d_sigma"]) == float(row["socm"]) == 0
    assert summary_of(call(*arguments, "two.parquet"))
    assert pq.read_table("two.parquet")["align"].null_count == 1


@pytest.mark.parametrize("texts", ["cat\ncat\n", "a cat\na cat\na cat\n", "cat\nthe dog ran\n"])
def test_the_object_is_valid_whatever_the_texts(place, model, texts):
    (place / "odd.txt").write_text(texts)
    for options in ((), ("--no-special-tokens",), ("--as-published",), ("--float64",), ("--layer", "0")):
        summary_of(call("pairs", model, "odd.txt", "--json", *options))


def test_options_change_what_they_say(model):
    def socm(*options: str) -> float:
        return summary_of(call("pairs", model, "texts.txt", "--json", *options))["mean_socm"]

    base = socm()
    assert socm("--float64") == pytest.approx(base, abs=1e-6)
    assert base - 0.5 * 1e-9**0.5 * 32 < socm("--as-published") < base
    assert socm("--layer", "2") == pytest.approx(base, abs=1e-6), "BERT has no norm after its last block"
    others = [socm("--layer", "0"), socm("--layer", "1"), socm("--no-special-tokens"), socm("--prompt", "the far ")]
    assert len({round(value, 6) for value in (base, *others)}) == 5
    summary = summary_of(call("pairs", model, "texts.txt", "--json", "--as-published", "--layer", "1", "--prompt", "a "))
    assert (summary["numerics"], summary["layer"], summary["prompt"]) == ("as_published", 1, "a ")


def test_an_estimate_says_so(place, model):
    (place / "many.txt").write_text("".join(f"the {a} {b} on the {c} .\n" for a in ("cat", "dog", "rain")
                                            for b in ("sat", "ran", "runs") for c in ("mat", "home", "rain", "far")))
    result = call("pairs", model, "many.txt", "--json", "--sample", "360", "--out", "s.csv")
    summary = summary_of(result)
    assert summary["method"] == "cycles" and summary["n_pairs"] == 360
    assert "estimated from 360 of 630 pairs in 10 balanced cycles; --all computes every pair" in result.err
    table = pd.read_csv("s.csv")
    assert len(table) == 360 and not table.duplicated(["text1", "text2"]).any()
    every = summary_of(call("pairs", model, "many.txt", "--json", "--sample", "360", "--all"))
    assert every["method"] == "all" and every["n_pairs"] == 630
    low, high = summary["mean_socm_interval"]
    assert low < every["mean_socm"] < high
    assert summary_of(call("pairs", model, "many.txt", "--json", "--sample", "630"))["method"] == "all"


def test_more_pairs_than_are_kept_are_written_as_they_come(place, model, monkeypatch):
    assert call("pairs", model, "texts.txt", "--out", "kept.parquet").code == 0
    assert call("cache", "clear", "--yes").code == 0
    for module in (app.cli.pairs, pipeline):
        monkeypatch.setattr(module, "ARRAY_LIMIT", 20)
    summary = summary_of(call("pairs", model, "texts.txt", "--out", "streamed.parquet", "--json"))
    assert summary["method"] == "streamed"
    kept, streamed = pd.read_parquet("kept.parquet"), pd.read_parquet("streamed.parquet")
    pd.testing.assert_frame_equal(kept, streamed.sort_values(["text1", "text2"], ignore_index=True), check_exact=True)
    assert stored(place).method == "streamed"


@pytest.mark.parametrize("fails", ["write", "close", "open"])
def test_a_full_disk_while_pairs_are_written_as_they_come(place, model, monkeypatch, fails):
    for module in (app.cli.pairs, pipeline):
        monkeypatch.setattr(module, "ARRAY_LIMIT", 20)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if fails == "open":
        monkeypatch.setattr(pyarrow.csv, "CSVWriter", full)
    else:
        monkeypatch.setattr(app.cli.tables._Writer, fails, full)
    if fails != "close":
        sentence = refused(place, "pairs", model, "texts.txt", "--out", "p.csv")
    else:  # the scan is over, and its result is worth keeping
        result = call("pairs", model, "texts.txt", "--out", "p.csv")
        assert result.code == 1 and sorted(p.name for p in place.iterdir()) == ["store", "texts.txt"]
        sentence = result.err
    assert "--out must be writable to its end; found 'p.csv' (No space left on device)" in sentence


def test_a_full_disk_leaves_no_half_a_table_and_no_half_a_result(place, model):
    """A limit on the size of files stands for the full disk: real writes fail in their middle."""
    limit = ("import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
             "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))")
    result = run("pairs", model, "texts.txt", "--out", "p.csv", code=limit)
    assert result.code == 1 and "Traceback" not in result.err, result
    assert "must have room for the result; found no space left" in result.err
    assert [p for p in contents(place) if ".lock" not in p] == ["texts.txt", "store", "store/pair_map"]
    assert call("pairs", model, "texts.txt", "--json").code == 0
    before = contents(place)
    result = run("pairs", model, "texts.txt", "--out", "p.csv", code=limit)
    assert result.code == 1 and "--out must be writable to its end; found 'p.csv'" in result.err
    assert "File too large" in result.err
    assert "what was computed is in the store" in result.err
    assert contents(place) == before


def test_a_full_disk_behind_standard_output(model):
    with open("/dev/full", "w") as full:
        result = run("pairs", model, "texts.txt", "--json", stdout=full)
    assert result.code == 1, result
    assert result.err.splitlines()[-1] == (
        "poolscope: standard output must be writable to its end; found No space left on device: free some space there; "
        "what was computed is in the store.")


@pytest.mark.parametrize(("out", "words"), [
    ("p.txt", "must end in .csv or .parquet; found 'p.txt'"), ("p", "must end in .csv or .parquet; found 'p'"),
    ("folder.csv", "must be a file; found a folder, 'folder.csv'"), ("missing/p.csv", "No such file or directory"),
    ("texts.txt/p.csv", "(Not a directory)"), ("/proc/p.csv", "must lie in a folder that can be written; found '/proc'"),
    ("x" * 300 + ".csv", "File name too long"), ("own.csv", "must not replace the file of texts"),
    ("link.csv", "must not replace the file of texts"),
])
def test_outputs_that_cannot_be(place, model, out, words):
    (place / "folder.csv").mkdir()
    (place / "own.csv").write_text("text\na cat\na dog\n")
    (place / "link.csv").symlink_to("own.csv")
    assert words in refused(place, "pairs", model, "own.csv", "--out", out)


def test_a_folder_that_may_not_be_written(place, model):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (place / "closed").mkdir(mode=0o500)
    assert "Permission denied" in refused(place, "pairs", model, "texts.txt", "--out", "closed/p.csv")


def test_an_older_table_stays_until_the_new_one_is_whole(place, model, monkeypatch):
    assert call("pairs", model, "texts.txt", "--out", "p.csv").code == 0
    before = contents(place)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(app.cli.tables._Writer, "write", full)
    assert "No space left" in call("pairs", model, "texts.txt", "--out", "p.csv").err
    assert contents(place) == before
    monkeypatch.undo()


def test_a_list_of_pairs_and_its_labels(place, model):
    (place / "list.csv").write_text('a,b,kind\na cat,a dog,=cmd\nrain,"far , far home",plain\na cat,a dog,+1\nrain,a mat,\n')
    given = ("pairs", model, "list.csv", "--text-a", "a", "--text-b", "b", "--label", "kind", "--json", "--out")
    summary = summary_of(call(*given, "o.csv"))
    assert summary["n_pairs"] == 4 and summary["method"] == "rows" and set(summary) >= KEYS
    rows = list(csv.DictReader((place / "o.csv").open()))
    assert list(rows[0]) == [*COLUMNS, "n_tokens_a", "n_tokens_b", "kind"]
    assert [row["kind"] for row in rows] == ["'=cmd", "plain", "'+1", ""]
    assert [row["text1"] for row in rows] == [row["text2"] for row in rows] == ["0", "1", "2", "3"]
    assert rows[0]["d_sigma"] == rows[2]["d_sigma"]
    assert summary_of(call(*given, "o.parquet"))["mean_socm"] == summary["mean_socm"]
    assert pd.read_parquet("o.parquet")["kind"].tolist() == ["=cmd", "plain", "+1", ""], "only a spreadsheet runs cells"
    (place / "corpus.txt").write_text("a cat\na dog\n")
    assert call("pairs", model, "corpus.txt", "--out", "c.csv").code == 0
    assert pd.read_csv("c.csv")["d_sigma"][0] == pytest.approx(float(rows[0]["d_sigma"]), abs=1e-9)


@pytest.mark.parametrize(("options", "sentence"), [
    (("--sample", "100"), "--sample only goes with all pairs of a file's texts; found 100 with a list of pairs: leave out --sample, "
     "or --text-a and --text-b."),
    (("--sample", "0"), "--sample "),
    (("--all",), "--all only goes with all pairs of a file's texts; found True with a list of pairs: "),
    (("--column", "a"), "--column only goes with all pairs of a file's texts; found 'a' with a list of pairs: ")])
def test_an_option_that_a_list_of_pairs_would_ignore_is_refused(place, model, options, sentence):
    (place / "list.csv").write_text("a,b,kind\nthe cat,a dog,x\nrain,the mat,y\n")
    assert refused(place, "pairs", model, "list.csv", "--text-a", "a", "--text-b", "b", "--json", *options).startswith(sentence)


def test_a_label_without_a_list_of_pairs_is_refused(place, model):
    (place / "list.csv").write_text("text,kind\nthe cat,x\nrain,y\n")
    assert refused(place, "pairs", model, "list.csv", "--label", "kind", "--json") == (
        "--label only goes with a list of pairs (--text-a and --text-b); found 'kind' without them: "
        "name the columns of both texts, or leave out --label.")


@pytest.mark.parametrize(("column", "written"), [("size", "label_size"), ("n_tokens_a", "label_n_tokens_a"),
                                                 ("=cmd", "'=cmd"), ("kind", "kind")])
def test_a_label_column_with_an_awkward_name(place, model, column, written):
    (place / "list.csv").write_text(f"text1,text2,{column}\na cat,a dog,x\n")
    assert call("pairs", model, "list.csv", "--text-a", "text1", "--text-b", "text2", "--label", column, "--out", "o.csv") \
        .code == 0
    row = next(csv.DictReader((place / "o.csv").open()))
    assert row[written] == "x" and float(row["size"]) >= 0


@pytest.mark.parametrize(("name", "content", "words"), [
    ("empty.txt", b"", "empty"), ("one.txt", b"a cat\n", "at least two texts"), ("blank.txt", b"  \n\t\n   \n", "blank"),
    ("bytes.txt", b"a cat\nna\xefve \xff\n", "must be UTF-8 text; found byte 0xef at offset 8 in line 2"),
    ("wide.txt", "a cat\na dog\n".encode("utf-16"), "UTF-16"), ("nul.txt", b"a\0b\nc\n", "a NUL character"),
    ("empty.csv", b"", "empty"), ("head.csv", b"text\n", "a header and no rows"),
    ("quotes.csv", b'text\n"a cat\na dog\nrain\n', "quote"), ("ragged.csv", b"text,b\na,b\nc\n", "line 3"),
    ("twice.csv", b"text,text\na,b\nc,d\n", "text"), ("nan.csv", b"text,b\n,1\n,2\n", "at least two texts"),
    ("number.jsonl", b'{"text": 1}\n{"text": 2}\n', "must hold a text"),
    ("broken.jsonl", b'{"text": "a"}\n{"text": \n', "line 2"), ("list.jsonl", b"[1]\n[2]\n", "JSON object"),
    ("not.parquet", b"not parquet at all", "must be a parquet file"), ("torn.parquet", b"PAR1", "must be a parquet file"),
    ("what.docx", b"PK", ".docx"), ("other.csv", b"title,body\na cat,rain\na dog,far\n", "'title', 'body'"),
])
def test_files_that_cannot_be_read(place, model, name, content, words):
    (place / name).write_bytes(content)
    sentence = refused(place, "pairs", model, name, "--json")
    assert words in sentence and name in sentence


def test_nan_cells_are_refused_or_left_out_with_a_note(place, model):
    pd.DataFrame({"text": ["a cat", None, "a dog"], "score": [0.5, float("nan"), 1.0]}).to_parquet("nan.parquet")
    result = call("pairs", model, "nan.parquet", "--json")
    assert summary_of(result)["n_texts"] == 2 and "1 row was skipped for a null 'text': row 2." in result.err
    assert "must hold a text in 'score'; found 0.5 of type float" in \
        refused(place, "pairs", model, "nan.parquet", "--column", "score", "--json")


def test_a_missing_column_names_those_there_are(place, model):
    (place / "t.csv").write_text("title,body\na cat,rain\na dog,far\n")
    for options in (("--column", "text"), ("--text-a", "title", "--text-b", "text"),
                    ("--text-a", "title", "--text-b", "body", "--label", "text")):
        sentence = refused(place, "pairs", model, "t.csv", "--json", *options)
        assert "'text'" in sentence and "choose 'title', 'body'" in sentence
    assert "only 'title'" in refused(place, "pairs", model, "t.csv", "--json", "--text-a", "title")
    assert "must differ" in refused(place, "pairs", model, "t.csv", "--json", "--text-a", "title", "--text-b", "title")


@pytest.mark.parametrize(("name", "words"), [
    ("loop.txt", "a symbolic link that leads back to itself"), ("folder.txt", "a folder"), ("pipe.txt", "a pipe"),
    ("nowhere.txt", "nothing at that path"), ("nothing", "choose 'encyclopedia'"), ("", "choose 'encyclopedia'"),
    ("dangling.txt", "nothing at that path"), ("../place", "a folder"), ("x" * 300 + ".txt", "File name too long"),
])
def test_paths_that_are_no_file(place, model, name, words):
    (place / "loop.txt").symlink_to("loop.txt")
    (place / "dangling.txt").symlink_to("away.txt")
    (place / "folder.txt").mkdir()
    os.mkfifo(place / "pipe.txt")
    before = {p.name for p in place.iterdir()}
    result = call("pairs", model, name, "--json")
    assert result.code == 1 and words in result.err and len(result.err.splitlines()) == 1, result
    assert {p.name for p in place.iterdir()} == before


@pytest.mark.parametrize(("variable", "value", "words"), [
    ("POOLSCOPE_MAX_TEXTS", "5", "must have at most 5 lines; found 10"),
    ("POOLSCOPE_MAX_FILE_MB", "0.0001", "must have at most 100 bytes"),
    ("POOLSCOPE_MAX_TEXT_CHARS", "20", "must be at most 20 characters long"),
    ("POOLSCOPE_MAX_TEXTS", "many", "POOLSCOPE_MAX_TEXTS must be usable; found 'many'"),
])
def test_limits_of_the_settings(place, model, variable, value, words):
    assert words in refused(place, "pairs", model, "texts.txt", "--json", **{variable: value})


@pytest.mark.parametrize(("arguments", "words"), [
    (("--layer", "3"), "layer must lie in 0..2 or be 'final' for tiny; found 3"), (("--layer", "-1"), "0..2"),
    (("--layer", "x"), "--layer must be a number from 0 or 'final'; found 'x'"), (("--sample", "0"), "at least 1 pair"),
    (("--sample", "12"), "--sample must leave at least ten cycles"), (("--device", "tpu"), "must be auto or one of cpu"),
    (("--revision", "main"), "revision belongs to a Hugging Face id"), (("--column", "text"), "left out for a .txt"),
    (("--prompt", "\udcff"), "prompt must be whole characters"),
])
def test_options_that_cannot_be(place, model, arguments, words):
    assert words in refused(place, "pairs", model, "texts.txt", "--json", *arguments)


def test_neither_out_nor_json(place, model):
    assert "--out must name a .csv or .parquet file" in refused(place, "pairs", model, "texts.txt")


def test_wrong_usage_is_code_2(model):
    for arguments in (("pairs",), ("pairs", model, "texts.txt", "--no-such-option"), ("no-such-command",)):
        result = call(*arguments)
        assert result.code == 2 and "Traceback" not in result.err


@pytest.mark.parametrize(("name", "words"), [
    ("no/such-model", "not in the local cache, and downloads are off"), ("./nowhere", "no such folder"),
    ("../place", "must hold a config.json"), ("texts.txt", "found a file"), ("../../etc", "no such folder"),
    ("bare", "must hold a tokenizer"), ("pickled", "only pickled weights (pytorch_model.bin), which can run code when opened"),
])
def test_models_that_cannot_be(place, name, words):
    for folder in ("bare", "pickled"):
        tiny_models.save("bert", place / folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (place / "bare" / file).unlink()
    (place / "pickled" / "model.safetensors").rename(place / "pickled" / "pytorch_model.bin")
    assert words in refused(place, "pairs", name, "texts.txt", "--json")


def test_the_embedded_model_on_texts_of_every_script(place):
    (place / "odd.txt").write_text("🙂 emoji 👩‍👩‍👧\nمرحبا بالعالم\n汉字没有空格\n" + "x" * 50_000 + " word" * 10_000 + "\n", "utf-8")
    result = call("pairs", "all-MiniLM-L6-v2", "odd.txt", "--json", "--out", "odd.csv")
    summary = summary_of(result)
    assert (summary["truncated"], summary["n_pairs"]) == (1, 6)
    assert "cut at the model's limit of 256 tokens (rows 3)" in result.err
    assert pd.read_csv("odd.csv").notna().all(axis=None)
    (place / "korean.txt").write_text("몰디브는 인도양에 있는 섬나라이다. 똵뗿쬾 꽯뿯뚫\nᚠᚢᚦ ᚨᚱᚲ ꙮ\n", "utf-8")
    result = call("pairs", "all-MiniLM-L6-v2", "korean.txt", "--json")
    assert summary_of(result)["unknown_share"] > 0.05
    assert "of the tokens are unknown to all-MiniLM-L6-v2: its numbers say little about these texts." in result.err
    assert "layer must lie in 0..6 or be 'final' for all-MiniLM-L6-v2; found 7" in \
        refused(place, "pairs", "all-MiniLM-L6-v2", "odd.txt", "--json", "--layer", "7")


def test_an_internal_error_is_one_line_too(place, model, monkeypatch):
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(pipeline, "compute_pair_map", broken)
    sentence = refused(place, "pairs", model, "texts.txt", "--json", code=70)
    assert "an internal error stopped the command (ZeroDivisionError: division by zero)" in sentence
    with pytest.raises(ZeroDivisionError):
        call("pairs", model, "texts.txt", "--json", POOLSCOPE_DEBUG="1")

    def stopped(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(pipeline, "compute_pair_map", stopped)
    assert "stopped; nothing unfinished was stored" in refused(place, "pairs", model, "texts.txt", "--json", code=130)
