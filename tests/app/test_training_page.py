"""The Training page run by Streamlit's own test harness, on the recorded runs and on folders as runs leave them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from app import training_data, training_resources, training_words
from app.settings import settings
from components.training_runs import MOST_RUNS, RECIPES, RUNS, place_of
from tests.app.pages import metrics, open_page
from tests.app.training_folders import recorded, write_run

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture(autouse=True)
def store(own_store):
    return own_store


def opened(**query: str) -> AppTest:
    return open_page("training", query)


def said(page: AppTest) -> str:
    parts = [element.value for kind in ("caption", "markdown", "info", "error", "subheader") for element in page.get(kind)]
    return " ".join(str(part) for part in parts).replace("\\", "")


def buttons(page: AppTest) -> list[str]:
    return [button.label.replace("\\", "") for button in page.button]


def specs(page: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def test_a_first_visit_shows_the_recorded_runs():
    page, record = opened(), recorded("mrl")
    last = record.lines[-1]
    assert metrics(page)["Mean SOCM"] == f"{last['socm']['value']:.3f}"
    assert metrics(page)["Recall@10 at 16 dims"] == f"{last['retrieval']['16']['recall']['value']:.3f}"
    assert metrics(page)["Recall@10 at 192 dims"] == f"{last['retrieval']['192']['recall']['value']:.3f}"
    drawn = specs(page)
    assert len(drawn) == 6, "curves, two maps, layers, two pairs of texts"
    assert {"MRL", "Contrastive"} <= {trace.get("name") for trace in drawn[0]["data"]}
    words = said(page)
    assert "2,016 pairs of 64 texts" in words and "250 of 527 questions" in words and "seed 0" in words and "nano-backbone" in words
    assert f"What this shows.** {record.total} steps of MRL took" in words
    assert f"MRL minus Contrastive at step {record.total}" in words
    assert not buttons(page) and not page.error


def test_the_slider_moves_figures_map_layers_and_pair():
    before, later = opened(step="0"), opened(step="40")
    first = recorded("mrl").lines[0]
    assert metrics(before)["Mean SOCM"] == f"{first['socm']['value']:.3f}" and "Nothing has been trained yet" in said(before)
    assert "before training" in said(before) and "The same texts at step 40" in said(later)
    for one, other in zip(specs(before)[1:], specs(later)[1:], strict=True):
        assert one["data"] != other["data"]
    maps = [spec["layout"] for spec in (specs(before)[1], specs(later)[1])]
    assert maps[0]["xaxis"]["range"] == maps[1]["xaxis"]["range"] and maps[0]["yaxis"]["range"] == maps[1]["yaxis"]["range"]


@pytest.mark.parametrize("run, beside", [("Contrastive", "MRL"), ("MRL", "MIC"), ("MIC", "nothing"), ("MIC", "MIC")])
def test_every_pair_of_runs(run, beside):
    page = opened(run=run, beside=beside)
    assert len(page.metric) == 4 and not page.error
    assert len(specs(page)) == (6 if beside not in ("nothing", run) else 4)
    assert {trace.get("name") for trace in specs(page)[0]["data"]} - {"", None} == {run, beside} - {"nothing"}


def test_another_pair_of_texts_has_other_tokens():
    one, other = specs(opened(pair="1")), specs(opened(pair="3"))
    assert one[0]["data"] == other[0]["data"] and one[4]["data"] != other[4]["data"] and one[5]["data"] != other[5]["data"]
    texts = recorded("mrl").words["texts"]
    assert f"Text A: {texts[4]}" in said(opened(pair="3"))


def test_no_change_is_said_where_the_change_lies_inside_the_seeds_range():
    record = recorded("mrl")
    lines = [json.loads(json.dumps(line)) for line in record.lines]
    lines[-1]["socm"]["value"] = lines[0]["socm"]["value"] + 1e-4
    run = training_data.Run("mrl", "0", 0, None, type(record)(**{**vars(record), "lines": tuple(lines)}), None, "finished")
    assert training_words.verdict(run, "mean_socm", record.total) == "no change: within the seeds' spread"
    assert training_words.verdict(run, "recall_at_10_dim_16", record.total) == "changed beyond the seeds' spread"
    words = training_words.finding([run], record.total)
    assert "No change, within the spread of the recorded seeds: mean SOCM from" in words
    other = training_data.Run("contrastive", "0", 1, None, run.record, None, "finished")
    same = training_words.finding([run, other], record.total)
    assert "No difference beyond the seeds' spread between MRL and Contrastive: mean SOCM" in same
    tiny = training_data.Run("mine", "0", 0, None, run.record, None, "finished")
    assert "no seeds are recorded for this recipe" in training_words.finding([tiny], record.total)


def test_an_untrained_seed_offers_to_train_both():
    page = opened(seed="3")
    assert buttons(page) == ["Train both from seed 3, about 2 min"] and not specs(page) and "Nothing trained here yet" in said(page)
    assert buttons(opened(seed="3", beside="nothing")) == ["Train MRL from seed 3, about a minute"]


def test_a_stopped_run_says_where_and_offers_to_resume_or_remove(store):
    place = place_of(store, "mrl", RECIPES["mrl"], 2)
    write_run(place, recorded("mrl"), up_to=50, checkpoint=40)
    page = opened(seed="2", beside="nothing")
    assert "was stopped. It reached step 50 of" in said(page) and "its last checkpoint is of step 40." in said(page)
    assert buttons(page) == ["Resume MRL at step 40", "Remove MRL"]
    assert metrics(page)["Mean SOCM"] == f"{recorded('mrl').line(40)['socm']['value']:.3f}"
    page.button[1].click().run()
    assert not page.exception and not place.folder.path.exists() and buttons(page)[0].startswith("Train MRL")


def test_a_finished_run_is_compared_with_one_that_was_stopped(store):
    write_run(place_of(store, "mrl", RECIPES["mrl"], 1), recorded("mrl"))
    write_run(place_of(store, "contrastive", RECIPES["contrastive"], 1), recorded("contrastive"), up_to=30, checkpoint=20)
    page = opened(seed="1")
    assert len(specs(page)) == 6 and "The two runs are not compared: one stands at step" in said(page)
    assert {"Remove MRL", "Resume Contrastive at step 20", "Remove Contrastive"} == set(buttons(page))
    assert "MRL minus Contrastive at step 20" in said(opened(seed="1", step="20"))


@pytest.mark.parametrize("spoil, sentence", [
    (lambda place: (place.folder.beside / "recipe.yaml").unlink(), "found a folder half written: remove it"),
    (lambda place: shutil.rmtree(place.folder.beside), "found a folder half written: remove it"),
    (lambda place: (place.folder.beside / "recipe.yaml").write_bytes(b"\xff"), "found no recipe that can be read"),
    (lambda place: (place.folder.beside / "log.jsonl").write_text('{"step": "x", "socm": 1}\n'), "a log line without its figures"),
    (lambda place: (place.folder.beside / "digest").write_text("other"), "made by an earlier version of the recipe")])
def test_a_folder_that_cannot_be_used_says_so_and_can_be_removed(store, spoil, sentence):
    place = place_of(store, "mrl", RECIPES["mrl"], 0)
    write_run(place, recorded("mrl"))
    spoil(place)
    page = opened(seed="0", beside="nothing")
    assert sentence in said(page) and buttons(page) == ["Remove MRL"] and len(page.error) == 1
    page.button[0].click().run()
    assert not place.folder.path.exists()


def test_torn_files_leave_the_rest(store):
    place = place_of(store, "mrl", RECIPES["mrl"], 0)
    write_run(place, recorded("mrl"))
    (place.folder.beside / "probes" / "40.npz").write_bytes(b"")
    page = opened(seed="0", beside="nothing", step="40")
    assert len(page.metric) == 4 and "This step's file cannot be read" in said(page)
    (place.folder.beside / "probes" / "tokens.json").write_text("{")
    assert "This run kept no tokens" in said(opened(seed="0", beside="nothing"))


def test_a_recipe_or_its_model_gone_is_said_and_the_other_run_stays(tmp_path, monkeypatch):
    lost, orphan = tmp_path / "lost.yaml", tmp_path / "orphan.yaml"
    orphan.write_text("model: ./nowhere\npairs: pairs\n")
    monkeypatch.setenv("POOLSCOPE_RECIPES", f"{lost},{orphan}")
    settings.cache_clear()
    page = opened(beside="lost")
    assert "lost: recipe 'lost.yaml' must be a readable UTF-8 file" in said(page) and len(page.metric) == 4
    page = opened(run="orphan", beside="nothing", seed="1")
    assert "nowhere" in said(page) and str(tmp_path) not in said(page) and not specs(page) and not buttons(page)


def test_a_server_that_allows_no_training_shows_recorded_runs(store, monkeypatch):
    monkeypatch.setenv("POOLSCOPE_TRAINING", "false")
    settings.cache_clear()
    assert len(opened().metric) == 4
    page = opened(seed="1")
    assert not buttons(page) and "Training is switched off on this server" in said(page)
    run = training_data.load("mrl", "1", 0)
    with pytest.raises(training_data.DataError, match="POOLSCOPE_TRAINING is off"):
        training_data.start(run)


def test_too_many_runs_are_refused_in_a_sentence(store):
    for k in range(MOST_RUNS):
        (store / RUNS / f"run{k}").mkdir(parents=True)
    page = opened(seed="1", beside="nothing")
    page.button[0].click().run()
    assert f"must be at most {MOST_RUNS}; found {MOST_RUNS}" in said(page) and not page.exception
    assert training_resources.training_jobs().get(place_of(store, "mrl", RECIPES["mrl"], 1).key.digest) is None


@pytest.mark.parametrize("key", ["run", "beside", "seed", "step", "layers_open", "terms_open", "training_export_open", "pair"])
@pytest.mark.parametrize("value", ["../../../etc/passwd", "<script>alert(1)</script>", "1e999", "-1", "", "a\0b", "x" * 5000])
def test_hostile_links_fall_back(key, value):
    page = opened(**{key: value})
    assert len(page.metric) == 4 and not page.error
    assert "<script>" not in said(page) and "etc/passwd" not in said(page)


def test_folded_panels_and_the_long_table():
    page = opened(layers_open="true", terms_open="true")
    titles = [note["text"] for spec in specs(page) for note in spec["layout"].get("annotations", [])]
    runs = [training_data.load(name, "recorded", k) for k, name in enumerate(("mrl", "mic"))]
    from app import training_figures
    assert len(training_figures.layer_curves(runs)) == 5 and len(training_figures.term_curves(runs)) == 8
    assert titles
    table = training_data.long_table(runs)
    one = table[(table["run"] == "mic") & (table["step"] == 0) & (table["quantity"] == "mean_socm")]
    assert one["value"].item() == recorded("mic").lines[0]["socm"]["value"] and one["low"].item() < one["value"].item()
    assert (table["quantity"] == "training_loss").sum() == 2 * recorded("mrl").total


def test_the_server_loads_nothing_heavy_for_it(store):
    from tests.test_import_rules import ROOT
    write_run(place_of(store, "mrl", RECIPES["mrl"], 1), recorded("mrl"), up_to=40)
    code = ("import sys; from streamlit.testing.v1 import AppTest; page = AppTest.from_file('app/main.py', default_timeout=60);"
            "page.run(); page.switch_page('views/training.py').run(); assert not page.exception and page.metric;"
            "page.query_params['seed'] = '1'; page.run(); assert not page.exception;"
            "print({'torch', 'transformers', 'sentence_transformers', 'datasets', 'umap'} & set(sys.modules))")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.stdout.strip().endswith("set()"), result.stderr[-2000:]
