"""What MIC adds to Matryoshka training: the four terms, each from token states, a mask and a truncation dim.

An embedding cut at ``dim`` keeps the prefix (the first ``dim`` coordinates) and loses the residual (the rest). MIC asks
two things of the token states X (batch, n, D) before any pooling:

* SCR: prefix and residual are to say different things. Both are standardised per sequence over its counted tokens;
  ``C = batch mean of (1/n) Xpre^T Xres`` is (dim, D - dim), ``L_corr = mean of max(0, |C| - tau)^2``. A variance floor
  ``L_var = max(0, 1 - mean std of prefix) + 0.5 max(0, 1 - mean std of residual)``, of the states before standardising,
  forbids the way out of shrinking. ``L_SCR = L_corr + lambda_var L_var``, and 0 where nothing is cut.
* SIR: the prefix is to be used evenly. With Z (batch, dim) the mean-pooled prefixes and v the variance of each of their
  coordinates over the batch, ``L_cv = std(v) / (mean(v) + eps)``; with Z's rows scaled to length 1,
  ``L_unif = log mean over i != j of exp(-2 t (1 - cos_ij))``. ``L_SIR = (L_cv + L_unif) / 2``.

Source: the MIC paper's formulas; no code of it is public. What the paper leaves open is settled here: every standard
deviation divides by n and has an eps under its root, whose slope at 0 would otherwise be infinite; a text of fewer than
two counted tokens has no correlation and is left out of SCR, a text without any is left out of SIR; the logarithm of
L_unif is a logsumexp, finite without an eps of its own, and 0 for fewer than two texts.

Everywhere ``states`` is (batch, n, D) float32 or float64 and ``mask`` (batch, n), true or 1 at the tokens that count:
padding never does, special tokens do or do not, as the caller decides. What lies at the other tokens is never read, be it
NaN. Each term is a scalar of the states' dtype, and always has a gradient, if only of zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

EPS = 1e-8
"""Under the root of a standard deviation and of a length, and beside the mean variance of L_cv."""

CV_EPS = 1e-12
"""Under the root of L_cv, where a standard deviation is already a share of the mean: an ``EPS`` there would be seen."""


class ScrValue(NamedTuple):
    """``loss = correlation + lambda_var * variance``; three scalars."""

    loss: Tensor
    correlation: Tensor
    variance: Tensor


class SirValue(NamedTuple):
    """``loss = (cv + uniformity) / 2``; three scalars."""

    loss: Tensor
    cv: Tensor
    uniformity: Tensor


def _deviations(states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each sequence's deviations from its mean (batch, n, D), 0 where not counted; its std (batch, D); counts (batch,)."""
    outside = ~mask.bool().unsqueeze(-1)
    count = mask.bool().sum(dim=1).to(states.dtype)
    shared = count.clamp_min(1).unsqueeze(-1)
    mean = states.masked_fill(outside, 0).sum(dim=1) / shared
    centred = (states - mean.unsqueeze(1)).masked_fill(outside, 0)
    std = (centred.square().sum(dim=1) / shared + EPS).sqrt()
    return centred, std, count


def cross_correlation(states: Tensor, mask: Tensor, dim: int) -> Tensor:
    """C: how prefix and residual coordinates correlate over a text's tokens, averaged over the texts.

    Args:
        states: (batch, n, D).
        mask: (batch, n).
        dim: of the prefix, 1..D.

    Returns:
        (dim, D - dim), each value in [-1, 1]: the mean over the texts of two counted tokens or more, 0 without any.
    """
    centred, std, count = _deviations(states, mask)
    used = (count >= 2).to(states.dtype)
    weight = used / count.clamp_min(1) / used.sum().clamp_min(1)
    tokens = centred / std.unsqueeze(1)
    prefix = tokens[..., :dim] * weight[:, None, None]
    return prefix.flatten(0, 1).T @ tokens[..., dim:].flatten(0, 1)


def correlation_loss(states: Tensor, mask: Tensor, dim: int, tau: float) -> Tensor:
    """L_corr: the mean over C's (dim, D - dim) entries of ``max(0, |C| - tau)^2``; 0 at full dim.

    Scaling a coordinate by a positive number changes nothing, up to the eps under its root.
    """
    excess = (cross_correlation(states, mask, dim).abs() - tau).clamp_min(0)
    return excess.square().sum() / max(1, excess.numel())


