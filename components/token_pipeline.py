"""From two texts and a model to their stored token states at every layer, with the transport plan between them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.errors import DataError, shown
from components.models import ModelRef
from components.pipeline import run_task, scan_device, timed_encoder
from components.store import ResultKey, ResultStore, StoredResult
from components.types import FINAL, CancelEvent, PairList, Progress, no_progress

SCHEMA = 1
MOST_CHARS = 20_000
"""Of one text; models cut long before."""
PLAN_CELLS = 40_000
"""Up to so many cells (200 by 200 tokens) there is a transport plan for every layer; above, for the final one only."""


@dataclass(frozen=True)
class TokenOptions:
    """How the two texts are encoded; every field is part of the result's key."""

    prompt: str = ""


def tokens_key(pair: PairList, ref: ModelRef, options: TokenOptions) -> ResultKey:
    """The key under which two texts' tokens are stored."""
    return ResultKey("pair_tokens", pair.digest, ref.model_id, ref.revision, {"prompt": options.prompt}, SCHEMA)


def one_pair(text_a: str, text_b: str) -> PairList:
    """Two texts as a list of one pair.

    Raises:
        DataError: an empty or overlong text.
    """
    return PairList("two texts", (checked("A", text_a),), (checked("B", text_b),))


def checked(name: str, text: str) -> str:
    """The text, if it can be one.

    Raises:
        DataError: it is empty or too long; ``name`` says which one.
    """
    if not text.strip():
        raise DataError(f"text {name}", "must not be empty", shown(text), "type a word")
    if len(text) > MOST_CHARS:
        raise DataError(f"text {name}", f"must be at most {MOST_CHARS:,} characters", f"{len(text):,}", "shorten it")
    return text


def compute_tokens(pair: PairList, ref: ModelRef, options: TokenOptions, *, store: ResultStore, device: str = "auto",
                   allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                   cancelled: CancelEvent | None = None) -> StoredResult:
    """Token states of one pair of texts, from the store or computed and stored.

    Arrays: layer_0 .. layer_L and layer_final, (n + m, dim) float32, first text first; special (n + m,) bool; plan_<layer> (n, m)
    float32, the optimal transport plan of the unit-mean tokens. meta: n_a, n_b, tokens.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
    """
    key = tokens_key(pair, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.transport import transport_plan

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    start = time.perf_counter()
    texts = (pair.texts_a[0], pair.texts_b[0])
    encoded = encoder.token_states(texts, encoder.layers, prompt=options.prompt, progress=progress, cancelled=cancelled)
    seconds["encode"] = time.perf_counter() - start
    start = time.perf_counter()
    offsets = encoded.states[FINAL].offsets
    n_a, n_b = (int(n) for n in np.diff(offsets))
    if not n_a or not n_b:
        raise DataError(f"text {'A' if not n_a else 'B'}", "must have a token", "none", "choose another text or model")
    arrays: dict[str, Any] = {f"layer_{layer}": states.states for layer, states in encoded.states.items()}
    for layer in encoder.layers:
        if layer == FINAL or n_a * n_b <= PLAN_CELLS:
            progress(0 if layer == FINAL else int(layer), encoder.n_layers + 1, "Transport plans")
            states = encoded.states[layer]
            arrays[f"plan_{layer}"] = transport_plan(states[0], states[1]).astype(np.float32)
    seconds["plans"] = time.perf_counter() - start
    arrays["special"] = np.concatenate(encoded.tokenised.special)
    tokens = [str(token) for ids in encoded.tokenised.ids for token in encoder.tokenizer.convert_ids_to_tokens(ids.tolist())]
    meta = {"n_a": n_a, "n_b": n_b, "tokens": tokens, "n_layers": encoder.n_layers, "dim": encoder.dim,
            "cut": [int(i) for i in encoded.tokenised.cut], "max_length": encoded.tokenised.max_length,
            "unknown": [int(n) for n in encoded.tokenised.unknown], "device": scan_device(encoder.device)}
    return store.put(key, arrays, meta, seconds)


def run_tokens(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task; ``args`` as for ``run_pair_map``, with the two texts as text_a and text_b."""
    pair = one_pair(args["text_a"], args["text_b"])
    return run_task(args, pair, TokenOptions(**args["options"]), tokens_key, compute_tokens, store=store, progress=progress,
                    cancelled=cancelled)
