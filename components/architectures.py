"""Where each model family keeps what Theorem 1 is about: the residual stream, attention, its value and output weights.

A transformer block does two things. Its attention half adds Z = sum over heads of A_h (input) W_v^h W_o^h, plus biases, to the
residual stream H, and Y = H + Z; its other half makes the block's output X from Y. Post-norm blocks (BERT and its kin) feed
attention with H itself and normalise Y; pre-norm blocks (ModernBERT, decoder embedders) feed it with a normalised H and
leave Y as it is. Each family has its own names for the parts, so each has a row in a table here; forward hooks read the parts
off while a model runs, one layer at a time, since attention probabilities of all layers would not fit.

A table can be wrong, and a model of a known family may have been changed, so nothing is believed: ``Adapter.fault``
rebuilds Z from attention and weights, X from Y, and "final" from X_L, and says in a sentence what does not fit.

Source: science of token concentration, Theorem 1; the families' modules in transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn

TOLERANCE = 1e-4
"""Relative difference up to which a rebuilt Z or X counts as the model's own; float32 gives about 1e-6."""

CHECKED_TEXTS = 4
"""Texts of a batch that a check looks at: attention of long texts is large."""

T = TypeVar("T")


class NotProven(Exception):
    """A model's parts are not those of Theorem 1, or cannot be read off; the text says which and ends a sentence."""


@dataclass(frozen=True)
class LayerParts:
    """One layer of one padded batch, in the model's precision.

    Attributes:
        residual: H, (n_texts, width, dim), what the attention half is added to.
        attention_input: (n_texts, width, dim), H itself in post-norm blocks, H normalised in pre-norm ones.
        attention: A, (n_texts, n_heads, width, width), rows sum to 1; None where the model does not give it.
        attended: Z, (n_texts, width, dim), attention's output after its projection, bias included, before dropout and norm.
        output: X, (n_texts, width, dim), the block's output; of the last block before any final norm.
    """

    residual: torch.Tensor
    attention_input: torch.Tensor
    attention: torch.Tensor | None
    attended: torch.Tensor
    output: torch.Tensor


@dataclass(frozen=True)
class HeadWeights:
    """Value and output weights of one layer, head by head; ``attention_input @ value[h] @ output[h]``.

    Attributes:
        value: W_v, (n_heads, dim, head_dim); heads that share a value head (grouped-query attention) repeat it.
        value_bias: (n_heads, head_dim), zeros where there is none.
        output: W_o, (n_heads, head_dim, dim).
        output_bias: (dim,), zeros where there is none.
    """

    value: torch.Tensor
    value_bias: torch.Tensor
    output: torch.Tensor
    output_bias: torch.Tensor

    @property
    def bias(self) -> torch.Tensor:
        """(dim,) what both biases add to every row of Z, since the rows of A sum to 1."""
        return self.output_bias + torch.einsum("hk,hkd->d", self.value_bias, self.output)


@dataclass(frozen=True)
class Family:
    """Names of a family's modules.

    Attributes:
        blocks: path from the model to its list of blocks.
        attention: path from a block to the module that gives the probabilities, last of its outputs or the only one.
        value: to the linear layer that makes values; its input is attention's.
        output: to the linear layer whose output is Z.
        rest: takes a block and Y, gives X.
        pre_norm: whether attention is fed with a normalised H.
        final_norm: path from the model to the norm after its last block, or "".
        fused: how many equal parts the value layer makes at once, values being the last (queries and keys before them).
    """

    blocks: str
    attention: str
    value: str
    output: str
    rest: Callable[[Any, torch.Tensor], torch.Tensor]
    pre_norm: bool = False
    final_norm: str = ""
    fused: int = 1


def _bert_rest(block: Any, y: torch.Tensor) -> torch.Tensor:
    return block.feed_forward_chunk(block.attention.output.LayerNorm(y))


def _mpnet_rest(block: Any, y: torch.Tensor) -> torch.Tensor:
    y = block.attention.LayerNorm(y)
    return block.output(block.intermediate(y), y)


def _distilbert_rest(block: Any, y: torch.Tensor) -> torch.Tensor:
    y = block.sa_layer_norm(y)
    return block.output_layer_norm(block.ffn(y) + y)


def _nomic_rest(block: Any, y: torch.Tensor) -> torch.Tensor:
    y = block.post_attention_layernorm(y)
    return block.post_mlp_layernorm(y + block.mlp(y))


def _modernbert_rest(block: Any, y: torch.Tensor) -> torch.Tensor:
    return y + block.mlp(block.mlp_norm(y))


