"""Tokens or pooled vectors on a plane by UMAP, which keeps neighbours together. The only file that imports umap, for the worker alone.

Distances on such a plane mean little and its axes nothing; what can be said of it is how many neighbours it keeps. Two UMAPs at once
abort a process under numba's default threading layer: the worker runs one task at a time, and with a fixed seed umap uses one thread.
"""

from __future__ import annotations

import warnings

import numpy as np

from components.errors import DataError
from components.types import FloatArray

LEAST = 8
"""Tokens of both texts together below which there are no neighbourhoods to keep."""
NEIGHBOURS = 15
MIN_DIST = 0.1


def neighbours_of(n_tokens: int) -> int:
    """How many neighbours of a token are looked at: 15 as usual, fewer where there are not so many tokens."""
    return min(NEIGHBOURS, n_tokens - 1)


def umap_plane(x: FloatArray, y: FloatArray, *, seed: int = 0) -> tuple[FloatArray, FloatArray, float]:
    """Both texts' tokens on one plane.

    Args:
        x, y: (n, dim), (m, dim) token states, raw; each text is scaled to a mean of length 1, distances are Euclidean.
        seed: of umap's start and of its sampling.

    Returns:
        (n, 2), (m, 2) float64, and the plane's trustworthiness in 0..1 (Venna and Kaski 2001): 1 where every neighbour on the plane is
        one among the states, about 0.5 where they are any.

    Raises:
        DataError: fewer than ``LEAST`` tokens in all.
    """
    n = len(x) + len(y)
    if n < LEAST:
        raise DataError("tokens", f"must be {LEAST} or more in both texts together for UMAP", str(n), "choose another plane")
    points, kept = umap_points(np.concatenate([np.asarray(t, dtype=np.float64) / np.linalg.norm(np.asarray(t, np.float64).mean(axis=0))
                                               for t in (x, y)]), seed=seed)
    return points[:len(x)], points[len(x):], kept


def umap_points(x: FloatArray, *, seed: int = 0) -> tuple[FloatArray, float]:
    """(n, 2) float64 places of the rows of (n, dim) by Euclidean distance, and the plane's trustworthiness; see ``umap_plane``."""
    from sklearn.manifold import trustworthiness
    from umap import UMAP

    n = len(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed costs it its threads
        found = UMAP(n_components=2, n_neighbors=neighbours_of(n), min_dist=MIN_DIST, metric="euclidean", init="pca", random_state=seed,
                     n_jobs=1).fit_transform(x)
    kept = trustworthiness(x, found, n_neighbors=max(1, min(neighbours_of(n), (n - 1) // 2)))
    return np.asarray(found, dtype=np.float64), float(kept)
