"""What the Pair page shows, put together from two texts' stored tokens and, where it is stored, their corpus's map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app import results
from app.map_data import MapData, share_words
from app.results import Request
from app.uploads import OWN_STATES
from components.charts.layer_panels import BACKBONE, TUNED, Line, Panel
from components.store import StoredResult
from components.token_pair import (
    NUMBERS,
    PairNumbers,
    Projection,
    cos_sim,
    joint_pca,
    kept,
    leave_one_out,
    means_and_covariances,
    pair_numbers,
    pooled_cosines,
    spread_shares,
)
from components.token_pipeline import one_pair
from components.types import FINAL, FloatArray, Interval, Layer

PLANES = {"Principal axes": joint_pca, "Means and covariances": means_and_covariances}
TINTS = {"Share of the spread": "spread", "Effect on SOCM": "socm", "Effect on mean distance": "d_mu",
         "Effect on covariance distance": "d_sigma"}
MOST_LEFT_OUT = 160
"""Tokens of a text up to which each is left out in turn while a page waits (a tenth of a second)."""


@dataclass(frozen=True)
class Switches:
    """Which tokens take part; ``without`` holds the numbers of single ones in each text."""

    special: bool
    punctuation: bool
    without: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())


@dataclass(frozen=True)
class TokenPair:
    """Two texts' tokens under one model, and which of them take part."""

    model: str
    request: Request
    found: StoredResult
    switches: Switches

    @cached_property
    def tokens(self) -> tuple[list[str], list[str]]:
        """Every token of each text."""
        n, every = int(self.found.meta["n_a"]), list(self.found.meta["tokens"])
        return every[:n], every[n:]

    @cached_property
    def kept(self) -> tuple[list[int], list[int]]:
        """Numbers of the tokens that take part, in each text."""
        n, special = int(self.found.meta["n_a"]), self.found.arrays["special"]
        one, other = (kept(words, flags.tolist(), with_special=self.switches.special, with_punctuation=self.switches.punctuation,
                           without=without)
                      for words, flags, without in zip(self.tokens, (special[:n], special[n:]), self.switches.without, strict=True))
        return one, other

    @property
    def kept_tokens(self) -> tuple[list[str], list[str]]:
        one, other = ([words[i] for i in at] for words, at in zip(self.tokens, self.kept, strict=True))
        return one, other

    def states(self, layer: Layer) -> tuple[FloatArray, FloatArray]:
        """(n, dim) and (m, dim) states of the tokens that take part."""
        n, both = int(self.found.meta["n_a"]), self.found.arrays[f"layer_{layer}"]
        return both[:n][self.kept[0]], both[n:][self.kept[1]]

    def numbers(self, layer: Layer) -> PairNumbers:
        """The pair's numbers at a layer.

        Raises:
            DataError: no token is left in a text, or a mean is 0.
        """
        return pair_numbers(*self.states(layer))

    def pooled(self, layer: Layer) -> dict[str, float]:
        """Cosine of the texts under each pooling, of the tokens that take part."""
        return pooled_cosines(*self.states(layer))

    def plan(self, layer: Layer) -> FloatArray | None:
        """The transport plan, which is of all tokens; None where some are switched off or the texts are long."""
        whole = all(len(at) == len(words) for at, words in zip(self.kept, self.tokens, strict=True))
        return self.found.arrays.get(f"plan_{layer}") if whole else None

    def cosines(self, layer: Layer) -> FloatArray:
        return cos_sim(*self.states(layer))

    def projection(self, layer: Layer, name: str) -> Projection:
        return PLANES[name](*self.states(layer))

    def effects(self, layer: Layer, tint: str) -> tuple[FloatArray, FloatArray] | None:
        """A number of each token that takes part: its share of the spread, or what the pair's number loses without it.

        None where a text is too long to leave out each token in turn.
        """
        x, y = self.states(layer)
        if tint == "spread":
            return spread_shares(x), spread_shares(y)
        if max(len(x), len(y)) > MOST_LEFT_OUT:
            return None
        at = NUMBERS.index(tint)
        whole = getattr(pair_numbers(x, y), tint)
        one, other = (whole - without[:, at] for without in leave_one_out(x, y))
        return one, other

    @property
    def given(self) -> bool:
        """Whether the states came from a file and no model took part."""
        return self.model == OWN_STATES

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (*range(int(self.found.meta["n_layers"]) + 1), FINAL)


def load(text_a: str, text_b: str, model_name: str, switches: Switches, *, own: bool = False) -> TokenPair | Request:
    """Two texts' tokens, or the request to start when they are not stored yet; ``own`` texts are the visitor's.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    request = results.tokens_request(one_pair(text_a, text_b), model_name, own=own)
    found = results.tokens(request)
    return request if found is None else TokenPair(model_name, request, found, switches)


def load_states(corpus_name: str, a: int, b: int, switches: Switches) -> TokenPair | Request:
    """Two texts of one's own token states, or the request to start when their plan is not there yet.

    Raises:
        DataError: a text has too many tokens to be taken apart.
    """
    request = results.states_pair_request(corpus_name, a, b)
    found = results.tokens(request)
    return request if found is None else TokenPair(OWN_STATES, request, found, switches)


def by_layer(pairs: Sequence[TokenPair]) -> tuple[list[Panel], str]:
    """d_mu, d_sigma and SOCM of one pair at every layer, a line a model; and the words under the axis."""
    relative = len({pair.found.meta["n_layers"] for pair in pairs}) > 1
    numbers = [[pair.numbers(layer) for layer in pair.layers[:-1]] for pair in pairs]
    panels = []
    for title, name in (("Mean distance dμ", "d_mu"), ("Covariance distance dΣ", "d_sigma"), ("SOCM", "socm")):
        lines = []
        for k, (pair, found) in enumerate(zip(pairs, numbers, strict=True)):
            layers = pair.layers[:-1]
            means = tuple(Interval(float(getattr(one, name)), None, None, 0, "") for one in found)
            depth = np.array(layers, dtype=float) / (pair.found.meta["n_layers"] if relative else 1)
            role = BACKBONE if results.is_backbone(pair.model) else TUNED
            lines.append(Line(pair.model, role, k, layers, depth, means))
        panels.append(Panel(title, tuple(lines)))
    return panels, "Relative depth (layer / L)" if relative else "Layer"


def share_below(data: MapData | None, name: str, value: float, called: str) -> str:
    """How many of the corpus's pairs have a smaller value, in words; empty without a map. ``called``: the corpus, escaped."""
    if data is None or np.isnan(value):
        return ""
    return f"above {share_words(float((data.pairs.quantity(name) < value).mean()))} of {called}'s pairs"