def _qwen3_rest(block: Any, y: torch.Tensor) -> torch.Tensor:
    return y + block.mlp(block.post_attention_layernorm(y))


_BERT = Family("encoder.layer", "attention.self", "attention.self.value", "attention.output.dense", _bert_rest)

FAMILIES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "electra": _BERT,  # what widens its embeddings lies before the first block
    "distilbert": Family("transformer.layer", "attention", "attention.v_lin", "attention.out_lin", _distilbert_rest),
    # It gives probabilities only together with those of all other layers; its dropout, idle here, lets them through one by one.
    "mpnet": Family("encoder.layer", "attention.attn.dropout", "attention.attn.v", "attention.attn.o", _mpnet_rest),
    "nomic_bert": Family("layers", "self_attn", "self_attn.v_proj", "self_attn.o_proj", _nomic_rest),
    # The first block's norm is an identity: there the attention input is H.
    "modernbert": Family("layers", "attn", "attn.Wqkv", "attn.Wo", _modernbert_rest, pre_norm=True, final_norm="final_norm", fused=3),
    "qwen3": Family("layers", "self_attn", "self_attn.v_proj", "self_attn.o_proj", _qwen3_rest, pre_norm=True, final_norm="norm"),
}
"""By transformers' ``model_type``."""


class Adapter:
    """A loaded model seen through its family's names. Use ``adapter_of``.

    Attributes:
        pre_norm: whether attention is fed with a normalised H; lambda then speaks of that input.
        final_norm: the norm after the last block, or None.
        n_layers, n_heads: of the model.
    """

    def __init__(self, model: Any, family: Family) -> None:
        self.model, self.family, self.pre_norm = model, family, family.pre_norm
        self.blocks: list[Any] = list(model.get_submodule(family.blocks))
        self.final_norm: nn.Module | None = model.get_submodule(family.final_norm) if family.final_norm else None
        self.n_layers, self.n_heads = len(self.blocks), int(model.config.num_attention_heads)
        for block in self.blocks:
            for path in (family.value, family.output):
                if not isinstance(block.get_submodule(path), nn.Linear):
                    raise TypeError(f"{path} is no plain linear layer")
            block.get_submodule(family.attention)
            if block.get_submodule(family.output).in_features * family.fused % block.get_submodule(family.value).out_features:
                raise TypeError(f"{family.value} and {family.output} do not share out among {self.n_heads} heads")

    def heads(self, layer: int) -> HeadWeights:
        """Value and output weights of layer 1..L."""
        block, n_heads = self.blocks[layer - 1], self.n_heads
        value, output = block.get_submodule(self.family.value), block.get_submodule(self.family.output)
        dim, head_dim = value.in_features, output.in_features // n_heads
        rows = value.out_features // self.family.fused
        weight = value.weight.detach()[-rows:]
        bias = weight.new_zeros(rows) if value.bias is None else value.bias.detach()[-rows:]
        repeats = n_heads * head_dim // rows
        return HeadWeights(
            weight.reshape(-1, head_dim, dim).transpose(1, 2).repeat_interleave(repeats, dim=0),
            bias.reshape(-1, head_dim).repeat_interleave(repeats, dim=0),
            output.weight.detach().T.reshape(n_heads, head_dim, -1),
            weight.new_zeros(output.out_features) if output.bias is None else output.bias.detach())

    def capture(self, forward: Callable[[], T], use: Callable[[int, LayerParts], None]) -> T:
        """Runs the model once and hands each layer's parts to ``use(layer, parts)`` as soon as the layer is done.

        Nothing is kept here: one layer's parts live at a time, as long as ``use`` keeps none.
        Raises NotProven where attention cannot be made to give its probabilities, or a layer runs without some part.
        """
        with ExitStack() as hooks, _eager(self.model):
            for number, block in enumerate(self.blocks, start=1):
                for handle in self._hooks(number, block, use):
                    hooks.enter_context(handle)
            return forward()

    def _hooks(self, layer: int, block: Any, use: Callable[[int, LayerParts], None]) -> Iterator[Any]:
        found: dict[str, Any] = {}

        def keep_input(name: str) -> Callable[..., None]:
            return lambda _module, args, kwargs: found.update({name: args[0] if args else kwargs["hidden_states"]})

        def keep_output(name: str) -> Callable[..., None]:
            return lambda _module, _args, output: found.update({name: output[-1] if isinstance(output, tuple) else output})

        def finish(_module: Any, _args: Any, output: Any) -> None:
            parts = dict(found)
            found.clear()
            if missing := {"residual", "attention_input", "attention", "attended"} - parts.keys():
                raise NotProven(f"layer {layer} ran without its {' and '.join(sorted(missing))}")
            use(layer, LayerParts(**parts, output=output[0] if isinstance(output, tuple) else output))

        yield block.register_forward_pre_hook(keep_input("residual"), with_kwargs=True)
        yield block.get_submodule(self.family.value).register_forward_pre_hook(keep_input("attention_input"), with_kwargs=True)
        yield block.get_submodule(self.family.attention).register_forward_hook(keep_output("attention"))
        yield block.get_submodule(self.family.output).register_forward_hook(keep_output("attended"))
        yield block.register_forward_hook(finish)

    @torch.inference_mode()
    def fault(self, layer: int, parts: LayerParts, real: torch.Tensor) -> str:
        """Why these parts cannot be those of Theorem 1, or "".

        Args:
            layer: 1..L.
            parts: of one batch.
            real: (n_texts, width) bool, False at padding.
        """
        if parts.attention is None:
            return f"layer {layer} does not give its attention probabilities"
        some, kept = slice(None, CHECKED_TEXTS), real[:CHECKED_TEXTS]
        weights, attention = self.heads(layer), parts.attention[some]
        if attention.shape != (len(kept), self.n_heads, kept.shape[1], kept.shape[1]):
            return f"attention probabilities of layer {layer} are {tuple(attention.shape)}, not (texts, heads, tokens, tokens)"
        if len(weights.value) != self.n_heads or len(weights.output) != self.n_heads:
            return f"layer {layer} has {len(weights.value)} value and {len(weights.output)} output heads, not {self.n_heads}"
        if not self.pre_norm and not torch.equal(parts.attention_input[some], parts.residual[some]):
            return f"attention of layer {layer} is not fed with the residual stream"
        values = torch.einsum("bnd,hdk->bhnk", parts.attention_input[some], weights.value)
        rebuilt = torch.einsum("bhnk,hkd->bnd", attention @ values, weights.output)
        error = _relative_error(rebuilt[kept], (parts.attended[some] - weights.bias)[kept])
        if not error <= TOLERANCE:
            return f"attention rebuilt from heads and weights of layer {layer} is off by {error:.1g} of its length"
        rebuilt = self.family.rest(self.blocks[layer - 1], parts.residual[some] + parts.attended[some])
        error = _relative_error(rebuilt[kept], parts.output[some][kept])
        return "" if error <= TOLERANCE else f"the output of layer {layer} rebuilt from H + Z is off by {error:.1g} of its length"

    @torch.inference_mode()
    def final_fault(self, output: torch.Tensor, final: torch.Tensor, real: torch.Tensor) -> str:
        """Why the last block's output and what pooling sees, both (n_texts, width, dim), do not belong together, or ""."""
        rebuilt = self.final_norm(output) if self.final_norm is not None else output
        error = _relative_error(rebuilt[real], final[real])
        return "" if error <= TOLERANCE else f"what pooling sees, rebuilt from the last layer, is off by {error:.1g} of its length"


