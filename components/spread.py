"""Normalised spread and effective dims: two summaries of how far vectors lie apart, and along how many directions."""

from __future__ import annotations

import numpy as np

from components.types import FloatArray, TokenStates


def normalised_spread(states: TokenStates) -> FloatArray:
    """S(X) / ||mu(X)||^2 of each text: mean squared distance of its tokens to their mean, over the mean's squared length.

    Args:
        states: of the texts, raw.

    Returns:
        (n_texts,) float64; 0 for one token, infinite where the mean is exactly 0.

    Source: science of token concentration, "normalised spread"; computed from centred tokens, since the difference of two
    large sums of squares would lose it.
    """
    out = np.empty(len(states))
    for i in range(len(states)):
        x = np.asarray(states[i], dtype=np.float64)
        mu = x.mean(axis=0)
        centred = x - mu
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = float((centred * centred).sum(axis=1).mean())
            length = float(mu @ mu)
            out[i] = spread / length if length else (np.inf if spread else 0.0)
    return out


def effective_dims(vectors: FloatArray) -> tuple[float, float]:
    """How many dims carry the variance of pooled vectors: by coordinates, and by principal axes.

    Args:
        vectors: (n_texts, dim), two texts or more.

    Returns:
        d / (1 + CV^2), the participation ratio of the per-coordinate variances, which depends on the basis (it is what
        L_cv drives up); and the participation ratio of the covariance's eigenvalues, which does not. Both lie in 1..dim;
        NaN where nothing varies.
    """
    x = np.asarray(vectors, dtype=np.float64)
    centred = x - x.mean(axis=0)
    variances = (centred * centred).mean(axis=0)
    total = float(variances.sum())
    if total <= 0:
        return float("nan"), float("nan")
    gram = centred @ centred.T / len(x) if len(x) < x.shape[1] else centred.T @ centred / len(x)
    return total**2 / float((variances * variances).sum()), total**2 / float((gram * gram).sum())
