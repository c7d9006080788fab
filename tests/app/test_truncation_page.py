"""The Truncation page run by Streamlit's own test harness, on stored results of small real models."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.models import declared, resolve_model
from components.pooling_result import declared_prompts
from components.retrieval_sets import load_retrieval_set
from components.truncation_advice import recommend
from components.truncation_pipeline import compute_truncation, truncation_key
from components.truncation_result import TruncationOptions, TruncationResult
from tests.app.pages import metrics, open_page
from tests.components import tiny_models
from tests.test_import_rules import ROOT

pytestmark = pytest.mark.usefixtures("fresh_caches")
SET = "long-documents"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with two tiny models' cuts; a third stays uncomputed, a fourth makes one vector of every text."""
    folder = tmp_path_factory.mktemp("cuts")
    names = ("first", "second", "third")
    for seed, name in enumerate(names):
        tiny_models.save("bert", folder / name, shaken=0.3, seed=seed)
    constant(tiny_models.save("bert", folder / "constant"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POOLSCOPE_STORE", str(folder / "store"))
        patch.setenv("POOLSCOPE_MODELS", ",".join(str(folder / name) for name in (*names, "constant")))
        settings.cache_clear()
        for name in ("first", "second", "constant"):
            compute_truncation(load_retrieval_set(SET), resolve_model(str(folder / name)), TruncationOptions(), device="cpu",
                               store=settings().open_store())
        yield folder
    settings.cache_clear()


def constant(folder):
    """Every token's state becomes the same: the last norm's weight is 0 and its bias is 1."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    last = max(name for name in weights if name.endswith("output.LayerNorm.weight") and "attention" not in name)
    weights[last].zero_()
    weights[last.replace("weight", "bias")].fill_(1)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def open_cuts(**query: str | list[str]) -> AppTest:
    return open_page("truncation", {"set": SET, "model": "first", "cut_with": "second"} | query)


def result_of(folder, name: str) -> TruncationResult:
    ref = resolve_model(str(folder / name))
    key = truncation_key(load_retrieval_set(SET), ref, TruncationOptions(*declared_prompts(declared(ref.folder))))
    found = settings().open_store().get(key)
    return TruncationResult.from_stored(found.arrays, found.meta)


def test_numbers_figures_sentence_and_the_lines_to_write_down(stored):
    page = open_cuts()
    result = result_of(stored, "first")
    assert metrics(page)["nDCG@10 at 32 dims"] == f"{result.value('ndcg@10', 32).value:.3f}"
    best = recommend(result)
    assert metrics(page)["Smallest dim within 2 points"] == str(best.dim)
    specs = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]
    names = {trace.get("name") for trace in specs[0]["data"]}
    assert {"first", "second", "20 random choices of dims", "principal axes of other texts"} <= names and len(specs) == 3
    assert [trace["type"] for trace in specs[1]["data"]] == ["heatmap", "heatmap"]
    said = next(element.value for element in page.markdown if "What this shows" in element.value)
    assert "first" in said and "second" in said
    assert yaml.safe_load(page.code[0].value)["embedding"]["model"] == "first"
    table = page.dataframe[0].value
    assert len(table) == 9 and table["bytes"].tolist() == [32, 8, 1, 64, 16, 2, 128, 32, 4]
    captions = " ".join(element.value for element in page.caption)
    assert "48 queries, 12 documents" in captions and "12 documents cut at 64 tokens" in captions


def test_controls_in_the_link_are_taken(stored):
    result = result_of(stored, "first")
    page = open_cuts(measured="Recall@5", kept_as="int8", points="9.5", cut="8", tau="0.1", baselines="false", cut_with=[])
    assert metrics(page)["Recall@5 at 32 dims"] == f"{result.value('recall@5', 32).value:.3f}"
    best = recommend(result, "recall@5", 9.5, "int8")
    assert metrics(page)["Smallest dim within 9.5 points"] == ("–" if best.dim is None else str(best.dim))
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert {trace["name"] for trace in spec["data"] if trace.get("name")} == {"first"}
    assert any("at 8 dims" in element.value.replace("\\", "") for element in page.subheader)
    said = [element.value for element in page.markdown if "mean |C|" in element.value.replace("\\", "")]
    assert len(said) == 1 and f"{result.share_above(8, 0.1, 0):.1%}".replace("%", "") in said[0].replace("\\", "")


def test_paired_differences_and_known_tables_open(stored):
    page = open_cuts()
    page.session_state["differences_open"] = True
    page.session_state["known_open"] = True
    page.session_state["terms_open"] = True
    page.run()
    assert not page.exception
    tables = {tuple(frame.value.columns) for frame in page.dataframe}
    published = next(frame.value for frame in page.dataframe if "SimCSE" in frame.value.columns)
    assert (published["MIC"] != "").sum() == 7 and len(published) == 15
    assert any("minus" in columns for columns in tables) and any("L_corr" in columns for columns in tables)
    lines = " ".join(element.value for element in page.markdown)
    assert "not reproduced, the opposite" in lines and "MIC spreads the prefix over more axes: reproduced" in lines.replace("\\", "")


def test_what_is_not_stored_offers_to_compute_it(stored):
    page = open_cuts(model="third")
    assert any(button.label.startswith("Cut third to 32 dims and fewer, about") for button in page.button)
    assert not page.get("plotly_chart")


def test_one_vector_for_every_text_says_that_nothing_can_be_told(stored):
    page = open_cuts(model="constant", cut_with=[])
    assert metrics(page)["Smallest dim within 2 points"] == "–" and metrics(page)["Effective dims"] == "–"
    said = " ".join(element.value for element in page.markdown).replace("\\", "")
    assert "Every document has the same vector, so no dim can be told from another." in said and "nan" not in said
    assert len(page.get("plotly_chart")) == 3


@pytest.mark.parametrize("query", [{"measured": "<script>"}, {"kept_as": "float7"}, {"points": "1e999"}, {"points": "-3"},
                                   {"cut": "4096"}, {"tau": "nan"}, {"cut_with": ["first"] * 9}, {"set": "../../etc"},
                                   {"baselines": "perhaps"}])
def test_hostile_links_fall_back_and_show_the_page(stored, query):
    if "set" in query:  # falls back to the first set of the menu, whatever is stored of it
        assert not open_cuts(**query).exception
        return
    page = open_cuts(**query)
    assert "Effective dims" in metrics(page) and not page.error


def test_the_server_loads_nothing_heavy_for_it(stored):
    code = ("import sys; from streamlit.testing.v1 import AppTest; page = AppTest.from_file('app/main.py', default_timeout=60);"
            f"page.query_params['set'] = '{SET}'; page.query_params['model'] = 'first'; page.run();"
            "page.switch_page('views/truncation.py').run();"
            "assert not page.exception and page.metric; print({'torch', 'transformers', 'umap', 'sklearn'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.stdout.strip().endswith("set()"), done.stderr[-2000:]
