"""Two texts on the d_mu-d_Sigma plane: how far their means lie apart, how far their covariances, and SOCM.

With both texts scaled to means of length 1 (see ``moments``):

* ``d_mu = ||mu1 - mu2||^2 / 4 = (1 - cos) / 2``, in [0, 1].
* ``d_sigma = BW^2(Sigma1, Sigma2) / 4``, the squared Bures-Wasserstein distance
  ``tr Sigma1 + tr Sigma2 - 2 tr (Sigma1^1/2 Sigma2 Sigma1^1/2)^1/2``, quartered. It is NOT bounded by 1, only by
  ``(tr Sigma1 + tr Sigma2) / 4``.
* ``socm = (1 - d_mu) d_sigma``: large only where the means agree and the covariances do not.

The root's trace needs no dim x dim matrix: with factors ``A^T A = Sigma1`` and ``B^T B = Sigma2`` it is the nuclear
norm (sum of singular values) of ``A B^T``, a matrix as small as the texts are short.

d_sigma splits exactly, with t = tr Sigma and align = nuclear norm / sqrt(t1 t2) in [0, 1]:
``size = (sqrt t1 - sqrt t2)^2 / 4`` (how differently spread) and ``shape = sqrt(t1 t2) (1 - align) / 2`` (how little
the directions agree, scaled by the spread).

Source: SOCM paper (arXiv 2604.27398); the split and the nuclear-norm form are derived and tested here. The authors'
code adds 1e-9 to the diagonal inside each matrix root; ``published_trace`` reproduces that bias on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from components.errors import DataError
from components.moments import TextMoments, text_moments
from components.pair_parts import alignment, size_part
from components.types import FloatArray, IntArray, TokenStates

PUBLISHED_EPS = 1e-9
"""What the authors' code adds to each diagonal before a matrix root."""

GRAM_LIMIT = 96
"""Largest matrix whose singular values are taken from its Gram matrix. The Gram matrix squares the condition: a zero
singular value comes out as about 1.5e-8 of the largest, and there may be as many as there are rows; beyond this many
rows (long texts) product and singular values are computed directly in float64, which costs about twice as much."""


@dataclass(frozen=True)
class PairStatistics:
    """Pair statistics, row by row; every array is (n_pairs,) float64.

    Attributes:
        d_mu: squared distance of the means / 4, in [0, 1].
        d_sigma: squared Bures-Wasserstein distance of the covariances / 4, at least 0, not bounded by 1.
        spread_a, spread_b: tr Sigma of the first and second text.
    """

    d_mu: FloatArray
    d_sigma: FloatArray
    spread_a: FloatArray
    spread_b: FloatArray

    @property
    def socm(self) -> FloatArray:
        """(1 - d_mu) d_sigma."""
        return (1 - self.d_mu) * self.d_sigma

    @property
    def size(self) -> FloatArray:
        """The part of d_sigma that differing spreads alone make."""
        return size_part(self.spread_a, self.spread_b)

    @property
    def shape(self) -> FloatArray:
        """The part of d_sigma that differing directions make: d_sigma - size."""
        return self.d_sigma - self.size

    @property
    def align(self) -> FloatArray:
        """Alignment of the covariances in [0, 1]; NaN where a spread is 0 (0/0: null in tables)."""
        return alignment(self.d_sigma, self.spread_a, self.spread_b)


def root_traces(products: torch.Tensor, *, direct: bool = False, published_dim: int | None = None) -> torch.Tensor:
    """tr (Sigma1^1/2 Sigma2 Sigma1^1/2)^1/2 of a batch of pairs, from their products of factors.

    Args:
        products: (n_pairs, rank_a, rank_b), the products A B^T, float32 or float64.
        direct: take singular values directly, never through the Gram matrix (all-float64 accuracy).
        published_dim: give the authors' biased value for this dim instead (see ``published_trace``).

    Returns:
        (n_pairs,) float64: the sums of singular values.
    """
    n_pairs, rank_a, rank_b = products.shape
    if rank_a > rank_b:
        products = products.transpose(1, 2)
    rank = min(rank_a, rank_b)
    if rank == 0:
        squares = products.new_zeros((n_pairs, 0), dtype=torch.float64)
    elif direct or rank > GRAM_LIMIT:
        squares = torch.linalg.svdvals(products.to(torch.float64)).square()
    else:
        wide = products.to(torch.float64)
        gram = torch.bmm(wide, wide.transpose(1, 2))
        squares = (gram[:, 0] if rank == 1 else torch.linalg.eigvalsh(gram)).clamp_min(0)
    if published_dim is None:
        return squares.sqrt().sum(dim=1)
    return published_trace(squares, published_dim)


