"""Which texts a model runs over together, and whether it may be given padding at all.

Padding is masked, and most models give a text the same states with and without it. Some mix it into the real tokens all
the same: FNet's Fourier transform and ConvBERT's convolution run over the whole width, Nyströmformer and YOSO
approximate attention with it. A text's numbers would then depend on its neighbours in the batch. No list of families
would stay complete, so it is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from components.types import FloatArray, IntArray

TOLERANCE = 1e-4
"""Relative difference up to which states with and without padding count as equal; rounding gives about 1e-6."""


def batches(lengths: Sequence[int], size: int, *, equal: bool) -> list[IntArray]:
    """Numbers of the texts in batches of at most ``size``, the longest first; ``equal``: of one length each."""
    order = np.argsort([-n for n in lengths], kind="stable")
    if not equal:
        groups = [order]
    else:
        sorted_lengths = np.asarray(lengths)[order]
        groups = np.split(order, np.flatnonzero(np.diff(sorted_lengths)) + 1)
    return [group[k:k + size] for group in groups for k in range(0, len(group), size)]


def mixes_padding(states: Callable[[IntArray, IntArray], FloatArray], ids: IntArray, pad_id: int, room: int | None) -> bool:
    """Whether a text's states change when it is padded.

    Args:
        states: takes token numbers and the mask of real ones, both (1, width), and gives (1, width, dim).
        ids: (n_tokens,) of a short text.
        pad_id: the padding's token number.
        room: the longest width that the model takes; None for any.
    """
    n = len(ids)
    width = 2 * n + 6 if room is None else min(2 * n + 6, room)
    if n == 0 or width <= n:
        return False
    padded, real = np.full((1, width), pad_id, dtype=np.int64), np.zeros((1, width), dtype=np.int64)
    padded[0, :n], real[0, :n] = ids, 1
    alone, beside = states(padded[:, :n], real[:, :n])[0], states(padded, real)[0, :n]
    return bool(np.abs(alone - beside).max() > TOLERANCE * np.abs(alone).max())


def out_of_memory(error: BaseException) -> bool:
    """Whether the error says that the device or the machine has no memory left."""
    text = str(error).lower()
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "out of memory" in text \
        or "can't allocate memory" in text
