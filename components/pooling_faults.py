"""Two faults that raise no error, on real texts: a mean that forgets the mask, and a document's tail that nobody reads.

A text's vector under the unmasked mean depends on the batch it came in. Here the same documents are encoded in batches of
growing size, in the order of their file, as a simple indexing script would, and padded to the model's limit, as another would;
queries come one at a time, as they do in production. Truncation is set beside chunking: the document in pieces that the model
can read, and either the mean of their vectors or the best piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from components.errors import Cancelled
from components.pooling import MEAN, pool, unit
from components.types import FINAL, CancelEvent, FloatArray, IntArray, Progress, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder, Tokenised

BATCH_SIZES = (1, 2, 8, 32, 128)
LIMIT = "limit"
"""Padded to the model's limit, every batch."""
MOST_WIDE = 512
"""Positions to which texts are padded for ``LIMIT`` at the most, and where a model has no limit."""


@dataclass(frozen=True)
class Company:
    """The same texts in batches of one size.

    Attributes:
        unmasked, masked: (n_texts, dim) float32, mean over all positions and over real tokens.
        widths: (n_texts,) positions of each text's batch.
    """

    unmasked: FloatArray
    masked: FloatArray
    widths: IntArray


def in_company(encoder: Encoder, texts: Sequence[str], size: int | str, *, prompt: str = "", progress: Progress = no_progress,
               cancelled: CancelEvent | None = None) -> Company:
    """Encodes texts in the order given, ``size`` at a time (``LIMIT``: 32 at a time, padded to the limit)."""
    tokenised = encoder.tokenise(texts, prompt)
    unmasked = np.empty((len(texts), encoder.dim), dtype=np.float32)
    masked, widths = np.empty_like(unmasked), np.zeros(len(texts), dtype=np.int64)
    step = 32 if size == LIMIT else int(size)
    for start in range(0, len(texts), step):
        if cancelled is not None and cancelled.is_set():
            raise Cancelled
        batch = np.arange(start, min(start + step, len(texts)))
        ids, real = encoder.padded(tokenised, batch)
        if size == LIMIT:
            ids, real = _widened(ids, real, _limit(encoder, tokenised), encoder)
        hidden = encoder.hidden_states(ids, real, [FINAL])[FINAL].float().cpu().numpy().astype(np.float64)
        unmasked[batch] = hidden.mean(axis=1)
        masked[batch] = (hidden * real[:, :, None]).sum(axis=1) / real.sum(axis=1)[:, None]
        widths[batch] = ids.shape[1]
        progress(int(batch[-1]) + 1, len(texts), "Encoding in company")
    return Company(unmasked, masked, widths)


def _limit(encoder: Encoder, tokenised: Tokenised) -> int:
    longest = max(len(ids) for ids in tokenised.ids)
    return max(longest, min(encoder.max_length or MOST_WIDE, MOST_WIDE))


def _widened(ids: IntArray, real: IntArray, width: int, encoder: Encoder) -> tuple[IntArray, IntArray]:
    more = ((0, 0), (0, width - ids.shape[1]))
    pad = encoder.tokenizer.pad_token_id
    return np.pad(ids, more, constant_values=0 if pad is None else pad), np.pad(real, more)


def drift(one: FloatArray, other: FloatArray) -> FloatArray:
    """(n_texts,) cosine distance, 1 - cosine, of each text's two vectors; in float64, 0 at the least."""
    a, b = unit(one.astype(np.float64)), unit(other.astype(np.float64))
    return np.asarray(np.square(a - b).sum(axis=1) / 2)  # exact near 0, where 1 - cosine would lose all digits


def chunks_of(encoder: Encoder, text: str, tokens: int) -> list[str]:
    """The text in pieces of at most so many tokens (special ones not counted), cut between words where that is possible.

    Args:
        encoder: for its tokenizer.
        text: not blank.
        tokens: 1 or more.
    """
    spans = encoder.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
    starts = [start for start, end in spans if end > start] or [0]
    words = [k for k, start in enumerate(starts) if start == 0 or text[start - 1].isspace() or text[start].isspace()]
    pieces, first = [], 0
    while first < len(starts):
        last = first + tokens
        if last < len(starts):
            whole = [k for k in words if first < k <= last]
            last = whole[-1] if whole else last
        end = starts[last] if last < len(starts) else len(text)
        pieces.append(text[starts[first] if first else 0:end].strip())
        first = last
    return [piece for piece in pieces if piece] or [text]


def chunk_vectors(encoder: Encoder, documents: Sequence[str], tokens: int, pooling: str = MEAN, *, prompt: str = "",
                  progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> tuple[FloatArray, IntArray]:
    """(n_chunks, dim) vectors of the documents' pieces, and (n_chunks,) the document of each."""
    pieces = [chunks_of(encoder, document, tokens) for document in documents]
    flat = [piece for parts in pieces for piece in parts]
    encoded = encoder.token_states(flat, [FINAL], prompt=prompt, progress=progress, cancelled=cancelled)
    states = encoded.states[FINAL]
    vectors = np.concatenate([pool(states, one) for one in pooling.split("+")], axis=1)
    return vectors, np.repeat(np.arange(len(documents)), [len(parts) for parts in pieces])


def chunk_scores(queries: FloatArray, chunks: FloatArray, owner: IntArray, how: str) -> FloatArray:
    """(n_queries, n_documents) cosine of each query with the mean of a document's unit chunk vectors, or with its best chunk.

    Args:
        queries: (n_queries, dim).
        chunks: (n_chunks, dim). owner: (n_chunks,) document numbers, each document's chunks next to each other.
        how: "mean" or "best".
    """
    q, c = unit(queries.astype(np.float64)), unit(chunks.astype(np.float64))
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    if how == "best":
        return np.asarray(np.maximum.reduceat(q @ c.T, first, axis=1))
    return np.asarray(q @ unit(np.add.reduceat(c, first, axis=0)).T)
