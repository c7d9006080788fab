"""A backbone trained for a few steps: it learns, comes back bit for bit, resumes as if never stopped, and resolves."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from components.encoders import load_encoder
from components.errors import Cancelled, DataError, ModelError
from components.models import declared, layer_count, resolve_model
from components.nano_backbone import BackboneRecipe, train_backbone
from components.nano_tokens import CLS, MASK, PAD, SEP, SPECIAL, batches, masked_batch, to_sequences, train_tokenizer

pytestmark = pytest.mark.usefixtures("one_torch_thread")

LINES = [f"the {size} {animal} {verb} in the {place}" for size, animal, verb, place in itertools.product(
    ("big", "small", "old"), ("dog", "cat", "horse"), ("sat", "slept", "ran"), ("house", "garden"))]
RECIPE = BackboneRecipe(vocabulary=90, layers=2, dim=16, heads=2, feed_forward=32, positions=16, steps=12, batch_tokens=160,
                        learning_rate=1e-2, warm_up=2, bfloat16=False, checkpoint_every=5)


@pytest.fixture(scope="module")
def run(tmp_path_factory, one_torch_thread):
    return train_backbone(LINES, tmp_path_factory.mktemp("nano") / "backbone", RECIPE)


def test_it_learns(run):
    assert run.losses.shape == (12,) and run.losses[-3:].mean() < run.losses[:3].mean() - 0.3
    facts = json.loads((run.folder / "backbone.json").read_text())
    assert run.losses[0] == pytest.approx(np.log(facts["vocabulary"]), abs=0.3), "an untrained model knows nothing"
    assert run.tokens == facts["tokens"] and run.sequences == len(LINES)


def test_its_folder_is_a_model_of_ours(run):
    ref = resolve_model(str(run.folder))
    assert declared(ref.folder).pooling is None, "no pooling was trained, so none is declared"
    assert layer_count(ref) == 2
    encoder = load_encoder(ref, device="cpu")
    assert (encoder.dim, encoder.max_length, encoder.model.dtype) == (16, 16, torch.float32)
    encoded = encoder.token_states(["The big dog", "a cat " * 30], [0, 2])
    assert encoded.tokenised.ids[0][0] == CLS and encoded.tokenised.ids[0][-1] == SEP
    assert len(encoded.tokenised.ids[1]) == 16 and np.isfinite(encoded.states[2].states).all()
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "backbone.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training_log.csv"]
    assert not run.folder.with_name("backbone.partial").exists()


def test_sentence_transformers_takes_it_in_float32(run):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(run.folder), device="cpu")
    assert model[1].pooling_mode == "mean" and next(model.parameters()).dtype == torch.float32
    ours = load_encoder(resolve_model(str(run.folder)), device="cpu").token_states([LINES[0]], ["final"]).states["final"]
    assert np.allclose(model.encode(LINES[0]), ours.states.mean(axis=0), atol=1e-6)


def test_weights_are_float16_and_tuning_finds_dropout(run):
    from safetensors import safe_open

    with safe_open(run.folder / "model.safetensors", "pt") as weights:
        assert {weights.get_tensor(name).dtype for name in weights.keys()} == {torch.float16}  # noqa: SIM118
        assert not [name for name in weights.keys() if name.startswith(("cls.", "pooler."))]  # noqa: SIM118
    config = json.loads((run.folder / "config.json").read_text())
    assert config["hidden_dropout_prob"] == config["attention_probs_dropout_prob"] == 0.1


def test_the_same_again_is_bit_equal_even_when_stopped_between(run, tmp_path):
    stop = threading.Event()
    folder = tmp_path / "backbone"

    def watch(done: int, total: int, stage: str) -> None:
        if done == 7:
            stop.set()

    with pytest.raises(Cancelled):
        train_backbone(LINES, folder, RECIPE, progress=watch, cancelled=stop)
    assert not folder.exists()
    seen: list[int] = []
    again = train_backbone(LINES, folder, RECIPE, progress=lambda done, total, stage: seen.append(done))
    assert seen == [0, 9, 10, 11, 12], "it went on where it had stopped"
    assert np.array_equal(again.losses, run.losses)
    for name in ("model.safetensors", "tokenizer.json", "config.json", "backbone.json", "training_log.csv"):
        assert (folder / name).read_bytes() == (run.folder / name).read_bytes(), name


def test_a_checkpoint_of_something_else_is_left_alone(run, tmp_path):
    folder, stop = tmp_path / "backbone", threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        train_backbone(LINES, folder, replace(RECIPE, seed=1), cancelled=stop)
    other = train_backbone(LINES, folder, RECIPE)
    assert np.array_equal(other.losses, run.losses)
    (tmp_path / "torn.partial").mkdir()
    (tmp_path / "torn.partial" / "checkpoint.safetensors").write_bytes(b"torn")
    assert np.array_equal(train_backbone(LINES, tmp_path / "torn", RECIPE).losses, run.losses)


def test_a_full_disk_ends_in_a_sentence(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("components.nano_backbone.save_file", full)
    with pytest.raises(DataError, match="found 'I/O error: No space left on device .*: make room, or choose another"):
        train_backbone(LINES, tmp_path / "x", RECIPE)
    assert not (tmp_path / "x").exists()


def test_another_seed_is_another_model(run, tmp_path):
    other = train_backbone(LINES, tmp_path / "other", replace(RECIPE, seed=1, steps=2))
    assert not np.array_equal(other.losses, run.losses[:2])


def test_bfloat16_changes_little(run, tmp_path):
    rough = train_backbone(LINES, tmp_path / "rough", replace(RECIPE, bfloat16=True))
    assert np.allclose(rough.losses, run.losses, atol=0.1)


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    with pytest.raises(ModelError, match=r"must have a finite loss; found nan at step \d+: lower the learning rate"):
        train_backbone(LINES, tmp_path / "x", replace(RECIPE, learning_rate=float("inf"), warm_up=1))


def test_a_folder_in_use_and_no_text_are_refused(run, tmp_path):
    with pytest.raises(DataError, match="must not exist yet, or be empty; found files in it"):
        train_backbone(LINES, run.folder, RECIPE)
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="found a file"):
        train_backbone(LINES, tmp_path / "file", RECIPE)
    with pytest.raises(DataError, match="must be writable, with room for model and checkpoint; found"):
        train_backbone(LINES, tmp_path / "file" / "inside", RECIPE)
    with pytest.raises(DataError, match="training text must hold a word; found none in 1 lines"):
        train_backbone([" "], tmp_path / "none", RECIPE)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"dim": 15}, "dim must be a multiple of heads; found 15 for 2 heads"), ({"layers": 0}, "layers must be at least 1"),
    ({"steps": -1}, "steps must be at least 1"), ({"positions": 3}, r"positions must lie in 4..batch_tokens"),
    ({"batch_tokens": 8}, "found 16 of 8"), ({"masked": 1.0}, "masked must lie between 0 and 1"),
    ({"checkpoint_every": 0}, "checkpoint_every must be at least 1")])
def test_recipes_that_cannot_be_are_refused(change, sentence):
    with pytest.raises(DataError, match=sentence):
        replace(RECIPE, **change)


def test_a_vocabulary_smaller_than_the_alphabet_is_refused():
    with pytest.raises(DataError, match=r"vocabulary must have room for the text's characters; found 10 for \d+"):
        train_tokenizer(LINES, 10)


def test_the_rate_rises_stays_and_falls():
    recipe = BackboneRecipe()
    assert [recipe.rate(k) for k in (0, 74, 149, 1000, 1224)] == pytest.approx([1e-5, 7.5e-4, 1.5e-3, 1.5e-3, 1.5e-3])
    assert recipe.rate((1225 + 4085) // 2) == pytest.approx(7.5e-4) and 0 < recipe.rate(4084) < 1e-6


def test_the_vocabulary_is_lower_case_and_always_the_same():
    tokenizer = train_tokenizer(LINES, 90)
    vocabulary = tokenizer.get_vocab()
    assert [tokenizer.id_to_token(k) for k in range(5)] == list(SPECIAL) and len(vocabulary) <= 90
    assert {"garden", "horse", "dog"} < set(vocabulary) and "p" not in vocabulary, "of 18 letters none is learnt"
    assert tokenizer.encode("The OLD dóg").tokens == ["[CLS]", "the", "old", "dog", "[SEP]"]
    assert vocabulary == train_tokenizer(LINES, 90).get_vocab()
    assert tokenizer.decode(tokenizer.encode("the horse ran").ids) == "the horse ran"


def test_long_lines_become_pieces_of_like_length():
    tokenizer = train_tokenizer(LINES, 90)
    words = "dog " * 30
    sequences = to_sequences(tokenizer, ["cat", words, " ", "the dog"], positions=16)
    assert sequences.lengths.tolist() == [3, 12, 12, 12, 4]
    plain = sequences.ids[(sequences.ids != CLS) & (sequences.ids != SEP)]
    assert len(plain) == 33 and (sequences.ids[sequences.offsets[:-1]] == CLS).all()


def test_batches_hold_every_sequence_once_an_epoch_and_never_too_much():
    lengths = np.random.default_rng(0).integers(3, 20, 101)
    plan = batches(lengths, 64, seed=5)
    seen: list[int] = []
    n = 0
    while len(seen) < 101:
        rows = next(plan)
        n += 1
        assert len(rows) * lengths[rows].max() <= 64
        seen += rows.tolist()
    assert sorted(seen) == list(range(101))
    for first in (0, 3, n + 2):
        skipped = list(itertools.islice(batches(lengths, 64, 5, skip=first), 4))
        whole = list(itertools.islice(batches(lengths, 64, 5), first, first + 4))
        assert all(np.array_equal(a, b) for a, b in zip(skipped, whole, strict=True))


def test_masks_hide_a_fifth_and_keep_the_rest():
    tokenizer = train_tokenizer(LINES, 90)
    sequences = to_sequences(tokenizer, LINES, 16)
    rows = np.arange(len(LINES))
    ids, real, where, right = masked_batch(sequences, rows, 0.2, 90, np.random.default_rng(0))
    clean, _, _, _ = masked_batch(sequences, rows, 1e-9, 90, np.random.default_rng(0))
    flat, plain = ids.reshape(-1), int(((clean != PAD) & (clean != CLS) & (clean != SEP)).sum())
    assert len(where) == round(0.2 * plain) == len(set(where.tolist()))
    assert torch.equal(real, ids != PAD) and ((right != PAD) & (right != CLS) & (right != SEP)).all()
    assert abs(float((flat[where] == MASK).float().mean()) - 0.8) < 0.15
    restored = flat.clone()
    restored[where] = right
    assert int((restored != clean.reshape(-1)).sum()) <= 1, "all but the one token hidden in the other"
