"""Per-layer concentration of a corpus as a finished result: what the store holds, and what pages and the command line read.

Needs neither torch nor a model. Layer 0 is the embedding output; a block l = 1..L leads from layer l - 1 to layer l, and
"final" is what pooling sees. Means are over texts, with a Student interval across texts; a text for which a quantity is
0/0 (one token, or none that differ) is left out of that quantity's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from components.errors import DataError
from components.statistics import mean_interval
from components.types import FINAL, FloatArray, IntArray, Interval, Layer

SCHEMA = 1
"""Raise it whenever the maths behind a stored result changes."""
LAMBDA = "lambda"
PER_BLOCK = ("r", "C", "attention_gain", "residual_gain", "scale")
PER_LAYER = ("normalized_spread", "mean_cosine", "mean_cosine_no_self")
QUANTITIES = (LAMBDA, *PER_BLOCK, *PER_LAYER)
FACTORS = ("mixing", "mean_growth", "transform")
"""What a block multiplies normalised spread by, in its order; see ``LayerCurves.factors``."""
DRAWN_PAIRS = 20_000
"""Up to this many pairs SOCM by layer rests on all of them; above, on balanced cycles of about so many."""


@dataclass(frozen=True)
class LayerOptions:
    """How layers are measured; every field is part of the result's key.

    Attributes:
        prompt: text put in front of every text.
        seed: of the balanced cycles.
    """

    prompt: str = ""
    seed: int = 0


@dataclass(frozen=True)
class LayerCurves:
    """Concentration of each text of a corpus at each layer under one model.

    Attributes:
        n_texts, n_layers, n_heads: of the corpus and of the model.
        n_tokens: (n_texts,) real tokens, special ones included.
        lambda_: (n_texts, L, n_heads).
        values: quantity -> (n_texts, L) for ``PER_BLOCK``, (n_texts, L + 2) for ``PER_LAYER`` (layers 0..L, then final).
        available, reason: whether lambda, r and C could be had for this model, and why not.
        pre_norm: attention reads the normalised residual stream, and lambda refers to that.
        meta: the stored description.
    """

    n_texts: int
    n_layers: int
    n_heads: int
    n_tokens: IntArray
    lambda_: FloatArray
    values: Mapping[str, FloatArray]
    available: bool
    reason: str
    pre_norm: bool
    meta: Mapping[str, Any]

    @classmethod
    def from_stored(cls, arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> LayerCurves:
        return cls(meta["n_texts"], meta["n_layers"], meta["n_heads"], arrays["n_tokens"], np.asarray(arrays[LAMBDA], np.float64),
                   {name: np.asarray(arrays[name], np.float64) for name in (*PER_BLOCK, *PER_LAYER)}, meta["available"],
                   meta["reason"], meta["pre_norm"], meta)

    def layers(self, quantity: str) -> tuple[Layer, ...]:
        """The layers at which a quantity is known; for what a block does, that block's number."""
        blocks = tuple(range(1, self.n_layers + 1))
        if quantity in PER_LAYER:
            return (0, *blocks, FINAL)
        return blocks if self.available else ()

    def per_text(self, quantity: str, layer: Layer) -> FloatArray:
        """(n_texts,) values at a layer; lambda as the mean over heads.

        Raises:
            DataError: a quantity or layer that there is not.
        """
        layers = self.layers(quantity) if quantity in QUANTITIES else ()
        if layer not in layers:
            raise DataError("layer", f"must be one where {quantity} is known", str(layer),
                            f"choose one of {', '.join(map(str, layers))}" if layers else "choose another quantity")
        at = layers.index(layer)
        if quantity == LAMBDA:
            return np.asarray(self.lambda_[:, at].mean(axis=1))
        return np.asarray(self.values[quantity][:, at])

    def mean(self, quantity: str, layer: Layer) -> Interval:
        """Mean over the texts for which the quantity is defined."""
        values = self.per_text(quantity, layer)
        return mean_interval(values[np.isfinite(values)], "texts")

    def curve(self, quantity: str) -> tuple[tuple[Layer, ...], tuple[Interval, ...]]:
        """Each layer with its mean."""
        layers = self.layers(quantity)
        return layers, tuple(self.mean(quantity, layer) for layer in layers)

    @property
    def final_differs(self) -> bool:
        """Whether the model normalises once more after its last block."""
        spread = self.values["normalized_spread"]
        return not np.allclose(spread[:, -1], spread[:, -2], rtol=1e-6, atol=1e-9, equal_nan=True)

    @cached_property
    def factors(self) -> Mapping[str, tuple[Interval, ...]]:
        """Mean natural logarithms, block by block, of the three factors of which a block's change of normalised spread is made.

        With H the block's input, Y = H + Z and X its output, for every text exactly
        S(X)/|mu X|^2 : S(H)/|mu H|^2 = [S(Y)/S(H)] [|mu H|^2/|mu Y|^2] C: how attention's output mixes the tokens, how far
        it lengthens the mean they share (r over the spread before), and what norms and feed-forward do to each token.
        """
        before = self.values["normalized_spread"][:, :self.n_layers]
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = {"mixing": np.log(self.values["residual_gain"]), "mean_growth": np.log(self.values["r"] / before),
                     "transform": np.log(self.values["C"])}
        return {name: tuple(mean_interval(column[np.isfinite(column)], "texts") for column in part.T)
                for name, part in parts.items()} if self.available else {}

    def change(self, block: int) -> Interval:
        """Mean natural logarithm of normalised spread after a block over that before it."""
        spread = self.values["normalized_spread"]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(spread[:, block] / spread[:, block - 1])
        return mean_interval(ratio[np.isfinite(ratio)], "texts")

    def heads(self) -> FloatArray:
        """(L, n_heads) lambda, means over texts."""
        return np.asarray(self.lambda_.mean(axis=0))

    def pairs(self, layer: Layer) -> Mapping[str, Interval]:
        """SOCM, d_sigma and their ceilings (Theorem 2 in its exact form for a corpus) over pairs at a layer."""
        return {name: Interval(**value) for name, value in self.meta["pairs"][str(layer)]["means"].items()}

    @property
    def pairs_in_words(self) -> str:
        """How many pairs SOCM by layer rests on."""
        counted, total = self.meta["n_pairs"], self.n_texts * (self.n_texts - 1) // 2
        return f"all {total:,} pairs" if counted == total else f"{counted:,} of {total:,} pairs, an estimate"

    def nearest(self, layer: Layer, other: LayerCurves) -> Layer:
        """This model's layer at the relative depth of another model's layer."""
        if layer == FINAL or other.n_layers == self.n_layers:
            return layer
        return int(np.floor(int(layer) / other.n_layers * self.n_layers + 0.5))

    def long(self) -> dict[str, Any]:
        """One row for each text, layer, head (lambda's only) and quantity, as columns of equal length.

        Columns: text (row number from 0), layer ("0".."L" or "final"), head (0 where it has none; heads count from 1),
        quantity, value (NaN where 0/0). Quantities that the model does not allow are left out.
        """
        parts: list[tuple[Any, ...]] = []
        texts = np.arange(self.n_texts)
        if self.available:
            for block in range(self.n_layers):
                for head in range(self.n_heads):
                    parts.append((texts, str(block + 1), head + 1, LAMBDA, self.lambda_[:, block, head]))
        for quantity in (*PER_BLOCK, *PER_LAYER):
            if quantity != "scale":  # follows from the others
                for layer in self.layers(quantity):
                    parts.append((texts, str(layer), 0, quantity, self.per_text(quantity, layer)))
        repeated = {name: np.repeat([part[k] for part in parts], self.n_texts)
                    for k, name in ((1, "layer"), (2, "head"), (3, "quantity"))}
        return {"text": np.tile(texts, len(parts)), **repeated, "value": np.concatenate([part[4] for part in parts])}
