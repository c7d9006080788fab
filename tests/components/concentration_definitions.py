"""Theorem 1's quantities from their definitions: one text at a time, float64, explicit P, dense singular values, no mask.

It shares nothing with the code under test: attention and layers come from transformers' own outputs, Z and X from hooks named here,
weights are cut out head by head.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Names:
    """Module names, from the model down."""

    blocks: str
    value: str
    output: str
    norm: str = ""
    """The norm before attention, for pre-norm families."""


BERT = Names("encoder.layer.{}", "attention.self.value", "attention.output.dense")
NAMES = {"bert": BERT, "roberta": BERT, "xlm-roberta": BERT, "electra": BERT,
         "distilbert": Names("transformer.layer.{}", "attention.v_lin", "attention.out_lin"),
         "mpnet": Names("encoder.layer.{}", "attention.attn.v", "attention.attn.o"),
         "nomic_bert": Names("layers.{}", "self_attn.v_proj", "self_attn.o_proj"),
         "modernbert": Names("layers.{}", "attn.Wqkv", "attn.Wo", "attn_norm"),
         "qwen3": Names("layers.{}", "self_attn.v_proj", "self_attn.o_proj", "input_layernorm")}


@dataclass(frozen=True)
class OneLayer:
    """Arrays of one text at one layer: H, attention input, Z, X (n, dim), A (n_heads, n, n), and (W_v, W_o) of each head."""

    h: np.ndarray
    fed: np.ndarray
    a: np.ndarray
    z: np.ndarray
    x: np.ndarray
    heads: list[tuple[np.ndarray, np.ndarray]]


class PlainModel:
    """A copy of a model that runs one text at a time."""

    def __init__(self, model, dtype=torch.float64):
        self.model = copy.deepcopy(model).to(dtype).eval()
        self.model.set_attn_implementation("eager")
        self.names = NAMES[model.config.model_type]
        self.n_layers, self.n_heads = model.config.num_hidden_layers, model.config.num_attention_heads

    def part(self, layer: int, name: str) -> torch.nn.Module:
        return self.model.get_submodule(self.names.blocks.format(layer - 1) + f".{name}" * bool(name))

    def heads(self, layer: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """(W_v, W_o) of each head, so that attention input @ W_v @ W_o is its value."""
        value = self.part(layer, self.names.value).weight.detach().numpy()
        output = self.part(layer, self.names.output).weight.detach().numpy()
        size = output.shape[1] // self.n_heads
        if self.model.config.model_type == "modernbert":
            value = value[2 * len(value) // 3:]
        shared = self.n_heads * size // len(value)
        return [(value[h // shared * size:(h // shared + 1) * size].T, output[:, h * size:(h + 1) * size].T)
                for h in range(self.n_heads)]

    def run(self, ids: np.ndarray) -> tuple[list[OneLayer], np.ndarray]:
        """The layers of one text, and what pooling sees."""
        seen: dict[tuple[int, str], np.ndarray] = {}

        def keep(key):
            return lambda _m, _i, out: seen.update({key: (out[0] if isinstance(out, tuple) else out)[0].numpy()})

        hooks = []
        for layer in range(1, self.n_layers + 1):
            hooks.append(self.part(layer, self.names.output).register_forward_hook(keep((layer, "z"))))
            hooks.append(self.part(layer, "").register_forward_hook(keep((layer, "x"))))
        with torch.no_grad():
            found = self.model(input_ids=torch.from_numpy(ids)[None], attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                               output_attentions=True, output_hidden_states=True)
            for hook in hooks:
                hook.remove()
            layers = []
            for layer in range(1, self.n_layers + 1):
                h = found.hidden_states[layer - 1]
                fed = self.part(layer, self.names.norm)(h) if self.names.norm else h
                layers.append(OneLayer(h[0].numpy(), fed[0].numpy(), found.attentions[layer - 1][0].numpy(), seen[layer, "z"],
                                       seen[layer, "x"], self.heads(layer)))
        return layers, found.last_hidden_state[0].numpy()


def spread(x: np.ndarray) -> float:
    return float(np.mean([np.sum((row - x.mean(axis=0)) ** 2) for row in x]))


def squared_mean(x: np.ndarray) -> float:
    return float(np.sum(x.mean(axis=0) ** 2))


def cosines(x: np.ndarray) -> tuple[float, float]:
    """Mean over all pairs of tokens, and over the pairs of two."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    all_pairs = unit @ unit.T
    return float(all_pairs.mean()), float(all_pairs[~np.eye(len(x), dtype=bool)].mean())


def largest_gain(w_v: np.ndarray, w_o: np.ndarray) -> float:
    return float(np.linalg.svd(w_v @ w_o, compute_uv=False)[0])


def centred(a: np.ndarray) -> np.ndarray:
    n = len(a)
    return (np.eye(n, dtype=a.dtype) - np.ones((n, n), dtype=a.dtype) / n) @ a


def layer_of(parts: OneLayer, gains: list[float]) -> dict[str, object]:
    """All statistics of one text at one layer."""
    n = len(parts.h)
    y = parts.h + parts.z
    with np.errstate(divide="ignore", invalid="ignore"):
        lambdas = [g**2 * np.sum(centred(a) ** 2) / (n - 1) if n > 1 else 0.0 for g, a in zip(gains, parts.a, strict=True)]
        r = spread(parts.h) / squared_mean(y)
        c = np.float64(spread(parts.x) / squared_mean(parts.x)) / (spread(y) / squared_mean(y))
        right = sum(g * np.linalg.norm(centred(a), 2) for g, a in zip(gains, parts.a, strict=True))
        return {"lambda_": lambdas, "r": r, "c": c, "attention_gain": np.float64(spread(parts.z)) / spread(parts.h),
                "residual_gain": np.float64(spread(y)) / spread(parts.h), "scale": (1 + np.sqrt(np.mean(lambdas))) ** 2 * r * c,
                "inequality_left": np.sqrt(spread(y)),
                "inequality_right": np.sqrt(spread(parts.h)) + right * np.sqrt(spread(parts.fed))}


def state_of(x: np.ndarray) -> dict[str, float]:
    both = cosines(x)
    return {"spread": spread(x), "mean_norm": squared_mean(x) ** 0.5, "normalized_spread": spread(x) / squared_mean(x),
            "mean_cosine": both[0], "mean_cosine_no_self": both[1]}


def gains_of(model: PlainModel) -> list[list[float]]:
    """The largest gain of each head at each layer."""
    return [[largest_gain(*head) for head in model.heads(layer)] for layer in range(1, model.n_layers + 1)]


def by_definition(model: PlainModel, texts: list[np.ndarray], gains: list[list[float]] | None = None) -> dict[str, np.ndarray]:
    """Every array of ``LayerStatistics`` for the texts' token numbers."""
    gains = gains or gains_of(model)
    rows = []
    for ids in texts:
        layers, final = model.run(ids)
        per_layer = [layer_of(parts, gains[k]) for k, parts in enumerate(layers)]
        per_state = [state_of(x) for x in (layers[0].h, *(parts.x for parts in layers), final)]
        rows.append({name: [row[name] for row in per_layer] for name in per_layer[0]}
                    | {name: [row[name] for row in per_state] for name in per_state[0]})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
