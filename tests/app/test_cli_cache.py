"""``poolscope cache``, and what killed, damaged or simultaneous commands leave in the store they share."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pandas as pd
import pytest

from components.store import ResultStore
from tests.app.command import call, contents, run, start

pytestmark = pytest.mark.usefixtures("place")


def entries(place: Path) -> int:
    return len(ResultStore(place / "store").entries())


def test_list_verify_and_clear(place, model):
    assert "0 stored results" in call("cache", "list", COLUMNS="200").out
    for layer in ("0", "1"):
        assert call("pairs", model, "texts.txt", "--json", "--layer", layer).code == 0
    listing = call("cache", "list", COLUMNS="250").out
    assert "2 stored results" in listing and listing.count("tiny") == 2 and "layer=1" in listing
    assert call("cache", "verify").out == "2 results read, 0 findings.\n"
    declined = call("cache", "clear")
    assert declined.code == 1 and entries(place) == 2, "clear asks first"
    assert call("cache", "clear", "--yes").out.startswith("2 results deleted, 0.0 MB")
    assert entries(place) == 0 and call("cache", "verify").code == 0
    assert call("cache").code in (0, 2), "help"


def test_a_store_that_is_no_folder(place, model):
    (place / "file").write_text("x")
    for arguments in (("cache", "list"), ("cache", "verify"), ("pairs", model, "texts.txt", "--json")):
        result = call(*arguments, POOLSCOPE_STORE=str(place / "file"))
        assert result.code == 1 and result.err.startswith("poolscope: the result store") and result.out == ""
    assert (place / "file").read_text() == "x"


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "text"])
def test_a_damaged_result_is_found_and_computed_again(place, model, damage):
    first = json.loads(call("pairs", model, "texts.txt", "--json").out)
    npz, description = (next((place / "store" / "pair_map").glob(pattern)) for pattern in ("*.npz", "*.json"))
    raw, file = npz.read_bytes(), description if damage == "text" else npz
    if damage == "cut":
        npz.write_bytes(raw[:-7])
    elif damage == "changed":
        npz.write_bytes(raw[:500] + bytes([raw[500] ^ 1]) + raw[501:])
    elif damage == "gone":
        npz.unlink()
    else:
        description.write_text("{")
    damaged = call("cache", "verify")
    assert damaged.code == 3 and file.name in damaged.out
    again = call("pairs", model, "texts.txt", "--json")
    assert again.code == 0 and "Traceback" not in again.err
    warned = [line for line in again.err.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 1 and file.name in warned[0] and warned[0].endswith("it is computed again.")
    assert json.loads(again.out)["mean_socm"] == first["mean_socm"]
    assert call("cache", "verify").code == 0 and entries(place) == 1
    assert "warning" not in call("pairs", model, "texts.txt", "--json").err


KILLED = """
import os, signal
import components.result_files as files
kept, renamed = files.{function}, []
def killed(*arguments):
    renamed.append(1)
    if len(renamed) == {at}:
        {before}
        os.kill(os.getpid(), signal.SIGKILL)
    return kept(*arguments)
files.{function} = killed
"""


@pytest.mark.parametrize(("function", "at", "before"), [
    ("_write_npz", 1, "kept(*arguments)"),  # arrays on the disk under a temporary name
    ("os.replace", 2, "pass"),  # arrays have their name, their description does not
    ("os.replace", 2, "kept(*arguments)"),  # the description has just got its name
])
def test_killed_while_it_writes(place, model, function, at, before):
    result = run("pairs", model, "texts.txt", "--json", "--out", "p.csv",
                 code=KILLED.format(function=function, at=at, before=before))
    assert result.code == -signal.SIGKILL and result.out == ""
    assert not (place / "p.csv").exists()
    left = [name for name in contents(place) if name.endswith((".npz", ".tmp"))]
    assert left, "the kill came too early"
    whole = before.startswith("kept") and function == "os.replace"
    verified = call("cache", "verify")
    assert verified.code == 0 and ("left by a process" in verified.out) != whole
    assert call("cache", "verify").out == f"{int(whole)} results read, 0 findings.\n"
    assert call("pairs", model, "texts.txt", "--json", "--out", "p.csv").code == 0
    assert len(pd.read_csv(place / "p.csv")) == 45 and entries(place) == 1


def test_killed_while_it_writes_over_an_older_result(place, model):
    """A damaged result is computed again, and the kill comes while that is written."""
    assert call("pairs", model, "texts.txt", "--json").code == 0
    npz = next((place / "store" / "pair_map").glob("*.npz"))
    npz.write_bytes(npz.read_bytes()[:-1])
    result = run("pairs", model, "texts.txt", "--json", code=KILLED.format(function="os.replace", at=1, before="pass"))
    assert result.code == -signal.SIGKILL
    assert call("cache", "verify").code == 3
    assert call("pairs", model, "texts.txt", "--json").code == 0
    assert call("cache", "verify").code == 0 and entries(place) == 1


def test_a_stored_result_is_read_without_torch(model):
    assert call("pairs", model, "texts.txt", "--json").code == 0
    said = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules, file=sys.stderr))"
    result = run("pairs", model, "texts.txt", "--json", "--out", "p.csv", code=said)
    assert result.code == 0 and result.err.splitlines()[-1] == "False"


def test_two_processes_computing_one_key(place, model):
    both = [start("pairs", model, "texts.txt", "--json", "--out", f"{k}.csv") for k in range(2)]
    outputs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len({json.loads(out)["mean_socm"] for out, _ in outputs}) == 1
    assert (place / "0.csv").read_bytes() == (place / "1.csv").read_bytes()
    assert entries(place) == 1
    assert call("cache", "verify").out == "1 results read, 0 findings.\n"
