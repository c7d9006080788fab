"""Which token moves where: the exact optimal transport plan between two texts' tokens. The only file that imports POT."""

from __future__ import annotations

import numpy as np

from components.types import FloatArray


def transport_plan(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, m) share of all mass that moves from each token of one text to each of the other, at the least squared distance.

    Args:
        x, y: (n, dim), (m, dim) token states, raw; each text is scaled to a mean of length 1, and its tokens weigh alike.

    Returns:
        float64; rows sum to 1/n and columns to 1/m. The plan's cost is at least the squared 2-Wasserstein distance of the two
        Gaussians, 4 (d_mu + d_sigma), which looks at means and covariances only.
    """
    import ot

    a, b = (np.asarray(t, dtype=np.float64) / np.linalg.norm(np.asarray(t, dtype=np.float64).mean(axis=0)) for t in (x, y))
    cost = np.maximum(np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)[None] - 2 * a @ b.T, 0)
    return np.asarray(ot.emd(np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b)), cost, numItermax=1_000_000))
