"""From texts and a model to a stored result: every ``compute_*`` looks in the store, computes on a miss, and puts.

Computations are imported inside the functions, after a miss, so that reading a stored result never loads torch. The
command line calls these functions in its own process, the pages through ``app.worker``; both name results by one key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import DataError
from components.models import ModelRef, resolve_model
from components.pair_map import ARRAY_LIMIT, PUBLISHED, SCHEMA, PairOptions
from components.store import ResultKey, ResultStore, StoredResult
from components.types import CancelEvent, Corpus, PairList, Progress, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder, Tokenised
    from components.moments import TextMoments
    from components.pair_scan import Sink
    from components.sinks import MomentSink

TOP_PAIRS = 200
STREAM_SAMPLE = 50_000
GRID = (256, 2048)
"""Cells of a streamed map's stored grid, d_mu by d_sigma; pages join them into fewer."""


def pair_map_key(corpus: Corpus, ref: ModelRef, options: PairOptions) -> ResultKey:
    """The key under which a pair map of these texts, model and options is stored."""
    return ResultKey("pair_map", corpus.digest, ref.model_id, ref.revision, options.params(len(corpus.texts)), SCHEMA)


def compute_pair_map(corpus: Corpus, ref: ModelRef, options: PairOptions, *, store: ResultStore, device: str = "auto",
                     allow_remote_code: Sequence[str] = (), threads: int | None = None,
                     extra_sinks: Callable[[TextMoments], Sequence[Sink]] | None = None,
                     progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> StoredResult:
    """All pairs of a corpus under a model (or an estimate), from the store or computed and stored.

    Args:
        corpus: two texts or more.
        ref: from ``resolve_model``.
        options: layer, tokens, precision, sampling; part of the key.
        store: where the result lies or will lie.
        device: "auto", "cpu", "cuda", "mps".
        extra_sinks: makes further sinks for the scan, given the moments (a table writer); forces a fresh scan.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
        Cancelled: the event was set; nothing was stored.
    """
    if len(corpus.texts) < 2:
        raise DataError("texts", "must be two or more, since pairs are compared", str(len(corpus.texts)),
                        "add a text")
    key = pair_map_key(corpus, ref, options)
    found = None if extra_sinks else store.get(key)
    if found is not None:
        return found

    from components.moments import text_moments
    from components.references import references

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    start = time.perf_counter()
    layer = encoder.check_layer(options.layer)
    encoded = encoder.token_states(corpus.texts, [layer], special_tokens=options.special_tokens, prompt=options.prompt,
                                   progress=progress, cancelled=cancelled)
    seconds["encode"] = time.perf_counter() - start
    start = time.perf_counter()
    states = encoded.states[layer]
    moments = text_moments(states, dtype=factor_dtype(options), device=scan_device(encoder.device),
                           names=corpus.texts)
    # Results must not depend on how they were computed: references use the same precision as the pairs.
    around = references(states, moments.norms, seed=options.seed, dtype=moments.factors.dtype)
    del states
    encoded.states.pop(layer)  # type: ignore[attr-defined]
    arrays, meta = scan_moments(moments, options, threads, extra_sinks(moments) if extra_sinks else (), progress, cancelled)
    seconds["pairs"] = time.perf_counter() - start
    arrays |= {"n_tokens": moments.n_tokens, "spread": moments.spread, "norms": moments.norms}
    meta |= {"references": around.as_dict(), "n_layers": encoder.n_layers, "dim": encoder.dim,
             "corpus": corpus.name, "device": encoder.device, "options": options.params(len(corpus.texts)),
             "notes": list(corpus.notes), **token_notes(encoded.tokenised, encoded.notes)}
    progress(0, 0, "Storing the result")
    return store.put(key, arrays, meta, seconds)


def scan_moments(moments: TextMoments, options: PairOptions, threads: int | None, extra: Sequence[Sink], progress: Progress,
                 cancelled: CancelEvent | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every pair, kept or streamed, or the pairs of balanced cycles."""
    from components.pair_parts import n_pairs_of
    from components.pair_scan import scan_pairs
    from components.sinks import ArraySink, HistogramSink, MomentSink, SampleSink, TopSink

    n = len(moments)
    total = n_pairs_of(n)
    cycles_pairs = options.cycles_pairs(n)
    if cycles_pairs is not None:
        return estimate(moments, options, cycles_pairs)
    sums, top = MomentSink(n), TopSink(min(TOP_PAIRS, total))
    kept: ArraySink | SampleSink = ArraySink(n) if total <= ARRAY_LIMIT else SampleSink(n, STREAM_SAMPLE, options.seed)
    sinks: list[Sink] = [sums, top, kept, *extra]
    grid = None
    if isinstance(kept, SampleSink):
        grid = HistogramSink(*_grid_edges(moments))
        sinks.append(grid)
    scan_pairs(moments, sinks, threads=threads, direct=options.float64, published=options.numerics == PUBLISHED,
               progress=progress, cancelled=cancelled)
    arrays: dict[str, Any] = {"d_mu": kept.d_mu, "d_sigma": kept.d_sigma,
                              "top_i": top.i.astype(np.int32), "top_j": top.j.astype(np.int32),
                              "top_d_mu": top.d_mu, "top_d_sigma": top.d_sigma,
                              **{f"row_sum_{name}": rows for name, rows in sums.row_sums.items()}}
    if isinstance(kept, SampleSink) and grid is not None:
        arrays |= {"i": kept.i.astype(np.int32), "j": kept.j.astype(np.int32), "counts": grid.counts.astype(np.uint32),
                   "mu_edges": grid.mu_edges, "sigma_edges": grid.sigma_edges}
    method = "all" if grid is None else "streamed"
    socm = np.sort((1 - kept.d_mu) * kept.d_sigma)
    return arrays, {"n_texts": n, "n_pairs": total, "method": method, "lowest": _finite(sums.lowest),
                    "highest": _finite(sums.highest), "undefined_align": total - sums.counts["align"],
                    "socm_quantiles": _quantiles(socm), "means": means_of(sums)}


def means_of(sums: MomentSink) -> dict[str, Any]:
    """Quantity -> its mean over all pairs with a jackknife interval over texts."""
    from components.statistics import jackknife_pair_mean

    return {name: jackknife_pair_mean(sums.row_sums[name], sums.align_counts if name == "align" else None,
                                      total=sums.sums[name]).as_dict()
            for name in sums.sums if sums.counts[name]}


def estimate(moments: TextMoments, options: PairOptions, n_pairs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and description of the pairs of balanced cycles, about ``n_pairs`` of them."""
    from components.pair_parts import n_pairs_of
    from components.socm import pairwise_statistics
    from components.statistics import balanced_pairs, cycle_mean, cycle_mean_over_texts

    n = len(moments)
    try:
        i, j, cycle = balanced_pairs(n, n_pairs, options.seed)
    except ValueError as error:
        raise DataError("--sample", "must leave at least ten cycles of pairs that do not repeat",
                        f"{n_pairs} pairs of {n} texts ({error})", "ask for fewer pairs, or for all") from error
    values = pairwise_statistics(moments, i, j, direct=options.float64, published=options.numerics == PUBLISHED)
    ceiling = (values.spread_a + values.spread_b) / 4
    columns = {"d_mu": values.d_mu, "d_sigma": values.d_sigma, "size": values.size, "shape": values.shape,
               "align": values.align, "socm": values.socm, "ceiling": ceiling,
               "socm_ceiling": (1 - values.d_mu) * ceiling}
    means, inside = {}, {}
    for name, column in columns.items():
        valid = ~np.isnan(column)
        if valid.any():
            chosen = column[valid], i[valid], j[valid], n, cycle[valid]
            means[name] = cycle_mean_over_texts(*chosen).as_dict()
            inside[name] = cycle_mean(column[valid], cycle[valid]).as_dict()
    best = np.lexsort((j, i, -values.socm))[:TOP_PAIRS]
    arrays = {"i": i.astype(np.int32), "j": j.astype(np.int32), "d_mu": values.d_mu, "d_sigma": values.d_sigma,
              "cycle": cycle.astype(np.int32), "top_i": i[best].astype(np.int32), "top_j": j[best].astype(np.int32),
              "top_d_mu": values.d_mu[best], "top_d_sigma": values.d_sigma[best]}
    return arrays, {"n_texts": n, "n_pairs": len(i), "all_pairs": n_pairs_of(n), "method": "cycles",
                    "lowest": _finite({k: np.nanmin(v) for k, v in columns.items() if not np.isnan(v).all()}),
                    "highest": _finite({k: np.nanmax(v) for k, v in columns.items() if not np.isnan(v).all()}),
                    "undefined_align": int(np.isnan(values.align).sum()), "n_cycles": int(cycle.max()) + 1,
                    "socm_quantiles": _quantiles(np.sort(values.socm)), "means": means, "means_of_this_corpus": inside}


def _quantiles(ordered: Any) -> dict[str, float]:
    return {name: float(np.quantile(ordered, q)) for name, q in (("median", 0.5), ("p95", 0.95))}


def _grid_edges(moments: TextMoments) -> tuple[Any, Any]:
    """Edges that hold every pair, known before the scan: d_mu from the means, d_sigma from its ceiling."""
    low, high = 1.0, 0.0
    for start in range(0, len(moments), 1024):
        d_mu = (1 - moments.means[start:start + 1024] @ moments.means.T) / 2
        # The diagonal is no pair: it must not stretch the axis down to 0.
        rows = np.arange(len(d_mu))
        d_mu[rows, start + rows] = np.nan
        low, high = min(low, float(np.nanmin(d_mu))), max(high, float(np.nanmax(d_mu)))
    pad = 1e-6 + 1e-3 * (high - low)
    largest = np.sort(moments.spread)[-2:].sum() / 4
    return (np.linspace(max(0.0, low - pad), min(1.0, high + pad), GRID[0] + 1),
            np.linspace(0.0, max(float(largest), 1e-6), GRID[1] + 1))


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if np.isfinite(value)}


def factor_dtype(options: PairOptions) -> Any:
    """Of the covariance factors: float32 unless everything is to be float64."""
    import torch

    return torch.float64 if options.float64 else torch.float32


def scan_device(device: str) -> str:
    """Where pairs are computed: MPS has no float64, in which the small problems must be solved."""
    return "cpu" if device == "mps" else device


def token_notes(tokenised: Tokenised, notes: Sequence[str]) -> dict[str, Any]:
    """What a result's description says of the texts' tokens: which were cut, how many are unknown."""
    cut = tokenised.cut
    return {"cut": [int(i) for i in cut[:1000]], "n_cut": len(cut), "max_length": tokenised.max_length,
            "unknown_share": tokenised.unknown_share, "model_notes": list(notes)}


@lru_cache(maxsize=2)
def _encoder(ref: ModelRef, device: str, allow_remote_code: tuple[str, ...]) -> Encoder:
    from components.encoders import load_encoder

    return load_encoder(ref, device=device, allow_remote_code=allow_remote_code)


def timed_encoder(ref: ModelRef, device: str, allow: tuple[str, ...],
                   progress: Progress) -> tuple[Encoder, dict[str, float]]:
    """The model, kept for the next call, and the seconds that loading took."""
    progress(0, 0, "Loading the model")
    start = time.perf_counter()
    encoder = _encoder(ref, device, allow)
    return encoder, {"load": time.perf_counter() - start}


PAIR_LIST_SCHEMA = 1


def compute_pair_list(pairs: PairList, ref: ModelRef, options: PairOptions, *, store: ResultStore,
                      device: str = "auto", allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                      cancelled: CancelEvent | None = None) -> StoredResult:
    """Statistics of given pairs, row by row: arrays d_mu, d_sigma, spread_a, spread_b, n_tokens_a, n_tokens_b.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
    """
    key = pair_list_key(pairs, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.moments import text_moments
    from components.socm import pairwise_statistics

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    layer = encoder.check_layer(options.layer)
    start = time.perf_counter()
    texts = tuple(dict.fromkeys((*pairs.texts_a, *pairs.texts_b)))
    number = {text: i for i, text in enumerate(texts)}
    encoded = encoder.token_states(texts, [layer], special_tokens=options.special_tokens, prompt=options.prompt,
                                   progress=progress, cancelled=cancelled)
    seconds["encode"] = time.perf_counter() - start
    start = time.perf_counter()
    moments = text_moments(encoded.states[layer], dtype=factor_dtype(options), device=scan_device(encoder.device),
                           names=texts)
    a = np.array([number[text] for text in pairs.texts_a])
    b = np.array([number[text] for text in pairs.texts_b])
    values = pairwise_statistics(moments, a, b, direct=options.float64, published=options.numerics == PUBLISHED)
    seconds["pairs"] = time.perf_counter() - start
    arrays = {"d_mu": values.d_mu, "d_sigma": values.d_sigma, "spread_a": values.spread_a,
              "spread_b": values.spread_b, "n_tokens_a": moments.n_tokens[a], "n_tokens_b": moments.n_tokens[b]}
    meta = {"n_pairs": len(a), "n_texts": len(texts), "n_layers": encoder.n_layers, "dim": encoder.dim,
            "device": encoder.device, "corpus": pairs.name, **token_notes(encoded.tokenised, encoded.notes)}
    return store.put(key, arrays, meta, seconds)


def run_pair_map(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: computes the pair map that a page asked for and returns its key's digest.

    Args:
        args: corpus (name or file) and column, or the texts themselves (see ``inline_texts``); model, revision, options
            (of ``PairOptions``), device, allow_remote_code, and digest: the key the page expects.

    Raises:
        DataError: texts or model changed between the page's look and the worker's.
    """
    from components.inline_texts import corpus_of

    return run_task(args, corpus_of(args), PairOptions(**args["options"]), pair_map_key, compute_pair_map, store=store,
                    progress=progress, cancelled=cancelled)


def pair_list_key(pairs: PairList, ref: ModelRef, options: PairOptions) -> ResultKey:
    """The key under which a list of pairs is stored."""
    params = {"layer": options.layer, "special_tokens": options.special_tokens, "prompt": options.prompt,
              "float64": options.float64, "numerics": options.numerics}
    return ResultKey("pair_list", pairs.digest, ref.model_id, ref.revision, params, PAIR_LIST_SCHEMA)


def run_pair_list(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: a list of pairs under a model; ``args`` as for ``run_pair_map``."""
    from components.inline_texts import pairs_of

    return run_task(args, pairs_of(args), PairOptions(**args["options"]), pair_list_key, compute_pair_list, store=store,
                    progress=progress, cancelled=cancelled)


def run_task(args: Mapping[str, Any], texts: Any, options: Any, key_of: Callable[..., ResultKey],
             compute: Callable[..., StoredResult], **how: Any) -> str:
    """A worker's task once its texts are read: refuses what is not what the page saw, else computes it."""
    ref = resolve_model(args["model"], revision=args.get("revision"))
    key = key_of(texts, ref, options)
    if key.digest != args["digest"]:
        raise DataError("texts or model", "must stay as they are while a job waits", "a change since the page was drawn",
                        "reload the page and start again")
    compute(texts, ref, options, device=args.get("device", "auto"),
            allow_remote_code=args.get("allow_remote_code", ()), **how)
    return key.digest
