"""Planes by UMAP and transport plans of some tokens of a pair, and halves of a corpus's texts of given lengths."""

from __future__ import annotations

import numpy as np
import pytest

from components.encoders import load_encoder
from components.errors import DataError
from components.length_pipeline import LengthOptions, compute_length_halves, length_key, like, run_length_halves
from components.models import resolve_model
from components.projection import LEAST, umap_plane
from components.references import finite_samples
from components.store import ResultStore
from components.subset_pipeline import SubsetOptions, compute_subset, run_subset, subset_key
from components.token_pipeline import TokenOptions, compute_tokens, one_pair
from components.transport import transport_plan
from components.types import Corpus
from tests.components import tiny_models


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return resolve_model(str(tiny_models.save("bert", tmp_path_factory.mktemp("subset") / "tiny")))


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path)


PAIR = one_pair("the cat sat on the mat .", "a dog ran")
QUIET = {"progress": lambda *_: None, "cancelled": None}


def test_a_plan_of_some_tokens_is_that_of_their_states_alone(model, store):
    tokens = compute_tokens(PAIR, model, TokenOptions(), store=store)
    options = SubsetOptions("plan", 1, (1, 3, 5), (0, 2))
    plan = compute_subset(PAIR, model, options, store=store).arrays["plan"]
    n, states = tokens.meta["n_a"], tokens.arrays["layer_1"]
    assert np.allclose(plan, transport_plan(states[:n][[1, 3, 5]], states[n:][[0, 2]]), atol=1e-7)
    assert compute_subset(PAIR, model, options, store=store).arrays["plan"].tolist() == plan.tolist() and len(store.entries()) == 2
    assert subset_key(PAIR, model, options) != subset_key(PAIR, model, SubsetOptions("plan", 1, (1, 3), (0, 2)))


def test_the_worker_gets_its_options_as_json(model, store):
    options = SubsetOptions("plan", "final", (1, 2), (1, 2))
    key = subset_key(PAIR, model, options)
    args = {"text_a": PAIR.texts_a[0], "text_b": PAIR.texts_b[0], "model": str(model.folder), "digest": key.digest, "device": "cpu",
            "options": {"what": "plan", "layer": "final", "kept_a": [1, 2], "kept_b": [1, 2], "prompt": "", "seed": 0}}
    assert run_subset(args, store=store, **QUIET) == key.digest


@pytest.mark.parametrize(("kept", "layer", "rule"), [((), 1, "one at least"), ((99,), 1, "from 0 to 8"), ((-1,), 1, "from 0 to 8"),
                                                     ((0, 1), 99, "layer must be one of")])
def test_tokens_and_layers_that_are_not_there_are_one_sentence(model, store, kept, layer, rule):
    with pytest.raises(DataError, match=rule):
        compute_subset(PAIR, model, SubsetOptions("plan", layer, kept, (0,)), store=store)


def test_umap_keeps_clouds_apart_is_the_same_every_time_and_says_how_far_to_trust_it():
    rng = np.random.default_rng(0)
    centre = np.eye(10)[0]
    x, y = centre + 0.01 * rng.normal(size=(15, 10)), 0.2 * centre + np.eye(10)[1] + 0.01 * rng.normal(size=(12, 10))
    one, other, trust = umap_plane(x, y)
    again = umap_plane(x, y)
    assert one.shape == (15, 2) and other.shape == (12, 2) and np.array_equal(one, again[0]) and np.array_equal(other, again[1])
    gap = np.linalg.norm(one.mean(axis=0) - other.mean(axis=0))
    assert gap > 3 * max(one.std(axis=0).max(), other.std(axis=0).max()) and 0.5 < trust <= 1
    assert np.allclose(umap_plane(7 * x, y)[0], one), "each text is scaled to a mean of length 1"


def test_umap_of_too_few_tokens_is_one_sentence():
    with pytest.raises(DataError, match=f"must be {LEAST} or more"):
        umap_plane(np.ones((4, 3)), np.ones((3, 3)))


TEXTS = tuple("the " * n + "cat ." for n in (3, 5, 5, 6, 6, 6, 7, 7, 20))


def test_halves_of_like_lengths_are_the_reference_on_those_texts(model, store):
    corpus = Corpus("nine", TEXTS)
    options = LengthOptions(3, 8, 12, layer=2)
    found = compute_length_halves(corpus, model, options, store=store)
    assert found.arrays["n_tokens"].tolist() == [9, 9, 10, 10, 10, 11, 11] and found.arrays["rows"].tolist() == list(range(1, 8))
    states = load_encoder(model, device="cpu").token_states(list(TEXTS[1:8]), [2]).states[2]
    within, between, ratio, half = finite_samples(states, np.arange(7), half=3)
    assert half == 3 and found.meta["within"]["value"] == pytest.approx(within.value, rel=1e-6)
    assert found.meta["between"]["value"] == pytest.approx(between.value, rel=1e-6)
    assert found.meta["ratio"]["value"] == pytest.approx(ratio.value, rel=1e-6) and found.meta["eligible"] == 7


def test_lengths_follow_from_the_pair():
    assert like(20) == (16, 25)
    assert LengthOptions.for_pair(21, 40, 3, False) == LengthOptions(10, 20, 50, 3, False)
    assert LengthOptions.for_pair(10, 10, "final", True).low == 10, "two disjoint halves of the shorter text's half need as many"


def test_too_few_texts_of_a_length_are_one_sentence_and_the_worker_refuses_others(model, store, tmp_path):
    corpus = Corpus("nine", TEXTS)
    with pytest.raises(DataError, match="texts of 20 to 30 tokens must be 6 or more for a reference; found 1 in nine"):
        compute_length_halves(corpus, model, LengthOptions(3, 20, 30), store=store)
    with pytest.raises(DataError, match="must be 4 or more"):
        compute_length_halves(corpus, model, LengthOptions(1, 2, 30), store=store)
    file = tmp_path / "nine.txt"
    file.write_text("\n".join(TEXTS))
    options = LengthOptions(3, 8, 12)
    key = length_key(Corpus("nine.txt", TEXTS), model, options)
    args = {"corpus": str(file), "model": str(model.folder), "digest": key.digest, "device": "cpu", "options": dict(vars(options))}
    assert run_length_halves(args, store=store, **QUIET) == key.digest
