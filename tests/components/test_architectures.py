"""Adapters prove themselves, and a wrong one fails: heads, slices, repeats, biases, norms."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from components.architectures import FAMILIES, Adapter, NotProven, adapter_of, why_no_adapter
from components.encoders import load_encoder
from components.models import resolve_model
from components.types import FINAL
from tests.components import tiny_models

TEXTS = ["the cat sat on the mat .", "a dog", "rain", "the dog ran far , far home in the rain ."]


class Ran:
    """A tiny model's adapter and all that one batch of it gave."""

    def __init__(self, family, folder):
        path = tiny_models.save(family, folder, shaken=0.15, **tiny_models.FULL.get(family, {}))
        self.encoder = load_encoder(resolve_model(str(path)), device="cpu")
        adapter = adapter_of(self.encoder.model)
        assert adapter is not None and why_no_adapter(self.encoder.model) == ""
        self.adapter: Adapter = adapter
        self.tokenised = self.encoder.tokenise(TEXTS)
        ids, real = self.encoder.padded(self.tokenised, range(len(TEXTS)))
        self.real, self.layers = torch.from_numpy(real.astype(bool)), {}
        states = adapter.capture(lambda: self.encoder.hidden_states(ids, real, self.encoder.layers), self.layers.__setitem__)
        self.states = states
        self.last = self.layers[adapter.n_layers]

    def fault(self, layer=1, **changed):
        return self.adapter.fault(layer, replace(self.layers[layer], **changed), self.real)


@pytest.fixture(scope="module", params=FAMILIES)
def ran(request, tmp_path_factory):
    return Ran(request.param, tmp_path_factory.mktemp(request.param))


def test_every_layer_proves_itself(ran):
    assert sorted(ran.layers) == list(range(1, ran.adapter.n_layers + 1))
    assert [ran.fault(layer) for layer in ran.layers] == [""] * ran.adapter.n_layers
    assert ran.adapter.final_fault(ran.last.output, ran.states[FINAL], ran.real) == ""


def test_parts_are_what_they_are_called(ran):
    for layer, parts in ran.layers.items():
        assert torch.equal(parts.residual, ran.states[layer - 1]) and torch.equal(parts.output, ran.states[layer])
        assert torch.allclose(parts.attention.sum(dim=3)[:, 0][ran.real], torch.ones(()), atol=1e-5)
        assert float(parts.attention.masked_fill(~ran.real[:, None, :, None] | ran.real[:, None, None, :], 0).max()) == 0
        same = torch.equal(parts.attention_input, parts.residual)
        assert same == (not ran.adapter.pre_norm or (layer == 1 and ran.encoder.model.config.model_type == "modernbert"))
    assert torch.equal(ran.last.output, ran.states[FINAL]) == (ran.adapter.final_norm is None)


def hooks(model):
    """How many there are; transformers leaves some of its own behind."""
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_attention_is_set_back(ran):
    there = hooks(ran.encoder.model)
    before = ran.encoder.model.config._attn_implementation
    assert before == ("eager" if ran.encoder.model.config.model_type == "mpnet" else "sdpa")

    def use(_layer, _parts):
        assert ran.encoder.model.config._attn_implementation == "eager"
        raise KeyError

    ids, real = ran.encoder.padded(ran.tokenised, [0])
    with pytest.raises(KeyError):
        ran.adapter.capture(lambda: ran.encoder.hidden_states(ids, real, [FINAL]), use)
    assert ran.encoder.model.config._attn_implementation == before
    assert hooks(ran.encoder.model) == there


def changed_heads(ran, monkeypatch, change):
    true = Adapter.heads
    monkeypatch.setattr(Adapter, "heads", lambda self, layer: change(true(self, layer)))
    return ran.fault()


def test_heads_in_another_order_are_found_out(ran, monkeypatch):
    assert "rebuilt from heads and weights" in changed_heads(ran, monkeypatch, lambda w: replace(
        w, value=w.value.roll(1, 0), value_bias=w.value_bias.roll(1, 0), output=w.output.roll(1, 0)))
    monkeypatch.undo()
    assert "rebuilt from heads" in ran.fault(attention=ran.layers[1].attention.flip(1))


