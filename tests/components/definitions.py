"""The definitions, written out in float64 and without regard to speed: what the fast code is held against."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from components.types import TokenStates


def unit_mean(x: np.ndarray) -> np.ndarray:
    """A text's tokens divided by the length of their mean."""
    x = x.astype(np.float64)
    return x / np.linalg.norm(x.mean(axis=0))


def by_singular_values(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(d_mu, d_sigma) from singular values of the centred tokens' product."""
    x, y = unit_mean(x), unit_mean(y)
    mx, my = x.mean(axis=0), y.mean(axis=0)
    cx, cy = (x - mx) / np.sqrt(len(x)), (y - my) / np.sqrt(len(y))
    nuclear = np.linalg.svd(cx @ cy.T, compute_uv=False).sum()
    return float(np.sum((mx - my) ** 2) / 4), float((np.sum(cx**2) + np.sum(cy**2) - 2 * nuclear) / 4)


def root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def by_covariances(x: np.ndarray, y: np.ndarray, eps: float = 0.0) -> float:
    """d_sigma from dim x dim matrices; with eps on the diagonals inside both roots it is the authors' computation."""
    x, y = unit_mean(x), unit_mean(y)
    sx, sy = np.cov(x.T, bias=True), np.cov(y.T, bias=True)
    eye = eps * np.eye(len(sx))
    half = root(sx + eye)
    return float((np.trace(sx) + np.trace(sy) - 2 * np.trace(root(half @ sy @ half + eye))) / 4)


def ragged(*texts: np.ndarray) -> TokenStates:
    return TokenStates(np.concatenate(texts), np.concatenate([[0], np.cumsum([len(t) for t in texts])]))


def random_texts(rng: np.random.Generator, lengths, dim: int, shared: float = 1.0) -> TokenStates:
    """Texts of token vectors round a common direction."""
    centre = shared * rng.standard_normal(dim)
    return ragged(*(rng.standard_normal((n, dim)) + centre for n in lengths))
