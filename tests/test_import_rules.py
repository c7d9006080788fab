"""Who may import whom (the table in the design's layout): the syntax trees tell, and a fresh interpreter.

A rule lists what a module may import of ours and of others; what a rule's reason calls for is forbidden even inside
functions. ``if TYPE_CHECKING`` blocks do not count, since nothing is imported there.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "sentence_transformers", "umap"}
FILES = sorted(p for folder in ("app", "components") for p in (ROOT / folder).rglob("*.py"))

STORE = {"components.store", "components.store_folder", "components.result_files", "components.result_key"}
CORPORA = {"components.retrieval_sets", "components.vector_files", "components.vector_text", "components.audit_texts",
           "components.truncation_tables", "components.inline_texts", "components.token_files", "components.hub_datasets",
           "components.seed_spread",
           "components.published", "components.corpora", "components.files", "components.tables", "components.columns"}
CONFIGURATION = {"components.embedding_config"}
"""Files of settings: read like texts, and checked against a model's own files."""
PIPELINE = {"components.pipeline", "components.gallery", "components.training_pipeline", "components.layer_pipeline",
            "components.pooling_pipeline", "components.fault_pipeline", "components.pooled_umap_pipeline",
            "components.truncation_pipeline", "components.token_pipeline", "components.subset_pipeline",
            "components.length_pipeline", "components.audit_pipeline", "components.states_pipeline", "components.model_fetch",
            "components.nano", "components.nano_settings", "components.nano_table", "components.training_runs"}
EXPORTS = {"components.html_export", "components.html_look"}
"""Files that anyone opens: made from figures, and themselves no computation."""
EXPORTING = {"app.cli.export", "app.cli.export_site"}
"""Commands that draw what pages draw, by the pages' own code."""
CHART_WORDS = {"components.charts.style.caption_number", "components.charts.style.interval_text"}
"""How numbers are written; sentences use it as figures do."""
ONE_FILE = {"transformers": {"components.encoders", "components.nano_backbone", "components.training"},
            "sentence_transformers": {"components.batch_order", "components.encoders", "components.losses", "components.training",
                                      "components.model_modules"},
            "datasets": {"components.training", "components.hub_datasets"}, "filelock": {"components.training_folder"} | STORE,
            "pydantic": {"components.recipes", "components.embedding_config", "app.settings"},
            "yaml": {"components.recipes", "components.embedding_config", "components.plain_yaml"},
            "tokenizers": {"components.nano_tokens"}, "safetensors": {"components.nano_backbone"},
            "sklearn": {"components.pooling_measures", "components.projection", "components.truncation_measures"},
            "statsmodels": {"components.query_statistics"}, "threadpoolctl": {"components.pooling_measures"},
            "umap": {"components.projection"}, "ot": {"components.transport"}, "pytrec_eval": {"components.retrieval"}}
"""Where each special library may be imported; a loss made for a library's trainer has to know that library, and
who trains a model from nothing makes its classes, tokenizer and checkpoints."""


