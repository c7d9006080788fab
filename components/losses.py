"""MIC as a sentence-transformers loss: any base loss, made Matryoshka, plus what ``mic_terms`` asks of the token states.

``L = L_MRL + gamma * mean over layers, dims and columns of (L_SCR + L_SIR)``. L_MRL is the base loss summed over the
truncation dims (sentence-transformers' ``MatryoshkaLoss``). The token states are taken from the very forward pass that
makes the embeddings, by a hook that lives only as long as one call; nothing is encoded twice. A column (the anchors, the
positives, ...) is a batch of its own: over all columns at once, uniformity would push each anchor off its own positive.

One kind of base loss has no states to take: those that cache gradients (``CachedMultipleNegativesRankingLoss``) encode
without gradients first and once more in small parts during the backward pass. Their columns are encoded a second time,
whole and with gradients, for the terms; this works, but saves no memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.losses import AdaptiveLayerLoss, MatryoshkaLoss
from sentence_transformers.sentence_transformer.losses.matryoshka import CachedLossDecorator
from torch import Tensor, nn

from components.errors import DataError, shown
from components.mic_terms import SCR, SIR
from components.types import FINAL, Layer

TERMS = ("scr", "correlation", "variance", "sir", "cv", "uniformity")


class MICLoss(nn.Module):
    """MatryoshkaLoss around a base loss, plus ``gamma`` times the mean of SCR and SIR.

    Not public are tau, lambda_var, gamma and which layers go with which dims. The defaults are those of our own trial on a
    4-layer model of 192 dims: gamma 3, tau 0.02, no variance floor, last layer with every dim. They did no harm there,
    which is all that was found: at gamma 20, retrieval suffered. A sibling paper maps layers 2, 4, 6, 8, 9, 10, 12 of
    BERT-base to 16, 32, 64, 128, 256, 512, 768 dims (``layers={2: [16], 4: [32], ...}``). Sweep them before you believe them.

    Args:
        model: whose first module is a transformer.
        loss: any base loss of this model that is not Matryoshka itself.
        matryoshka_dims: ascending, up to the model's dim.
        layers: at which layers the terms are taken: a list of 0 (embedding output) .. L and "final" (what pooling sees),
            each with all of ``matryoshka_dims``; or a mapping from such a layer to some of these dims. Layer L is as
            transformers returns it, after the closing norm of models that have one.
        gamma: weight of the terms, at least 0. At 0 they are measured, without a gradient, and take no part.
        tau: the |C| that goes unpunished, at least 0.
        lambda_var: weight of the variance floor inside SCR, at least 0.
        uniformity_t: t of L_unif, above 0.
        special_tokens: count [CLS], [SEP], <s> ... in every term, or leave them out (padding never counts). Most of |C|
            comes from them, since they sit alike in every text. The unknown token is a word, not a special token.
        matryoshka_weights: one a dim, at least 0; default 1 each.

    Raises:
        DataError: an argument that cannot be used.
    """

    def __init__(self, model: SentenceTransformer, loss: nn.Module, matryoshka_dims: Sequence[int], *,
                 layers: Sequence[Layer] | Mapping[Layer, Sequence[int]] = (FINAL,), gamma: float = 3.0,
                 tau: float = 0.02, lambda_var: float = 0.0, uniformity_t: float = 2.0, special_tokens: bool = True,
                 matryoshka_weights: Sequence[float] | None = None) -> None:
        super().__init__()
        transformer = _transformer(model)
        _check_base(model, loss)
        dims = _checked_dims(matryoshka_dims, min(int(model.get_embedding_dimension()), int(transformer.get_embedding_dimension())))
        for name, value in (("gamma", gamma), ("tau", tau), ("lambda_var", lambda_var), ("uniformity_t", uniformity_t)):
            _check_number(name, value, above=name == "uniformity_t")
        self.layer_dims = _checked_layers(layers, dims, int(transformer.config.num_hidden_layers))
        self.model = model
        self.matryoshka = MatryoshkaLoss(model, loss, dims, matryoshka_weights=_checked_weights(matryoshka_weights, dims))
        self.scr, self.sir = SCR(tau, lambda_var), SIR(uniformity_t)
        self.gamma, self.special_tokens = gamma, special_tokens
        self._special_ids = _special_ids(transformer.tokenizer)
        self._last: Tensor | None = None

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """The loss of one batch, a scalar.

        Args:
            sentence_features: one dict a column, with input_ids and attention_mask (batch, n).
            labels: as the base loss wants them.
        """
        columns = list(sentence_features)
        measured_only = self.gamma == 0
        if self.matryoshka.uses_gradient_cache:
            base = self.matryoshka(columns, labels)
            with _grad_unless(measured_only), self._listening() as heard:
                for column in columns:
                    _transformer(self.model)(dict(column))
        else:
            with self._listening() as heard:
                base = self.matryoshka(columns, labels)
        if not heard:
            raise DataError("loss", "must encode its texts by the model given", type(self.matryoshka.loss).__name__,
                            "give the base loss and MICLoss the same model")
        with _grad_unless(measured_only):
            terms = self._terms(heard, len(columns[0]["attention_mask"]))
        self._last = torch.cat([base.detach().reshape(1).to(terms), terms.detach()])
        return base if measured_only else base + self.gamma * (terms[0] + terms[3])

    def last_values(self) -> dict[str, float]:
        """Values of the last call: "total", "mrl" and the means of each of ``TERMS``, unweighted; empty before the first.

        Kept as one tensor and read only here, so that a step on a GPU need not wait for them.
        """
        if self._last is None:
            return {}
        values = dict(zip(("mrl", *TERMS), self._last.tolist(), strict=True))
        return {"total": values["mrl"] + self.gamma * (values["scr"] + values["sir"]), **values}

    def get_config_dict(self) -> dict[str, Any]:
        """Every setting, for the model card that the trainer writes."""
        return {"loss": type(self.matryoshka.loss).__name__, "matryoshka_dims": list(self.matryoshka.matryoshka_dims[::-1]),
                "matryoshka_weights": list(self.matryoshka.matryoshka_weights[::-1]),
                "layers": {str(layer): list(dims) for layer, dims in self.layer_dims.items()}, "gamma": self.gamma,
                "tau": self.scr.tau, "lambda_var": self.scr.lambda_var, "uniformity_t": self.sir.t,
                "special_tokens": self.special_tokens}

    def _terms(self, heard: Sequence[tuple[dict[Layer, Tensor], Tensor]], batch: int) -> Tensor:
        """The means of ``TERMS`` over columns, layers and dims, (6,); in float32 or more, whatever autocast says.

        Base losses encode like columns as one, one after the other in its rows; they are told apart again here.
        """
        rows = []
        for states, mask in heard:
            with torch.autocast(mask.device.type, enabled=False):
                for layer, dims in self.layer_dims.items():
                    wide = states[layer].to(torch.promote_types(states[layer].dtype, torch.float32))
                    for column, counts in ((wide[k:k + batch], mask[k:k + batch]) for k in range(0, len(mask), batch)):
                        for dim in dims:
                            rows.append(torch.stack([*self.scr(column, counts, dim), *self.sir(column, counts, dim)]))
        return torch.stack(rows).mean(dim=0)

    @contextmanager
    def _listening(self) -> Iterator[list[tuple[dict[Layer, Tensor], Tensor]]]:
        """Collects (states by layer, mask) of each forward pass meanwhile, and leaves the model as it was."""
        transformer = _transformer(self.model)
        asked, own_forward = transformer.config.output_hidden_states, "forward" in vars(self.model)
        heard: list[tuple[dict[Layer, Tensor], Tensor]] = []

        def hear(_module: nn.Module, _args: Any, features: dict[str, Any]) -> None:
            hidden = features.get("all_layer_embeddings") if asked else features.pop("all_layer_embeddings", None)
            states = {layer: features["token_embeddings"] if layer == FINAL else hidden[layer]  # type: ignore[index]
                      for layer in self.layer_dims}
            heard.append((states, self._mask(features)))

        handle = transformer.register_forward_hook(hear)
        transformer.config.output_hidden_states = asked or any(layer != FINAL for layer in self.layer_dims)
        try:
            yield heard
        finally:
            handle.remove()
            transformer.config.output_hidden_states = asked
            # MatryoshkaLoss puts the old forward back as an attribute of the instance, where there was none.
            if not own_forward:
                vars(self.model).pop("forward", None)

    def _mask(self, features: Mapping[str, Any]) -> Tensor:
        """(batch, n) bool: which tokens count."""
        mask = features.get("attention_mask")
        if mask is None or mask.shape != features["token_embeddings"].shape[:2]:
            raise DataError("model", "must give token states as (batch, n, dim) with an attention mask",
                            f"states {tuple(features['token_embeddings'].shape)}", "load it without flattened inputs")
        mask = mask.bool()
        if self.special_tokens:
            return mask
        ids = features["input_ids"]
        return mask & ~torch.isin(ids, torch.tensor(self._special_ids, dtype=ids.dtype, device=ids.device))


def _grad_unless(off: bool) -> torch.set_grad_enabled:
    return torch.set_grad_enabled(torch.is_grad_enabled() and not off)


def _unwrapped(model: Any) -> Any:
    """The model inside what distributed training and torch.compile put around it."""
    while not isinstance(model, SentenceTransformer) and (inner := getattr(model, "_orig_mod", getattr(model, "module", None))):
        model = inner
    return model


def _transformer(model: Any) -> Any:
    model = _unwrapped(model)
    first = model[0] if isinstance(model, SentenceTransformer) and len(model) else model
    if isinstance(first, Transformer):
        return first
    raise DataError("model", "must be a SentenceTransformer whose first module is a transformer", type(first).__name__,
                    "choose a model that has token states")


def _special_ids(tokenizer: Any) -> list[int]:
    """Ids of special tokens; the unknown one stands for a word, unless a family uses it as another one too."""
    roles = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "mask_token_id")
    unknown = {tokenizer.unk_token_id} - {getattr(tokenizer, role, None) for role in roles}
    return sorted(set(tokenizer.all_special_ids) - unknown)


def _check_base(model: Any, loss: Any) -> None:
    if not isinstance(loss, nn.Module):
        raise DataError("loss", "must be a loss made for the model", shown(loss), "give MultipleNegativesRankingLoss(model), say")
    for module in loss.modules():
        if isinstance(module, (MatryoshkaLoss, AdaptiveLayerLoss, MICLoss)) \
                or isinstance(getattr(module, "calculate_loss", None), CachedLossDecorator):
            raise DataError("loss", "must be a base loss that is not cut to dims or layers yet", type(module).__name__,
                            "give a new one, MICLoss makes it Matryoshka")
    if _unwrapped(getattr(loss, "model", model)) is not _unwrapped(model):
        raise DataError("loss", "must be made for the same model", "another model", "give the base loss and MICLoss one model")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_number(name: str, value: Any, *, above: bool = False) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not number or value < 0 or (above and value == 0):
        raise DataError(name, f"must be a finite number {'above 0' if above else 'of at least 0'}", shown(value),
                        "give such a number")


def _checked_dims(dims: Any, limit: int) -> list[int]:
    whole = isinstance(dims, Sequence) and not isinstance(dims, str) and len(dims) > 0 and all(map(_is_integer, dims))
    if not whole or any(a >= b for a, b in pairwise(dims)) or dims[0] < 1 or dims[-1] > limit:
        raise DataError("matryoshka_dims", f"must be ascending whole numbers in 1..{limit}, the model's dim", shown(dims),
                        "give such a list")
    return list(dims)


def _checked_weights(weights: Any, dims: Sequence[int]) -> list[float] | None:
    if weights is None:
        return None
    if not isinstance(weights, Sequence) or isinstance(weights, str) or len(weights) != len(dims):
        raise DataError("matryoshka_weights", f"must be {len(dims)} numbers, one a dim", shown(weights), "give one for each dim")
    for weight in weights:
        _check_number("matryoshka_weights", weight)
    return list(weights)


def _checked_layers(layers: Any, dims: Sequence[int], n_layers: int) -> dict[Layer, tuple[int, ...]]:
    if not isinstance(layers, (Sequence, Mapping)) or isinstance(layers, str) or not layers:
        raise DataError("layers", "must be a list of layers or a mapping from layers to dims", shown(layers),
                        f"give [{FINAL!r}] for the last one")
    for layer in layers:
        if layer != FINAL and not (_is_integer(layer) and 0 <= layer <= n_layers):
            raise DataError("layers", f"must lie in 0..{n_layers} or be {FINAL!r}", shown(layer), "choose one of these")
    if not isinstance(layers, Mapping):
        if len(set(layers)) < len(layers):
            raise DataError("layers", "must name each layer once", shown(layers), "leave the second one out")
        return dict.fromkeys(layers, tuple(dims))
    for layer, own in layers.items():
        if not isinstance(own, Sequence) or isinstance(own, str) or not own or any(d not in dims for d in own) \
                or len(set(own)) < len(own):
            raise DataError(f"dims of layer {layer}", f"must be some of the matryoshka_dims {list(dims)}, each once",
                            shown(own), "choose among these or widen matryoshka_dims")
    return {layer: tuple(own) for layer, own in layers.items()}
