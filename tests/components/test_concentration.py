"""Concentration: equal to the definitions text by text, in any batch, and honest where nothing can be given."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.architectures import FAMILIES, Adapter
from components.concentration import PER_LAYER, PER_STATE, Moments, layer_statistics
from components.corpora import load_corpus
from components.encoders import Encoder, load_encoder
from components.errors import Cancelled
from components.models import resolve_model
from tests.components import tiny_models
from tests.components.concentration_definitions import PlainModel, by_definition

TEXTS = ["the cat sat on the mat .", "a dog", "rain", "the dog ran far , far home in the rain .", "cats running", "",
         "the the the the", "in a rain , on the mat , cats sat , dogs ran home . in a rain , on the mat , cats sat"]
MEASURED = ("lambda_", *PER_LAYER, *PER_STATE)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, one_torch_thread):
    """Tiny shaken models by family, loaded once; a test that changes one makes its own."""
    @cache
    def load(family: str) -> Encoder:
        return fresh(family, tmp_path_factory.mktemp(family))

    return load


def fresh(family: str, folder: Path) -> Encoder:
    path = tiny_models.save(family, folder, shaken=0.15, **tiny_models.FULL.get(family, {}))
    return load_encoder(resolve_model(str(path)), device="cpu")


def without_special_tokens(encoder: Encoder) -> Encoder:
    from tokenizers import processors

    encoder.tokenizer._tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    return encoder


def check(found, expected, tolerance):
    """Every array within the relative tolerance, NaN where the other is; cosines may be near 0 and are held absolutely."""
    for name, values in expected.items():
        near_zero = tolerance if "cosine" in name else 0
        np.testing.assert_allclose(getattr(found, name), values, rtol=tolerance, atol=near_zero, err_msg=name)


def check_float32(found, expected):
    """A head that attends to all alike has a lambda near 0 in which rounding shows: lambda is held to the heads' mean too."""
    mean = expected["lambda_"].mean(axis=2, keepdims=True)
    assert (np.abs(found.lambda_ - expected["lambda_"]) <= 1e-5 * np.maximum(mean, expected["lambda_"])).all()
    check(found, {name: values for name, values in expected.items() if name != "lambda_"}, 1e-5)


def test_the_embedded_model_equals_the_definitions(embedded):
    texts = load_corpus("encyclopedia").texts[:12]
    found = layer_statistics(embedded, texts, batch_size=5, inequality=True)
    assert found.available and found.reason == "" and not found.pre_norm and found.lambda_.shape == (12, 6, 12)
    expected = by_definition(PlainModel(embedded.model), list(embedded.tokenise(texts).ids))
    assert set(expected) == set(MEASURED)
    check(found, expected, 1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_equals_the_definitions(family, tiny):
    encoder = tiny(family)
    found = layer_statistics(encoder, TEXTS, batch_size=3, inequality=True)
    assert found.available and found.reason == "" and found.pre_norm == (family in ("modernbert", "qwen3"))
    assert ("refers to the normalised input" in " ".join(found.notes)) == found.pre_norm
    check_float32(found, by_definition(PlainModel(encoder.model), list(encoder.tokenise(TEXTS).ids)))


@pytest.mark.parametrize("family", FAMILIES)
def test_in_float64_every_head_equals_the_definitions(family, tmp_path):
    encoder = fresh(family, tmp_path)
    encoder.model.double()
    # ModernBERT in float64 gives NaN beside padding that its local attention leaves without a token to attend to.
    found = layer_statistics(encoder, TEXTS, batch_size=1 if family == "modernbert" else 3, inequality=True)
    # Qwen3's softmax stays float32, and rounds differently in batches of other widths.
    check(found, by_definition(PlainModel(encoder.model), list(encoder.tokenise(TEXTS).ids)), 1e-6 if family == "qwen3" else 1e-9)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12)
