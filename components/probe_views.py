"""What is drawn of a probe: its pairs on the map's plane, and the tokens of a few pairs on a plane of their own.

Kept at every probe, so that a slider over the steps moves the pictures; small enough that a run of eight probes takes a few
hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import DataError
from components.token_pair import means_and_covariances, spread_shares
from components.types import TokenStates

if TYPE_CHECKING:
    from components.sinks import SampleSink

MOST_PAIRS = 5_000
"""All pairs up to 100 texts; a uniform sample above, the same at every probe."""
SHOWN_PAIRS = 4
"""Pairs whose tokens are kept: the probe's texts 0 and 1, 2 and 3 and so on, chosen before anything is measured."""


def views_of(texts: Sequence[str], tokens: Sequence[Sequence[str]], states: TokenStates, drawn: SampleSink) -> dict[str, Any]:
    """The arrays and words to keep.

    Args:
        texts: n texts.
        tokens: each text's tokens in words.
        states: final states of the n texts.
        drawn: fed with their pairs.

    Returns:
        "arrays": float32 ``d_mu``, ``d_sigma`` (n_pairs,), int32 ``pair_i``, ``pair_j`` (n_pairs,); for pair k of ``SHOWN_PAIRS``
        ``plane_k_a`` (n_tokens, 2), ``plane_k_b``, and ``share_k_a`` (n_tokens,), ``share_k_b``, each token's share of its text's
        spread. "words": ``texts``, ``tokens`` of the texts in the pairs shown.
    """
    arrays: dict[str, Any] = {"d_mu": drawn.d_mu.astype(np.float32), "d_sigma": drawn.d_sigma.astype(np.float32),
                              "pair_i": drawn.i.astype(np.int32), "pair_j": drawn.j.astype(np.int32)}
    shown = min(SHOWN_PAIRS, len(texts) // 2)
    for k in range(shown):
        a, b = (states[2 * k + side].astype(np.float64) for side in (0, 1))
        try:
            plane = means_and_covariances(a, b)
        except DataError:  # a text whose mean is 0 has no plane
            continue
        # An eigenvector's sign is arbitrary; the first token of text A decides it, or the picture would flip between probes.
        sign = np.array([1.0, -1.0 if plane.x[0, 1] < 0 else 1.0])
        for side, points, one in (("a", plane.x, a), ("b", plane.y, b)):
            arrays[f"plane_{k}_{side}"] = (points * sign).astype(np.float32)
            arrays[f"share_{k}_{side}"] = spread_shares(one).astype(np.float32)
    return {"arrays": arrays, "words": {"texts": list(texts), "tokens": [list(words) for words in tokens[:2 * shown]]}}
