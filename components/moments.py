"""A text as a Gaussian: the mean and the covariance of its tokens, kept as a small factor.

A text's tokens ``X (n_tokens, dim)`` have the mean ``mu`` and the covariance ``Sigma = (1/n) sum (x - mu)(x - mu)^T``
(divided by n). All of a text's tokens are first divided by ``||mu||``, so that the mean has length 1 ("unit-mean
scaling", SOCM paper, arXiv 2604.27398; tokens are not normalised one by one).

``Sigma`` (dim x dim) is never built. A Helmert matrix turns the n centred tokens into n - 1 rows ``A`` with
``A^T A = Sigma`` exactly and without a decomposition: its rows are orthonormal and orthogonal to the ones vector, so
multiplying by it removes the mean and one redundant row at once. Only for more than dim + 1 tokens a QR follows, which
brings ``A`` down to dim rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from components.errors import DataError
from components.types import FloatArray, IntArray, TokenStates


@dataclass(frozen=True)
class TextMoments:
    """Means and covariance factors of many texts, after unit-mean scaling.

    Attributes:
        means: (n_texts, dim) float64, each row of length 1.
        norms: (n_texts,) float64, ``||mu||`` before the scaling.
        spread: (n_texts,) float64, tr Sigma (= normalised spread S(X) / ||mu||^2).
        n_tokens: (n_texts,) int64.
        factors: (total_rank, dim) float32 or float64 on a torch device; text i's rows
            ``factors[offsets[i]:offsets[i + 1]]`` are an A with ``A^T A = Sigma``.
        offsets: (n_texts + 1,) int64.
    """

    means: FloatArray
    norms: FloatArray
    spread: FloatArray
    n_tokens: IntArray
    factors: torch.Tensor
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.norms)

    @property
    def dim(self) -> int:
        return int(self.factors.shape[1])

    @property
    def ranks(self) -> IntArray:
        """(n_texts,) rows of each factor: min(n_tokens - 1, dim)."""
        return np.diff(self.offsets)

    def factor(self, i: int) -> torch.Tensor:
        """Text i's factor, (rank, dim)."""
        return self.factors[int(self.offsets[i]):int(self.offsets[i + 1])]


@lru_cache(maxsize=1024)
def helmert(n: int) -> torch.Tensor:
    """The (n - 1, n) float64 Helmert matrix: orthonormal rows, each orthogonal to the ones vector."""
    k = torch.arange(1, n, dtype=torch.float64)[:, None]
    j = torch.arange(n, dtype=torch.float64)[None, :]
    scale = 1 / torch.sqrt(k * (k + 1))
    return torch.where(j < k, scale, torch.where(j == k, -k * scale, torch.zeros((), dtype=torch.float64)))


def text_moments(states: TokenStates, *, dtype: torch.dtype = torch.float64, device: str = "cpu",
                 names: Sequence[str] | None = None) -> TextMoments:
    """Means, spreads and covariance factors of all texts (science of the module docstring).

    Args:
        states: token states of the texts, at least one token each.
        dtype: of the stored factors; everything is computed in float64.
        device: where the factors are to lie ("cpu", "cuda"). MPS has no float64: pass "cpu".
        names: what to call each text in an error (its beginning, say).

    Raises:
        DataError: a text has no token, a state that is not finite, or a mean of length 0; the text is named.
    """
    lengths = states.lengths
    n_texts, dim = len(states), states.dim
    _refuse(np.flatnonzero(lengths < 1), names, "must have at least one token", "none",
            "leave the text out, or keep special tokens in")
    ranks = np.minimum(lengths - 1, dim)
    offsets = np.concatenate([[0], np.cumsum(ranks)])
    means = np.empty((n_texts, dim))
    norms = np.empty(n_texts)
    spread = np.empty(n_texts)
    factors = torch.empty((int(offsets[-1]), dim), dtype=dtype, device=device)
    flat = torch.from_numpy(np.ascontiguousarray(states.states))
    rounding = 4 * float(np.finfo(np.result_type(states.states.dtype, np.float32)).eps)
    for n, members in _chunks_of_equal_length(lengths):
        rows = states.offsets[members][:, None] + np.arange(n)[None, :]
        x = flat[torch.from_numpy(rows.reshape(-1))].to(device=device, dtype=torch.float64).reshape(-1, n, dim)
        mu = x.mean(dim=1)
        norm = torch.linalg.vector_norm(mu, dim=1)
        norms[members] = norm.cpu().numpy()
        # A length that is 0, infinite or NaN would turn into silent NaNs two steps later, and one that is only the
        # rounding of tokens which cancel out into a spread of 1e30.
        least = rounding * torch.linalg.vector_norm(x, dim=2).amax(dim=1).cpu().numpy()
        bad = members[~(np.isfinite(norms[members]) & (norms[members] > least))]
        _refuse(bad, names, "must have a finite token mean of length above 0",
                f"||mu|| = {norms[bad[0]] if len(bad) else 0:.3g}", "leave the text out, or check the model's states")
        means[members] = (mu / norm[:, None]).cpu().numpy()
        if n == 1:
            spread[members] = 0.0
            continue
        a = (helmert(n).to(device) @ x) / (np.sqrt(n) * norm[:, None, None])
        # Tokens that are all equal would leave the product's rounding behind, and an alignment made of it.
        a[(x == x[:, :1]).flatten(1).all(dim=1)] = 0
        spread[members] = (a * a).sum(dim=(1, 2)).cpu().numpy()
        if n - 1 > dim:
            a = torch.linalg.qr(a, mode="r").R
        target = offsets[members][:, None] + np.arange(a.shape[1])[None, :]
        factors[torch.from_numpy(target.reshape(-1)).to(device)] = a.reshape(-1, dim).to(dtype)
    return TextMoments(means, norms, spread, lengths.astype(np.int64), factors, offsets)


def _chunks_of_equal_length(lengths: IntArray, max_tokens: int = 8192) -> Any:
    """Yields (n, text indices): texts of equal token count, at most ``max_tokens`` tokens at a time."""
    for n in np.unique(lengths):
        members = np.flatnonzero(lengths == n)
        size = max(1, max_tokens // int(n))
        for start in range(0, len(members), size):
            yield int(n), members[start:start + size]


def _refuse(bad: IntArray, names: Sequence[str] | None, rule: str, found: str, way_out: str) -> None:
    if len(bad) == 0:
        return
    first = int(bad[0])
    called = f"text {first} (row numbers start at 0)" + (f" {names[first][:60]!r}" if names is not None else "")
    more = f" ({len(bad)} texts in all)" if len(bad) > 1 else ""
    raise DataError(called, rule, found + more, way_out)
