"""The family's making, end to end on tiny text: what is tuned alike, what differs, what is kept, what a card says."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from components import nano, nano_settings, nano_table
from components.errors import DataError
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


def test_correlation_with_and_without_the_special_tokens_against_numpy(made):
    from components.encoders import load_encoder
    from components.types import FINAL

    _, text, found = made
    encoder = load_encoder(resolve_model(str(found[1][1])), device="cpu")
    texts = [line.split(",", 1)[1].strip('"') for line in text.socm.read_text().splitlines()[1:]]
    value = nano.prefix_correlation(encoder, texts)
    for name, special in (("special_tokens", True), ("without", False)):
        states = encoder.token_states(texts, [FINAL], special_tokens=special).states[FINAL]
        mean = np.mean([np.corrcoef(states[i].astype(float).T)[:16, 16:] for i in range(len(states))], axis=0)
        assert value["16"][name] == pytest.approx(np.abs(mean).mean(), rel=1e-3)
    assert value["16"]["special_tokens"] != pytest.approx(value["16"]["without"], rel=0.01)


@pytest.fixture(scope="module")
def seeds(made):
    where, text, _ = made
    folders = [where / "out", where / "more"]
    list(nano.build_family(folders[1], text, steps=3, batch=8, seed=1, backbone=where / "backbone"))
    for folder in folders:
        for model in nano_table.MODELS:
            at = folder / f"nano-{model}"
            nano.write_card(at, nano.evaluate(at, text), 1.0, "Made in a test.")
    return folders, nano_table.read_seeds(folders)


def test_the_table_over_seeds_by_hand(seeds):
    folders, read = seeds
    rows = {(row.model, row.quantity): row for row in nano_table.table(read)}
    assert {model for model, _ in rows} == set(nano_table.MODELS)
    figures = [json.loads((folder / "nano-mrl" / "training" / "figures.json").read_text()) for folder in folders]
    row = rows["mrl", "recall_at_10_dim_32"]
    assert row.values == tuple(one["retrieval"]["32"]["recall"]["value"] for one in figures)
    assert row.over_seeds.value == pytest.approx(sum(row.values) / 2) and row.over_seeds.low is None, "two seeds, no interval"
    three = {model: [*every, every[0]] for model, every in read.items()}
    socm = {(r.model, r.quantity): r for r in nano_table.table(three)}["mic", "mean_socm"]
    mean, std = np.mean(socm.values), np.std(socm.values, ddof=1)
    assert socm.over_seeds.high == pytest.approx(mean + 4.302653 * std / 3 ** 0.5, abs=1e-6), "Student's t with two degrees"


def test_differences_are_taken_seed_by_seed_and_question_by_question(seeds):
    read = seeds[1]
    found = {(d.model, d.other, d.quantity): d for d in nano_table.differences(read)}
    gain = found["mrl", "contrastive", "recall_at_10_dim_16"]
    hits = {model: np.array([one["ranks"]["16"] for one in read[model]]) <= 10 for model in ("mrl", "contrastive")}
    each = hits["mrl"].mean(0) - hits["contrastive"].mean(0)
    assert gain.over_seeds.value == pytest.approx(each.mean()) == gain.over_questions.value and gain.over_questions.n == 10
    assert found["contrastive", "backbone", "mean_socm"].over_questions is None
    assert all(d.over_seeds.value == 0 for d in nano_table.differences({**read, "mic": read["mrl"]}) if d.model == "mic")


def test_a_family_without_figures_or_measured_on_other_texts_is_refused(seeds, tmp_path):
    folders, _ = seeds
    with pytest.raises(DataError, match="found no figures of nano-backbone: run nano build"):
        nano_table.read_seeds([*folders, tmp_path])
    shutil.copytree(folders[0], tmp_path / "other")
    file = tmp_path / "other" / "nano-mic" / "training" / "figures.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "n_questions": 9}))
    with pytest.raises(DataError, match="the same texts; found .*12 texts and 9 questions"):
        nano_table.read_seeds([*folders, tmp_path / "other"])


def test_as_many_settings_for_each_kind_are_compared_on_the_development_half(made, tmp_path, monkeypatch):
    where, text, _ = made
    assert {len(tried) for tried in nano_settings.TRIED.values()} == {4} and set(nano_settings.TRIED) == set(nano.KINDS)
    assert all(nano_settings.CHOSEN[kind] in tried for kind, tried in nano_settings.TRIED.items())
    monkeypatch.setattr(nano_settings, "TRIED", {"mic": nano_settings.TRIED["mic"][:2]})
    rows = list(nano_settings.compare(tmp_path, where / "backbone", text, steps=2, batch=8))
    assert [(row["kind"], row["gamma"]) for row in rows] == [("mic", 3.0), ("mic", 20.0)]
    again = list(nano_settings.compare(tmp_path, where / "backbone", text, steps=2, batch=8))
    assert again == rows and len((tmp_path / "settings.csv").read_text().splitlines()) == 3
    run = json.loads((tmp_path / "mic-0" / "training" / "evaluation.json").read_text())
    assert run["after"]["retrieval"]["16"]["recall"]["value"] == rows[0]["recall_at_10_dim_16"]
    assert run["after"]["probe"].endswith("questions of development.csv")
