"""The pages of the Cloud's installation: everything from the gallery, and what is missing where something is to be computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from components.models import DECLARED_DIR, declared, hidden_size, layer_count, resolve_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "POOLSCOPE_STORE": str(tmp_path_factory.mktemp("cloud") / "store")}
    done = subprocess.run([sys.executable, "-m", "tests.app.without_torch"], cwd=ROOT, env=environment, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_no_page_fails_and_nothing_heavy_is_loaded(walked):
    assert walked["loaded"] == []
    assert {view: one for view, one in walked["shown"].items() if one["exception"] or one["error"]} == {}


@pytest.mark.parametrize(("view", "metrics", "figures"), [("map", 4, 1), ("map model=nano-mic labelled=true", 4, 1),
                                                          ("layers layers_export_open=true", 4, 3), ("models", 4, 2), ("home", 4, 2)])
def test_pages_from_the_gallery_are_whole(walked, view, metrics, figures):
    shown = walked["shown"][view]
    assert len(shown["metrics"]) == metrics and shown["figures"] == figures, shown


@pytest.mark.parametrize("view", ["map layer=3", "pair", "pooling"])
def test_what_is_not_stored_says_what_is_missing(walked, view):
    shown = walked["shown"][view]
    assert "PyTorch is not installed" in shown["words"] and not any(label.startswith(("Compute", "Look")) for label in shown["buttons"])
    assert any("pip install" in code for code in shown["code"])


def test_the_embedded_model_without_its_weights_is_the_same_model():
    real, folder = resolve_model("all-MiniLM-L6-v2"), DECLARED_DIR
    assert (folder / "revision.txt").read_text("ascii").strip() == real.revision
    assert declared(folder) == declared(real.folder)
    for file in (p for p in folder.rglob("*.json")):
        assert file.read_bytes() == (real.folder / file.relative_to(folder)).read_bytes()
    assert layer_count(real) == 6 and hidden_size(real) == 384
