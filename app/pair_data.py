"""What the Pair page shows, put together from two texts' stored tokens and, where it is stored, their corpus's map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from app import resources, results
from app.results import Request
from app.uploads import OWN_STATES
from components.charts.layer_panels import BACKBONE, TUNED, Line, Panel
from components.charts.style import caption_number
from components.pair_findings import Strongest
from components.store import StoredResult
from components.subset_pipeline import PLAN, UMAP, SubsetOptions
from components.token_halves import Halves, halves_of
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
from components.token_pipeline import MOST_CHARS, checked, one_pair
from components.types import FINAL, FloatArray, Interval, Layer

Made = TypeVar("Made")
UMAP_PLANE = "UMAP"
LINEAR = {"Principal axes": joint_pca, "Means and covariances": means_and_covariances}
PLANES = (*LINEAR, UMAP_PLANE)
"""The first two are there at once; UMAP is a job."""
TINTS = {"Share of the spread": "spread", "Effect on SOCM": "socm", "Effect on mean distance": "d_mu",
         "Effect on covariance distance": "d_sigma"}
NOTHING = 1e-9
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
    texts: tuple[str, str]

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

    def plan(self, layer: Layer) -> FloatArray | Request:
        """(n, m) the transport plan between the tokens that take part; a request where it is not stored yet.

        With every token it comes with the states (of long texts for the final layer only).
        """
        whole = all(len(at) == len(words) for at, words in zip(self.kept, self.tokens, strict=True))
        if whole and f"plan_{layer}" in self.found.arrays:
            return self.found.arrays[f"plan_{layer}"]
        made = self._subset(PLAN, layer)
        return made if isinstance(made, Request) else made.arrays["plan"]

    def _subset(self, what: str, layer: Layer) -> StoredResult | Request:
        one, other = self.kept
        options = SubsetOptions(what, layer, tuple(one), tuple(other))
        request = results.subset_request(one_pair(*self.texts), self.model, options, self.request)
        return results.stored(request) or request

    def cosines(self, layer: Layer) -> FloatArray:
        return cos_sim(*self.states(layer))

    def projection(self, layer: Layer, name: str) -> Projection | Request:
        """A plane of the tokens that take part; a request where it has to be computed first (UMAP)."""
        if name in LINEAR:
            return self.once(self.signature("projection", layer, name), lambda: LINEAR[name](*self.states(layer)))
        made = self._subset(UMAP, layer)
        return made if isinstance(made, Request) else \
            Projection(UMAP_PLANE, None, made.arrays["x"], made.arrays["y"], None, ("UMAP, first axis", "UMAP, second axis"))

    def umap_words(self, layer: Layer) -> str:
        """How UMAP was made and how far it can be trusted, once it is stored."""
        made = self._subset(UMAP, layer)
        return "" if isinstance(made, Request) else \
            (f"UMAP of {sum(map(len, self.kept))} tokens, {made.meta['n_neighbors']} neighbours, seed {self.seed}; trustworthiness "
             f"{caption_number(made.meta['trustworthiness'])} (1: every neighbour on the plane is one among the states)")

    @property
    def seed(self) -> int:
        return SubsetOptions(UMAP, FINAL, (), ()).seed

    def halves(self, layer: Layer) -> Halves | None:
        """Halves of the two texts against halves of each; None where a text has fewer than four tokens."""
        return self.once(f"halves {self.signature(layer)}", lambda: halves_of(*self.states(layer)))

    def once(self, signature: str, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, made once: for all visitors, or for the session alone that the texts are of."""
        return resources.made_once(signature, make, own=bool(self.request.owner))

    def signature(self, *more: object) -> str:
        """Names what follows from these tokens, together with what else it depends on."""
        one, other = self.kept
        return repr((self.request.key.digest, tuple(one), tuple(other), *more))

    @property
    def revision(self) -> str:
        return self.request.key.short_revision

    def effects(self, layer: Layer, tint: str) -> tuple[FloatArray, FloatArray] | None:
        """A number of each token that takes part: its share of the spread, or what the pair's number loses without it.

        None where a text is too long to leave out each token in turn.
        """
        x, y = self.states(layer)
        if tint == "spread":
            return spread_shares(x), spread_shares(y)
        if max(len(x), len(y)) > MOST_LEFT_OUT:
            return None
        without = self.once(f"left out {self.signature(layer)}", lambda: leave_one_out(x, y))
        at, whole = NUMBERS.index(tint), getattr(pair_numbers(x, y), tint)
        return whole - without[0][:, at], whole - without[1][:, at]

    def strongest(self, layer: Layer) -> Strongest | None:
        """The token without which SOCM falls most."""
        effects = self.effects(layer, "socm")
        if effects is None or not np.isfinite(np.concatenate(effects)).any():
            return None
        side = int(np.argmax([float(np.nanmax(part)) if np.isfinite(part).any() else -np.inf for part in effects]))
        at = int(np.nanargmax(effects[side]))
        return Strongest(self.kept_tokens[side][at], "AB"[side], float(effects[side][at]))

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
    return request if found is None else TokenPair(model_name, request, found, switches, (text_a, text_b))


def rounded(value: float | None) -> float | None:
    """The number, or 0 where it is no more than what float32 states leave of it (their squares are good to about 1e-13)."""
    return 0.0 if value is not None and abs(value) < NOTHING else value


def numbers_by_layer(pair: TokenPair) -> list[PairNumbers]:
    """The pair's numbers at layers 0..L.

    Raises:
        DataError: a mean is 0 at one of them.
    """
    return pair.once(f"by layer {pair.signature()}", lambda: [pair.numbers(layer) for layer in pair.layers[:-1]])


def load_states(corpus_name: str, a: int, b: int, switches: Switches) -> TokenPair | Request:
    """Two texts of one's own token states, or the request to start when their plan is not there yet.

    Raises:
        DataError: a text has too many tokens to be taken apart.
    """
    request, texts = results.states_pair_request(corpus_name, a, b), resources.corpus(corpus_name).texts
    found = results.tokens(request)
    return request if found is None else TokenPair(OWN_STATES, request, found, switches, (texts[a], texts[b]))


def by_layer(pairs: Sequence[TokenPair]) -> tuple[list[Panel], str]:
    """d_mu, d_sigma and SOCM of one pair at every layer, a line a model; and the words under the axis."""
    relative = len({pair.found.meta["n_layers"] for pair in pairs}) > 1
    numbers = [numbers_by_layer(pair) for pair in pairs]
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


__all__ = ["LINEAR", "MOST_CHARS", "PLANES", "TINTS", "Switches", "TokenPair", "by_layer", "checked", "load", "load_states",
           "numbers_by_layer", "rounded"]