def _relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """||found - expected|| / ||expected||, 0 where both are 0 or empty."""
    error, size = float((found - expected).norm()), float(expected.norm())
    return error / size if size else (0.0 if error == 0 else float("inf"))


@contextmanager
def _eager(model: Any) -> Iterator[None]:
    """Attention that gives its probabilities, and what was set before afterwards."""
    before = model.config._attn_implementation
    if before == "eager":
        yield
        return
    try:
        model.set_attn_implementation("eager")
    except (ValueError, ImportError, AttributeError) as error:
        raise NotProven(f"its attention does not give probabilities: {error}") from error
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def adapter_of(model: Any) -> Adapter | None:
    """The model's adapter, or None for families without one, or whose parts are not where the family has them."""
    found = _adapter_or_reason(model)
    return found if isinstance(found, Adapter) else None


def why_no_adapter(model: Any) -> str:
    """Why ``adapter_of`` gives None, as the end of a sentence; "" where it does not."""
    found = _adapter_or_reason(model)
    return found if isinstance(found, str) else ""


def _adapter_or_reason(model: Any) -> Adapter | str:
    kind = str(model.config.model_type)
    family = FAMILIES.get(kind)
    if family is None:
        return f"models of the family {kind} keep value and output weights where Poolscope does not know them"
    try:
        return Adapter(model, family)
    except (AttributeError, TypeError) as error:
        return f"this {kind} model is not built as its family is: {error}"
