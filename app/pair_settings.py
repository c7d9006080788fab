"""Up to four settings, a model with a layer each, side by side for one pair of texts; links carry their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from app import pair_data, resources, results
from app.pair_data import Switches, TokenPair
from app.results import Request
from components.errors import PoolscopeError
from components.models import layer_count
from components.types import FINAL, Layer

MOST_PINNED = 3
"""Beside the page's own."""


@dataclass(frozen=True)
class Setting:
    """A model and one of its layers."""

    model: str
    layer: Layer

    def __str__(self) -> str:
        """The id in a link, "nano-cls@2"."""
        return f"{self.model}@{self.layer}"

    @property
    def words(self) -> str:
        return f"{self.model}, {'final layer' if self.layer == FINAL else f'layer {self.layer}'}"


@dataclass(frozen=True)
class Shown:
    """A setting with its tokens, or with the request to start for them."""

    setting: Setting
    pair: TokenPair | Request


def every_setting() -> dict[str, Setting]:
    """Id -> setting, of each model in the menu and each of its layers; a model that cannot be read has none."""
    return {str(one): one for name in resources.model_names() for one in _settings(name, _layers(name))}


@lru_cache(maxsize=64)
def _settings(name: str, n_layers: int | None) -> tuple[Setting, ...]:
    return () if n_layers is None else tuple(Setting(name, layer) for layer in (*range(n_layers + 1), FINAL))


def _layers(name: str) -> int | None:
    try:
        return layer_count(results.model(name))
    except PoolscopeError:
        return None


def load(own: TokenPair, layer: Layer, pinned: Sequence[Setting]) -> list[Shown]:
    """The page's own setting first, then those pinned, each once; single tokens are left out under the page's own model only.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    bare = Switches(own.switches.special, own.switches.punctuation)
    found = [Shown(Setting(own.model, layer), own)]
    for setting in pinned:
        if setting not in [one.setting for one in found]:
            found.append(Shown(setting, own if setting.model == own.model else pair_data.load(
                *own.texts, setting.model, bare, own=bool(own.request.owner))))
    return found


def table(shown: Sequence[Shown]) -> pd.DataFrame:
    """A row a setting: its numbers, the cosine of the means, and how far apart halves of one text lie beside halves of two."""
    rows = []
    for one in shown:
        if not isinstance(one.pair, TokenPair):
            continue
        numbers, halves = one.pair.numbers(one.setting.layer), one.pair.halves(one.setting.layer)
        rows.append({"Model": one.setting.model, "Layer": str(one.setting.layer), "SOCM": numbers.socm, "d_mu": numbers.d_mu,
                     "d_sigma": numbers.d_sigma, "halves ratio": halves.ratio if halves else None, "align": numbers.align,
                     "size": numbers.size, "shape": numbers.shape, "cosine": 1 - 2 * numbers.d_mu, "Tokens A": len(one.pair.kept[0]),
                     "Tokens B": len(one.pair.kept[1]), "Revision": one.pair.revision})
    return pd.DataFrame(rows)


def without_common_layer(shown: Sequence[Shown]) -> str:
    """A note where models differ in depth, so that one layer number does not mean one thing; empty otherwise."""
    depths = {one.setting.model: _layers(one.setting.model) for one in shown}
    if len(set(depths.values())) < 2:
        return ""
    return ("These models differ in depth (" + ", ".join(f"{name}: {n} layers" for name, n in depths.items()) +
            "): a layer of one is no layer of another, so curves stand over relative depth, and each setting names its own layer.")
