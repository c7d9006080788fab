"""Retrieval sets and vectors whose cuts have known answers, measured by the real measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from components.truncation_measures import Vectors
from components.truncation_pipeline import measure_vectors, token_arrays
from components.truncation_result import TruncationOptions, TruncationResult
from components.types import RetrievalSet, TokenStates

N = 200


def questions(n: int = N) -> RetrievalSet:
    """Question i is answered by document i."""
    names = [str(i) for i in range(n)]
    judged = np.array([(i, i, 1) for i in range(n)], dtype=np.int64)
    return RetrievalSet("made", tuple(names), tuple(f"question {i}" for i in names), tuple(names), tuple(f"text {i}" for i in names),
                        judged)


def signal(dim: int, at: slice, noise: float, *, rest: float = 0.0, n: int = N, seed: int = 0) -> Vectors:
    """Documents that are told apart by some coordinates; their questions are the same with noise; the rest is noise of its own."""
    rng = np.random.default_rng(seed)

    def of(base: np.ndarray, far: float) -> np.ndarray:
        out = rest * rng.normal(size=(len(base), dim))
        out[:, at] = base + far * rng.normal(size=base.shape)
        return out.astype(np.float32)

    width = len(range(*at.indices(dim)))
    documents, others, pairs = (rng.normal(size=(m, width)) for m in (n, 300, 60))
    grades = np.repeat(np.arange(6.0), 10)
    far = np.concatenate([pairs[k:k + 1] + (5.5 - grades[k]) * 0.3 * rng.normal(size=(1, width)) for k in range(60)])
    return Vectors(of(documents, noise), of(documents, 0), of(pairs, 0), of(far, 0), grades, of(others, 0))


def result_of(vectors: Vectors, dims: tuple[int, ...], *, tokens: bool = False, draws: int = 5, **meta: Any) -> TruncationResult:
    """The finished result of vectors, without store or model."""
    of = questions(len(vectors.documents))
    arrays, about = measure_vectors(of, vectors, dims, TruncationOptions(draws=draws))
    if tokens:
        states, special = token_sample(dims[-1])
        arrays |= token_arrays(states, special, dims, about)
    known = {"tokens": tokens, "pooling": "mean", "set_digest": of.digest, "corpus": of.name, "query_prompt": "", "document_prompt": "",
             "max_length": 64, "n_cut_documents": 0}
    return TruncationResult.from_stored(arrays, {**about, **known, **meta})


def token_sample(dim: int, n: int = 12, seed: int = 3) -> tuple[TokenStates, list[np.ndarray]]:
    """Texts of one to nine tokens, the first of them special, with correlated coordinates."""
    rng = np.random.default_rng(seed)
    lengths = [1, *rng.integers(3, 10, size=n - 1)]
    mixing = rng.normal(size=(dim, dim)) / np.sqrt(dim)
    states = np.concatenate([rng.normal(size=(length, dim)) @ mixing + rng.normal(size=dim) for length in lengths])
    special = [np.arange(length) == 0 for length in lengths]
    return TokenStates(states.astype(np.float32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)), special
