"""From a text's token states to one vector: the poolings of sentence-transformers' ``Pooling`` module, and a fault.

Names and results are that module's; it works on padded batches, this on flat states without padding, where a text's tokens
are one slice: nothing is masked, and left and right padding cannot differ. ``mean_unmasked`` is what a pipeline makes that
forgets the mask: the mean over padding too, so that a text's vector depends on the batch it came in. It needs the padded
states and is taken where a batch passes by (``UnmaskedMeans``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import DataError, shown
from components.types import FloatArray, IntArray, TokenStates

if TYPE_CHECKING:
    import torch

MEAN, CLS, LAST, MAX, SQRT, WEIGHTED, UNMASKED = ("mean", "cls", "lasttoken", "max", "mean_sqrt_len", "weightedmean",
                                                  "mean_unmasked")
POOLINGS = (MEAN, CLS, LAST, MAX, SQRT, WEIGHTED)
"""Those that are meant to be used."""
IN_WORDS = {MEAN: "mean of the tokens", CLS: "first token ([CLS])", LAST: "last token", MAX: "largest value of each dim",
            SQRT: "sum over √n", WEIGHTED: "mean weighted by position", UNMASKED: "mean over padding too (a fault)"}


def pool(states: TokenStates, pooling: str, dtype: Any = np.float32) -> FloatArray:
    """One vector a text.

    Args:
        states: of the texts, special tokens included, without padding.
        pooling: of ``POOLINGS``: mean x; first token; last token; elementwise max; sum x / sqrt(n); sum k x_k / sum k, k from 1.

    Returns:
        (n_texts, dim) of ``dtype``; sums are taken in float64.

    Raises:
        DataError: another name, or a text without a token.
    """
    if pooling not in POOLINGS:
        raise DataError("pooling", f"must be one of {', '.join(POOLINGS)}", shown(pooling), "choose one of these")
    lengths = states.lengths
    if not len(lengths):
        return np.empty((0, states.dim), dtype=dtype)
    if (lengths == 0).any():
        raise DataError(f"text {int(np.flatnonzero(lengths == 0)[0])}", "must have a token to be pooled", "none",
                        "leave it out, or use a model that adds special tokens")
    first, x = states.offsets[:-1], states.states
    if pooling == CLS:
        return np.asarray(x[first], dtype=dtype)
    if pooling == LAST:
        return np.asarray(x[states.offsets[1:] - 1], dtype=dtype)
    if pooling == MAX:
        return np.maximum.reduceat(x, first, axis=0).astype(dtype)
    places = np.arange(len(x)) - np.repeat(first, lengths) + 1.0
    weights = places if pooling == WEIGHTED else np.ones(len(x))
    over = {MEAN: lengths, SQRT: np.sqrt(lengths), WEIGHTED: lengths * (lengths + 1) / 2}[pooling]
    sums = np.empty((len(lengths), states.dim))
    for i in range(len(lengths)):  # a text at a time: in float64, without a copy of all tokens
        at = slice(states.offsets[i], states.offsets[i + 1])
        sums[i] = weights[at] @ x[at].astype(np.float64)
    return np.asarray(sums / over[:, None], dtype=dtype)


class UnmaskedMeans:
    """Collects the mean over all positions of each padded batch that an encoder runs.

    Attributes:
        vectors: (n_texts, dim) float32.
        widths: (n_texts,) positions of the batch that each text came in.
    """

    def __init__(self, n_texts: int, dim: int) -> None:
        self.vectors = np.empty((n_texts, dim), dtype=np.float32)
        self.widths: IntArray = np.zeros(n_texts, dtype=np.int64)

    def __call__(self, batch: IntArray, hidden: torch.Tensor) -> None:
        """One batch: numbers of its texts, and (n, width, dim) states, padding in."""
        self.vectors[batch] = hidden.float().mean(dim=1).cpu().numpy()
        self.widths[batch] = hidden.shape[1]


def unit(vectors: FloatArray) -> FloatArray:
    """Rows at length 1; a row of zeros stays as it is."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: Any = np.divide(vectors, norms, out=np.array(vectors, copy=True), where=norms > 0)
    return np.asarray(out)
