"""Is this d_sigma more than finite samples give? Random halves of two texts, against halves of each alone.

Two covariances from ten tokens of one and the same text already lie far apart. So each text is split at random into two halves
of h tokens, h half the shorter text's count: ``within`` is d_sigma between the two halves of one text, ``between`` that between a
half of one and a half of the other, all four of h tokens. The ratio within / between says how much of a distance of this size few
tokens give by themselves. It is read on d_sigma only (d_mu alone makes halves of one text look worse), and it is descriptive:
tokens of a text depend on each other.

The same for many texts of a corpus, with an interval over them, is ``references.finite_samples``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from components.errors import DataError
from components.types import FloatArray

LEAST = 4
"""Tokens of the shorter text, two to a half."""
SPLITS, FEW_SPLITS, LONG = 40, 8, 64
"""Random splits averaged, and fewer of them where a half has more than ``LONG`` tokens."""


@dataclass(frozen=True)
class Halves:
    """Mean d_sigma over random splits of two texts.

    Attributes:
        within_a, within_b: between the two halves of one text. between: between halves of the two.
        tokens: in a half. splits: random splits averaged.
    """

    within_a: float
    within_b: float
    between: float
    tokens: int
    splits: int

    @property
    def ratio(self) -> float:
        """Within over between; NaN where halves of the two texts do not differ at all."""
        return (self.within_a + self.within_b) / 2 / self.between if self.between > 0 else float("nan")


def halves_of(x: FloatArray, y: FloatArray, *, seed: int = 0) -> Halves | None:
    """Halves of two texts against halves of each.

    Args:
        x, y: (n, dim), (m, dim) token states, raw.
        seed: of the splits.

    Returns:
        None where a text has fewer than ``LEAST`` tokens.

    Raises:
        DataError: a half's mean is 0.
    """
    h = min(len(x), len(y)) // 2
    if h < LEAST // 2:
        return None
    splits = SPLITS if h <= LONG else FEW_SPLITS
    rng = np.random.default_rng(seed)
    a1, a2, b1, b2 = (part for text in (x, y) for part in _split(np.asarray(text, dtype=np.float64), h, splits, rng))
    between = (_d_sigma(a1, b1) + _d_sigma(a2, b2)) / 2
    return Halves(float(_d_sigma(a1, a2).mean()), float(_d_sigma(b1, b2).mean()), float(between.mean()), h, splits)


def _split(text: FloatArray, h: int, splits: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Two disjoint random parts of h tokens, ``splits`` times: each (splits, h, dim), scaled to a mean of length 1 and centred."""
    drawn = text[np.stack([rng.permutation(len(text))[:2 * h] for _ in range(splits)])]
    return _centred(drawn[:, :h]), _centred(drawn[:, h:])


def _centred(parts: FloatArray) -> FloatArray:
    means = parts.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(means, axis=2, keepdims=True)
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise DataError("half of a text", "must have a mean that is not 0", "0", "choose another layer")
    return np.asarray((parts - means) / norms)


def _d_sigma(one: FloatArray, other: FloatArray) -> FloatArray:
    """(splits,) d_sigma of halves, through the nuclear norm of their product (see ``components.socm``)."""
    h = one.shape[1]
    nuclear = np.linalg.svd(one @ other.transpose(0, 2, 1), compute_uv=False).sum(axis=1)
    spreads = np.square(one).sum(axis=(1, 2)) + np.square(other).sum(axis=(1, 2))
    return np.maximum(spreads - 2 * nuclear, 0) / (4 * h)
