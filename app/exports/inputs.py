"""What ``poolscope export`` is given, as the pages' own data: what is not stored is computed here, by the worker's tasks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from app import layer_data, map_data, pair_data, resources, results
from app.layer_data import Layers
from app.map_data import Labelled, MapData
from app.pair_data import Switches, TokenPair
from app.results import Request
from app.settings import settings
from app.views.map_controls import MEANS, PLANES, QUANTITIES, RELATIONS, Plane
from app.worker import find_task
from components.corpora import bundled_names
from components.errors import DataError, shown
from components.models import EMBEDDED, bundled_models, resolve_model
from components.pair_map import PairOptions
from components.pair_selection import Box, Filter
from components.types import Progress

Found = TypeVar("Found")


def offer(models: Sequence[str], texts: Sequence[str], device: str) -> tuple[list[str], list[str]]:
    """Puts models and texts on this process's lists, as ``poolscope serve`` does; gives their names there.

    Raises:
        DataError, ModelError: one of them cannot be used.
    """
    own = settings()
    folders = {name: str(Path(name).resolve()) if Path(name).is_dir() else name for name in models}
    for name in models:
        resolve_model(name, download=True)
    files = {}
    for name in texts:
        if name not in bundled_names("corpus") and not Path(name).is_file():
            raise DataError("--texts", f"must be a file or one of {', '.join(bundled_names('corpus'))}", shown(name), "check the path")
        files[name] = name if name in bundled_names("corpus") else str(Path(name).resolve())
    more_models = [m for m in dict.fromkeys(folders.values()) if m not in (EMBEDDED, *bundled_models(), *own.models)]
    more_texts = [f for f in dict.fromkeys(files.values()) if f not in (*bundled_names("corpus"), *own.texts)]
    os.environ |= {"POOLSCOPE_MODELS": ",".join([*own.models, *more_models]), "POOLSCOPE_TEXTS": ",".join([*own.texts, *more_texts])}
    if device:
        os.environ["POOLSCOPE_DEVICE"] = device
    settings.cache_clear()
    named = {source: name for name, source in resources.model_names().items()}
    read = {source: name for name, source in resources.corpus_files().items()}
    return [named[folders[name]] for name in models], [read[files[name]] for name in texts]


def ready(load: Callable[[], Found | Request], progress: Progress) -> Found:
    """What ``load`` gives once everything that it misses has been computed and stored."""
    while isinstance(found := load(), Request):
        compute(found, progress)
    return found


def compute(request: Request, progress: Progress) -> None:
    """One result, computed here and now by the worker's task."""
    find_task(request.task)(dict(request.args), store=resources.store(), progress=progress, cancelled=threading.Event())


def map_of(texts: str, model: str, options: PairOptions, chosen: Filter, progress: Progress) -> MapData:
    """The map of a corpus under a model with a filter over it.

    Raises:
        DataError, ModelError: with a sentence; also where the filter leaves no pair.
    """
    whole = ready(lambda: map_data.load(texts, model, options), progress)
    if chosen.label is not None and chosen.label not in whole.corpus.labels:
        raise DataError("--label", "must be one of the texts' labels", shown(chosen.label), "leave it out or choose another")
    data = map_data.apply(whole, chosen)
    if not len(data.pairs):
        raise DataError("the filter", "must leave a pair", "none", "widen --tokens, --label or --relation")
    return data


def labelled_pairs(settings: Sequence[tuple[str, PairOptions]], progress: Progress) -> list[Labelled | None]:
    """The bundled labelled pairs under each model and options."""
    found, missing = map_data.labelled_of(settings, resources.PAIRS)
    while missing is not None:
        compute(missing, progress)
        found, missing = map_data.labelled_of(settings, resources.PAIRS)
    return found


def layers_of(texts: str, models: Sequence[str], progress: Progress) -> Layers:
    """The layers of up to four models, the first one's layer being the view's."""
    data = layer_data.load(texts, models)
    for request in data.missing:
        compute(request, progress)
    return layer_data.load(texts, models) if data.missing else data


def tokens_of(text_a: str, text_b: str, model: str, switches: Switches, progress: Progress) -> TokenPair:
    """Two texts' tokens under a model."""
    return ready(lambda: pair_data.load(text_a, text_b, model, switches), progress)


def stored_map(texts: str, model: str, options: PairOptions) -> MapData | None:
    """The map where it is stored, for what is only said beside other numbers."""
    found = map_data.load(texts, model, options)
    return found if isinstance(found, MapData) else None


def plane(kind: str, quantity: str, labelled: bool) -> Plane:
    """The plane of the map, from the words that the page's menu has."""
    if kind == MEANS:
        one_of("--quantity", quantity, tuple(QUANTITIES))
    return Plane(one_of("--plane", kind, PLANES), quantity, resources.PAIRS if labelled else "")


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


def row(option: str, value: int, texts: str) -> str:
    """A text of a corpus by its row.

    Raises:
        DataError: the corpus has no such row.
    """
    there = resources.corpus(texts).texts
    if not 0 <= value < len(there):
        raise DataError(option, f"must be a row from 0 to {len(there) - 1:,}", str(value), "choose another row")
    return there[value]


def labelled_text(item: int) -> tuple[str, str, str]:
    """A labelled pair that comes along: both texts and its label.

    Raises:
        DataError: there is no such pair.
    """
    listed = results.listed("pairs")
    if not 0 <= item < len(listed.texts_a):
        raise DataError("--item", f"must be a pair from 0 to {len(listed.texts_a) - 1}", str(item), "choose another")
    return listed.texts_a[item], listed.texts_b[item], listed.labels[item]
