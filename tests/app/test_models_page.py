"""The Models page run by Streamlit's own test harness, over the published table and the results that come along."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.models import EMBEDDED
from components.published import models
from tests.app.pages import metrics, open_page
from tests.test_import_rules import ROOT

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture(scope="module", autouse=True)
def own_store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POOLSCOPE_STORE", str(tmp_path_factory.mktemp("models") / "store"))
        settings.cache_clear()
        yield
    settings.cache_clear()


def open_models(**query: str | list[str]) -> AppTest:
    return open_page("models", query)


def test_the_published_correlation_with_what_a_careful_reader_asks():
    page = open_models()
    assert metrics(page) == {"Spearman's ρ": "−0.678", "p by permutation": metrics(page)["p by permutation"],
                             "Pearson's r": "−0.455", "Models": "12"}
    captions = " ".join(element.value for element in page.caption)
    assert "Student's t gives 0.0153" in captions and "in 4 families" in captions and "bias" in captions
    said = next(element.value for element in page.markdown if "What this shows" in element.value)
    assert "cannot tell it from none" in said
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    points = [trace for trace in spec["data"] if trace["name"] != "computed here, no score"]
    assert sum(len(trace["x"]) if isinstance(trace["x"], list) else 0 for trace in points) == 12


def test_models_computed_here_without_a_score_are_ticks_and_said_to_be_none(monkeypatch):
    page = open_models()
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    ticks = next(trace for trace in spec["data"] if trace["name"] == "computed here, no score")
    assert ticks["hovertext"][0].split("<br>")[0] == EMBEDDED and "customdata" not in ticks
    said = next(element.value for element in page.caption if "Ticks on the axis" in element.value).replace("\\", "")
    assert f"{EMBEDDED} 0.437" in said and "no part of the correlation" in said


def test_every_measure_and_subset_with_n_and_the_rules_for_few():
    page = open_models()
    page.session_state["subsets_open"] = True
    page.run()
    table = page.dataframe[0].value.set_index(["Measure", "Models"])
    wiki = table.loc["SOCM, Wikipedia"]
    assert wiki["n"].tolist() == [12, 8, 4] and wiki["rho"].round(3).tolist() == [-0.678, -0.690, 0.4]
    assert round(wiki.loc["All", "p, Student"], 3) == 0.015 and round(wiki.loc["All", "Pearson"], 3) == -0.455
    assert wiki["low"].isna().tolist() == [False, False, True], "no interval below six models"
    assert table.loc[("Last-layer spread", "All"), "n"] == 7


def test_exceptions_over_the_three_published_sets_are_named():
    said = " ".join(element.value for element in open_models().caption).replace("\\", "")
    assert "rises for all-MiniLM-L12-v2 on Wikipedia and MS MARCO; nomic-embed-text-v1.5 on MS MARCO" in said


def test_a_model_that_cannot_be_read_is_a_row_with_its_sentence(monkeypatch, tmp_path):
    (tmp_path / "broken").mkdir()
    monkeypatch.setenv("POOLSCOPE_MODELS", str(tmp_path / "broken"))
    settings.cache_clear()
    try:
        table = open_models().dataframe[0].value.set_index("Model")
        assert table.loc["broken", "Pooling"] == "cannot be read" and "must" in table.loc["broken", "Prompts"]
        assert np.isfinite(table.loc[EMBEDDED, "Mean SOCM"])
    finally:
        monkeypatch.undo()
        settings.cache_clear()


@pytest.mark.parametrize(("query", "rho", "n"), [
    ({"subset": "Contrastive only"}, "−0.690", "8"), ({"subset": "Backbones only"}, "0.400", "4"),
    ({"measure": "SOCM, hard negatives"}, "−0.762", "12"), ({"measure": "Last-layer spread"}, None, "7"),
    ({"without": "nomic-ai/nomic-bert-2048"}, None, "11")])
def test_subsets_measures_and_models_left_out(query, rho, n):
    found = metrics(open_models(**query))
    assert found["Models"] == n and rho in (None, found["Spearman's ρ"])


def test_too_few_models_say_so():
    ids = [model.model_id for model in models()]
    page = open_models(without=ids[:10])
    assert any("Fewer than 3 models are left" in element.value for element in page.markdown)
    assert metrics(page) == {"Spearman's ρ": "–"}


def test_exceptions_are_named_and_models_here_are_listed():
    page = open_models()
    assert any("rises for all\\-MiniLM\\-L12\\-v2" in element.value for element in page.caption)
    table = page.dataframe[0].value.set_index("Model")
    assert table.loc[EMBEDDED, "Layers"] == 6 and table.loc[EMBEDDED, "Pooling"] == "mean"
    assert round(table.loc[EMBEDDED, "Mean SOCM"], 3) == 0.437 and np.isfinite(table.loc["nano-backbone", "Mean SOCM"])


def test_a_score_needs_a_source_and_takes_no_part():
    page = open_models()
    before = metrics(page)
    page.button[-1].click().run()
    assert any("source of the score must be given" in element.value.replace("\\", "") for element in page.error)
    page.text_input(key="score_source").input("a table <b>of</b> mine")
    page.number_input(key="score_value").set_value(0.55)
    page.button[-1].click().run()
    assert not page.exception and metrics(page) == before
    spec = page.get("plotly_chart")[0].proto.spec
    assert "computed here" in spec and "<b>of" not in spec and "1 computed here" in " ".join(e.value for e in page.caption)


@pytest.mark.parametrize("query", [{"measure": "<script>"}, {"subset": "1e999"}, {"without": ["nobody", "x" * 2000]}])
def test_hostile_links_fall_back(query):
    assert metrics(open_models(**query))["Models"] == "12"


def test_the_server_loads_nothing_heavy_for_it():
    code = ("import sys; from streamlit.testing.v1 import AppTest; page = AppTest.from_file('app/main.py', default_timeout=60);"
            "page.run(); page.switch_page('views/models.py').run(); assert not page.exception and page.metric;"
            "print({'torch', 'transformers', 'umap'} & set(sys.modules))")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.stdout.strip().endswith("set()"), result.stderr[-2000:]