@given(texts=st.lists(st.lists(st.sampled_from(tiny_models.WORDS[5:]), max_size=20).map(" ".join), min_size=1, max_size=4))
def test_the_inequality_always_holds(family, tiny, texts):
    found = layer_statistics(tiny(family), texts, inequality=True)
    assert found.available and (found.inequality_left <= found.inequality_right * (1 + 1e-6)).all()
    assert np.isnan(layer_statistics(tiny(family), texts).inequality_left).all()


@pytest.mark.parametrize("family", [*FAMILIES, "convbert", "gpt2"])
def test_results_depend_on_neither_batch_nor_order(family, tiny):
    encoder = tiny(family)
    base = layer_statistics(encoder, TEXTS)
    for order, size in ((range(8), 1), (range(8), 3), (range(7, -1, -1), 32)):
        other = layer_statistics(encoder, [TEXTS[k] for k in order], batch_size=size)
        back = np.argsort(order)
        for name in MEASURED:
            scale = 1e-5 * np.abs(getattr(base, name)).max(initial=0) if name == "lambda_" else 2e-6
            np.testing.assert_allclose(getattr(other, name)[back], getattr(base, name), rtol=1e-5, atol=scale, err_msg=name)
    assert ("mixes padding" in "".join(base.notes)) == (family == "convbert")


def test_states_equal_those_of_the_encoder(embedded):
    from components.spread import normalised_spread

    texts = load_corpus("encyclopedia").texts[:6]
    found = layer_statistics(embedded, texts, prompt="query: ")
    states = embedded.token_states(texts, embedded.layers, prompt="query: ").states
    for place, layer in enumerate(embedded.layers):
        assert np.allclose(found.normalized_spread[:, place], normalised_spread(states[layer]), rtol=1e-5)
    assert np.array_equal(found.n_tokens, states[0].lengths)


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_one_token_or_none(family, tmp_path):
    encoder = without_special_tokens(fresh(family, tmp_path))
    found = layer_statistics(encoder, ["cat", "", "a dog sat"], inequality=True)
    assert found.n_tokens.tolist() == [1, 0, 3] and found.available
    assert (found.lambda_[:2] == 0).all() and (found.r[0] == 0).all() and (found.spread[0] == 0).all()
    assert (found.normalized_spread[0] == 0).all() and np.allclose(found.mean_cosine[0], 1)
    for name in ("c", "attention_gain", "residual_gain", "scale"):
        assert np.isnan(getattr(found, name)[0]).all(), name
    assert np.isnan(found.mean_cosine_no_self[0]).all()
    for name in (*PER_LAYER, *PER_STATE):
        assert np.isnan(getattr(found, name)[1]).all() and np.isfinite(getattr(found, name)[2]).all(), name
    assert layer_statistics(encoder, ["", ""]).n_tokens.tolist() == [0, 0]


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_identical_tokens_are_no_rounding_noise(family, tmp_path):
    encoder = without_special_tokens(fresh(family, tmp_path))
    if family == "bert":
        encoder.model.embeddings.position_embeddings.weight.data.zero_()
    found = layer_statistics(encoder, ["the the the the the the the", "a cat sat"])
    assert (found.spread[0] == 0).all() and (found.r[0] == 0).all() and np.allclose(found.mean_cosine_no_self[0], 1)
    for name in ("c", "attention_gain", "residual_gain", "scale"):
        assert np.isnan(getattr(found, name)[0]).all() and np.isfinite(getattr(found, name)[1]).all(), name