def test_a_shifted_slice_of_output_weights_is_found_out(ran, monkeypatch):
    def shifted(w):
        rows = w.output.reshape(-1, w.output.shape[2]).roll(1, 0)
        return replace(w, output=rows.reshape(w.output.shape))

    assert "rebuilt from heads and weights" in changed_heads(ran, monkeypatch, shifted)


def test_forgotten_biases_are_found_out(ran, monkeypatch):
    true = ran.adapter.heads(1)
    for name in ("value_bias", "output_bias"):
        fault = changed_heads(ran, monkeypatch, lambda w, name=name: replace(w, **{name: torch.zeros_like(getattr(w, name))}))
        assert bool(fault) == bool(getattr(true, name).any())
        monkeypatch.undo()
    assert true.value_bias.any() == (ran.encoder.model.config.model_type != "nomic_bert")


@pytest.mark.parametrize("ran", ["qwen3"], indirect=True)
def test_dropped_or_misplaced_repeats_of_grouped_queries_are_found_out(ran, monkeypatch):
    first = ran.adapter.heads(1)
    assert torch.equal(first.value[0], first.value[1]) and not torch.equal(first.value[1], first.value[2])
    assert "has 2 value and 4 output heads, not 4" in changed_heads(
        ran, monkeypatch, lambda w: replace(w, value=w.value[::2], value_bias=w.value_bias[::2]))
    monkeypatch.undo()
    order = [0, 2, 0, 2]
    assert "rebuilt from heads" in changed_heads(
        ran, monkeypatch, lambda w: replace(w, value=w.value[order], value_bias=w.value_bias[order]))


@pytest.mark.parametrize("ran", ["modernbert", "qwen3"], indirect=True)
def test_a_final_norm_in_the_last_layer_is_found_out(ran):
    assert "the output of layer" in ran.fault(ran.adapter.n_layers, output=ran.states[FINAL])
    assert "what pooling sees" in ran.adapter.final_fault(ran.last.output, ran.last.output, ran.real)


def test_other_inputs_are_found_out(ran):
    parts = ran.layers[2]
    if ran.adapter.pre_norm:
        assert "rebuilt from heads" in ran.fault(2, attention_input=parts.residual)
        assert "rebuilt from H + Z" in ran.fault(2, residual=parts.residual * 1.01)
    else:
        assert "is not fed with the residual stream" in ran.fault(2, attention_input=parts.residual + 1)
    assert "rebuilt from H + Z" in ran.fault(2, output=parts.output * 1.01)
    assert "does not give its attention" in ran.fault(2, attention=None)
    assert "are (4, 4, 3, 3), not" in ran.fault(2, attention=parts.attention[:, :, :3, :3])
    assert "off by nan" in ran.fault(2, output=parts.output * torch.nan)


@pytest.mark.parametrize("family", ["gpt2", "albert"])
def test_other_families_have_no_adapter_and_a_reason(family, tmp_path):
    model = load_encoder(resolve_model(str(tiny_models.save(family, tmp_path))), device="cpu").model
    assert adapter_of(model) is None and f"family {family} " in why_no_adapter(model)


def test_models_built_otherwise_have_no_adapter_and_a_reason(tmp_path):
    model = load_encoder(resolve_model(str(tiny_models.save("bert", tmp_path))), device="cpu").model
    model.encoder.layer[1].attention.self.value = torch.nn.Sequential(model.encoder.layer[1].attention.self.value)
    assert adapter_of(model) is None and "value is no plain linear layer" in why_no_adapter(model)
    model.encoder.layer[1].attention.self.value = torch.nn.Linear(32, 20)
    assert adapter_of(model) is None and "do not share out among 4 heads" in why_no_adapter(model)
    del model.encoder.layer[1].attention
    assert adapter_of(model) is None and "not built as its family is" in why_no_adapter(model)


def test_a_layer_that_runs_without_a_part_is_told(tmp_path, monkeypatch):
    ran = Ran("bert", tmp_path)
    ids, real = ran.encoder.padded(ran.tokenised, [0])
    dense = ran.encoder.model.encoder.layer[0].attention.output.dense
    monkeypatch.setattr(ran.encoder.model.encoder.layer[0].attention.output, "forward", lambda x, h: dense.forward(x) + h)
    with pytest.raises(NotProven, match="layer 1 ran without its attended"):
        ran.adapter.capture(lambda: ran.encoder.hidden_states(ids, real, [FINAL]), lambda *_: None)
