"""What takes a library of the worker's for some tokens of a pair: their plane by UMAP, and the transport plan between them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.errors import DataError
from components.models import ModelRef
from components.pipeline import run_task
from components.store import ResultKey, ResultStore, StoredResult
from components.token_pipeline import TokenOptions, compute_tokens, one_pair, tokens_key
from components.types import CancelEvent, Layer, PairList, Progress, no_progress

SCHEMA = 1
UMAP, PLAN = "umap", "plan"


@dataclass(frozen=True)
class SubsetOptions:
    """What is made of which tokens; every field that can change it is part of the result's key.

    Attributes:
        what: "umap" or "plan".
        layer: 0..L or "final".
        kept_a, kept_b: numbers of the tokens that take part, rising.
        seed: of UMAP.
    """

    what: str
    layer: Layer
    kept_a: tuple[int, ...]
    kept_b: tuple[int, ...]
    prompt: str = ""
    seed: int = 0


def subset_key(pair: PairList, ref: ModelRef, options: SubsetOptions) -> ResultKey:
    """The key under which it is stored; it holds the key of the tokens it is made of."""
    return made_of_key(tokens_key(pair, ref, TokenOptions(options.prompt)), options)


def made_of_key(tokens: ResultKey, options: SubsetOptions) -> ResultKey:
    """The same of two texts' tokens, whether a model or their owner gave them."""
    seed = {"seed": options.seed} if options.what == UMAP else {}
    return ResultKey(f"pair_{options.what}", tokens.corpus_digest, tokens.model_id, tokens.model_revision, {
        "tokens": tokens.digest, "layer": options.layer, "kept_a": list(options.kept_a), "kept_b": list(options.kept_b), **seed},
        SCHEMA)


def compute_subset(pair: PairList, ref: ModelRef, options: SubsetOptions, *, store: ResultStore, device: str = "auto",
                   allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                   cancelled: CancelEvent | None = None) -> StoredResult:
    """A plane or a plan of some tokens of a pair, from the store or computed and stored.

    Arrays: x (n, 2), y (m, 2) float64 for "umap", with meta trustworthiness and n_neighbors; plan (n, m) float32 for "plan".

    Raises:
        DataError, ModelError, StoreError: with a sentence.
    """
    key = subset_key(pair, ref, options)
    found = store.get(key)
    if found is not None:
        return found
    tokens = compute_tokens(pair, ref, TokenOptions(options.prompt), store=store, device=device, allow_remote_code=allow_remote_code,
                            progress=progress, cancelled=cancelled)
    return make_subset(key, tokens, options, store=store, progress=progress)


def make_subset(key: ResultKey, tokens: StoredResult, options: SubsetOptions, *, store: ResultStore,
                progress: Progress = no_progress) -> StoredResult:
    """The same of two texts' stored tokens; stores it.

    Raises:
        DataError, StoreError: with a sentence.
    """
    n, states = int(tokens.meta["n_a"]), tokens.arrays.get(f"layer_{options.layer}")
    if states is None:
        raise DataError("layer", f"must be one of {key.model_id}'s", str(options.layer), "choose another layer")
    sides = []
    for name, side, kept in (("A", states[:n], options.kept_a), ("B", states[n:], options.kept_b)):
        if not kept or min(kept) < 0 or max(kept) >= len(side):
            raise DataError(f"tokens of text {name}", f"must be numbers from 0 to {len(side) - 1}, one at least", str(list(kept)[:5]),
                            "leave more tokens in")
        sides.append(np.asarray(side[list(kept)], dtype=np.float64))
    start = time.perf_counter()
    if options.what == UMAP:
        from components.projection import neighbours_of, umap_plane

        progress(0, 0, "Arranging tokens by UMAP")
        x, y, kept_together = umap_plane(*sides, seed=options.seed)
        return store.put(key, {"x": x, "y": y}, {"trustworthiness": kept_together, "n_neighbors": neighbours_of(len(x) + len(y))},
                         {"umap": time.perf_counter() - start})
    from components.transport import transport_plan

    progress(0, 0, "Transport plan")
    plan = transport_plan(*sides).astype(np.float32)
    return store.put(key, {"plan": plan}, {}, {"plan": time.perf_counter() - start})


def run_subset(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task; ``args`` as for ``run_tokens``, options as JSON."""
    return run_task(args, one_pair(args["text_a"], args["text_b"]), options_of(args), subset_key, compute_subset, store=store,
                    progress=progress, cancelled=cancelled)


def options_of(args: Mapping[str, Any]) -> SubsetOptions:
    """The options of a task's arguments, which came as JSON."""
    return SubsetOptions(**{**args["options"], "kept_a": tuple(args["options"]["kept_a"]), "kept_b": tuple(args["options"]["kept_b"])})
