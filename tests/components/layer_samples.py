"""Stored layers made by hand, for tests of what reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from components.layer_curves import LayerCurves

REASON = "attention's output does not follow from the weights"


def layer_curves(n: int = 20, layers: int = 3, heads: int = 2, *, seed: int = 0, available: bool = True, end_norm: bool = False,
                 **changes: Any) -> LayerCurves:
    """Curves whose parts fit together: spread after a block = spread before times the three factors."""
    rng = np.random.default_rng(seed)
    mixing, growth, transform = (np.exp(rng.normal(mean, 0.05, (n, layers))) for mean in (0.1, -0.2, -0.1))
    spread = 4 * np.exp(rng.normal(0, 0.1, (n, 1))) * np.cumprod(np.c_[np.ones(n), mixing * growth * transform], axis=1)
    spread = np.c_[spread, spread[:, -1] * (0.5 if end_norm else 1.0)]
    arrays = {"lambda": rng.uniform(0, 1.2, (n, layers, heads)), "r": spread[:, :layers] * growth, "C": transform,
              "attention_gain": rng.uniform(0, 1, (n, layers)), "residual_gain": mixing, "scale": rng.uniform(0, 9, (n, layers)),
              "normalized_spread": spread, "mean_cosine": 1 / (1 + spread), "mean_cosine_no_self": 1 / (1 + spread) - 0.05,
              "n_tokens": rng.integers(3, 30, n)}
    if not available:
        for name in ("lambda", "r", "C", "attention_gain", "residual_gain", "scale"):
            arrays[name] = np.full_like(arrays[name], np.nan)
    names = [*map(str, range(layers + 1)), "final"]
    pairs = {name: {"means": {quantity: {"value": value, "low": value - 0.1, "high": value + 0.1, "n": n, "of": "texts"}
                              for quantity, value in (("socm", 0.5), ("socm_ceiling", 0.9))}} for name in names}
    meta = {"n_texts": n, "n_layers": layers, "n_heads": heads, "dim": 32, "available": available,
            "reason": "" if available else REASON, "pre_norm": False, "pairs": pairs, "n_pairs": n * (n - 1) // 2, "n_cut": 0,
            "max_length": 64, "unknown_share": 0.0, "notes": [], "model_notes": [], **changes}
    return LayerCurves.from_stored(arrays, meta)
