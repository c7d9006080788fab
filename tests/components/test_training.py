"""Training on tiny real models: what it writes, that it goes on after a stop, that a bad number does no harm."""

from __future__ import annotations

import errno
import json
import threading

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from components.encoders import load_encoder
from components.errors import Cancelled, DataError
from components.models import declared, resolve_model
from components.probe import pooled
from components.recipes import Recipe
from components.store import ResultStore
from components.training_folder import RunFolder
from components.training_pipeline import prepare, run_training, training_key
from components.types import FINAL
from tests.components.tiny_models import save

NOUNS, VERBS = ("cat", "dog", "rain", "mat", "home"), ("sat", "ran", "runs", "run")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("training")
    save("bert", where / "m")
    rows = [f"the {n} {v} {p} .,a {n} {v} {p}" for n in NOUNS for v in VERBS for p in ("in", "on", "far")]
    (where / "pairs.csv").write_text("text_a,text_b\n" + "\n".join(rows) + "\n")
    (where / "texts.txt").write_text("\n".join(f"the {n} {v} on a {m} ." for n in NOUNS for v in VERBS[:2] for m in NOUNS[:2]))
    return where


def recipe(folder, **changes) -> Recipe:
    return Recipe(**{"model": str(folder / "m"), "pairs": str(folder / "pairs.csv"), "steps": 6, "batch": 8, "lr": 1e-3,
                     "device": "cpu", "probe": {"every": 3, "texts": str(folder / "texts.txt"), "n_texts": 8, "held_out": 12},
                     **changes})


def weights(out):
    return load_file(out / "model.safetensors")


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def trained(folder):
    store = ResultStore(folder / "store")
    made = recipe(folder, dims=[8, 32], mic={"gamma": 1})
    return made, folder / "trained", run_training(made, folder / "trained", store=store), store


def test_the_folder_is_a_model_for_us_and_for_sentence_transformers(trained):
    from sentence_transformers import SentenceTransformer

    _, out, evaluation, _ = trained
    ref = resolve_model(str(out))
    assert declared(ref.folder).pooling == "mean"
    texts = ["the cat sat on the mat .", "a dog"]
    ours = pooled(load_encoder(ref, device="cpu").token_states(texts, [FINAL]).states[FINAL], "mean")
    theirs = SentenceTransformer(str(out), device="cpu").encode(texts)
    assert np.allclose(ours, theirs, atol=1e-5)
    assert not list((out / "training").glob("checkpoints")) and evaluation["final_loss"] > 0


def test_all_steps_are_taken_where_equal_texts_leave_batches_short(folder, tmp_path):
    rows = (folder / "pairs.csv").read_text().splitlines()
    (tmp_path / "pairs.csv").write_text("\n".join(rows + [rows[1]] * 12) + "\n")
    made = recipe(folder, pairs=str(tmp_path / "pairs.csv"), steps=9, probe={"every": 9, "texts": str(folder / "texts.txt"),
                                                                           "n_texts": 8, "held_out": 2})
    evaluation = run_training(made, tmp_path / "out")
    assert [line["step"] for line in RunFolder(tmp_path / "out").log()] == [0, 9] and evaluation["after"]["step"] == 9


def test_the_log_and_the_store_hold_each_probe(trained):
    made, out, evaluation, store = trained
    lines = RunFolder(out).log()
    assert [line["step"] for line in lines] == [0, 3, 6]
    assert json.loads((out / "training" / "evaluation.json").read_text())["after"] == lines[-1] == evaluation["after"]
    for line in lines:
        stored = store.get(training_key(prepare(made), line["step"]))
        assert stored.meta["socm"] == line["socm"] and stored.meta["recipe"]["steps"] == 6
        assert set(line["loss"]) == {"total", "mrl", "scr", "correlation", "variance", "sir", "cv", "uniformity"}
        assert list(line["spread"]) == ["0", "1", "2", FINAL] and set(line["retrieval"]) == {"8", "32"} == set(line["dims"])
        assert line["references"] is not None


