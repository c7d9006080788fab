"""Runs a model over texts and gives the token states of any layer, real tokens only.

The only file that runs a finished model through transformers. Weights come as safetensors; code from a model's folder runs
only for ids that the owner has allow-listed. Texts are batched by length, so that little is computed on padding, and every state is
written straight to its text's place: memory holds the layers asked for and one batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from components.batches import batches, mixes_padding, out_of_memory
from components.devices import choose_device
from components.errors import Cancelled, DataError, ModelError, shown
from components.models import Declared, ModelRef, declared
from components.types import FINAL, CancelEvent, FloatArray, IntArray, Layer, Progress, TokenStates, no_progress

_POSITIONS_FROM_IDS = ("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet", "xmod",
                       "data2vec-text", "longformer", "ibert", "luke", "esm")
"""Families that find positions from the token numbers themselves, padding left out."""


@dataclass(frozen=True)
class Tokenised:
    """Token numbers of texts, cut at the model's limit.

    Attributes:
        ids: one int array a text, special tokens included.
        special: one bool array a text, True at special tokens.
        full_lengths: (n_texts,) token counts before the cut.
        max_length: the limit, or None.
        unknown: (n_texts,) unknown tokens kept.
    """

    ids: tuple[IntArray, ...]
    special: tuple[np.ndarray[Any, np.dtype[np.bool_]], ...]
    full_lengths: IntArray
    max_length: int | None
    unknown: IntArray

    @property
    def cut(self) -> IntArray:
        """Numbers of the texts that were cut."""
        return np.flatnonzero(self.full_lengths > np.array([len(x) for x in self.ids]))

    @property
    def unknown_share(self) -> float:
        """Unknown tokens among the tokens that are not special, 0 when there are none."""
        plain = sum(int((~s).sum()) for s in self.special)
        return float(self.unknown.sum()) / plain if plain else 0.0


@dataclass(frozen=True)
class Encoded:
    """Token states of texts at the layers asked for, what was cut or unknown on the way, and notes on the model."""

    states: Mapping[Layer, TokenStates]
    tokenised: Tokenised
    notes: tuple[str, ...] = ()


class Encoder:
    """A loaded model. Use ``load_encoder``.

    Attributes:
        ref: which model.
        declared: what its files declare.
        n_layers: L; layers run 0 (embedding output) .. L, and "final" (what pooling sees).
        dim: of a token state.
        device: "cpu", "cuda" or "mps".
        max_length: tokens after which a text is cut, special ones included; None when the model names none.
    """

    def __init__(self, ref: ModelRef, model: Any, tokenizer: Any, device: str) -> None:
        self.ref, self.model, self.tokenizer, self.device = ref, model, tokenizer, device
        self.declared: Declared = declared(ref.folder)
        config = model.config
        self.n_layers = int(config.num_hidden_layers)
        self.dim = int(config.hidden_size)
        self.max_length = _max_length(self.declared, model, tokenizer)
        self._blocks = _blocks(model, self.n_layers)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (*range(self.n_layers + 1), FINAL)

    def check_layer(self, layer: Layer) -> Layer:
        """The layer, or a DataError naming the layers there are."""
        if layer in self.layers:
            return layer
        raise DataError("layer", f"must lie in 0..{self.n_layers} or be {FINAL!r} for {self.ref.model_id}",
                        shown(layer), "choose one of these")

    def tokenise(self, texts: Sequence[str], prompt: str = "") -> Tokenised:
        """Token numbers of the texts, with the prompt in front of each, cut at ``max_length``."""
        if not prompt.isascii() and any("\ud800" <= c <= "\udfff" for c in prompt):
            raise DataError("prompt", "must be whole characters", shown(prompt), "give it as UTF-8 text")
        given = [prompt + text for text in texts]
        if self.declared.lower_case:
            given = [text.lower() for text in given]
        whole = self.tokenizer(given, truncation=False, return_special_tokens_mask=True, verbose=False)
        ids, special = whole["input_ids"], whole["special_tokens_mask"]
        lengths = np.array([len(x) for x in ids], dtype=np.int64)
        for i in np.flatnonzero(lengths > self.max_length) if self.max_length else ():
            short = self.tokenizer(given[i], truncation=True, max_length=self.max_length,
                                   return_special_tokens_mask=True)
            ids[i], special[i] = short["input_ids"], short["special_tokens_mask"]
        id_arrays = tuple(np.asarray(x, dtype=np.int64) for x in ids)
        masks = tuple(np.asarray(x, dtype=bool) for x in special)
        unk = self.tokenizer.unk_token_id
        unknown = np.array([0 if unk is None else int(((x == unk) & ~m).sum())
                            for x, m in zip(id_arrays, masks, strict=True)], dtype=np.int64)
        return Tokenised(id_arrays, masks, lengths, self.max_length, unknown)

    def token_states(self, texts: Sequence[str], layers: Collection[Layer], *, special_tokens: bool = True,
                     prompt: str = "", batch_size: int = 32, padding_side: str = "right",
                     seen: Callable[[IntArray, torch.Tensor], None] | None = None,
                     progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> Encoded:
        """Token states of each text at each layer asked for.

        Args:
            texts: at least one.
            layers: of 0..L and "final".
            special_tokens: keep [CLS], [SEP], <s> ... (as in the paper), or leave them out.
            prompt: put in front of every text; its tokens count like others.
            batch_size: texts at a time; halved and retried when memory runs out.
            padding_side: "right" or "left"; results do not depend on it.
            seen: called with each batch's text numbers and its (n_texts, width, dim) states at "final", padding still in.

        Returns:
            States in float32, in the order of the texts.

        Raises:
            DataError: a layer the model does not have.
            Cancelled: the event was set.
        """
        for layer in layers:
            self.check_layer(layer)
        tokenised = self.tokenise(texts, prompt)
        kept = [np.ones(len(m), bool) if special_tokens else ~m for m in tokenised.special]
        offsets = np.concatenate([[0], np.cumsum([int(k.sum()) for k in kept])]).astype(np.int64)
        out = {layer: np.empty((int(offsets[-1]), self.dim), dtype=np.float32) for layer in layers}
        notes = self.in_batches(tokenised, lambda batch: self._encode_batch(batch, tokenised, kept, offsets, out, padding_side, seen),
                                batch_size, "Encoding texts", progress, cancelled)
        return Encoded({layer: TokenStates(array, offsets) for layer, array in out.items()}, tokenised, notes)

    def in_batches(self, tokenised: Tokenised, work: Callable[[IntArray], None], batch_size: int, message: str,
                   progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> tuple[str, ...]:
        """Calls ``work`` with one batch's text numbers after another; returns notes on how the model had to be run."""
        lengths = [len(x) for x in tokenised.ids]
        unpadded = len(set(lengths)) > 1 and self.mixes_padding
        waiting = batches(lengths, batch_size, equal=unpadded)[::-1]
        done = 0
        while waiting:
            if cancelled is not None and cancelled.is_set():
                raise Cancelled
            batch = waiting.pop()
            try:
                work(batch)
            except (torch.OutOfMemoryError, RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or len(batch) == 1:
                    raise
                torch.cuda.empty_cache()
                waiting += [batch[len(batch) // 2:], batch[:len(batch) // 2]]
                continue
            done += len(batch)
            progress(done, len(lengths), message)
        return (f"{self.ref.model_id} mixes padding into real tokens: texts were encoded beside texts of their own length "
                "only, so that their numbers do not depend on their neighbours.",) if unpadded else ()

    def padded(self, tokenised: Tokenised, batch: IntArray, padding_side: str = "right") -> tuple[IntArray, IntArray]:
        """Token numbers of a batch's texts, and 1 where they are real: both (n_texts, width) int64."""
        lengths = np.array([len(tokenised.ids[i]) for i in batch])[:, None]
        places = np.arange(lengths.max())
        real = places < lengths if padding_side == "right" else places >= lengths.max() - lengths
        ids = np.full(real.shape, _pad_id(self.tokenizer), dtype=np.int64)
        ids[real] = np.concatenate([tokenised.ids[i] for i in batch])
        return ids, real.astype(np.int64)

    def _encode_batch(self, batch: IntArray, tokenised: Tokenised, kept: Sequence[Any], offsets: IntArray,
                      out: Mapping[Layer, FloatArray], padding_side: str,
                      seen: Callable[[IntArray, torch.Tensor], None] | None) -> None:
        ids, real = self.padded(tokenised, batch, padding_side)
        if ids.size == 0:  # texts without a token, of a tokeniser without special ones
            return
        wanted = real.astype(bool)
        wanted[wanted] = np.concatenate([kept[i] for i in batch])
        rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in batch])
        chosen = torch.from_numpy(wanted).to(self.device)
        states = self.hidden_states(ids, real, out.keys() | ({FINAL} if seen else set()))
        if seen is not None:
            seen(batch, states[FINAL])
        for layer in out:
            hidden = states[layer]
            if hidden.shape[:2] != ids.shape:
                raise ModelError(f"model {self.ref.model_id}", "must give one state for each token",
                                 f"{hidden.shape[1]} for {ids.shape[1]}", "choose another model")
            out[layer][rows] = hidden[chosen].float().cpu().numpy()

    def hidden_states(self, ids: IntArray, real: IntArray, layers: Collection[Layer]) -> dict[Layer, torch.Tensor]:
        """One forward pass: (n_texts, width, dim) per layer, padding still in.

        Layer L is taken from the last block itself, since some models normalise once more after it and transformers
        then returns the normalised state as the last hidden state ("final").
        """
        last: list[torch.Tensor] = []
        hook: AbstractContextManager[Any] = nullcontext()
        if self._blocks is not None and self.n_layers in layers:
            hook = self._blocks[-1].register_forward_hook(
                lambda _m, _i, output: last.append(output[0] if isinstance(output, tuple) else output))
        with hook, torch.inference_mode():
            result = self.model(input_ids=torch.from_numpy(ids).to(self.device),
                                attention_mask=torch.from_numpy(real).to(self.device), **self._positions(real),
                                output_hidden_states=True, return_dict=True)
        states: dict[Layer, torch.Tensor] = {**dict(enumerate(result.hidden_states)), FINAL: result.last_hidden_state}
        if last:
            states[self.n_layers] = last[0][:, :ids.shape[1]]  # Longformer pads inside
        return {layer: states[layer] for layer in layers}

    @cached_property
    def mixes_padding(self) -> bool:
        """Whether padding changes a text's states, measured on one short text."""
        return mixes_padding(lambda ids, real: self.hidden_states(ids, real, [FINAL])[FINAL].float().cpu().numpy(),
                             self.tokenise(["The cat sat on the mat."]).ids[0], _pad_id(self.tokenizer), self.max_length)

    def _positions(self, real: IntArray) -> dict[str, torch.Tensor]:
        """Positions of left-padded texts, which models with absolute positions would count from the padding on."""
        if real[:, 0].all() or self.model.config.model_type in _POSITIONS_FROM_IDS \
                or "position_ids" not in inspect.signature(self.model.forward).parameters:
            return {}
        return {"position_ids": torch.from_numpy(np.maximum(real.cumsum(axis=1) - 1, 0)).to(self.device)}


def load_encoder(ref: ModelRef, *, device: str = "auto", allow_remote_code: Collection[str] = ()) -> Encoder:
    """Loads a model's safetensors weights in float32 onto a device.

    Args:
        ref: from ``resolve_model``.
        device: "auto" (CUDA, then MPS, then CPU), "cpu", "cuda", "cuda:1", "mps".
        allow_remote_code: model ids whose own Python code may run.

    Raises:
        ModelError: unknown device, weights or tokenizer that cannot be read, code that is not allowed.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    where = choose_device(device)
    folder = ref.folder / declared(ref.folder).subfolder
    remote = ref.model_id in allow_remote_code
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=remote, local_files_only=True)
        place = folder if (folder / "tokenizer_config.json").is_file() or folder == ref.folder else ref.folder
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=remote, local_files_only=True)
        model, loaded = AutoModel.from_pretrained(folder, config=config, trust_remote_code=remote, dtype=torch.float32,
                                                  local_files_only=True, use_safetensors=True, output_loading_info=True)
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise ModelError(f"model {ref.model_id}", "must run without code of its own",
                             "a configuration that asks for code from its folder",
                             "let the owner add it to POOLSCOPE_ALLOW_REMOTE_CODE, or choose another model") from error
        raise ModelError(f"model {ref.model_id}", "must load with transformers",
                         f"{type(error).__name__}: {shown(str(error).splitlines()[0] if str(error) else '')}",
                         "check that the folder holds a whole encoder") from error
    unused = ("pooler.", "decoder.") if getattr(config, "is_encoder_decoder", False) else ("pooler.",)
    # transformers fills what is missing with random numbers and says so only in its log.
    missing = sorted(name for name in loaded["missing_keys"] if not name.startswith(unused))
    if missing:
        raise ModelError(f"model {ref.model_id}", "must have all its weights", f"none for {shown(', '.join(missing))}",
                         "fetch or save the model again")
    if getattr(config, "is_encoder_decoder", False):
        model = model.get_encoder()
    return Encoder(ref, model.eval().to(where), tokenizer, where)


def _max_length(stated: Declared, model: Any, tokenizer: Any) -> int | None:
    config = model.config
    wanted = [stated.max_length] if stated.max_length else [getattr(config, "max_position_embeddings", None),
                                                            tokenizer.model_max_length]
    # No text may be longer than the table of positions; some families leave its first rows to padding.
    places = [len(m.weight) - ((m.padding_idx or 0) + 1 if config.model_type in _POSITIONS_FROM_IDS else 0)
              for name, m in model.named_modules()
              if isinstance(m, torch.nn.Embedding) and name.rsplit(".", 1)[-1] in ("position_embeddings", "wpe")]
    limits = [int(x) for x in (*wanted, *places) if isinstance(x, int) and 0 < x < 10**9]
    return min(limits) if limits else None


def _pad_id(tokenizer: Any) -> int:
    """Padding is masked, so a model without a pad token can be padded with any token it has."""
    for token in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    return 0


def _blocks(model: torch.nn.Module, n_layers: int) -> torch.nn.ModuleList | None:
    """The list of transformer blocks, or None for models that share one block between layers."""
    lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == n_layers]
    return lists[0] if lists else None
