"""From token states of one's own to stored results: the Map's pairs, and two texts' tokens; no model takes part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import DataError
from components.inline_texts import bytes_of
from components.pair_map import SCHEMA, PairOptions
from components.pipeline import factor_dtype, scan_device, scan_moments
from components.store import ResultKey, ResultStore, StoredResult
from components.token_files import MODEL, OwnStates, read_token_states
from components.token_pipeline import SCHEMA as TOKENS_SCHEMA
from components.types import FINAL, CancelEvent, Progress, no_progress

if TYPE_CHECKING:
    from components.moments import TextMoments
    from components.pair_scan import Sink

GIVEN = "given"
"""What results call the layer of states that came as they are."""
MOST_TOKENS = 2_000
"""Of a text on the Pair page, which takes its tokens apart while a reader waits."""
INLINE_BYTES = 10**9
"""Of states on their way to the worker; the server has capped them when they were uploaded."""


def states_map_key(own: OwnStates, options: PairOptions) -> ResultKey:
    """The key under which the pairs of these states are stored."""
    params = {name: value for name, value in options.params(len(own.states)).items() if name not in ("special_tokens", "prompt")}
    return ResultKey("pair_map", own.corpus.digest, MODEL, own.revision, params | {"layer": GIVEN}, SCHEMA)


def compute_states_map(own: OwnStates, options: PairOptions, *, store: ResultStore, device: str = "auto",
                       threads: int | None = None, extra_sinks: Callable[[TextMoments], Sequence[Sink]] | None = None,
                       progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> StoredResult:
    """All pairs of texts given by their token states, as ``pipeline.compute_pair_map`` gives them for a model.

    Args:
        options: float64, numerics, sample, all_pairs and seed count; layer, special tokens and prompt do not.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
        Cancelled: the event was set; nothing was stored.
    """
    key = states_map_key(own, options)
    found = None if extra_sinks else store.get(key)
    if found is not None:
        return found

    from components.moments import text_moments
    from components.references import references

    where = _device(device)
    start = time.perf_counter()
    moments = text_moments(own.states, dtype=factor_dtype(options), device=scan_device(where), names=own.corpus.texts)
    around = references(own.states, moments.norms, seed=options.seed, dtype=moments.factors.dtype)
    arrays, meta = scan_moments(moments, options, threads, extra_sinks(moments) if extra_sinks else (), progress, cancelled)
    seconds = {"pairs": time.perf_counter() - start}
    arrays |= {"n_tokens": moments.n_tokens, "spread": moments.spread, "norms": moments.norms}
    shown = options.params(len(own.states)) | {"layer": GIVEN, "special_tokens": True}
    meta |= {"references": around.as_dict(), "n_layers": 0, "dim": own.states.dim, "corpus": MODEL, "device": where, "options": shown,
             "notes": [], "cut": [], "n_cut": 0, "max_length": None, "unknown_share": 0.0, "model_notes": []}
    return store.put(key, arrays, meta, seconds)


def _device(device: str) -> str:
    if device == "auto":
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"
    from components.devices import choose_device

    return choose_device(device)


def states_pair_key(pair: OwnStates) -> ResultKey:
    """The key under which two texts' states are stored beside their transport plan."""
    return ResultKey("pair_tokens", pair.corpus.digest, MODEL, pair.revision, {"layer": GIVEN}, TOKENS_SCHEMA)


def pair_of(own: OwnStates, a: int, b: int) -> OwnStates:
    """Two of the texts, short enough to be taken apart.

    Raises:
        DataError: one has more than ``MOST_TOKENS`` tokens.
    """
    for row in (a, b):
        if (n := int(own.states.lengths[row])) > MOST_TOKENS:
            raise DataError(f"text {row}", f"must have at most {MOST_TOKENS:,} tokens to be taken apart", f"{n:,}",
                            "choose another; the map has its numbers")
    return own.rows((a, b))


def compute_states_pair(pair: OwnStates, *, store: ResultStore) -> StoredResult:
    """Two texts' states with the transport plan between them, as ``token_pipeline.compute_tokens`` gives them for a model."""
    key = states_pair_key(pair)
    found = store.get(key)
    if found is not None:
        return found

    from components.transport import transport_plan

    start = time.perf_counter()
    n_a, n_b = (int(n) for n in pair.states.lengths)
    plan = transport_plan(pair.states[0], pair.states[1]).astype(np.float32)
    arrays = {f"layer_{FINAL}": pair.states.states, "special": np.zeros(n_a + n_b, bool), f"plan_{FINAL}": plan}
    meta = {"n_a": n_a, "n_b": n_b, "tokens": [*pair.tokens_of(0), *pair.tokens_of(1)], "n_layers": 0, "dim": pair.states.dim,
            "cut": [], "max_length": None, "unknown": [0, 0], "device": "cpu"}
    return store.put(key, arrays, meta, {"plans": time.perf_counter() - start})


def run_states_map(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: the pairs of states that came with the request, as an .npz; "options" and "device" as for a model."""
    own = read_token_states("states.npz", bytes_of(args), max_bytes=INLINE_BYTES)
    found = compute_states_map(own, PairOptions(**args["options"]), store=store, device=args.get("device", "auto"), progress=progress,
                               cancelled=cancelled)
    return found.key.digest


def run_states_pair(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: two texts' states that came with the request, as an .npz."""
    progress(0, 0, "Transport plan")
    return compute_states_pair(read_token_states("states.npz", bytes_of(args), max_bytes=INLINE_BYTES), store=store).key.digest


def run_states_subset(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: a plane or a plan of some tokens of two texts' states, which came as an .npz; options as for a model's."""
    from components.subset_pipeline import made_of_key, make_subset, options_of

    pair, options = read_token_states("states.npz", bytes_of(args), max_bytes=INLINE_BYTES), options_of(args)
    key = made_of_key(states_pair_key(pair), options)
    found = store.get(key) or make_subset(key, compute_states_pair(pair, store=store), options, store=store, progress=progress)
    return found.key.digest
