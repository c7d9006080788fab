"""The Layers page run by Streamlit's own test harness, on stored results of a small real corpus under two real models."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.corpora import load_corpus
from components.layer_curves import LayerCurves, LayerOptions
from components.layer_pipeline import compute_layers, layers_key
from components.models import resolve_model
from tests.app.pages import metrics, open_page
from tests.components import tiny_models

pytestmark = pytest.mark.usefixtures("fresh_caches")

MODELS = ("all-MiniLM-L6-v2", "nano-backbone")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with 40 sentences' layers under both models."""
    folder = tmp_path_factory.mktemp("layers")
    file, short, odd = folder / "forty.txt", folder / "short.txt", folder / "odd.txt"
    file.write_text("\n".join(load_corpus("encyclopedia").texts[:40]) + "\n", encoding="utf-8")
    short.write_text("Rain.\nSnow.\n", encoding="utf-8")
    odd.write_text("Rain.\nthe the the the\n" + "far home " * 300 + "\n", encoding="utf-8")
    tiny_models.save("albert", folder / "albert")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POOLSCOPE_STORE", str(folder / "store"))
        patch.setenv("POOLSCOPE_TEXTS", f"{file},{short},{odd}")
        patch.setenv("POOLSCOPE_MODELS", str(folder / "albert"))
        settings.cache_clear()
        for name in (*MODELS, str(folder / "albert")):
            compute_layers(load_corpus(file), resolve_model(name), LayerOptions(), store=settings().open_store())
        compute_layers(load_corpus(odd), resolve_model(MODELS[0]), LayerOptions(), store=settings().open_store())
        yield file
    settings.cache_clear()


def open_layers(**query: str | list[str]) -> AppTest:
    return open_page("layers", {"corpus": "forty.txt", "with": "nano-backbone"} | query)


def curves_of(file, name: str) -> LayerCurves:
    found = settings().open_store().get(layers_key(load_corpus(file), resolve_model(name), LayerOptions()))
    return LayerCurves.from_stored(found.arrays, found.meta)


def test_stored_layers_show_numbers_figures_and_the_sentence(stored):
    page = open_layers()
    curves = curves_of(stored, MODELS[0])
    assert metrics(page)["Normalised spread"] == f"{curves.values['normalized_spread'][:, -1].mean():.2f}"
    assert metrics(page)["Heads with λ of 1 or more"] == str(int((curves.lambda_.mean(axis=0) >= 1).sum()))
    specs = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]
    names = {trace.get("name") for trace in specs[0]["data"]}
    assert set(MODELS) <= names and len(specs) == 3 and specs[2]["data"][0]["type"] == "heatmap"
    captions = " ".join(element.value for element in page.caption)
    assert "40 texts" in captions and "6 layers" in captions and "4 layers" in captions and "all 780 pairs" in captions
    said = next(element.value for element in page.markdown if "What this shows" in element.value)
    assert "falls most in block" in said and "times its value" in said
    assert len(page.dataframe[0].value) == 16


def test_a_layer_in_the_link_sets_headline_distribution_and_texts(stored):
    page = open_layers(layer="2", over="r")
    curves = curves_of(stored, MODELS[0])
    assert metrics(page)["Normalised spread"] == f"{curves.values['normalized_spread'][:, 2].mean():.2f}"
    r = curves.values["r"][:, 1]
    table = page.dataframe[0].value
    assert table["value"].iloc[0] == pytest.approx(r.min()) and table["value"].iloc[-1] == pytest.approx(r.max())
    assert table["row"].iloc[-1] == int(np.argmax(r))


def test_a_block_quantity_at_final_says_which_layers_have_it(stored):
    page = open_layers(over="C")
    assert any("choose a layer from 1 to 6" in element.value for element in page.info)


def test_a_model_whose_attention_cannot_be_followed_shows_the_rest_and_says_why(stored):
    page = open_layers(model="albert", **{"with": "nano-backbone"})
    assert any("λ, r and C are not available for albert" in element.value.replace("\\", "") for element in page.info)
    assert metrics(page)["Normalised spread"] and "Heads with λ of 1 or more" not in metrics(page)
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert any(trace.get("name") == "albert" for trace in spec["data"]) and len(page.get("plotly_chart")) == 2
    only = open_layers(model="albert", over="r", **{"with": []})
    assert any("not available for this model" in element.value for element in only.info)


def test_one_word_equal_words_and_a_text_over_the_limit(stored):
    page = open_layers(corpus="odd.txt", **{"with": []})
    assert any("1 text cut at 256 tokens" in element.value for element in page.caption)
    assert metrics(page)["Normalised spread"] != "–" and any("no interval below 6 texts" in element.value for element in page.caption)


def test_published_curves_are_off_until_asked_for(stored):
    def published(page: AppTest) -> bool:
        return "gte-base" in page.get("plotly_chart")[0].proto.spec

    assert not published(open_layers()) and published(open_layers(published="true"))


def test_what_is_not_stored_offers_to_compute_it(stored):
    page = open_layers(corpus="short.txt")
    assert [button.label.split(",")[0] for button in page.button if "Measure" in button.label] == \
        ["Measure 8 layers of all-MiniLM-L6-v2", "Measure 6 layers of nano-backbone"]
    assert not page.get("plotly_chart")


@pytest.mark.parametrize("query", [{"layer": "9"}, {"layer": "-1"}, {"layer": "1e999"}, {"over": "<script>"}, {"with": "nobody"},
                                   {"with": ["nano-backbone"] * 9}, {"published": "perhaps"}, {"model": "../../etc"}])
def test_hostile_links_fall_back_and_show_the_page(stored, query):
    page = open_layers(**query)
    assert metrics(page)["Normalised spread"] and not page.error


def test_the_layer_clicked_becomes_the_page_model_s_layer(stored):
    from app import layer_data

    data = layer_data.load("forty.txt", list(MODELS))
    assert data.relative and data.layer_of("all-MiniLM-L6-v2", "2") == "2"
    assert data.layer_of("nano-backbone", "2") == "3" and data.layer_of("nano-backbone", "final") == "final"


def test_the_long_table_of_both_models(stored):
    from app import layer_data

    table = layer_data.long_table(layer_data.load("forty.txt", list(MODELS)))
    assert set(table["model"]) == set(MODELS) and table["head"].dropna().between(1, 12).all()
    assert table["head"].isna().sum() == (table["quantity"] != "lambda").sum()


def test_the_server_loads_nothing_heavy_for_it(stored):
    import subprocess

    code = ("import sys; from streamlit.testing.v1 import AppTest; page = AppTest.from_file('app/main.py', default_timeout=60);"
            "page.query_params['corpus'] = 'forty.txt'; page.run(); page.switch_page('views/layers.py').run();"
            "assert not page.exception and page.metric; print({'torch', 'transformers', 'umap'} & set(sys.modules))")
    from tests.test_import_rules import ROOT
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.stdout.strip().endswith("set()"), result.stderr[-2000:]