def published_trace(squares: torch.Tensor, dim: int) -> torch.Tensor:
    """The root's trace as the authors' numerics give it: every eigenvalue raised by 1e-9 before its root.

    Args:
        squares: (n_pairs, rank) squared singular values.
        dim: the embedding's dimension; its dim - rank zero eigenvalues each contribute sqrt(1e-9).
    """
    return (squares + PUBLISHED_EPS).sqrt().sum(dim=1) + (dim - squares.shape[1]) * PUBLISHED_EPS**0.5


def bures_quarter(spread_a: FloatArray, spread_b: FloatArray, root_trace: FloatArray, *,
                  published: bool = False) -> FloatArray:
    """d_sigma = (t1 + t2 - 2 root_trace) / 4, clamped below at 0 (as published: not clamped, like the authors)."""
    value = (spread_a + spread_b - 2 * root_trace) / 4
    return value if published else np.maximum(value, 0)


def mean_distance(means_a: FloatArray, means_b: FloatArray) -> FloatArray:
    """d_mu of unit means, row by row: (n_pairs, dim) twice -> (n_pairs,)."""
    return np.clip((1 - np.einsum("ij,ij->i", means_a, means_b)) / 2, 0, 1)


def pair_statistics(states_a: FloatArray, states_b: FloatArray) -> PairStatistics:
    """Statistics of two texts given as token states (n_tokens, dim); arrays of one pair, all in float64.

    Raises:
        DataError: the dims differ, or a text has no token or no usable mean.
    """
    if states_a.ndim != 2 or states_b.ndim != 2 or states_a.shape[1] != states_b.shape[1]:
        raise DataError("token states", "must be two arrays (n_tokens, dim) of one dim",
                        f"{states_a.shape} and {states_b.shape}", "give both texts the same model and layer")
    both = TokenStates(np.concatenate([states_a, states_b]),
                       np.array([0, len(states_a), len(states_a) + len(states_b)]))
    return pairwise_statistics(text_moments(both), np.array([0]), np.array([1]), direct=True)


def pairwise_statistics(moments: TextMoments, first: Sequence[int] | IntArray, second: Sequence[int] | IntArray, *,
                        direct: bool = False, published: bool = False) -> PairStatistics:
    """Statistics of given pairs of texts, row by row.

    Pairs are gathered by the ranks of their factors, so that each batch is one stack of equal small products.

    Args:
        moments: of all texts that the pairs name.
        first, second: (n_pairs,) text numbers.
        direct: singular values directly (with float64 factors: all-float64 accuracy).
        published: d_sigma with the authors' numerics instead of the exact value.
    """
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    ranks = moments.ranks
    trace = np.zeros(len(a))
    order = np.lexsort((ranks[b], ranks[a]))
    codes = ranks[a[order]] * (int(ranks.max(initial=0)) + 1) + ranks[b[order]]
    published_dim = moments.dim if published else None
    with torch.inference_mode():
        for group in np.split(order, np.flatnonzero(np.diff(codes)) + 1) if len(order) else []:
            rank_a, rank_b = int(ranks[a[group[0]]]), int(ranks[b[group[0]]])
            size = max(1, 4_000_000 // max(1, (rank_a + rank_b) * moments.dim))
            for start in range(0, len(group), size):
                part = group[start:start + size]
                left, right = _gather(moments, a[part], rank_a), _gather(moments, b[part], rank_b)
                if min(rank_a, rank_b) > GRAM_LIMIT:
                    left, right = left.to(torch.float64), right.to(torch.float64)
                product = torch.bmm(left, right.transpose(1, 2))
                trace[part] = root_traces(product, direct=direct, published_dim=published_dim).cpu().numpy()
    spread_a, spread_b = moments.spread[a], moments.spread[b]
    return PairStatistics(mean_distance(moments.means[a], moments.means[b]),
                          bures_quarter(spread_a, spread_b, trace, published=published), spread_a, spread_b)


def _gather(moments: TextMoments, texts: IntArray, rank: int) -> torch.Tensor:
    """Factors of texts of one rank: (n, rank, dim)."""
    rows = moments.offsets[texts][:, None] + np.arange(rank)[None, :]
    index = torch.from_numpy(rows.reshape(-1)).to(moments.factors.device)
    return moments.factors[index].reshape(len(texts), rank, moments.dim)
