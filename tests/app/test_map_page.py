"""The Map page run by Streamlit's own test harness, on a stored result of a small real corpus."""

from __future__ import annotations

import base64
import json
import sys

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.corpora import load_corpus
from components.models import resolve_model
from components.pair_map import PairOptions
from components.pipeline import compute_pair_map, pair_map_key
from tests.app.pages import metrics, open_page

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with 40 sentences' pairs under the embedded model, and the file that holds the sentences."""
    folder = tmp_path_factory.mktemp("map")
    file = folder / "forty.txt"
    file.write_text("\n".join(load_corpus("encyclopedia").texts[:40]) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POOLSCOPE_STORE", str(folder / "store"))
        patch.setenv("POOLSCOPE_TEXTS", str(file))
        settings.cache_clear()
        compute_pair_map(load_corpus(file), resolve_model("all-MiniLM-L6-v2"), PairOptions(),
                         store=settings().open_store())
        yield file
    settings.cache_clear()


def open_map(**query: str) -> AppTest:
    return open_page("map", query)


def numbers(coded: dict[str, str]) -> np.ndarray:
    """An array as plotly writes it into a figure's JSON."""
    return np.frombuffer(base64.b64decode(coded["bdata"]), coded["dtype"])


def test_a_stored_map_shows_its_numbers_figure_and_finding(stored):
    page = open_map(corpus="forty.txt")
    corpus, ref = load_corpus(stored), resolve_model("all-MiniLM-L6-v2")
    found = settings().open_store().get(pair_map_key(corpus, ref, PairOptions()))
    socm = float(((1 - found.arrays["d_mu"]) * found.arrays["d_sigma"]).mean())
    assert metrics(page)["Mean SOCM"] == f"{socm:.3f}"
    assert len(page.metric) == 4
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    heat = spec["data"][0]
    assert heat["type"] == "heatmap"
    captions = " ".join(element.value for element in page.caption)
    assert "40 texts, all 780 pairs" in captions
    assert "final layer" in captions
    assert any("What this shows" in element.value for element in page.markdown)


def test_a_result_that_is_not_stored_offers_to_compute_it_and_says_how_much(stored):
    page = open_map(corpus="forty.txt", layer="3")
    assert [button.label for button in page.button] == ["Compute 780 pairs, about 6 s"]
    assert not page.metric


@pytest.mark.parametrize("query", [
    {"corpus": "../../../etc/passwd"}, {"corpus": "<script>alert(1)</script>"}, {"model": "__import__('os')"},
    {"box": "1,2,3"}, {"box": "nan,0,0,1"}, {"box": "<script>"}, {"plane": "x"}, {"quantity": "y"}, {"tokens": "a,b"},
    {"label": "nothing"}, {"relation": "z"}, {"vs_layer": "99", "compare": "true"},
    {"layer": "99"}, {"layer": "-1"}, {"layer": "final;drop"}, {"special": "maybe"}, {"corpus": "x" * 5000},
])
def test_a_hostile_link_falls_back_to_what_there_is(stored, query):
    page = open_map(**query)
    assert page.selectbox[0].value == "encyclopedia"
    assert page.selectbox[1].value == "all-MiniLM-L6-v2"
    assert page.sidebar.get("select_slider")[0].value == "final"


def test_a_box_in_the_link_lists_exactly_the_pairs_inside(stored):
    found = settings().open_store().entries()[0]
    arrays = settings().open_store().get(found.key).arrays
    mu, sigma = arrays["d_mu"], arrays["d_sigma"]
    box = (0.2, 0.45, 0.5, 0.9)
    inside = (mu >= box[0]) & (mu <= box[1]) & (sigma >= box[2]) & (sigma <= box[3])
    page = open_map(corpus="forty.txt", box=",".join(map(str, box)))
    assert f"{int(inside.sum())} pairs in the box" in [element.value for element in page.subheader]
    table = page.dataframe[0].value
    assert len(table) == inside.sum() > 10
    assert table["SOCM"].is_monotonic_decreasing
    assert sorted(table["d_mu"]) == pytest.approx(sorted(mu[inside]))


def test_filters_and_planes_follow(stored):
    base = open_map(corpus="forty.txt")
    drawn = {}
    for kind in ("Density", "Points", "Mean of a quantity"):
        page = open_map(corpus="forty.txt", plane=kind)
        assert metrics(page) == metrics(base)
        drawn[kind] = json.loads(page.get("plotly_chart")[0].proto.spec)["data"][0]
    assert drawn["Points"]["type"] == "scattergl"
    assert drawn["Density"]["type"] == drawn["Mean of a quantity"]["type"] == "heatmap"
    assert drawn["Density"]["z"] != drawn["Mean of a quantity"]["z"]
    slider = base.sidebar.slider[0]
    low, high = slider.value
    slider.set_value((low, (low + high) // 2)).run()
    assert not base.exception
    assert any("pairs after filtering" in element.value for element in base.caption)


def test_histograms_beside_a_sample_of_points_count_every_pair(stored):
    traces = json.loads(open_map(plane="Points").get("plotly_chart")[0].proto.spec)["data"]
    bars = [numbers(trace["y" if trace["orientation"] == "v" else "x"]) for trace in traces if trace["type"] == "bar"]
    assert len(numbers(traces[0]["x"])) == 20_000
    assert [counts.sum() for counts in bars] == [499_500, 499_500]


def test_compared_planes_share_axes_cells_and_colours(stored):
    for kind in ("Density", "Points", "Mean of a quantity"):
        page = open_map(corpus="forty.txt", compare="true", vs_corpus="encyclopedia", plane=kind, labelled="true")
        first, second = (json.loads(chart.proto.spec) for chart in page.get("plotly_chart"))
        for axis in ("xaxis", "yaxis"):
            assert first["layout"][axis]["range"] == second["layout"][axis]["range"]
        one, other = first["data"][0], second["data"][0]
        if kind == "Points":
            assert [one["marker"][end] for end in ("cmin", "cmax")] == [other["marker"][end] for end in ("cmin", "cmax")]
            continue
        assert (one["zmin"], one["zmax"]) == (other["zmin"], other["zmax"])
        widths = [np.diff(numbers(side["x"]).astype(float)) for side in (one, other)]
        assert np.allclose(widths[0].mean(), widths[1], rtol=1e-3)
        # Nothing lies on the frame: the widest pair has the air that a single plane gives it.
        low, high = first["layout"]["yaxis"]["range"]
        drawn = np.concatenate([numbers(side["y"]) for side in (one, other)])
        assert low < drawn.min() and high > drawn.max() and (high - drawn.max()) / (high - low) > 0.015
    assert len(page.metric) == 4 and "like length" in " ".join(element.value for element in page.caption).lower()


def test_a_second_setting_like_the_first_is_said_and_not_drawn(stored):
    page = open_map(compare="true")
    assert any("second setting is the first one" in element.value for element in page.caption)
    assert page.get("plotly_chart") and "**First**" not in [element.value for element in page.markdown]


def test_a_link_sets_every_control(stored):
    page = open_map(corpus="forty.txt", layer="2", special="false")
    assert page.selectbox[0].value == "forty.txt"
    assert page.sidebar.get("select_slider")[0].value == "2"
    assert page.toggle[0].value is False


def test_a_corpus_file_that_went_bad_is_one_sentence(stored, tmp_path, monkeypatch):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine\n\xff\xfe\x00broken\n")
    monkeypatch.setenv("POOLSCOPE_TEXTS", str(bad))
    settings.cache_clear()
    try:
        page = open_map(corpus="bad.txt")
        assert len(page.error) == 1
        assert "UTF" in page.error[0].value
    finally:
        settings.cache_clear()


def test_the_pages_never_load_torch(stored):
    import subprocess

    code = """
import sys
from streamlit.testing.v1 import AppTest
page = AppTest.from_file('app/main.py', default_timeout=30)
page.query_params['corpus'] = 'forty.txt'
page.run()
page.switch_page('views/map.py').run()
assert len(page.metric) == 4, page
assert not {'torch', 'transformers', 'umap', 'sentence_transformers'} & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[-2000:]
