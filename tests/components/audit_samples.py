"""Vectors of the real models, made by sentence-transformers and by hand, right and wrong, for the tests of the audit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from components.audit_search import LIMITS, Found, search
from components.audit_setting import NO, YES, Setting
from components.audit_states import Candidates
from components.corpora import load_corpus
from components.encoders import Encoder
from components.model_modules import after_pooling

Array = np.ndarray[Any, Any]


def unit(x: Array) -> Array:
    """Rows of length one."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


class Kept(Candidates):
    """Candidates of a subset of texts that were encoded once: draws cost no forward passes but those of padding."""

    def __init__(self, whole: Candidates, chosen: Array) -> None:
        super().__init__(whole.encoder, [whole.texts[k] for k in chosen], np.arange(len(chosen)), whole.after)
        self.whole, self.chosen = whole, chosen

    def pooled(self, prompt: str, limit: int, rows: Array) -> dict[str, Array]:
        """Taken from what the whole corpus gave; texts are short enough that the limit does not matter."""
        key = f"{limit}\0{prompt}"
        kept = self.whole.__dict__.setdefault("all_pooled", {})
        if key not in kept:
            kept[key] = self.whole.pooled(prompt, limit, np.arange(len(self.whole.texts)))
        return {name: vectors[self.chosen[rows]] for name, vectors in kept[key].items()}


@dataclass(frozen=True)
class Sample:
    """A model with texts and the vectors that sentence-transformers gives them under each pooling, not normalised."""

    encoder: Encoder
    whole: Candidates
    poolings: dict[str, Array]
    normalize: bool
    pooling: str

    @property
    def texts(self) -> tuple[str, ...]:
        return self.whole.texts

    def right(self, rows: Array) -> Array:
        """Vectors as declared."""
        vectors = self.poolings[self.pooling][rows]
        return unit(vectors) if self.normalize else vectors.astype(np.float32)

    def expected(self) -> Setting:
        return Setting(self.pooling, YES if self.normalize else NO, max_seq_len=self.encoder.max_length)

    def search(self, vectors: Array, rows: Array) -> Found:
        limit = self.encoder.max_length or 512
        return search(vectors, Kept(self.whole, rows), {"": ""}, limit, LIMITS, self.encoder.dim, self.expected())

    def unmasked(self, rows: Array, size: int, *, fixed: int | None = None, by_length: bool = False) -> Array:
        """The fault itself, as people write it: last_hidden_state.mean(1) over padded batches."""
        out = np.zeros((len(rows), self.encoder.dim), np.float32)
        texts = [self.texts[k] for k in rows]
        order = np.argsort([-len(text) for text in texts]) if by_length else np.arange(len(texts))
        for start in range(0, len(texts), size):
            batch = order[start:start + size]
            how = {"padding": "max_length", "max_length": fixed} if fixed else {"padding": True, "max_length": self.encoder.max_length}
            given = self.encoder.tokenizer([texts[k] for k in batch], truncation=True, return_tensors="pt", **how)
            with torch.inference_mode():
                states = self.encoder.model(input_ids=given["input_ids"], attention_mask=given["attention_mask"]).last_hidden_state
            out[batch] = states.mean(1).numpy()
        return out


def sample_of(encoder: Encoder, n: int, pooling: str, normalize: bool) -> Sample:
    """The first n encyclopedia texts; poolings by sentence-transformers' own module, one text at a time free of padding."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    texts = load_corpus("encyclopedia").texts[:n]
    whole = Candidates(encoder, texts, np.arange(n), after_pooling(encoder.ref))
    modes = {"mean": "mean", "cls": "cls", "max": "max", "lasttoken": "lasttoken", "mean_sqrt_len": "mean_sqrt_len_tokens",
             "weightedmean": "weightedmean"}
    given: dict[str, list[Array]] = {name: [] for name in modes}
    poolers = {name: Pooling(encoder.dim, mode) for name, mode in modes.items()}
    for start in range(0, n, 32):
        tokens = encoder.tokenizer(list(texts[start:start + 32]), padding=True, truncation=True, max_length=encoder.max_length or 512,
                                   return_tensors="pt")
        with torch.inference_mode(), warnings.catch_warnings():
            states = encoder.model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
            for name, pooler in poolers.items():
                made = pooler({"token_embeddings": states, "attention_mask": tokens["attention_mask"]})["sentence_embedding"]
                given[name].append(made.numpy())
    return Sample(encoder, whole, {name: np.concatenate(parts) for name, parts in given.items()}, normalize, pooling)


def bfloat16(x: Array) -> Array:
    """The nearest bfloat16 of each number, held as float32."""
    return np.asarray(torch.tensor(x, dtype=torch.float32).bfloat16().float().numpy())


def per_row(x: Array) -> Array:
    """int8 codes with a scale for each row."""
    return np.asarray(np.round(x / np.abs(x).max(axis=1, keepdims=True) * 127).astype(np.int8))


def ranges(precision: str) -> Callable[[Array], Array]:
    """int8 or binary codes as sentence-transformers makes them."""
    from sentence_transformers.util import quantize_embeddings

    return lambda x: np.asarray(quantize_embeddings(x, precision))  # type: ignore[arg-type]
