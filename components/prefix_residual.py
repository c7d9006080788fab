"""What the coordinates that a cut keeps say of those that it drops: C over the tokens of many texts, and MIC's other terms.

Prefix: the first d coordinates; residual: the rest. Each text's token states are standardised coordinate by coordinate, and
``K = mean over texts of (1/n) X^T X`` is (dim, dim); for every d at once, ``C = K[:d, d:]``. The terms are those of
``components.mic_terms``, here in float64, a text at a time and without padding, so that whole collections fit; a test holds
the two together.

The floor (derived): where two coordinates of a text's n tokens have nothing to do with each other, every pairing of their
values is as likely as any other; the correlation of two standardised columns of fixed values has mean 0 and variance exactly
1/(n - 1) over all pairings, whatever the values are. The mean over N texts then has variance
``sigma^2 = sum of 1/(n_i - 1) / N^2`` and is nearly normal, so that E|C| = sigma sqrt(2/pi), P(|C| > tau) =
erfc(tau / (sigma sqrt 2)). Tokens of a text depend on each other, which widens it: a floor, no test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from components.types import FloatArray, IntArray, TokenStates

EPS, CV_EPS = 1e-8, 1e-12
"""As in ``mic_terms`` (which needs torch); a test compares them."""
T = 2.0
BLOCKS = 16
"""Blocks of coordinates, at the most, between two neighbouring truncation dims of a map."""


@dataclass(frozen=True)
class TokenCoordinates:
    """Sums over the counted tokens of N texts.

    Attributes:
        correlation: (dim, dim) float64 K; 0 without a text of two tokens.
        std: (dim,) mean over texts of each coordinate's standard deviation, with ``EPS`` under its root.
        means: (n_texts with a token, dim) float64 mean of each text's tokens.
        n_texts: texts of two tokens or more, which K and std rest on.
        sigma: standard deviation of an entry of C where coordinates are independent; NaN without such texts.
    """

    correlation: FloatArray
    std: FloatArray
    means: FloatArray
    n_texts: int
    sigma: float


def token_coordinates(states: TokenStates, counted: Sequence[Any] | None = None) -> TokenCoordinates:
    """Standardises each text's tokens and adds them up.

    Args:
        states: of the texts, raw, special tokens included.
        counted: a (n_tokens,) bool mask for each text; None counts every token.
    """
    dim = states.dim
    total, std_sum, means = np.zeros((dim, dim)), np.zeros(dim), []
    used, inverse = 0, 0.0
    for i in range(len(states)):
        x = np.asarray(states[i], np.float64)
        x = x if counted is None else x[counted[i]]
        if not len(x):
            continue
        mean = x.mean(axis=0)
        means.append(mean)
        if len(x) < 2:
            continue
        centred = x - mean
        std = np.sqrt(np.square(centred).mean(axis=0) + EPS)
        z = centred / std
        total += z.T @ z / len(x)
        std_sum += std
        used, inverse = used + 1, inverse + 1 / (len(x) - 1)
    share = max(1, used)
    return TokenCoordinates(total / share, std_sum / share, np.array(means).reshape(-1, dim), used,
                            float(np.sqrt(inverse) / used) if used else float("nan"))


def excesses(correlation: FloatArray, dim: int, taus: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Mean |C|, the share of its entries above each tau, and L_corr = mean of max(0, |C| - tau)^2 at each tau.

    Args:
        correlation: K, (D, D).
        dim: of the prefix, 1 to D - 1.
        taus: (k,) at least 0.

    Returns:
        a number and two (k,) arrays.
    """
    values = np.sort(np.abs(correlation[:dim, dim:]).ravel())
    n = len(values)
    above = n - np.searchsorted(values, taus, side="right")
    sums, squares = (np.concatenate([np.cumsum(part[::-1])[::-1], [0.0]])[n - above] for part in (values, values * values))
    return float(values.mean()), above / n, np.maximum(0.0, squares - 2 * taus * sums + taus * taus * above) / n


def floor_share(taus: FloatArray, sigma: float) -> FloatArray:
    """Share of |C| above each tau that independent coordinates give."""
    return np.asarray(special.erfc(np.asarray(taus, np.float64) / (sigma * np.sqrt(2))))


def floor_mean(sigma: float) -> float:
    """Mean |C| of independent coordinates."""
    return float(sigma * np.sqrt(2 / np.pi))


def floor_loss(taus: FloatArray, sigma: float) -> FloatArray:
    """L_corr of independent coordinates: 2 [(sigma^2 + tau^2) Q(tau / sigma) - tau sigma phi(tau / sigma)]."""
    at = np.asarray(taus, np.float64) / sigma
    return np.asarray(2 * ((sigma**2 + np.square(taus)) * stats.norm.sf(at) - taus * sigma * stats.norm.pdf(at)))


def variance_floor(std: FloatArray, dim: int) -> float:
    """L_var = max(0, 1 - mean std of prefix) + 0.5 max(0, 1 - mean std of residual), of ``TokenCoordinates.std``."""
    residual = 0.5 * max(0.0, 1 - float(std[dim:].mean())) if dim < len(std) else 0.0
    return max(0.0, 1 - float(std[:dim].mean())) + residual


def coefficient_of_variation(means: FloatArray, dim: int) -> float:
    """L_cv of the mean-pooled prefixes: how unevenly their coordinates vary over the texts."""
    variances = means[:, :dim].var(axis=0)
    shares = variances / (variances.mean() + EPS)
    return float(np.sqrt(shares.var() + CV_EPS))


def uniformity(means: FloatArray, dim: int, t: float = T) -> float:
    """L_unif of the mean-pooled prefixes: log mean over i != j of exp(-2 t (1 - cos)); 0 for fewer than two texts."""
    n = len(means)
    if n < 2:
        return 0.0
    prefix = means[:, :dim]
    rows = prefix / np.sqrt(np.square(prefix).sum(axis=1, keepdims=True) + EPS)
    i, j = np.triu_indices(n, 1)
    cosine = (rows @ rows.T)[i, j]
    return float(special.logsumexp(-2 * t * (1 - cosine)) - np.log(len(cosine)))


def block_edges(dims: Sequence[int]) -> IntArray:
    """(n_blocks + 1,) edges of blocks of coordinates; every truncation dim is an edge, and small prefixes stay fine."""
    edges = [0]
    for low, high in zip((0, *dims[:-1]), dims, strict=True):
        step = -(-(high - low) // BLOCKS)
        edges += [*range(low + step, high, step), high]
    return np.array(edges, dtype=np.int64)


def block_means(correlation: FloatArray, edges: IntArray) -> FloatArray:
    """(n_blocks, n_blocks) mean |K| in each block of coordinates, without the diagonal (which is 1); NaN where nothing else is."""
    absolute = np.abs(correlation)
    np.fill_diagonal(absolute, 0.0)
    sums = np.add.reduceat(np.add.reduceat(absolute, edges[:-1], axis=0), edges[:-1], axis=1)
    widths = np.diff(edges)
    counts = np.outer(widths, widths) - np.diag(widths)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