def test_a_small_spread_round_a_long_mean_is_kept():
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((1, 40, 8)) + 1e4).astype(np.float32)
    exact = x[0].astype(np.float64)
    expected = ((exact - exact.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert float(Moments(torch.from_numpy(x), torch.ones(1, 40, dtype=torch.bool)).spread) == pytest.approx(expected, rel=1e-12)


def only_states(found, whole, reason):
    """Spread and cosine are there and right, the rest is not, and a sentence says why."""
    assert not found.available and found.reason.startswith("lambda, r and C are not available for ") and reason in found.reason
    assert all(np.isnan(getattr(found, name)).all() for name in ("lambda_", *PER_LAYER))
    assert found.lambda_.shape == whole.lambda_.shape and not found.pre_norm
    for name in PER_STATE:
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("family", ["bert", "mpnet", "qwen3"])
def test_a_failed_check_leaves_spread_and_cosine(family, tiny, monkeypatch):
    whole = layer_statistics(tiny(family), TEXTS)
    true = Adapter.fault
    monkeypatch.setattr(Adapter, "fault", lambda self, layer, parts, real: "a test" if layer == 2 else true(self, layer, parts, real))
    only_states(layer_statistics(tiny(family), TEXTS), whole, ": a test.")
    monkeypatch.undo()
    monkeypatch.setattr(Adapter, "final_fault", lambda *_: "another test")
    only_states(layer_statistics(tiny(family), TEXTS), whole, ": another test.")


def test_wrong_weights_leave_spread_and_cosine(tiny, monkeypatch):
    from dataclasses import replace

    whole, true = layer_statistics(tiny("qwen3"), TEXTS), Adapter.heads
    monkeypatch.setattr(Adapter, "heads", lambda self, layer: replace(true(self, layer), output=true(self, layer).output.flip(0)))
    only_states(layer_statistics(tiny("qwen3"), TEXTS), whole, "attention rebuilt from heads and weights of layer 1 is off by")


def test_attentions_not_available(tmp_path, monkeypatch):
    encoder = fresh("bert", tmp_path)
    whole = layer_statistics(encoder, TEXTS)
    monkeypatch.setattr(encoder.model, "set_attn_implementation", lambda _name: None)
    only_states(layer_statistics(encoder, TEXTS), whole, "layer 1 does not give its attention probabilities")

    def refuse(_name):
        raise ValueError("no eager here")

    monkeypatch.setattr(encoder.model, "set_attn_implementation", refuse)
    only_states(layer_statistics(encoder, TEXTS), whole, "its attention does not give probabilities: no eager here")


@pytest.mark.parametrize("family", ["gpt2", "albert"])
def test_a_family_without_adapter(family, tiny):
    found = layer_statistics(tiny(family), TEXTS)
    assert found.lambda_.shape == (8, 2, 4)
    assert found.spread.shape == (8, 4) and np.isfinite(found.spread).all()
    only_states(found, found, f"models of the family {family} keep")
    states = tiny(family).token_states(TEXTS, [1, "final"]).states
    for place, layer in ((1, 1), (3, "final")):
        exact = [((x - x.mean(axis=0)) ** 2).sum(axis=1).mean() for x in (states[layer][k].astype(np.float64) for k in range(8))]
        assert np.allclose(found.spread[:, place], exact, rtol=1e-5)


def test_cut_texts_and_unknown_tokens_are_counted(tiny):
    found = layer_statistics(tiny("bert"), ["a cat", "the dog " * 60, "zebra"])
    assert found.cut.tolist() == [1] and found.n_tokens.tolist() == [4, 64, 3]
    assert found.unknown_share == pytest.approx(1 / 65)


def test_memory_running_out_halves_the_batch(tiny, monkeypatch):
    whole, sizes, true = layer_statistics(tiny("bert"), TEXTS), [], Encoder.hidden_states

    def tight(self, ids, real, layers):
        sizes.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("out of memory")
        return true(self, ids, real, layers)

    monkeypatch.setattr(Encoder, "hidden_states", tight)
    found = layer_statistics(tiny("bert"), TEXTS)
    assert max(sizes) == 8 and sizes.count(2) == 4 and found.available
    assert np.allclose(found.c, whole.c, rtol=1e-5)


def test_progress_and_cancel(tiny):
    seen, event = [], threading.Event()

    def progress(done, total, message):
        seen.append((done, total, message))
        event.set()

    with pytest.raises(Cancelled):
        layer_statistics(tiny("bert"), TEXTS, batch_size=3, progress=progress, cancelled=event)
    assert seen == [(3, 8, "Measuring layers")]


def test_arrays_are_read_only(tiny):
    found = layer_statistics(tiny("bert"), TEXTS[:2])
    assert not any(getattr(found, name).flags.writeable for name in (*MEASURED, "n_tokens"))
