"""What a pair's numbers are read against: its corpus's pairs, those of like length, and halves of texts of these lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from app import results
from app.map_data import MapData, share_words
from app.pair_data import TokenPair
from app.results import Request
from app.words import plain
from components.charts.style import caption_number, interval_text
from components.length_pipeline import LengthOptions, like
from components.models import declared
from components.token_halves import LEAST
from components.types import Interval, Layer

QUANTITIES = ("socm", "d_mu", "d_sigma", "size", "shape", "align")
NAMES = {"socm": "SOCM", "d_mu": "Mean distance dμ", "d_sigma": "Covariance distance dΣ", "size": "Size part of dΣ",
         "shape": "Shape part of dΣ", "align": "Alignment"}
LEAST_PAIRS = 20
"""Pairs of like length below which no share among them is given."""


@dataclass(frozen=True)
class Among:
    """Where a pair lies among its corpus's pairs, and among those whose texts are as long as its own.

    Attributes:
        data: the corpus's map at this layer.
        n_tokens: tokens that take part, of the two texts.
    """

    data: MapData
    n_tokens: tuple[int, int]

    @cached_property
    def alike(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(n_pairs,) whose shorter text is of like length to the pair's shorter one, and whose longer one to its longer one."""
        pairs, (short, long) = self.data.pairs, sorted(self.n_tokens)
        longer = np.maximum(pairs.n_tokens_i, pairs.n_tokens_j)
        (low, high), (long_low, long_high) = like(short), like(long)
        return (pairs.shorter >= low) & (pairs.shorter <= high) & (longer >= long_low) & (longer <= long_high)

    def below(self, name: str, value: float) -> float | None:
        """Share of all pairs with a smaller value."""
        return None if np.isnan(value) else float((self.data.pairs.quantity(name) < value).mean())

    def below_alike(self, name: str, value: float) -> float | None:
        """The same of pairs of like length; None where there are too few."""
        if np.isnan(value) or int(self.alike.sum()) < LEAST_PAIRS:
            return None
        return float((self.data.pairs.quantity(name)[self.alike] < value).mean())

    def words(self, name: str, value: float) -> str:
        """Under a headline number: among pairs of like length where there are enough, else among all."""
        share, alike = self.below(name, value), self.below_alike(name, value)
        if alike is not None:
            return f"{_rank(alike)} {int(self.alike.sum()):,} pairs of like length"
        return "" if share is None else f"{_rank(share)} {plain(self.data.corpus.name)}'s pairs"


def _rank(share: float) -> str:
    return "below all of" if share == 0 else ("above all of" if share == 1 else f"above {share_words(share)} of")


def among(data: MapData | None, pair: TokenPair) -> Among | None:
    return None if data is None else Among(data, (len(pair.kept[0]), len(pair.kept[1])))


@dataclass(frozen=True)
class LengthHalves:
    """Halves of a corpus's texts of like lengths."""

    within: Interval
    between: Interval
    ratio: Interval
    options: LengthOptions
    eligible: int

    @property
    def words(self) -> str:
        drawn = f"{self.within.n:,} of {self.eligible:,}" if self.within.n < self.eligible else f"{self.eligible:,}"
        return f"{drawn} texts of {self.options.low} to {self.options.high} tokens"


def length_halves(corpus_name: str, pair: TokenPair, layer: Layer, special: bool) -> LengthHalves | Request | None:
    """The corpus's halves for texts as long as the pair's; a request where they are not stored; None below four tokens, and of
    token states as given, whose corpus no model can read.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    counts = [len(at) for at in pair.kept]
    if pair.given or min(counts) < LEAST:
        return None
    options = LengthOptions.for_pair(counts[0], counts[1], layer, special)
    request = results.length_request(corpus_name, pair.model, options)
    found = results.stored(request)
    if found is None:
        return request
    return LengthHalves(Interval(**found.meta["within"]), Interval(**found.meta["between"]), Interval(**found.meta["ratio"]), options,
                        int(found.meta["eligible"]))


def interval_words(mean: Interval) -> str:
    return f"{caption_number(mean.value)} {interval_text(mean.low, mean.high)}".rstrip()


def declared_pooling(model_name: str) -> str:
    """What the model's files say it was trained with, in words."""
    return declared(results.model(model_name).folder).pooling or "none"


def number_table(pair: TokenPair, layer: Layer, place: Among | None) -> pd.DataFrame:
    """Columns Number, Value, Below it, all pairs, Below it, like length (shares; null where not known)."""
    numbers = pair.numbers(layer)
    rows = [{"Number": NAMES[name], "Value": getattr(numbers, name),
             "Below it, all pairs": place.below(name, getattr(numbers, name)) if place else None,
             "Below it, like length": place.below_alike(name, getattr(numbers, name)) if place else None} for name in QUANTITIES]
    rows.append({"Number": "W₂²/4 of the Gaussians, dμ + dΣ", "Value": numbers.distance})
    rows += [{"Number": f"Cosine, {name} pooling", "Value": value} for name, value in pair.pooled(layer).items()]
    return pd.DataFrame(rows)
