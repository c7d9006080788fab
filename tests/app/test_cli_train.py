"""``poolscope train`` as a user runs it: real processes, a kill in the middle, Ctrl-C, a bad recipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.training_folder import RunFolder
from tests.components.tiny_models import save

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("train")
    save("bert", where / "m")
    rows = [f"the {n} {v} {p} .,a {n} {v} {p}" for n in ("cat", "dog", "rain", "mat") for v in ("sat", "ran", "runs")
            for p in ("in", "on", "far")]
    (where / "pairs.csv").write_text("text_a,text_b\n" + "\n".join(rows) + "\n")
    (where / "texts.txt").write_text("\n".join(f"the {n} ran ." for n in ("cat", "dog", "rain", "mat", "home")))
    (where / "r.yaml").write_text("model: m\npairs: pairs.csv\nsteps: 40\nbatch: 8\nlr: 0.001\ndims: [8, 32]\ndevice: cpu\n"
                                  "probe: {every: 10, texts: texts.txt, n_texts: 5, held_out: 6}\n")
    (where / "bad.yaml").write_text("model: m\npairs: pairs.csv\nsteps: many\n")
    return where


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = os.environ | {"POOLSCOPE_STORE": str(folder / "store"), "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen([sys.executable, "-m", "app.cli.run", "train", *words], cwd=ROOT, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until(out: Path, step: int, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if RunFolder(out).last_step() >= step:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no checkpoint in a minute")


def test_a_killed_run_ends_where_a_whole_one_does(folder):
    whole = start(folder, str(folder / "r.yaml"), "--out", str(folder / "whole"), "--json")
    out, err = whole.communicate(timeout=240)
    assert whole.returncode == 0, err
    found = json.loads(out)
    assert found["steps"] == 40 and found["resumed_at"] == 0

    killed = start(folder, str(folder / "r.yaml"), "--out", str(folder / "killed"))
    until(folder / "killed", 20, killed)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not (folder / "killed" / "training" / "evaluation.json").exists()
    rest = start(folder, str(folder / "r.yaml"), "--out", str(folder / "killed"), "--json")
    out, err = rest.communicate(timeout=240)
    assert rest.returncode == 0, err
    again = json.loads(out)
    assert 20 <= again["resumed_at"] < 40
    assert again["final_loss"] == pytest.approx(found["final_loss"], abs=1e-4)
    assert again["after"]["socm"]["value"] == pytest.approx(found["after"]["socm"]["value"], abs=1e-4)
    assert [line["step"] for line in RunFolder(folder / "killed").log()] == [0, 10, 20, 30, 40]


def test_ctrl_c_stops_with_a_sentence_and_the_run_can_go_on(folder):
    (folder / "long.yaml").write_text((folder / "r.yaml").read_text().replace("steps: 40", "steps: 100000"))
    process = start(folder, str(folder / "long.yaml"))
    until(folder / "long", 10, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "the same command goes on from here" in err and "Traceback" not in err
    assert RunFolder(folder / "long").last_step() >= 10


def test_a_bad_recipe_is_one_sentence(folder):
    process = start(folder, str(folder / "bad.yaml"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and out == ""
    assert err.strip() == "poolscope: recipe 'bad.yaml': steps must be a valid integer, unable to parse string as an integer; " \
                          "found 'many': mend steps in the recipe."
    assert not (folder / "bad").exists()
