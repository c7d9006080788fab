"""From texts and a model to stored per-layer concentration, and SOCM at every layer beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import DataError
from components.layer_curves import DRAWN_PAIRS, LAMBDA, PER_BLOCK, PER_LAYER, SCHEMA, LayerOptions
from components.models import ModelRef
from components.pair_map import PairOptions
from components.pipeline import estimate, means_of, run_task, scan_device, timed_encoder, token_notes
from components.store import ResultKey, ResultStore, StoredResult
from components.types import FINAL, CancelEvent, Corpus, Layer, Progress, named, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder
    from components.moments import TextMoments

STATES_BYTES = 500_000_000
"""Token states of so many layers are held at once as fit into this."""


def layers_key(corpus: Corpus, ref: ModelRef, options: LayerOptions) -> ResultKey:
    """The key under which the layers of these texts, model and options are stored."""
    return ResultKey("layers", corpus.digest, ref.model_id, ref.revision, {"prompt": options.prompt, "seed": options.seed}, SCHEMA)


def compute_layers(corpus: Corpus, ref: ModelRef, options: LayerOptions, *, store: ResultStore, device: str = "auto",
                   allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                   cancelled: CancelEvent | None = None) -> StoredResult:
    """Concentration of every text at every layer, from the store or computed and stored; see ``LayerCurves``.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
        Cancelled: the event was set; nothing was stored.
    """
    if len(corpus.texts) < 2:
        raise DataError("texts", "must be two or more, since SOCM compares them", str(len(corpus.texts)), "add a text")
    key = layers_key(corpus, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.concentration import layer_statistics

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    start = time.perf_counter()
    got = layer_statistics(encoder, corpus.texts, prompt=options.prompt, progress=progress, cancelled=cancelled)
    seconds["layers"] = time.perf_counter() - start
    start = time.perf_counter()
    pairs, n_pairs, dims = _pairs_by_layer(encoder, corpus.texts, options, progress, cancelled)
    seconds["pairs"] = time.perf_counter() - start
    columns = {LAMBDA: got.lambda_, "r": got.r, "C": got.c, "attention_gain": got.attention_gain,
               "residual_gain": got.residual_gain, "scale": got.scale, "normalized_spread": got.normalized_spread,
               "mean_cosine": got.mean_cosine, "mean_cosine_no_self": got.mean_cosine_no_self}
    assert set(columns) == {LAMBDA, *PER_BLOCK, *PER_LAYER}
    arrays = {name: np.asarray(array, np.float64) for name, array in columns.items()} | {"n_tokens": got.n_tokens}
    meta = {"n_texts": len(corpus.texts), "n_layers": encoder.n_layers, "n_heads": got.lambda_.shape[2], "dim": encoder.dim,
            "available": got.available, "reason": got.reason, "pre_norm": got.pre_norm, "pairs": pairs, "n_pairs": n_pairs,
            "effective_dims": dims,
            "corpus": corpus.name, "device": encoder.device, "notes": list(corpus.notes),
            **token_notes(encoder.tokenise(corpus.texts, options.prompt), got.notes)}
    progress(0, 0, "Storing the result")
    return store.put(key, arrays, meta, seconds)


def _pairs_by_layer(encoder: Encoder, texts: Sequence[str], options: LayerOptions, progress: Progress,
                    cancelled: CancelEvent | None) -> tuple[dict[str, Any], int, list[float | None]]:
    """Layer -> means over pairs; the number of pairs; both effective dims of what mean pooling makes of the final layer."""
    from components.moments import text_moments
    from components.probe import pooled
    from components.spread import effective_dims

    tokens = sum(len(ids) for ids in encoder.tokenise(texts, options.prompt).ids)
    at_once = max(1, STATES_BYTES // max(1, tokens * encoder.dim * 4))
    out, n_pairs, dims = {}, 0, (float("nan"), float("nan"))
    waiting = list(encoder.layers)
    while waiting:
        group, waiting = waiting[:at_once], waiting[at_once:]
        encoded = encoder.token_states(texts, group, prompt=options.prompt, cancelled=cancelled,
                                       progress=named(progress, "Encoding texts for SOCM"))
        for layer in group:
            progress(_place(encoder, layer), len(encoder.layers), "SOCM by layer")
            states = encoded.states.pop(layer)  # type: ignore[attr-defined]
            if layer == FINAL:
                dims = effective_dims(pooled(states, "mean"))
            moments = text_moments(states, device=scan_device(encoder.device), names=texts)
            means, n_pairs = _means(moments, options, cancelled)
            out[str(layer)] = {"means": means}
    return out, n_pairs, [value if np.isfinite(value) else None for value in dims]


def _place(encoder: Encoder, layer: Layer) -> int:
    return encoder.n_layers + 1 if layer == FINAL else int(layer)


def _means(moments: TextMoments, options: LayerOptions, cancelled: CancelEvent | None) -> tuple[dict[str, Any], int]:
    from components.pair_parts import n_pairs_of
    from components.pair_scan import scan_pairs
    from components.sinks import MomentSink

    n = len(moments)
    if n_pairs_of(n) > DRAWN_PAIRS:
        # Whole cycles, ten at the least.
        _, meta = estimate(moments, PairOptions(seed=options.seed), n * max(10, DRAWN_PAIRS // n))
        return meta["means"], meta["n_pairs"]
    sums = MomentSink(n)
    scan_pairs(moments, [sums], cancelled=cancelled)
    return means_of(sums), n_pairs_of(n)


def run_layers(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: computes the layers that a page asked for and returns their key's digest; see ``run_pair_map``."""
    from components.inline_texts import corpus_of

    return run_task(args, corpus_of(args), LayerOptions(**args["options"]), layers_key, compute_layers, store=store,
                    progress=progress, cancelled=cancelled)
