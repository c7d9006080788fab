"""The Pooling page run by Streamlit's own test harness, on stored results of a small real set under a model trained with CLS."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.charts.style import caption_number
from components.fault_pipeline import compute_chunks, compute_company
from components.models import resolve_model
from components.pooling_pipeline import compute_pooling, pooling_key
from components.pooling_result import PoolingOptions, PoolingResult
from components.retrieval_sets import load_retrieval_set
from tests.app.pages import metrics, open_page
from tests.app.retrieval_files import small_set
from tests.components import tiny_models
from tests.test_import_rules import ROOT

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with 20 questions on 60 passages under nano-cls, and a model that declares prompts."""
    folder = tmp_path_factory.mktemp("pooling")
    small_set(folder / "small")
    prompted = tiny_models.save("bert", folder / "prompted")
    (prompted / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "the ", "document": ""}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POOLSCOPE_STORE", str(folder / "store"))
        patch.setenv("POOLSCOPE_RETRIEVAL_SETS", str(folder / "small"))
        patch.setenv("POOLSCOPE_MODELS", str(prompted))
        settings.cache_clear()
        of, store = load_retrieval_set(folder / "small"), settings().open_store()
        ref = resolve_model("nano-cls")
        compute_pooling(of, ref, PoolingOptions(), store=store)
        compute_company(of, ref, PoolingOptions(), store=store)
        compute_chunks(of, ref, PoolingOptions(), store=store)
        for options in (PoolingOptions("the ", "", more=True), PoolingOptions()):
            compute_pooling(of, resolve_model(str(prompted)), options, store=store)
        yield of
    settings.cache_clear()


def open_pooling(**query: str) -> AppTest:
    return open_page("pooling", {"set": "small", "model": "nano-cls"} | query)


def result_of(of) -> PoolingResult:
    found = settings().open_store().get(pooling_key(of, resolve_model("nano-cls"), PoolingOptions()))
    return PoolingResult.from_stored(found.arrays, found.meta)


def figures(page: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def test_the_declared_pooling_needs_no_alarm(stored):
    page = open_pooling()
    assert not page.warning and metrics(page)["Difference"] == "–" and metrics(page)["Queries that flip"] == "0"
    assert any("declares cls \\(1\\_Pooling/config\\.json" in element.value for element in page.markdown)
    value = result_of(stored).row("cls", "ndcg@10").value.value
    assert metrics(page)["nDCG@10, cls"] == f"{value:.3f}"
    # Poolings, company, chunks, planes, neighbours.
    assert len(figures(page)) == 5
    said = next(element.value for element in page.markdown if "What this shows" in element.value)
    assert "cls, which the model declares" in said and "after Holm" in said


def test_the_wrong_pooling_rings_the_alarm_with_its_cost(stored):
    page, result = open_pooling(pooling="mean"), result_of(stored)
    gap = result.row("mean", "ndcg@10").difference.value
    said = page.warning[0].value
    assert "mean is not what this model declares" in said and "on the same 20 queries" in said
    assert caption_number(gap) in said.replace("\\", "") and len(result.flips("mean")) == int(metrics(page)["Queries that flip"])
    table = page.dataframe[1].value
    assert len(table) == len(result.flips("mean")) and set(table["better"]) <= {"chosen", "declared"}


def test_mixing_normalisation_is_said_to_be_another_ranking(stored):
    page, result = open_pooling(similarity="Euclidean distance", unit_documents="false"), result_of(stored)
    expected = result.per_query("cls", "ndcg@10", "euclidean_unit_queries").mean()
    assert [metric.value for metric in page.metric][:2] == [f"{value:.3f}" for value in (
        result.row("cls", "ndcg@10").value.value, expected)]
    assert any("Euclidean distance, queries at length 1" in element.value for element in page.warning)


def test_a_metric_in_the_link_moves_every_number(stored):
    page, result = open_pooling(metric="Recall@1", pooling="max"), result_of(stored)
    assert metrics(page)["Recall@1, max"] == f"{result.row('max', 'recall@1').value.value:.3f}"
    row = next(trace for trace in figures(page)[0]["data"] if trace.get("customdata") and "max" in str(trace["y"]))
    assert row["x"]


def test_prompts_are_shown_with_and_without(stored):
    page = open_page("pooling", {"set": "small", "model": "prompted"})
    assert any("With the declared prompts" in element.value for element in page.markdown)
    off = open_page("pooling", {"set": "small", "model": "prompted", "prompts": "false"})
    assert metrics(off) != metrics(page) or off.metric


def test_a_backbone_has_no_wrong_pooling(stored):
    page = open_page("pooling", {"set": "small", "model": "prompted", "pooling": "max"})
    assert not page.warning and any("none is wrong" in element.value for element in page.info)


def test_what_is_not_stored_offers_to_compute_it(stored):
    page = open_page("pooling", {"set": "small", "model": "nano-mrl"})
    assert any(button.label.startswith("Measure the poolings of nano-mrl, about") for button in page.button)
    assert not page.get("plotly_chart")


@pytest.mark.parametrize("query", [{"set": "../../etc"}, {"pooling": "<script>"}, {"metric": "ndcg@1e999"}, {"similarity": "x"},
                                   {"unit_queries": "perhaps"}, {"doc": "nobody"}, {"prompts": "2"}])
def test_hostile_links_fall_back_and_show_the_page(stored, query):
    page = open_pooling(**query)
    assert not page.error and (page.metric or page.button)


def test_the_server_loads_nothing_heavy_for_it(stored):
    code = ("import sys; from streamlit.testing.v1 import AppTest; page = AppTest.from_file('app/main.py', default_timeout=60);"
            "page.query_params['set'] = 'small'; page.query_params['model'] = 'nano-cls';"
            "page.run(); page.switch_page('views/pooling.py').run();"
            "assert not page.exception and page.metric;"
            "print({'torch', 'transformers', 'umap', 'sklearn', 'statsmodels'} & set(sys.modules))")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.stdout.strip().endswith("set()"), result.stdout + result.stderr[-2000:]
