"""The family's making, end to end on tiny text: what is tuned alike, what differs, what is kept, what a card says."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from components import nano
from components.models import declared, resolve_model
from tests.components.tiny_models import WORDS, tokenizer

NOUNS, VERBS, PLACES = ("cat", "dog", "rain", "mat", "home"), ("sat", "ran", "runs", "run"), ("in", "on", "far")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from transformers import BertConfig, BertModel

    where = tmp_path_factory.mktemp("nano")
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(WORDS), hidden_size=192, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64,
                         max_position_embeddings=64, pad_token_id=1)).save_pretrained(where / "backbone")
    tokenizer().save_pretrained(where / "backbone")
    rows = [(f"the {n} {v} {p} .", f"a {n} {v} {p}") for n in NOUNS for v in VERBS for p in PLACES]
    text = nano.NanoText(*(where / name for name in ("lines.txt", "pairs.csv", "socm.csv", "development.csv", "test.csv")))
    nano._write(text.pairs, ("text_a", "text_b", "kind"), [(*row, "x") for row in rows[:40]])
    nano._write(text.socm, ("id", "text"), [(k, f"{a} , a mat .") for k, (a, _) in enumerate(rows[:12])])
    nano._write(text.development, ("id", "text_a", "text_b"), [(k, *row) for k, row in enumerate(rows[40:50])])
    nano._write(text.test, ("id", "text_a", "text_b"), [(k, *row) for k, row in enumerate(rows[50:])])
    found = list(nano.build_family(where / "out", text, steps=3, batch=8, backbone=where / "backbone"))
    return where, text, found


def test_five_models_and_nothing_twice(made):
    where, text, found = made
    assert [name for name, *_ in found] == ["nano-backbone", "nano-contrastive", "nano-cls", "nano-mrl", "nano-mic"]
    weights = [load_file(folder / "model.safetensors") for _, folder, _ in found]
    first = [next(iter(w.values())) for w in weights[1:]]
    assert all(w.dtype == np.float16 for w in first)
    assert len({np.concatenate([v.astype(np.float32).ravel() for v in w.values()]).tobytes() for w in weights}) == 5
    assert [declared(folder).pooling for _, folder, _ in found] == [None, "mean", "cls", "mean", "mean"]
    again = list(nano.build_family(where / "out", text, steps=3, batch=8))
    assert [folder for _, folder, _ in again] == [folder for _, folder, _ in found] and max(s for *_, s in again) < 1
    assert resolve_model(str(found[1][1])).model_id == "nano-contrastive"


def test_the_tuned_models_differ_in_what_their_name_says_alone(made):
    where, text, _ = made
    plain = {kind: nano.recipe_of(kind, where / "backbone", text).model_dump() for kind in nano.KINDS}
    apart = {kind: {key for key in found if found[key] != plain["contrastive"][key]} for kind, found in plain.items()}
    assert apart == {"contrastive": set(), "cls": {"pooling"}, "mrl": {"dims"}, "mic": {"dims", "mic"}}
    assert all(found["probe"]["retrieval"] == str(text.development) for found in plain.values())


def test_figures_and_card(made):
    _, text, found = made
    folder = found[4][1]
    figures = nano.evaluate(folder, text)
    assert figures["n_texts"] == 12 and figures["n_pairs"] == 66 and figures["n_questions"] == 10
    assert set(figures["retrieval"]) == set(figures["graded"]) == {"16", "32", "64", "192"}
    assert nano.evaluate(folder, text, half="development")["retrieval"] != figures["retrieval"]
    nano.write_card(folder, figures, 12.0, "Made in a test.")
    card = (folder / "README.md").read_text()
    assert "teaching model" in card and "WordNet" in card and f"| mean SOCM | {figures['socm']['value']:.3f} |" in card
    assert json.loads((folder / "training" / "figures.json").read_text())["pooling"] == "mean"


def test_graded_correlation_against_the_formula_for_ranks(made):
    from scipy.stats import pearsonr, rankdata

    from components.corpora import load_pairs
    from components.encoders import load_encoder
    from components.probe import pooled
    from components.types import FINAL

    _, _, found = made
    encoder = load_encoder(resolve_model(str(found[1][1])), device="cpu")
    listed = load_pairs("graded")
    a, b = (pooled(encoder.token_states(side, [FINAL]).states[FINAL], "mean")[:, :16] for side in (listed.texts_a, listed.texts_b))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    rho = pearsonr(rankdata(cosine.round(12)), rankdata([float(x) for x in listed.labels])).statistic
    value = nano.graded_correlation(encoder, "mean")["16"]
    assert value["value"] == pytest.approx(rho, abs=2e-3) and value["low"] < value["value"] < value["high"]