def test_the_log_is_no_part_of_the_models_name(trained):
    _, out, _, _ = trained
    before = resolve_model(str(out)).revision
    log = out / "training" / "log.jsonl"
    kept = log.read_text()
    log.write_text(kept + "{}\n")
    assert resolve_model(str(out)).revision == before
    log.write_text(kept)


def test_training_learns(folder):
    found = run_training(recipe(folder, steps=60, probe={"every": 60, "texts": str(folder / "texts.txt"), "n_texts": 8,
                                                         "held_out": 20}), folder / "learns")
    first, last = found["before"], found["after"]
    assert last["loss"]["total"] < first["loss"]["total"] * 0.9
    assert last["retrieval"]["32"]["mrr"]["value"] > first["retrieval"]["32"]["mrr"]["value"]


@pytest.fixture(scope="module")
def whole(folder):
    return run_training(recipe(folder, seed=3), folder / "whole")


def test_a_stopped_run_goes_on_to_the_same_weights(folder, whole):
    stop = threading.Event()

    def progress(done, total, message):
        if message.startswith("Training") and done == 4:
            stop.set()

    with pytest.raises(Cancelled):
        run_training(recipe(folder, seed=3), folder / "stopped", progress=progress, cancelled=stop)
    assert RunFolder(folder / "stopped").last_step() == 4
    rest = run_training(recipe(folder, seed=3), folder / "stopped")
    assert rest["resumed_at"] == 4 and rest["final_loss"] == pytest.approx(whole["final_loss"], abs=1e-4)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(weights(folder / "whole").values(),
                                                            weights(folder / "stopped").values(), strict=True))
    assert [line["step"] for line in RunFolder(folder / "stopped").log()] == [0, 3, 6]


def test_the_same_recipe_gives_the_same_weights_and_another_seed_others(folder, whole):
    run_training(recipe(folder, seed=3), folder / "again")
    assert same(weights(folder / "again"), weights(folder / "whole"))
    run_training(recipe(folder, seed=4), folder / "other_seed")
    assert not same(weights(folder / "other_seed"), weights(folder / "whole"))


def test_looking_more_often_changes_nothing(folder, whole):
    often = recipe(folder, seed=3)
    often = often.model_copy(update={"probe": often.probe.model_copy(update={"every": 1})})
    run_training(often, folder / "often")
    assert same(weights(folder / "often"), weights(folder / "whole"))


def test_mic_at_gamma_0_is_matryoshka(folder):
    run_training(recipe(folder, dims=[8, 32]), folder / "mrl")
    run_training(recipe(folder, dims=[8, 32], mic={"gamma": 0}), folder / "mic0")
    run_training(recipe(folder, dims=[8, 32], mic={"gamma": 3}), folder / "mic3")
    assert same(weights(folder / "mrl"), weights(folder / "mic0"))
    assert not same(weights(folder / "mrl"), weights(folder / "mic3"))


