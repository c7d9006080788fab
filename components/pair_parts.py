"""How d_sigma splits: closed forms of the two spreads and d_sigma, without torch (pages and tables need them too)."""

from __future__ import annotations

import numpy as np

from components.types import FloatArray


def size_part(spread_a: FloatArray, spread_b: FloatArray) -> FloatArray:
    """(sqrt t1 - sqrt t2)^2 / 4, elementwise."""
    return np.square(np.sqrt(spread_a) - np.sqrt(spread_b)) / 4


def alignment(d_sigma: FloatArray, spread_a: FloatArray, spread_b: FloatArray) -> FloatArray:
    """1 - 2 shape / sqrt(t1 t2), elementwise, clipped to [0, 1] against rounding; NaN where a spread is 0."""
    geometric = np.sqrt(spread_a * spread_b)
    shape = d_sigma - size_part(spread_a, spread_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 1 - 2 * shape / geometric
    return np.where(geometric > 0, np.clip(value, 0, 1), np.nan)
