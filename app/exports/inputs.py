"""What ``poolscope export`` is given, as the pages' data: results from the store, the gallery, or computed now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from app import map_data as maps
from app import resources
from app.map_data import EVERYTHING, Labelled, MapData
from app.results import Request
from app.settings import settings
from app.views.map_controls import MEANS, PLANES, QUANTITIES, RELATIONS, Plane
from components.corpora import load_corpus, load_pairs
from components.errors import DataError, shown
from components.models import ModelRef, resolve_model
from components.pair_map import PairMap, PairOptions
from components.pair_selection import Box, Filter, pairs_of
from components.pipeline import compute_pair_list, compute_pair_map, pair_list_key, pair_map_key
from components.store import ResultKey, StoredResult
from components.types import Corpus, Layer, Progress


@dataclass(frozen=True)
class Given:
    """A model and its texts as a command names them."""

    model: str
    texts: str
    column: str | None
    revision: str | None
    device: str

    @cached_property
    def ref(self) -> ModelRef:
        return resolve_model(self.model, revision=self.revision, download=True)

    @cached_property
    def corpus(self) -> Corpus:
        return load_corpus(self.texts, self.column, settings().limits)


def stored_or(key: ResultKey, compute: Callable[[], StoredResult]) -> StoredResult:
    """The result from the store or the gallery, else computed (and then stored)."""
    return resources.store().get(key) or resources.gallery().get(key) or compute()


def request_of(key: ResultKey) -> Request:
    """A result's name for the pages' data; there is nothing to start."""
    return Request(key, "", {}, "", 0.0)


def map_data(given: Given, layer: Layer, special: bool, chosen: Filter, progress: Progress) -> MapData:
    """The map of a model and its texts with a filter over it.

    Raises:
        DataError, ModelError: with a sentence; also where the filter leaves no pair.
    """
    options = PairOptions(layer=layer, special_tokens=special)
    key = pair_map_key(given.corpus, given.ref, options)
    found = stored_or(key, lambda: compute_pair_map(
        given.corpus, given.ref, options, store=resources.store(), device=given.device,
        allow_remote_code=settings().allow_remote_code, progress=progress))
    if chosen.label is not None and chosen.label not in given.corpus.labels:
        raise DataError("--label", "must be one of the texts' labels", shown(chosen.label), "leave it out or choose another")
    result = PairMap.from_stored(found.arrays, {**found.meta, "versions": dict(found.versions)})
    data = maps.apply(MapData(request_of(key), given.corpus, result, pairs_of(result)), chosen)
    if not len(data.pairs):
        raise DataError("the filter", "must leave a pair", "none", "widen --tokens, --label or --relation")
    return data


def labelled_pairs(given: Given, layer: Layer, special: bool, progress: Progress) -> Labelled:
    """The bundled labelled pairs under a model."""
    listed, options = load_pairs("pairs"), PairOptions(layer=layer, special_tokens=special)
    found = stored_or(pair_list_key(listed, given.ref, options), lambda: compute_pair_list(
        listed, given.ref, options, store=resources.store(), device=given.device,
        allow_remote_code=settings().allow_remote_code, progress=progress))
    return Labelled(found.arrays["d_mu"], found.arrays["d_sigma"], listed.labels, listed.texts_a, listed.texts_b)


def plane(kind: str, quantity: str, labelled: bool) -> Plane:
    """The plane of the map, from the words that the page's menu has."""
    return Plane(one_of("--plane", kind, PLANES), one_of("--quantity", quantity, tuple(QUANTITIES)) if kind == MEANS else quantity, labelled)


def pair_filter(tokens: str | None, label: str | None, relation: str | None) -> Filter:
    """The map's filter from a command's options.

    Raises:
        DataError: token counts that are not two whole numbers, or a relation that is not in the page's menu.
    """
    counts = None
    if tokens is not None:
        parts = tokens.split(",")
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts) or int(parts[0]) > int(parts[1]):
            raise DataError("--tokens", "must be two whole numbers, the smaller first", shown(tokens), "write --tokens 6,20")
        counts = int(parts[0]), int(parts[1])
    return Filter(counts, label, RELATIONS[one_of("--relation", relation, tuple(RELATIONS))] if relation else "all")


def box(text: str | None) -> Box | None:
    """The box of the map from a command's option.

    Raises:
        DataError: not four numbers.
    """
    found = Box.parse(text) if text else None
    if text and found is None:
        raise DataError("--box", "must be four numbers", shown(text), "write --box 0.1,0.3,0.5,0.9")
    return found


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    """A word of a page's menu.

    Raises:
        DataError: any other word.
    """
    if value not in allowed:
        raise DataError(option, f"must be one of {', '.join(allowed)}", shown(value), "choose one of these")
    return value


__all__ = ["EVERYTHING", "Given", "box", "labelled_pairs", "map_data", "one_of", "pair_filter", "plane", "request_of", "stored_or"]
