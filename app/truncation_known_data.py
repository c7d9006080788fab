"""The tables that stand beside measured cuts, as frames, and what of the published findings was reproduced here."""

from __future__ import annotations

import pandas as pd

from components.charts.style import interval_text
from components.truncation_tables import published_mic, seed_differences, seeds

MODELS = ("backbone", "contrastive", "cls", "mrl", "mic")
COLUMNS = {"Recall@10, 16 dims": ("recall_at_10_dim_16", 100), "32": ("recall_at_10_dim_32", 100), "64": ("recall_at_10_dim_64", 100),
           "192": ("recall_at_10_dim_192", 100), "Graded ρ, 16": ("graded_spearman_dim_16", 1),
           "ρ, 192": ("graded_spearman_dim_192", 1), "Effective axes of 64": ("effective_dims_axes_dim_64", 1),
           "Mean |C|, 16": ("mean_abs_c_dim_16", 1),
           "|C| without special tokens, 16": ("mean_abs_c_without_special_dim_16", 1)}


def published_table() -> pd.DataFrame:
    """MIC's published table as text; what was not published is blank."""
    def cell(value: float | None, sign: str = "") -> str:
        return "" if value is None else f"{value:{sign}.2f}".replace("-", "−")

    return pd.DataFrame([{"Task": row.task, "Metric": row.metric, "Dims": row.dim, "SimCSE": cell(row.simcse), "MRL": cell(row.mrl),
                          "ESE": cell(row.ese), "MIC": cell(row.mic),
                          "MIC minus MRL": cell(None if row.mic is None or row.mrl is None else row.mic - row.mrl, "+")}
                         for row in published_mic()])


def nano_table() -> pd.DataFrame:
    """The family over its seeds, a text a cell: mean and interval."""
    rows = []
    for model in MODELS:
        row = {"Model": f"nano-{model}"}
        for title, (quantity, factor) in COLUMNS.items():
            found = seeds()[model, quantity]
            digits = 1 if factor == 100 or found.value > 3 else 3
            row[title] = f"{factor * found.value:.{digits}f}" + ("" if found.low is None or found.high is None else
                                                                f" [{factor * found.low:.{digits}f}, {factor * found.high:.{digits}f}]")
        rows.append(row)
    return pd.DataFrame(rows)


def _gain(model: str, other: str, quantity: str, factor: float = 1.0) -> tuple[float, tuple[float, float]]:
    found = seed_differences()[model, other, quantity]
    assert found.seeds is not None
    return factor * found.value, (factor * found.seeds[0], factor * found.seeds[1])


def _words(value: float, ends: tuple[float, float], unit: str, digits: int = 1) -> str:
    return f"{value:+.{digits}f} {interval_text(*ends)} {unit}".replace("-", "−").rstrip()


def _verdict(ends: tuple[float, float]) -> str:
    if ends[0] > 0:
        return "reproduced"
    return "not reproduced, the opposite" if ends[1] < 0 else "not reproduced: we cannot tell it from none"


def reproduced() -> list[str]:
    """One line for each published claim that our family can be held against, over five seeds."""
    mrl, mic = _gain("mrl", "contrastive", "recall_at_10_dim_16", 100), _gain("mic", "mrl", "recall_at_10_dim_16", 100)
    mic64, rho = _gain("mic", "mrl", "recall_at_10_dim_64", 100), _gain("mic", "mrl", "graded_spearman_dim_16")
    full = _gain("mic", "mrl", "recall_at_10_dim_192", 100)
    axes, c = _gain("mic", "mrl", "effective_dims_axes_dim_64"), _gain("mic", "mrl", "mean_abs_c_dim_16")
    bare = _gain("mic", "mrl", "mean_abs_c_without_special_dim_16")
    less = (-c[1][1], -c[1][0])
    gains = [row.mic - row.mrl for row in published_mic() if row.dim == 16 and row.mic is not None and row.mrl is not None]
    return [
        f"Matryoshka keeps more at 16 dims than its base loss: {_verdict(mrl[1])}, {_words(*mrl, 'points of Recall@10')}.",
        f"MIC gains on Matryoshka at 16 dims (published: {min(gains):.1f} to {max(gains):.1f} points): {_verdict(mic[1])}, "
        f"{_words(*mic, 'points of Recall@10')}; graded ρ {_words(*rho, '', 3)}.",
        f"MIC gains at 64 dims (published: 6.2 points on Banking77): {_verdict(mic64[1])}, {_words(*mic64, 'points')}.",
        f"MIC changes next to nothing at full dim: {'consistent' if full[1][0] <= 0 <= full[1][1] else 'not so here'}, "
        f"{_words(*full, 'points')}.",
        f"MIC spreads the prefix over more axes: {_verdict(axes[1])}, {_words(*axes, 'effective axes of 64')}.",
        f"MIC loosens kept from dropped coordinates: {_verdict(less)} over all tokens, |C| {_words(*c, '', 3)}; without special tokens "
        f"{'no change' if bare[1][0] <= 0 <= bare[1][1] else 'a change of'} {_words(*bare, '', 3)}.",
        "Other tasks, and a backbone far smaller than BERT-base: no figure here is to be set beside a published one."]
