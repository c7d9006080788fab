"""What a pair of texts shows, in sentences that follow from its numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from components.charts.style import caption_number, interval_text
from components.token_halves import Halves
from components.token_pair import PairNumbers
from components.types import Interval

NOTHING = 1e-9
FEW = 0.95
"""A ratio of halves above this says that two texts lie no further apart than few tokens of one."""


@dataclass(frozen=True)
class Strongest:
    """The token without which a number falls most."""

    token: str
    text: str
    effect: float


def pair_finding(numbers: PairNumbers, halves: Halves | None, corpus_ratio: Interval | None, strongest: Strongest | None) -> str:
    """At most three sentences: what the mean hides, whether few tokens alone give it, and which token carries most.

    Args:
        numbers: of the pair.
        halves: of the two texts; None where one is too short.
        corpus_ratio: within / between of a corpus's texts of like lengths.
        strongest: the token without which SOCM falls most; None where it falls without none, or was not computed.
    """
    if numbers.d_mu <= NOTHING and numbers.d_sigma <= NOTHING:
        return "The two texts have equal means and equal covariances: no number tells them apart."
    if numbers.d_sigma <= NOTHING:
        return "Neither text spreads in a way that the other does not: the mean keeps all that tells them apart."
    hidden = numbers.d_sigma / numbers.distance
    parts = [f"{hidden:.0%} of the distance between the two Gaussians lies in the covariances, which the mean does not see."]
    if halves is not None and np.isfinite(halves.ratio):
        ratio = f"Halves of either text alone lie {caption_number(halves.ratio)} times as far apart as halves of the two"
        usual = ""
        if corpus_ratio is not None:
            ends = interval_text(corpus_ratio.low, corpus_ratio.high)
            usual = f" (texts of like length: {caption_number(corpus_ratio.value)}{f' {ends}' if ends else ''})"
        means = ("so this covariance distance is no more than few tokens of one text give" if halves.ratio >= FEW else
                 f"so few tokens alone give {halves.ratio:.0%} of a covariance distance at this length")
        parts.append(f"{ratio}{usual}, {means}.")
    if strongest is not None and strongest.effect > 0:
        parts.append(f"SOCM falls most, by {caption_number(strongest.effect)}, without “{strongest.token}” of text {strongest.text}.")
    return " ".join(parts)
