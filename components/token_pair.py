"""Two texts' tokens, small enough to take apart: their numbers, what each token does to them, and planes to draw them on.

Pure numpy in float64, since a page redraws it at every click and the server has no torch. A token's effect is exact: the
numbers are computed again from the states without it, mean and scaling included.

The product of the centred tokens need not be multiplied out again for every token left out. With P = X Y^T at hand, centring
and scaling change it by one row and one column of sums; only its singular values are new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from components.errors import DataError, shown
from components.pair_parts import alignment, size_part
from components.types import FloatArray

NUMBERS = ("d_mu", "d_sigma", "size", "shape", "align", "socm")


@dataclass(frozen=True)
class PairNumbers:
    """The pair's numbers; ``align`` is NaN where a text has no spread."""

    d_mu: float
    d_sigma: float
    size: float
    shape: float
    align: float

    @property
    def socm(self) -> float:
        """(1 - d_mu) d_sigma."""
        return (1 - self.d_mu) * self.d_sigma

    @property
    def distance(self) -> float:
        """d_mu + d_sigma: the squared 2-Wasserstein distance of the two Gaussians, quartered."""
        return self.d_mu + self.d_sigma


def pair_numbers(x: FloatArray, y: FloatArray) -> PairNumbers:
    """The numbers of two texts.

    Args:
        x, y: (n, dim), (m, dim) token states, raw.

    Raises:
        DataError: a text without a token, or whose mean is 0.
    """
    a, b = _scaled(x, "A"), _scaled(y, "B")
    return _numbers(a.mean(axis=0), b.mean(axis=0), _spread(a), _spread(b),
                    _nuclear((a - a.mean(axis=0)) @ (b - b.mean(axis=0)).T) / np.sqrt(len(a) * len(b)))


def _scaled(x: FloatArray, name: str) -> FloatArray:
    x = np.asarray(x, dtype=np.float64)
    if not len(x):
        raise DataError(f"text {name}", "must have a token", "none", "type a word, or leave more tokens in")
    norm = float(np.linalg.norm(x.mean(axis=0)))
    if not np.isfinite(norm) or norm == 0:
        raise DataError(f"text {name}", "must have a mean that is not 0", shown(norm), "choose another layer")
    return np.asarray(x / norm)


def _spread(x: FloatArray) -> float:
    centred = x - x.mean(axis=0)
    return float(np.square(centred).sum() / len(x))


def _nuclear(product: FloatArray) -> float:
    return float(np.linalg.svd(product, compute_uv=False).sum()) if product.size else 0.0


def _numbers(mean_a: FloatArray, mean_b: FloatArray, spread_a: float, spread_b: float, nuclear: float) -> PairNumbers:
    d_mu = float(np.square(mean_a - mean_b).sum() / 4)
    d_sigma = max(0.0, (spread_a + spread_b - 2 * nuclear) / 4)
    one, other = np.array([spread_a]), np.array([spread_b])
    size = min(float(size_part(one, other)[0]), d_sigma)
    return PairNumbers(d_mu, d_sigma, size, d_sigma - size, float(alignment(np.array([d_sigma]), one, other)[0]))


def spread_shares(x: FloatArray) -> FloatArray:
    """(n,) each token's share of the text's spread: its squared distance to the mean over their sum; 0 where nothing spreads."""
    x = np.asarray(x, dtype=np.float64)
    squares = np.square(x - x.mean(axis=0)).sum(axis=1)
    total = squares.sum()
    return np.asarray(squares / total) if total > 0 else np.zeros(len(x))


def leave_one_out(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The numbers without each token in turn.

    Args:
        x, y: (n, dim), (m, dim) token states, raw.

    Returns:
        (n, 6) and (m, 6), columns as ``NUMBERS``: without token i of the first text, without token j of the second. NaN for a
        text's only token, and where the others' mean is 0.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return _without_each(x, y), _without_each(y, x)


def _without_each(x: FloatArray, y: FloatArray) -> FloatArray:
    out = np.full((len(x), len(NUMBERS)), np.nan)
    if len(x) < 2:
        return out
    n = len(x) - 1
    b = _scaled(y, "B")
    mean_b, spread_b = b.mean(axis=0), _spread(b)
    # Centred on the text's own mean: sums of squares of raw tokens would lose what is small.
    shift = x.mean(axis=0)
    around = x - shift
    product = around @ (b - mean_b).T
    squares = np.square(around).sum()
    for i in range(len(x)):
        off = -around[i] / n  # the others' mean, seen from the text's
        norm = float(np.linalg.norm(shift + off))
        if norm == 0 or not np.isfinite(norm):
            continue
        spread = max(0.0, (squares - np.square(around[i]).sum()) / n - float(off @ off)) / norm**2 if n > 1 else 0.0
        rest = np.delete(product, i, axis=0) + product[i] / n
        found = _numbers((shift + off) / norm, mean_b, spread, spread_b, _nuclear(rest) / norm / np.sqrt(n * len(y)))
        out[i] = [getattr(found, name) for name in NUMBERS]
    return out


def cos_sim(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, m) cosine of each token of the first text with each of the second; NaN for a token of length 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (t / np.linalg.norm(t, axis=1, keepdims=True) for t in (np.asarray(x, np.float64), np.asarray(y, np.float64)))
    return np.asarray(a @ b.T)


POOLINGS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "mean": lambda t: t.mean(axis=0), "first token": lambda t: t[0], "last token": lambda t: t[-1],
    "max": lambda t: t.max(axis=0),
    "weighted mean": lambda t: np.average(t, axis=0, weights=np.arange(1, len(t) + 1))}
