"""Who may import whom: walks the syntax trees, and looks at what a fresh interpreter has loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "sentence_transformers", "umap"}
FILES = sorted(p for folder in ("app", "components") for p in (ROOT / folder).rglob("*.py"))


def imports(path: Path, *, top_only: bool = False) -> set[str]:
    """Dotted names that a file imports; ``if TYPE_CHECKING`` blocks do not count."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If)
               and "TYPE_CHECKING" in ast.unparse(node.test) for inner in ast.walk(node)}
    nodes = tree.body if top_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def packages(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_borders(path):
    name, found = name_of(path), imports(path)
    outside = packages(found)
    if name.startswith("components."):
        assert "streamlit" not in outside and "app" not in outside
        if not name.startswith("components.charts"):
            assert "plotly" not in outside
    if name != "components.encoders":
        assert not {"transformers", "sentence_transformers"} & outside
    if name.startswith("components.charts"):
        assert not HEAVY & outside
        assert not {"components.store", "components.pipeline"} & found
    if name == "components.errors":
        assert "components" not in outside
    if name == "components.types":
        assert {n for n in found if n.startswith("components.") and n.count(".") == 1} <= {"components.errors"}
    if name == "components.store":
        assert not HEAVY & outside
    if name == "components.pipeline":
        top = imports(path, top_only=True)
        light = {"components.errors", "components.models", "components.pair_map", "components.store", "components.types"}
        assert {n for n in top if n.startswith("components.") and n.count(".") == 1} <= light
    if name.startswith("app.views"):
        assert not HEAVY & outside
        assert not {"components.store", "components.pipeline"} & found
        assert not any("cache_" in line for line in path.read_text("utf-8").splitlines() if "st." in line)
    if name.startswith("app.") and not name.startswith("app.cli"):
        assert not HEAVY & outside
    if name == "app.worker":
        assert "streamlit" not in outside


def test_files_stay_small():
    long = {name_of(path): n for path in FILES if (n := len(path.read_text("utf-8").splitlines())) > 320}
    assert not long


@pytest.mark.parametrize("module", ["app.resources", "app.results", "app.jobs", "app.widgets", "app.navigation",
                                    "components.pipeline", "components.pair_map", "app.cli"])
def test_what_the_server_imports_loads_no_torch(module):
    code = f"import sys, {module}; print(sorted({HEAVY!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert result.stdout.strip().splitlines()[-1:] == ["[]"], result.stdout + result.stderr