@dataclass(frozen=True)
class Import:
    """One imported name: the module it comes from, the name itself, and whether it is at the top of the file."""

    module: str
    name: str
    top: bool

    @property
    def package(self) -> str:
        return self.module.split(".")[0]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in FILES}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Everything a file imports, wherever it stands."""
    return tuple(_walk(tree_of(path), True))


def _walk(node: ast.AST, top: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, alias.name, top) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0 and child.module, "imports name their module in full"
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield Import(whole if whole in NAMES else child.module, whole, top)
        else:
            yield from _walk(child, top and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


def ours(path: Path) -> set[str]:
    return {found.module for found in imports(path) if found.package in ("app", "components")}


def others(path: Path) -> set[str]:
    return {found.package for found in imports(path)} - {"app", "components"} - set(sys.stdlib_module_names)


def of(prefix: str) -> list[Path]:
    return [path for path in FILES if name_of(path) == prefix or name_of(path).startswith(prefix + ".")]


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=name_of)


def file_of(name: str) -> Path:
    return next(path for path in FILES if name_of(path) == name)


COMPUTATIONS = [path for path in of("components") if name_of(path) not in
                STORE | CORPORA | CONFIGURATION | PIPELINE | EXPORTS | {"components", "components.errors", "components.types",
                    "components.models"}
                and not name_of(path).startswith("components.charts")]


def test_the_walk_sees_what_there_is():
    assert Import("components.encoders", "components.encoders.load_encoder", False) in imports(file_of("components.pipeline"))
    assert Import("components.store", "components.store.ResultStore", True) in imports(file_of("components.pipeline"))
    assert "components.encoders" in {name_of(path) for path in COMPUTATIONS} and len(COMPUTATIONS) > 8


@each(of("components"))
def test_components_know_no_app_and_no_streamlit(path):
    assert "app" not in {found.package for found in imports(path)} and "streamlit" not in others(path)
    if not name_of(path).startswith("components.charts") and name_of(path) not in EXPORTS:
        assert "plotly" not in others(path)


@each(FILES)
def test_special_libraries_are_imported_where_they_belong(path):
    assert not {library for library in others(path) if name_of(path) not in ONE_FILE.get(library, {name_of(path)})}


@each(FILES)
def test_only_the_worker_imports_by_name(path):
    called = {ast.unparse(node.func) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)}
    assert name_of(path) == "app.worker" or not {"import_module", "importlib.import_module", "__import__"} & called


def test_errors_and_types_come_first():
    assert not ours(file_of("components.errors")) and not others(file_of("components.errors"))
    assert ours(file_of("components.types")) == {"components.errors"} and others(file_of("components.types")) == {"numpy"}


@each([file_of(name) for name in sorted(STORE)])
def test_the_store_knows_no_computation(path):
    assert ours(path) <= {"components.errors", "components.types"} | STORE
    assert others(path) <= {"numpy", "filelock", "platformdirs"}


@each([file_of(name) for name in sorted(CORPORA)])
def test_texts_know_no_computation(path):
    assert ours(path) <= {"components.errors", "components.types"} | CORPORA
    assert others(path) <= {"numpy", "pandas", "pyarrow", "datasets", "huggingface_hub"}


@each([file_of(name) for name in sorted(CONFIGURATION)])
def test_configurations_know_no_computation(path):
    assert ours(path) <= {"components.errors", "components.types", "components.models", "components.plain_yaml", "components.files"}
    assert others(path) <= {"pydantic", "yaml"}


def test_models_are_found_without_torch():
    assert ours(file_of("components.models")) == {"components.errors"}
    assert others(file_of("components.models")) <= {"huggingface_hub"}


@each(COMPUTATIONS)
def test_computations_know_no_store_and_no_figure(path):
    allowed = {"components.errors", "components.types", "components.models", "components.files"} | CONFIGURATION | {
        name_of(p) for p in COMPUTATIONS}
    assert {f.name for f in imports(path) if f.package in ("app", "components") and f.module not in allowed} <= CHART_WORDS
    assert others(path) <= {"numpy", "scipy", "pandas", "pyarrow", "torch"} | {k for k, v in ONE_FILE.items() if name_of(path) in v}


@each([file_of(name) for name in sorted(PIPELINE)])
def test_the_pipeline_computes_only_after_a_miss(path):
    top = {found.module for found in imports(path) if found.top and found.package == "components"}
    assert top <= STORE | CORPORA | {"components.errors", "components.types", "components.models", "components.pair_map",
                                     "components.recipes", "components.training_folder",
                                     "components.pooling_result", "components.truncation_result",
                                     "components.truncation_pipeline", "components.pooling_pipeline", "components.fault_pipeline",
                                     "components.pipeline", "components.training_pipeline", "components.layer_pipeline",
                                     "components.layer_curves", "components.token_pipeline", "components.nano",
                                     "components.nano_settings", "components.embedding_config", "components.audit_options",
                                     "components.statistics", "components.probe", "components.training_record",
                                     "components.training_runs"}
    assert {found.package for found in imports(path) if found.top} <= {"numpy", "components"} | set(sys.stdlib_module_names)
    assert not {module for module in ours(path) if module.startswith("components.charts")}
    assert not {"plotly", "streamlit"} & others(path)


@each(of("components.charts"))
def test_figures_take_data_and_give_figures(path):
    data = {"components.errors", "components.types", "components.pair_map"}
    # A figure may name the type that it draws.
    types = {"components.pair_selection.LengthBin", "components.token_pair.Projection", "components.token_pair.ellipse"}
    assert {f.name for f in imports(path) if f.module not in data and f.package in ("app", "components")
            and not f.module.startswith("components.charts")} <= types
    assert others(path) <= {"numpy", "pandas", "plotly"}


def test_the_worker_knows_no_page():
    for name in ("app.worker", "app.worker_client"):
        assert not others(file_of(name))
        assert ours(file_of(name)) <= {"components.errors", "components.store", "components.pipeline"}


@each([file_of(name) for name in ("app.resources", "app.results", "app.request", "app.jobs", "app.job", "app.settings")])
def test_what_serves_pages_knows_no_page(path):
    assert not {module for module in ours(path) if module.startswith(("app.views", "app.widgets", "app.cli", "app.main"))}


@each([path for path in of("app") if not name_of(path).startswith("app.cli")])
def test_the_server_imports_nothing_heavy(path):
    assert not HEAVY & others(path)
    assert not {"components.encoders", "components.moments", "components.pair_scan", "components.socm"} & ours(path)
    assert not {module for module in ours(path) if module.startswith("app.cli")}


@each(of("app.views"))
def test_views_only_show(path):
    own = name_of(path).removeprefix("app.views.").split("_")[0]
    assert not (STORE | PIPELINE | {"app.worker", "app.worker_client"}) & ours(path)
    for module in ours(path):
        if module.startswith("app.views."):
            assert module.removeprefix("app.views.").split("_")[0] == own, "a page uses its own parts, not another page"
    page = name_of(path) == f"app.views.{own}"  # a page's parts may take rows of an array
    assert not ({"torch", "scipy", "pandas"} | ({"numpy"} if page else set())) & others(path)
    used = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
    assert not {name for name in used if name.startswith("cache_")}, "caches lie in app.resources"


@each(of("app.cli"))
def test_commands_know_no_page(path):
    assert not {"streamlit", *HEAVY} & others(path)
    used = {module for module in ours(path) if module.startswith("app.") and not module.startswith("app.cli")}
    if name_of(path) not in EXPORTING:
        assert used <= {"app.settings"}
    assert not {found.module for found in imports(path) if found.top} & used - {"app.settings"}, "Streamlit costs half a second"


def test_exported_files_know_figures_and_nothing_else():
    for name in EXPORTS:
        assert ours(file_of(name)) <= EXPORTS | {"components.cells", "components.charts.style"}
        assert others(file_of(name)) <= {"numpy", "pandas", "plotly"}


@each(of("app.cli"))
def test_commands_start_quickly(path):
    """What takes seconds to import is imported when it is needed."""
    slow = {"components.encoders", "components.moments", "components.pair_scan", "components.sinks", "components.socm"}
    assert not {found.module for found in imports(path) if found.top} & slow


def test_files_stay_small():
    long = {name_of(path): n for path in FILES if (n := len(path.read_text("utf-8").splitlines())) > 330}
    assert not long


def loaded_after(modules: list[str]) -> set[str]:
    """The heavy libraries in a fresh interpreter that has imported the modules."""
    code = f"import sys\nfor name in {modules!r}: __import__(name)\nprint(*({HEAVY!r} & set(sys.modules)), sep=',')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert result.returncode == 0, result.stderr
    return set(filter(None, result.stdout.strip().splitlines()[-1:][0].split(","))) if result.stdout.strip() else set()


def runs_a_page(path: Path) -> bool:
    return any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in tree_of(path).body)


def test_a_fresh_interpreter_with_all_of_the_server_has_loaded_nothing_heavy():
    modules = [name_of(path) for path in of("app") if not runs_a_page(path) and name_of(path) != "app.worker"
               and not name_of(path).startswith("app.cli")]
    assert {"app.resources", "app.results", "app.jobs", "app.widgets"} <= set(modules)
    assert loaded_after(modules) == set()


def test_a_fresh_interpreter_with_commands_and_pipeline_has_loaded_nothing_heavy():
    assert loaded_after(["app.cli", "app.worker", "components.pipeline", "components.gallery", "components.pair_map"]) == set()


def test_the_interpreter_check_sees_what_there_is():
    assert "torch" in loaded_after(["components.moments"])
