"""Vectors as a pipeline could have made them: every pooling of a text's token states, cut at any length, with any prompt.

Token states are pooled batch by batch, so that memory holds vectors and not states.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from components.encoders import Encoder, Tokenised
from components.errors import Cancelled
from components.model_modules import AfterPooling, has_pooler
from components.pooling import POOLINGS, pool
from components.types import FINAL, CancelEvent, FloatArray, IntArray, Progress, TokenStates, no_progress

CHUNK = 256
NO_SPECIAL, POOLER = "mean_without_special", "pooler_output"


def poolings_of(states: FloatArray, offsets: IntArray) -> dict[str, FloatArray]:
    """Every pooling of texts' token states, as sentence-transformers names and defines them.

    Args:
        states: (total_tokens, dim).
        offsets: (n_texts + 1,); a text without a token gives zeros.

    Returns:
        Pooling -> (n_texts, dim) float64.
    """
    n = np.diff(offsets)
    there = n > 0
    full = TokenStates(states, np.concatenate([[0], np.cumsum(n[there])]).astype(np.int64))
    out: dict[str, FloatArray] = {}
    for name in POOLINGS:
        out[name] = np.zeros((len(n), states.shape[1]))
        out[name][there] = pool(full, name, np.float64)
    return out


class Candidates:
    """Makes the vectors of texts under a loaded model.

    Args:
        encoder: from ``load_encoder``.
        texts: all texts of the file, in its order.
        rows: those that are compared.
        after: modules after pooling.
        joint: further poolings joined by "+", such as the declared one.
    """

    def __init__(self, encoder: Encoder, texts: Sequence[str], rows: IntArray, after: AfterPooling, joint: Sequence[str] = (),
                 progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> None:
        self.encoder, self.texts, self.rows, self.after = encoder, tuple(texts), rows, after
        self.joint = [name for name in joint if "+" in name]
        self.progress, self.cancelled = progress, cancelled
        self.room = _room(encoder)
        self._pooler = getattr(encoder.model, "pooler", None) if has_pooler(encoder.ref, encoder.declared.subfolder) else None
        self._lengths: dict[str, IntArray] = {}
        self._tokenised: dict[tuple[str, int], Tokenised] = {}

    def lengths(self, prompt: str) -> IntArray:
        """(n_texts,) tokens of every text of the file before any cut, prompt and special tokens included."""
        if prompt not in self._lengths:
            given = [prompt + text for text in self.texts]
            given = [text.lower() for text in given] if self.encoder.declared.lower_case else given
            parts = [len(ids) for start in range(0, len(given), 5000)
                     for ids in self.encoder.tokenizer(given[start:start + 5000], truncation=False, verbose=False)["input_ids"]]
            self._lengths[prompt] = np.array(parts, dtype=np.int64)
        return self._lengths[prompt]

    def _limited(self, limit: int) -> Encoder:
        other = copy.copy(self.encoder)  # shares the weights
        other.max_length = min(limit, self.room) if self.room else limit
        return other

    def pooled(self, prompt: str, limit: int, rows: IntArray) -> dict[str, FloatArray]:
        """Pooling -> (len(rows), dim) of some rows' texts, before modules after pooling and normalisation."""
        encoder, parts = self._limited(limit), []
        for start in range(0, len(rows), CHUNK):
            texts = [self.texts[row] for row in rows[start:start + CHUNK]]
            encoded = encoder.token_states(texts, [FINAL], prompt=prompt, cancelled=self.cancelled)
            parts.append(self._poolings(encoded.states[FINAL].states, encoded.states[FINAL].offsets, encoded.tokenised, prompt))
            self.progress(min(start + CHUNK, len(rows)), len(rows), "Encoding texts")
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}

    def _poolings(self, states: FloatArray, offsets: IntArray, tokenised: Tokenised, prompt: str) -> dict[str, FloatArray]:
        found = poolings_of(states, offsets)
        plain = ~np.concatenate(tokenised.special)
        found[NO_SPECIAL] = poolings_of(states[plain], _offsets(plain, offsets))["mean"]
        if prompt and not self.after.pools_prompt:
            ids = self.encoder.tokenizer(prompt, verbose=False)["input_ids"]
            skipped = len(ids) - int(bool(ids) and ids[-1] in self.encoder.tokenizer.all_special_ids)
            kept = (np.arange(len(states)) - np.repeat(offsets[:-1], np.diff(offsets))) >= skipped
            found |= poolings_of(states[kept], _offsets(kept, offsets))
        if self._pooler is not None:
            with torch.inference_mode():
                first = torch.from_numpy(found["cls"].astype(np.float32)).to(self.encoder.device)
                found[POOLER] = self._pooler(first[:, None]).float().cpu().numpy().astype(np.float64)
        return found | {name: np.concatenate([found[part] for part in name.split("+")], axis=1) for name in self.joint}

    def finished(self, pooled: Mapping[str, FloatArray]) -> list[tuple[str, bool, FloatArray]]:
        """(pooling, with the modules after it, vectors) in every combination that there is."""
        width = self.encoder.dim * max([name.count("+") + 1 for name in self.joint], default=1)
        out: list[tuple[str, bool, FloatArray]] = []
        for name, vectors in pooled.items():
            fits = not self.after.names or vectors.shape[1] == (width if self.joint else self.encoder.dim)
            if self.after.names and fits:
                out.append((name, True, self.after.apply(vectors).astype(np.float64)))
            out.append((name, not self.after.names, vectors))
        return out

    def unmasked(self, prompt: str, limit: int, rows: IntArray, widths: IntArray) -> FloatArray:
        """Means over all states of padded texts, padding included, (len(rows), dim); attention itself is masked.

        Args:
            widths: (len(rows),) tokens to which each text was padded, never fewer than it has.
        """
        out = np.zeros((len(rows), self.encoder.dim))
        for width in np.unique(widths):
            same = np.flatnonzero(widths == width)
            for start in range(0, len(same), 32):
                batch = same[start:start + 32]
                out[batch] = self._padded_states(prompt, limit, rows[batch], int(width)).mean(axis=1)
        return self.after.apply(out).astype(np.float64) if self.after.names else out

    def unmasked_by_width(self, prompt: str, limit: int, row: int, width: int) -> FloatArray:
        """The unmasked mean of one text for every width up to ``width``, (width, dim); row w - 1 is padded to w tokens.

        One pass is enough: attention is masked, so that the state at a padding's place does not depend on how many follow it.
        """
        states = self._padded_states(prompt, limit, np.array([row]), width)[0]
        means = np.cumsum(states, axis=0) / np.arange(1, len(states) + 1)[:, None]
        return self.after.apply(means).astype(np.float64) if self.after.names else means

    def _padded_states(self, prompt: str, limit: int, rows: IntArray, width: int) -> FloatArray:
        """(len(rows), width, dim) float64 states of texts padded to one width, padding included."""
        if self.cancelled is not None and self.cancelled.is_set():
            raise Cancelled
        encoder = self._limited(limit)
        tokenised = encoder.tokenise([self.texts[row] for row in rows], prompt)
        pad = encoder.tokenizer.pad_token_id
        pad = pad if pad is not None else encoder.tokenizer.eos_token_id or 0
        ids = np.full((len(rows), width), pad, dtype=np.int64)
        real = np.zeros_like(ids)
        for place, own in enumerate(tokenised.ids):
            ids[place, :len(own)], real[place, :len(own)] = own, 1
        return encoder.hidden_states(ids, real, [FINAL])[FINAL].float().cpu().numpy().astype(np.float64)


def _offsets(kept: Any, offsets: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)[offsets]


def _room(encoder: Encoder) -> int | None:
    """The longest text that the model takes at all; None where its files name no limit."""
    config, tokenizer = encoder.model.config, encoder.tokenizer
    places = getattr(config, "max_position_embeddings", None)
    if (isinstance(places, int) and "roberta" in config.model_type) or config.model_type in ("camembert", "mpnet"):
        places = places - 2 if isinstance(places, int) else places
    limits = [n for n in (places, tokenizer.model_max_length, encoder.max_length) if isinstance(n, int) and 0 < n < 10**9]
    return max(limits[:1] or limits) if limits else None
