"""The notebooks' cells, run in order: what they print is what the notebooks hold, to the last digit but one."""

from __future__ import annotations

import json
import re

import pytest

from components.corpora import DATA_DIR
from tests.notebooks import kept, outputs

NOTEBOOKS = sorted((DATA_DIR / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_holds(path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(DATA_DIR.parent))
    monkeypatch.chdir(DATA_DIR.parent)
    cells = 0
    for cell, said in outputs(json.loads(path.read_text("utf-8"))):
        assert NUMBER.sub("#", said) == NUMBER.sub("#", kept(cell)), "".join(cell["source"])
        assert [float(x) for x in NUMBER.findall(said)] == pytest.approx([float(x) for x in NUMBER.findall(kept(cell))], abs=2e-4)
        cells += 1
    assert cells > 5


def test_there_is_one_and_its_output_is_kept():
    assert "token_states" in [path.stem for path in NOTEBOOKS]
    for path in NOTEBOOKS:
        code = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        assert sum(bool(cell["outputs"]) for cell in code) >= len(code) - 1 and all(cell["execution_count"] for cell in code)
