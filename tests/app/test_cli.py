"""The command line as a user runs it: real processes, real files, one sentence for every bad input."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from components.store import ResultStore
from tests.components import tiny_models

LINES = ["the cat sat on the mat .", "a dog ran far", "rain in the home", "the dogs ran home , far in the rain .", "a cat",
         "the cat ran", "dog on the mat", "far , far home", "rain", "a mat in the rain ."]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny_models.save("bert", tmp_path_factory.mktemp("cli") / "tiny"))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(LINES) + "\n")
    return tmp_path


def start(place: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "app.cli.run", *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd=place,
                            env=os.environ | {"POOLSCOPE_STORE": str(place / "store"), "HF_HUB_OFFLINE": "1",
                                              "PYTHONPATH": str(Path(__file__).parents[2])} | environment)


def run(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    process = start(place, *arguments, **environment)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def refused(place: Path, *arguments: str, code: int = 1, **environment: str) -> str:
    """Runs what must fail with one sentence, leaving folder and store as they were; returns the sentence."""
    before = sorted(str(p) for p in place.rglob("*"))
    result = run(place, *arguments, **environment)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr and result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.startswith("poolscope: ")]
    assert len(lines) == 1, result.stderr
    assert sorted(str(p) for p in place.rglob("*") if "store" not in p.parts[len(place.parts):]) == \
        [p for p in before if "store" not in Path(p).parts[len(place.parts):]]
    if (place / "store").exists():
        assert ResultStore(place / "store").entries() == []
    return lines[0].removeprefix("poolscope: ")


def test_all_pairs_as_csv_parquet_and_json(place, model):
    result = run(place, "pairs", model, "texts.txt", "--out", "p.csv", "--json")
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert {"model", "revision", "layer", "n_texts", "n_pairs", "truncated", "mean_socm", "mean_socm_interval",
            "mean_d_mu", "mean_d_sigma", "references", "seconds", "versions"} <= set(summary)
    assert {"load", "encode", "pairs", "write"} <= set(summary["seconds"])
    assert (summary["n_texts"], summary["n_pairs"], summary["model"]) == (10, 45, "tiny")
    notes = result.stderr.splitlines()
    assert all(line.startswith("note: ") for line in notes), "no progress where there is no terminal"
    assert run(place, "pairs", model, "texts.txt", "--out", "p.parquet").returncode == 0
    table, other = pd.read_csv(place / "p.csv"), pd.read_parquet(place / "p.parquet")
    assert list(table.columns) == ["text1", "text2", "d_mu", "d_sigma", "size", "shape", "align", "socm"]
    assert np.allclose(table, other, rtol=1e-15)
    assert (table["text1"] < table["text2"]).all() and len(table) == 45
    assert np.allclose(table["socm"], (1 - table["d_mu"]) * table["d_sigma"])
    assert np.allclose(table["size"] + table["shape"], table["d_sigma"], atol=1e-12)
    assert table["socm"].mean() == pytest.approx(summary["mean_socm"])
    assert len(ResultStore(place / "store").entries()) == 1


def test_undefined_alignment_is_empty_and_json_stays_valid(place, model):
    (place / "two.txt").write_text("cat\ndog\n")
    result = run(place, "pairs", model, "two.txt", "--no-special-tokens", "--out", "two.csv", "--json")
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert summary["mean_socm_interval"] is None and summary["undefined_align"] == 1
    row = next(csv.DictReader((place / "two.csv").open()))
    assert row["align"] == "" and float(row["d_sigma"]) == 0


def test_a_list_of_pairs_keeps_its_rows_and_its_labels_are_inert(place, model):
    (place / "list.csv").write_text('a,b,kind\na cat,a dog,=cmd\nrain,"far , far home",plain\n')
    result = run(place, "pairs", model, "list.csv", "--text-a", "a", "--text-b", "b", "--label", "kind", "--out", "o.csv")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader((place / "o.csv").open()))
    assert [row["kind"] for row in rows] == ["'=cmd", "plain"]
    assert [row["text1"] for row in rows] == ["0", "1"]
    assert all(0 <= float(row["d_mu"]) <= 1 for row in rows)


def test_options_change_what_they_say(place, model):
    def socm(*options: str) -> float:
        result = run(place, "pairs", model, "texts.txt", "--json", *options)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["mean_socm"]

    base = socm()
    assert socm("--float64") == pytest.approx(base, abs=1e-6)
    assert socm("--as-published") < base
    assert socm("--layer", "0") != pytest.approx(base, abs=1e-4)


@pytest.mark.parametrize(("name", "content", "words"), [
    ("empty.txt", b"", "empty"), ("one.txt", b"a cat\n", "two"), ("blank.txt", b"  \n\t\n   \n", "blank"),
    ("bytes.txt", b"a cat\nna\xefve \xff\n", "UTF-8"), ("quotes.csv", b'text\n"a cat\na dog\nrain\n', "quote"),
    ("not.parquet", b"not parquet at all", "Parquet"), ("nan.csv", b"text\n,\n,\n", "line 2"),
    ("broken.jsonl", b'{"text": "a"}\n{"text": \n', "line 2"), ("what.docx", b"PK", "docx"),
])
def test_files_that_cannot_be_read(place, model, name, content, words):
    (place / name).write_bytes(content)
    sentence = refused(place, "pairs", model, name, "--json")
    assert words.lower() in sentence.lower(), sentence
    assert name in sentence or "text" in sentence


def test_a_missing_column_names_those_there_are(place, model):
    (place / "t.csv").write_text("title,body\na cat,rain\na dog,far\n")
    sentence = refused(place, "pairs", model, "t.csv", "--column", "text", "--json")
    assert "title" in sentence and "body" in sentence


def test_folder_loop_and_missing_file(place, model):
    (place / "loop.txt").symlink_to("loop.txt")
    (place / "folder.txt").mkdir()
    for name in ("loop.txt", "folder.txt", "nowhere.txt", "nothing"):
        refused(place, "pairs", model, name, "--json")


def test_more_lines_than_the_limit(place, model):
    sentence = refused(place, "pairs", model, "texts.txt", "--json", POOLSCOPE_MAX_TEXTS="5")
    assert "5" in sentence and "10" in sentence


def test_texts_of_every_script_and_a_very_long_one(place):
    (place / "odd.txt").write_text("🙂 emoji 👩‍👩‍👧\nمرحبا بالعالم\n汉字没有空格\n" + "x" * 50_000 + " word" * 10_000 + "\n", "utf-8")
    result = run(place, "pairs", "all-MiniLM-L6-v2", "odd.txt", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["truncated"] == 1
    assert "cut at the model's limit of 256 tokens (rows 3)" in result.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (("--layer", "7"), "0..2"), (("--layer", "x"), "'x'"), (("--sample", "0"), "at least 1"), (("--device", "tpu"), "auto"),
    (("--out", "p.txt"), ".csv or .parquet"), (("--out", "missing/p.csv"), "folder that can be written"),
])
def test_options_that_cannot_be(place, model, arguments, words):
    assert words in refused(place, "pairs", model, "texts.txt", *(() if "--out" in arguments else ("--json",)), *arguments)


def test_models_that_cannot_be(place, tmp_path):
    for name in ("no/such-model", "./nowhere", str(place)):
        refused(place, "pairs", name, "texts.txt", "--json")


def test_neither_out_nor_json(place, model):
    assert "--out" in refused(place, "pairs", model, "texts.txt")


def test_a_setting_that_cannot_be(place, model):
    assert "POOLSCOPE_MAX_TEXTS" in refused(place, "pairs", model, "texts.txt", "--json", POOLSCOPE_MAX_TEXTS="many")


def test_a_full_disk_leaves_no_half_a_table(place, model):
    """A file size limit stands for the full disk: writing fails with an error in the middle."""
    code = ("import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200));"
            "from app.cli import main; import sys; sys.argv = ['poolscope'] + sys.argv[1:]; main()")
    assert run(place, "pairs", model, "texts.txt", "--json").returncode == 0
    result = subprocess.run([sys.executable, "-c", code, "pairs", model, "texts.txt", "--out", "p.csv"], cwd=place, text=True,
                            capture_output=True, env=os.environ | {"POOLSCOPE_STORE": str(place / "store")}, timeout=120)
    assert result.returncode == 1 and "Traceback" not in result.stderr, result.stderr
    assert "must be writable to its end" in result.stderr
    assert sorted(p.name for p in place.iterdir()) == ["store", "texts.txt"]


def test_killed_in_the_middle_then_verify_is_clean_and_the_result_recomputes(place, model):
    for delay in (0.05, 0.3, 0.8):
        process = start(place, "pairs", model, "texts.txt", "--json", "--out", "p.csv")
        time.sleep(4 + delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        result = run(place, "cache", "verify")
        assert result.returncode == 0, result.stdout
    result = run(place, "pairs", model, "texts.txt", "--json", "--out", "p.csv")
    assert result.returncode == 0 and len(pd.read_csv(place / "p.csv")) == 45


def test_two_processes_computing_one_key(place, model):
    both = [start(place, "pairs", model, "texts.txt", "--json") for _ in range(2)]
    outputs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    means = {json.loads(out)["mean_socm"] for out, _ in outputs}
    assert len(means) == 1
    assert len(ResultStore(place / "store").entries()) == 1
    assert run(place, "cache", "verify").returncode == 0


def test_cache_list_verify_clear(place, model):
    assert run(place, "pairs", model, "texts.txt", "--json").returncode == 0
    assert "tiny" in run(place, "cache", "list", COLUMNS="200").stdout
    file = next((place / "store" / "pair_map").glob("*.npz"))
    file.write_bytes(file.read_bytes()[:-7])
    damaged = run(place, "cache", "verify")
    assert damaged.returncode == 3 and file.name in damaged.stdout
    again = run(place, "pairs", model, "texts.txt", "--json")
    assert again.returncode == 0 and file.name in again.stderr
    assert run(place, "cache", "verify").returncode == 0
    assert "1 results deleted" in run(place, "cache", "clear", "--yes").stdout
    assert ResultStore(place / "store").entries() == []