@pytest.mark.parametrize("what", ["the loss", "a gradient"])
def test_a_number_that_is_not_finite_stops_before_it_does_harm(folder, monkeypatch, what):
    import components.training as training

    run_training(recipe(folder, steps=2, schedule="constant"), folder / f"two {what}")
    original, calls = training.build_loss, []

    def broken(prepared, model):
        inner = original(prepared, model)

        class Broken(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = inner  # what the loss does not hold, the trainer does not train

            def forward(self, features, labels=None):
                value = self.inner(features, labels)
                if torch.is_grad_enabled():
                    calls.append(1)
                    if len(calls) == 3:
                        if what == "the loss":
                            return value * float("nan")
                        value.register_hook(lambda grad: grad * float("nan"))
                return value

        return Broken()

    monkeypatch.setattr(training, "build_loss", broken)
    with pytest.raises(DataError, match=f"must keep loss and gradients finite; found {what} at step 3: lower lr"):
        run_training(recipe(folder, steps=6, schedule="constant"), folder / f"nan {what}")
    assert same(weights(folder / f"nan {what}"), weights(folder / f"two {what}"))
    assert RunFolder(folder / f"nan {what}").log()[-1] == {"step": 3, "stopped": f"{what} is not finite"}


def test_cls_pooling_is_trained_and_declared(folder):
    run_training(recipe(folder, pooling="cls"), folder / "cls")
    assert declared(folder / "cls").pooling == "cls"
    assert declared(folder / "m").pooling is None


def test_half_precision_halves_the_file_and_loads_in_float32(folder, whole):
    run_training(recipe(folder, seed=3, half=True), folder / "half")
    small, whole = weights(folder / "half"), weights(folder / "whole")
    assert all(value.dtype == np.float16 for value in small.values())
    assert max(np.abs(small[n].astype(np.float32) - whole[n]).max() for n in whole) < 2e-3
    assert next(load_encoder(resolve_model(str(folder / "half")), device="cpu").model.parameters()).dtype == torch.float32


@pytest.mark.parametrize("family", ["distilbert", "mpnet", "modernbert"])
def test_other_families_for_two_steps(folder, family, tmp_path):
    save(family, tmp_path / "m")
    found = run_training(recipe(folder, model=str(tmp_path / "m"), steps=2, dims=[16], mic={"gamma": 1}), tmp_path / "out")
    assert np.isfinite(found["final_loss"]) and resolve_model(str(tmp_path / "out"))
    assert not same(weights(tmp_path / "out"), load_file(tmp_path / "m" / "model.safetensors"))


def test_folders_that_are_not_for_this_run(folder, trained, tmp_path):
    made, out, _, _ = trained
    with pytest.raises(DataError, match="found a finished run"):
        run_training(made, out)
    with pytest.raises(DataError, match="found a run of another recipe"):
        run_training(recipe(folder, seed=9), out)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match="found other files in it"):
        run_training(made, tmp_path / "x")
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["thesis.txt"]
    with pytest.raises(DataError, match="must be a folder; found a file"):
        run_training(made, tmp_path / "x" / "thesis.txt")
    with RunFolder(tmp_path / "used").held(made), pytest.raises(DataError, match="another run that is still going"):
        run_training(made, tmp_path / "used")


def test_a_full_disk_keeps_the_last_checkpoint(folder, whole, monkeypatch):
    import components.training as training

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(training, "save_model", full)
        with pytest.raises(DataError, match="found a full disk: free some space and start again"):
            run_training(recipe(folder, seed=3), folder / "full")
    assert RunFolder(folder / "full").last_step() == 6
    run_training(recipe(folder, seed=3), folder / "full")
    assert same(weights(folder / "full"), weights(folder / "whole"))


def test_held_out_pairs_are_not_trained_on(folder):
    prepared = prepare(recipe(folder))
    trained_on = {prepared.pairs.texts_b[i] for i in prepared.train} | {prepared.pairs.texts_a[i] for i in prepared.train}
    assert prepared.probe.queries and not trained_on & set(prepared.probe.answers)
    assert len(prepared.train) + len(prepared.probe.queries) <= len(prepared.pairs.texts_a)


def test_no_text_stands_twice_in_a_batch(folder, monkeypatch):
    import components.training as training

    rows = [f"the {n} {v} {p},a {n}" for n in NOUNS for v in VERBS for p in ("in", "on", "far")]  # five answers in all
    (folder / "repeated.csv").write_text("text_a,text_b\n" + "\n".join(rows) + "\n")
    original, seen = training.build_loss, []

    def watched(prepared, model):
        inner = original(prepared, model)
        inner.register_forward_pre_hook(lambda _, given: seen.append(given[0][1]["input_ids"]) if torch.is_grad_enabled() else None)
        return inner

    monkeypatch.setattr(training, "build_loss", watched)
    run_training(recipe(folder, pairs=str(folder / "repeated.csv"), batch=4, steps=5), folder / "repeated")
    assert len(seen) == 5 and all(len(torch.unique(ids, dim=0)) == 4 for ids in seen)
