"""A run as a page reads it: what a real tiny run leaves, what survives a stop in a probe, and folders spoilt in every way."""

from __future__ import annotations

import json
import shutil
import threading

import numpy as np
import pytest

from components.corpora import load_corpus, load_pairs
from components.encoders import load_encoder
from components.errors import Cancelled, DataError, ModelError
from components.gallery import GALLERY_DIR
from components.models import resolve_model
from components.moments import text_moments
from components.recipes import read_recipe
from components.seed_spread import seed_ranges, within_seeds
from components.socm import pairwise_statistics
from components.store import ResultStore
from components.training_folder import RunFolder
from components.training_pipeline import prepare, run_training
from components.training_record import as_stored, from_stored, quantity, read_record
from components.training_runs import MOST_RUNS, RECIPES, RUNS, check_room, finished_runs, place_of, remove_run, run_training_run
from components.types import FINAL
from tests.components.tiny_models import save

RECIPE = """model: m
pairs: pairs.csv
steps: 4
batch: 8
lr: 0.001
dims: [16, 32]
device: cpu
probe: {every: 2, texts: texts.txt, n_texts: 6, held_out: 8}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("record")
    save("bert", where / "m")
    rows = [f"the {n} {v} {p} .,a {n} {v} {p}" for n in ("cat", "dog", "rain") for v in ("sat", "ran") for p in ("in", "on", "far")]
    (where / "pairs.csv").write_text("text_a,text_b\n" + "\n".join(rows) + "\n")
    (where / "texts.txt").write_text("\n".join(f"the {n} {v} on a mat ." for n in ("cat", "dog", "rain") for v in ("sat", "ran")))
    (where / "tiny.yaml").write_text(RECIPE)
    return where


@pytest.fixture(scope="module")
def place(folder):
    return place_of(folder / "store", "tiny", folder / "tiny.yaml", 1)


@pytest.fixture(scope="module")
def record(folder, place):
    args = {"name": "tiny", "file": str(folder / "tiny.yaml"), "seed": 1, "device": "cpu"}
    assert run_training_run(args, store=ResultStore(folder / "store")) == place.key.digest
    return read_record(place.folder)


def test_a_finished_run_is_read_whole(folder, record, place):
    assert place.state == "finished" and record.finished and record.total == 4 and record.probed == (0, 2, 4)
    assert record.steps.tolist() == [1, 2, 3, 4] and (record.seconds > 0).all() and record.recipe["seed"] == 1
    assert record.losses.tolist() == pytest.approx([json.loads(line)["loss"] for line in
                                                    (place.folder.beside / "steps.jsonl").read_text().splitlines()])
    assert finished_runs(folder / "store") == [place.folder.path] and not finished_runs(folder / "nowhere")
    assert record.line(3)["step"] == 2 and record.line(0)["step"] == 0
    assert len(record.words["texts"]) == 6 and len(record.words["tokens"]) == 6 and record.words["tokens"][0][0] == "[CLS]"


def test_what_is_drawn_agrees_with_the_figures_and_with_the_definition(record, place):
    for line in record.lines:
        view = record.views[line["step"]]
        socm = (1 - view["d_mu"].astype(float)) * view["d_sigma"]
        assert len(socm) == line["n_pairs"] == 15 and socm.mean() == pytest.approx(line["socm"]["value"], abs=1e-6)
    encoder = load_encoder(resolve_model(str(place.folder.path)), device="cpu")
    states = encoder.token_states(record.words["texts"], [FINAL]).states[FINAL]
    view = record.views[4]
    now = pairwise_statistics(text_moments(states), view["pair_i"], view["pair_j"])
    assert np.allclose(now.d_mu, view["d_mu"], atol=1e-5) and np.allclose(now.d_sigma, view["d_sigma"], atol=1e-4)
    # On its plane a pair's means lie as far apart as d_mu says: the first axis runs from mean to mean.
    a, b = view["plane_1_a"], view["plane_1_b"]
    gap = b.mean(axis=0) - a.mean(axis=0)
    at = np.flatnonzero((view["pair_i"] == 2) & (view["pair_j"] == 3))[0]
    assert gap[0] ** 2 / 4 == pytest.approx(view["d_mu"][at], rel=1e-3) and abs(gap[1]) < 1e-4
    assert view["share_1_a"].sum() == pytest.approx(1, abs=1e-5) and a[0, 1] >= 0


def test_a_record_comes_back_from_the_store(record, place, tmp_path):
    store = ResultStore(tmp_path)
    arrays, meta = as_stored(record)
    store.put(place.key, arrays, meta, {})
    found = store.get(place.key)
    again = from_stored(found.arrays, found.meta, {"created": "today"})
    assert again.lines == record.lines and again.probed == record.probed and again.words == record.words and again.finished
    for step in record.probed:
        for name, value in record.views[step].items():
            assert np.allclose(again.views[step][name], value, rtol=6e-4, atol=1e-4), name


def test_figures_by_name(record):
    line = record.lines[-1]
    assert quantity(line, "mean_socm").value == line["socm"]["value"] and quantity(line, "mean_d_mu").n == 6
    assert quantity(line, "normalized_spread_layer_1").value == line["spread"]["1"]["value"]
    assert quantity(line, "recall_at_10_dim_16").value == line["retrieval"]["16"]["recall"]["value"]
    assert quantity(line, "effective_dims_axes_dim_32").value == line["dims"]["32"][1]
    assert quantity(line, "loss_scr").value == line["loss"]["scr"]
    assert quantity(line, "recall_at_10_dim_7") is None and quantity(line, "socm_ratio") is None and quantity(line, "nonsense") is None


def test_time_left_from_measured_steps(record):
    part = type(record)(**{**vars(record), "recipe": {**record.recipe, "steps": 10}, "steps": np.array([1, 2, 3]),
                           "seconds": np.array([9.0, 2.0, 2.0]), "lines": ({**record.lines[0]}, {**record.lines[1], "seconds": 5.0})})
    assert part.seconds_left() == 7 * 2.0 + 4 * 5.0, "seven steps, and probes at 4, 6, 8 and 10"
    none = type(record)(**{**vars(part), "seconds": np.array([]), "steps": np.array([])})
    assert none.seconds_left() is None


def test_a_stop_in_the_middle_of_a_probe_keeps_its_step_and_measures_it_later(folder, tmp_path):
    recipe, stop = read_recipe(folder / "tiny.yaml"), threading.Event()

    def progress(done, total, message):
        if done == 2 and message.startswith("Measuring"):
            stop.set()

    with pytest.raises(Cancelled):
        run_training(recipe, tmp_path / "out", progress=progress, cancelled=stop)
    halfway = RunFolder(tmp_path / "out")
    assert halfway.last_step() == 2 and [line["step"] for line in halfway.log()] == [0]
    run_training(recipe, tmp_path / "out")
    again = read_record(RunFolder(tmp_path / "out"))
    assert again.probed == (0, 2, 4) and again.steps.tolist() == [1, 2, 3, 4] and set(again.views) == {0, 2, 4}


def test_folders_spoilt_by_another_hand(record, place, folder, tmp_path):
    assert read_record(RunFolder(tmp_path / "none")) is None
    assert place_of(folder / "store", "tiny", folder / "tiny.yaml", 2).state == "none"
    out = tmp_path / RUNS / "tiny-seed1"
    shutil.copytree(place.folder.path, out)
    copied = place_of(tmp_path, "tiny", folder / "tiny.yaml", 1)
    (out / "training" / "probes" / "2.npz").write_bytes(b"PK")
    log = out / "training" / "log.jsonl"
    whole = log.read_text()
    log.write_text(whole[:-40])
    found = read_record(copied.folder)
    assert found.probed == (0, 2) and set(found.views) == {0}, "a cut line and a torn file are left out"
    log.write_text('{"step": 0, "socm": {}}\n')
    with pytest.raises(DataError, match="found a log line without its figures: remove it"):
        read_record(copied.folder)
    (out / "training" / "digest").write_text("another")
    assert copied.state == "changed"
    (out / "training" / "recipe.yaml").unlink()
    assert copied.state == "damaged"
    with pytest.raises(DataError, match="found no recipe that can be read"):
        read_record(copied.folder)
    remove_run(copied)
    remove_run(copied)
    assert copied.state == "none" and not out.exists()


def test_recipes_pairs_and_models_that_are_gone(folder, tmp_path):
    with pytest.raises(DataError, match="must be a readable UTF-8 file"):
        place_of(tmp_path, "gone", tmp_path / "gone.yaml", 0)
    (tmp_path / "a.yaml").write_text(RECIPE.replace("model: m", f"model: {folder / 'm'}"))
    with pytest.raises(DataError, match="pairs of recipe 'a.yaml' must be a readable file"):
        place_of(tmp_path, "a", tmp_path / "a.yaml", 0)
    (tmp_path / "b.yaml").write_text(RECIPE.replace("model: m", "model: ./nowhere"))
    with pytest.raises(ModelError, match="nowhere"):
        place_of(tmp_path, "b", tmp_path / "b.yaml", 0)


def test_a_name_never_leaves_the_runs_folder_and_their_number_is_capped(folder, tmp_path):
    odd = place_of(tmp_path, "../../etc/x y", folder / "tiny.yaml", 0)
    assert odd.folder.path.parent == tmp_path / RUNS and odd.folder.path.name == "______etc_x_y-seed0"
    for k in range(MOST_RUNS):
        check_room(odd, tmp_path)
        (tmp_path / RUNS / f"run{k}").mkdir(parents=True)
    with pytest.raises(DataError, match=f"must be at most {MOST_RUNS}; found {MOST_RUNS}: remove one"):
        check_room(odd, tmp_path)
    odd.folder.path.mkdir()
    check_room(odd, tmp_path)
    assert not ResultStore(tmp_path).verify(), "runs are no results, and no strangers either"


def test_the_key_names_contents_and_no_place(folder, tmp_path, place):
    for name in ("pairs.csv", "texts.txt", "tiny.yaml"):
        shutil.copy(folder / name, tmp_path / name)
    shutil.copytree(folder / "m", tmp_path / "m")
    elsewhere = place_of(tmp_path / "other", "tiny", tmp_path / "tiny.yaml", 1)
    assert elsewhere.key == place.key
    with (tmp_path / "pairs.csv").open("a") as file:
        file.write("more,pairs\n")
    assert place_of(tmp_path / "other", "tiny", tmp_path / "tiny.yaml", 1).key != place.key


def test_the_recorded_runs_come_along_and_are_small():
    gallery, size = ResultStore(GALLERY_DIR), 0
    for name, file in RECIPES.items():
        at = place_of(GALLERY_DIR, name, file, 0)
        found = gallery.get(at.key)
        assert found is not None, f"the recipe, its pairs or its model changed: poolscope gallery build records {name} anew"
        run = from_stored(found.arrays, found.meta, {})
        assert run.finished and run.probed[0] == 0 and run.probed[-1] == run.total and set(run.views) == set(run.probed)
        assert "/" not in json.dumps({k: run.recipe[k] for k in ("pairs", "model")}), "no path of the machine it was made on"
        for line in run.lines:
            view = run.views[line["step"]]
            assert ((1 - view["d_mu"]) * view["d_sigma"]).mean() == pytest.approx(line["socm"]["value"], rel=2e-4)
    size = sum(f.stat().st_size for f in (GALLERY_DIR / "training_run").iterdir())
    assert size < 500_000


def test_the_recorded_backbone_is_the_one_measured_now():
    """Step 0 of each recorded run, measured again."""
    found = [ResultStore(GALLERY_DIR).get(place_of(GALLERY_DIR, name, file, 0).key) for name, file in RECIPES.items()]
    runs = [from_stored(one.arrays, one.meta, {}) for one in found]
    assert len({run.lines[0]["socm"]["value"] for run in runs}) == 1, "all start from one backbone"
    texts = prepare(read_recipe(RECIPES["mrl"])).probe.texts
    encoder = load_encoder(resolve_model("nano-backbone"), device="cpu")
    encoder.max_length = 64
    moments = text_moments(encoder.token_states(texts, [FINAL]).states[FINAL])
    i, j = np.triu_indices(len(texts), 1)
    assert pairwise_statistics(moments, i, j).socm.mean() == pytest.approx(runs[0].lines[0]["socm"]["value"], abs=1e-5)
    assert runs[0].words["texts"] == list(texts)


def test_the_seeds_range_by_hand():
    found, n = seed_ranges()["mrl", "mean_socm"]
    import csv

    from components.seed_spread import SEEDS
    row = next(r for r in csv.DictReader(SEEDS.open()) if (r["model"], r["quantity"]) == ("mrl", "mean_socm"))
    values = [float(row[f"seed_{k}"]) for k in range(5)]
    assert n == 5 and found == pytest.approx(max(values) - min(values)) and found > 0
    assert within_seeds(found, ("mrl",), "mean_socm") is True and within_seeds(-1.01 * found, ("mrl",), "mean_socm") is False
    assert within_seeds(0.0, ("tiny",), "mean_socm") is None and ("backbone", "mean_socm") not in seed_ranges()
    wide = max(seed_ranges()[kind, "mean_socm"][0] for kind in ("mrl", "contrastive"))
    assert within_seeds(wide, ("mrl", "contrastive"), "mean_socm") is True
    assert within_seeds(0.0, ("mrl", "tiny"), "mean_socm") is None


def test_some_questions_are_taken_evenly(folder, tmp_path):
    asked = read_recipe(RECIPES["mrl"])
    every = load_pairs(asked.probe.retrieval, None, None)
    few = prepare(asked.model_copy(update={"probe": asked.probe.model_copy(update={"n_questions": 3})})).probe
    assert few.queries == (every.texts_a[0], every.texts_a[(len(every.texts_a) - 1) // 2], every.texts_a[-1])
    assert few.name.endswith(f"3 of {len(every.texts_a)} questions of {every.name}") and load_corpus(asked.probe.texts)