"""A text's vector from its tokens, as in sentence-transformers' Pooling; the weighted mean's weights are 1, 2, ... n. The mean
over the root of the length has the mean's direction and so its cosines."""


def pooled_cosines(x: FloatArray, y: FloatArray) -> dict[str, float]:
    """Cosine of the two texts' vectors under each of ``POOLINGS``; NaN for a vector of length 0.

    Args:
        x, y: (n, dim), (m, dim) token states in their order.
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return {name: float(cos_sim(pool(one)[None], pool(other)[None])[0, 0]) for name, pool in POOLINGS.items()}


@dataclass(frozen=True)
class Projection:
    """Both texts' tokens on a plane, scaled to means of length 1.

    Attributes:
        name: which plane.
        basis: (2, dim) orthonormal rows; the second is 0 where the tokens span one direction only. None for a plane that is no
            linear projection (UMAP), on which a Gaussian has no ellipse.
        x, y: (n, 2), (m, 2) tokens of the texts.
        share: of both texts' joint variance that lies in the plane; None where it is no linear projection.
        axes: words for the two axes.
    """

    name: str
    basis: FloatArray | None
    x: FloatArray
    y: FloatArray
    share: float | None
    axes: tuple[str, str]


def joint_pca(x: FloatArray, y: FloatArray) -> Projection:
    """The plane of the two leading directions in which all tokens of both texts vary together."""
    a, b = _scaled(x, "A"), _scaled(y, "B")
    both = np.concatenate([a, b])
    _, _, rows = np.linalg.svd(both - both.mean(axis=0), full_matrices=False)
    return _projected("Principal axes", np.stack([rows[0], rows[1] if len(rows) > 1 else np.zeros_like(rows[0])]), a, b,
                      ("First principal axis", "Second principal axis"))


def means_and_covariances(x: FloatArray, y: FloatArray) -> Projection:
    """The direction from mean to mean, and across it the leading direction in which the covariances differ.

    The second is the eigenvector of Sigma_A - Sigma_B of largest absolute eigenvalue after the first direction is taken out.
    Where the means agree, the two leading such directions.
    """
    a, b = _scaled(x, "A"), _scaled(y, "B")
    gap = b.mean(axis=0) - a.mean(axis=0)
    length = float(np.linalg.norm(gap))
    centred = [(t - t.mean(axis=0)) / np.sqrt(len(t)) for t in (a, b)]
    first = gap / length if length > 1e-9 else None
    if first is not None:
        centred = [t - np.outer(t @ first, first) for t in centred]
    # Both covariances live in the span of the tokens, a space as small as the texts are short.
    _, sizes, span = np.linalg.svd(np.concatenate(centred), full_matrices=False)
    span = span[sizes > 1e-9 * max(float(sizes[0]), 1e-300)] if len(sizes) else span[:0]
    one, other = (t @ span.T for t in centred)
    values, vectors = np.linalg.eigh(one.T @ one - other.T @ other)
    order = np.argsort(-np.abs(values))
    found = [vectors[:, k] @ span for k in order[:2]]
    rows = ([first] if first is not None else []) + found
    rows += [np.zeros(a.shape[1])] * (2 - len(rows))
    words = ("From mean to mean", "Where the covariances differ most") if first is not None else \
        ("Where the covariances differ most", "Second such direction")
    return _projected("Means and covariances", np.stack(rows[:2]), a, b, words)


def _projected(name: str, basis: FloatArray, a: FloatArray, b: FloatArray, axes: tuple[str, str]) -> Projection:
    both = np.concatenate([a, b])
    centred = both - both.mean(axis=0)
    total = float(np.square(centred).sum())
    share = float(np.square(centred @ basis.T).sum() / total) if total > 0 else 0.0
    return Projection(name, basis, a @ basis.T, b @ basis.T, share, axes)


def ellipse(points: FloatArray, deviations: float, n: int = 72) -> FloatArray:
    """(n, 2) outline of the Gaussian of projected tokens at so many standard deviations, round their mean.

    Args:
        points: (k, 2) tokens on the plane.
    """
    mean = points.mean(axis=0)
    centred = points - mean
    values, vectors = np.linalg.eigh(centred.T @ centred / len(points))
    angle = np.linspace(0, 2 * np.pi, n)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + deviations * (vectors * np.sqrt(np.maximum(values, 0)) @ circle).T)


def kept(tokens: Sequence[str], special: Sequence[bool], *, with_special: bool, with_punctuation: bool,
         without: frozenset[int] = frozenset()) -> list[int]:
    """Numbers of the tokens that stay: special ones, punctuation and single ones can be switched off."""
    return [i for i, (token, is_special) in enumerate(zip(tokens, special, strict=True))
            if i not in without and (with_special or not is_special)
            and (with_punctuation or is_special or any(c.isalnum() for c in token))]
