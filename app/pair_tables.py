"""Tables of a pair's tokens, layers and poolings, as the Pair page shows and exports them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from app import pair_data
from app.pair_data import TINTS, TokenPair
from components.token_pair import Projection
from components.types import FloatArray, Layer


def token_table(pair: TokenPair, layer: Layer, shown: Projection | None) -> pd.DataFrame:
    """A row a token: where it stands, whether it takes part, its share and effects, its place on the plane shown (null elsewhere)."""
    rows: list[pd.DataFrame] = []
    points: tuple[FloatArray, FloatArray] | tuple[None, None] = (shown.x, shown.y) if shown else (None, None)
    for side, (words, at) in enumerate(zip(pair.tokens, pair.kept, strict=True)):
        table = pd.DataFrame({"text": "AB"[side], "place": np.arange(len(words)), "token": words})
        table["takes part"] = table["place"].isin(at)
        for title, tint in TINTS.items():
            effects = pair.effects(layer, tint)
            table[title] = np.nan
            if effects is not None:
                table.loc[at, title] = effects[side]
        if (here := points[side]) is not None:
            table[["plane x", "plane y"]] = np.nan
            table.loc[at, ["plane x", "plane y"]] = here
        rows.append(table)
    return pd.concat(rows, ignore_index=True)


def text_table(pair: TokenPair) -> pd.DataFrame:
    """Both texts with their token counts."""
    return pd.DataFrame({"text": list("AB"), "words": list(pair.texts), "tokens": [len(words) for words in pair.tokens],
                         "tokens that take part": [len(at) for at in pair.kept]})


def layer_table(models: Sequence[TokenPair]) -> pd.DataFrame:
    """A row a model and layer: d_mu, d_sigma, size, shape, align, socm."""
    return pd.DataFrame([{"model": pair.model, "revision": pair.revision, "layer": layer, "d_mu": one.d_mu, "d_sigma": one.d_sigma,
                          "size": one.size, "shape": one.shape, "align": one.align, "socm": one.socm}
                         for pair in models for layer, one in zip(pair.layers, pair_data.numbers_by_layer(pair), strict=False)])


def pooled_table(before: TokenPair, after: TokenPair, layer: Layer) -> pd.DataFrame:
    """Cosine of the two texts under each pooling, before and after a change."""
    one, other = before.pooled(layer), after.pooled(layer)
    return pd.DataFrame({"Cosine under": list(one), "Before": list(one.values()), "After": list(other.values())})
