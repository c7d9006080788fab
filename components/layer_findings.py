"""One sentence on what the layers show: where spread falls most, by which part of the block, and what tuning changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from components.charts.style import caption_number, interval_text
from components.layer_curves import LayerCurves
from components.statistics import mean_interval
from components.types import Interval

WORDS: Mapping[str, str] = {
    "mixing": "attention, which pulls the tokens together", "mean_growth": "the residual sum, which lengthens the mean they share",
    "transform": "the norms and the feed-forward, token by token"}


def _factor(log: Interval) -> str:
    ends = "" if log.low is None or log.high is None else f" {interval_text(float(np.exp(log.low)), float(np.exp(log.high)))}"
    return f"{caption_number(float(np.exp(log.value)))}{ends}"


def layer_finding(name: str, curves: LayerCurves) -> str:
    """Where one model's normalised spread falls most and what does it. Means of logarithms over texts, as factors.

    Args:
        name: the model's, for the sentence.
    """
    changes = [curves.change(block) for block in range(1, curves.n_layers + 1)]
    known = [k for k, change in enumerate(changes) if np.isfinite(change.value)]
    if not known:
        return f"{name}: no text has two tokens that differ, so there is no spread to follow."
    at = min(known, key=lambda k: changes[k].value)
    change = changes[at]
    if change.value >= 0 or (change.high is not None and change.high >= 0):
        first = curves.mean("normalized_spread", 0)
        return (f"{name}: normalised spread falls in no block beyond what the texts' own differences allow; it starts at "
                f"{caption_number(first.value)} and ends at {caption_number(curves.mean('normalized_spread', curves.n_layers).value)}.")
    sentence = f"{name}: normalised spread falls most in block {at + 1} of {curves.n_layers}, to {_factor(change)} times its value"
    if not curves.available:
        return f"{sentence}; which part of the block does it cannot be told for this model."
    parts = {part: logs[at] for part, logs in curves.factors.items()}
    if not all(np.isfinite(part.value) for part in parts.values()):
        return f"{sentence}."
    most = min(parts, key=lambda part: parts[part].value)
    others = [f"{WORDS[part].split(',')[0]} {_factor(log)}" for part, log in parts.items() if part != most]
    return f"{sentence}, mostly through {WORDS[most]} (times {_factor(parts[most])}; {', '.join(others)})."


def tuning_finding(tuned: str, curves: LayerCurves, backbone: str, before: LayerCurves) -> str:
    """By how much two models' last layers differ on the same texts, paired text by text."""
    after, prior = (one.per_text("normalized_spread", one.n_layers) for one in (curves, before))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(after / prior)
    log = mean_interval(ratio[np.isfinite(ratio)], "texts")
    if not np.isfinite(log.value):
        return ""
    where = "" if log.low is None or log.high is None else \
        ("" if log.low > 0 or log.high < 0 else ", a difference that these texts cannot tell from none")
    return f"At its last layer {tuned} has {_factor(log)} times the normalised spread of {backbone}{where}."