def variance_floor(states: Tensor, mask: Tensor, dim: int) -> Tensor:
    """L_var: ``max(0, 1 - mean std of prefix) + 0.5 max(0, 1 - mean std of residual)``, in [0, 1.5].

    The means run over the texts of two counted tokens or more and the coordinates; a part without any is 0.
    """
    _, std, count = _deviations(states, mask)
    used = (count >= 2).to(states.dtype)
    return _shortfall(std[:, :dim], used) + 0.5 * _shortfall(std[:, dim:], used)


def _shortfall(std: Tensor, used: Tensor) -> Tensor:
    mean = (std * used.unsqueeze(-1)).sum() / (used.sum() * std.shape[1]).clamp_min(1)
    return (1 - mean).clamp_min(0) * (used.any() * (std.shape[1] > 0))


def pooled_prefixes(states: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Z: the mean of each text's counted tokens, cut at ``dim``; (texts, dim), without the texts that have none."""
    count = mask.bool().sum(dim=1)
    total = states[..., :dim].masked_fill(~mask.bool().unsqueeze(-1), 0).sum(dim=1)
    return total[count > 0] / count[count > 0].to(states.dtype).unsqueeze(-1)


def coefficient_of_variation(pooled: Tensor) -> Tensor:
    """L_cv of pooled prefixes (texts, dim): how unevenly their coordinates vary over the batch.

    ``std(v) / (mean(v) + eps)``, in the form of the std of ``v / (mean(v) + eps)``, so that the eps under the root counts
    in shares of the mean, whatever the scale of v. At least 0 (1e-6, by that eps), at most ``sqrt(dim - 1)``;
    ``dim / (1 + L_cv^2)`` is the number of coordinates in effect.
    """
    texts = max(1, len(pooled))
    variances = (pooled - pooled.sum(dim=0) / texts).square().sum(dim=0) / texts
    shares = variances / (variances.mean() + EPS)
    return ((shares - shares.mean()).square().mean() + CV_EPS).sqrt()


def uniformity(pooled: Tensor, t: float = 2.0) -> Tensor:
    """L_unif of pooled prefixes (texts, dim): ``log mean over i != j of exp(-2 t (1 - cos_ij))``, in [-4 t, 0].

    0 when all point one way, lower the more evenly they point everywhere (the squared distance of two unit rows is
    ``2 (1 - cos)``); 0 for fewer than two texts.
    """
    n = len(pooled)
    if n < 2:
        return pooled[:0].sum()
    rows = pooled / (pooled.square().sum(dim=1, keepdim=True) + EPS).sqrt()
    others = ~torch.eye(n, dtype=torch.bool, device=pooled.device)
    exponents = -2 * t * (1 - rows @ rows.T)[others]
    return exponents.logsumexp(dim=0) - torch.log(exponents.new_tensor(n * (n - 1)))


class SCR(nn.Module):
    """L_SCR = L_corr + lambda_var L_var, both 0 at full dim.

    Args:
        tau: the |C| that goes unpunished, at least 0.
        lambda_var: weight of the variance floor, at least 0.
    """

    def __init__(self, tau: float = 0.02, lambda_var: float = 0.0) -> None:
        super().__init__()
        self.tau, self.lambda_var = tau, lambda_var

    def forward(self, states: Tensor, mask: Tensor, dim: int) -> ScrValue:
        """Of states (batch, n, D), mask (batch, n) and a truncation dim in 1..D."""
        if dim == states.shape[-1]:
            nothing = states[..., dim:].sum()
            return ScrValue(nothing, nothing, nothing)
        correlation = correlation_loss(states, mask, dim, self.tau)
        variance = variance_floor(states, mask, dim)
        return ScrValue(correlation + self.lambda_var * variance, correlation, variance)


class SIR(nn.Module):
    """L_SIR = (L_cv + L_unif) / 2.

    Args:
        t: of the uniformity, above 0.
    """

    def __init__(self, t: float = 2.0) -> None:
        super().__init__()
        self.t = t

    def forward(self, states: Tensor, mask: Tensor, dim: int) -> SirValue:
        """Of states (batch, n, D), mask (batch, n) and a truncation dim in 1..D."""
        pooled = pooled_prefixes(states, mask, dim)
        cv, uniform = coefficient_of_variation(pooled), uniformity(pooled, self.t)
        return SirValue((cv + uniform) / 2, cv, uniform)
