"""From a retrieval set and a model to stored faults: what company does to an unmasked mean, and what truncation loses."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.models import ModelRef, declared
from components.pipeline import run_task, timed_encoder
from components.pooling_result import PoolingOptions
from components.store import ResultKey, ResultStore, StoredResult
from components.types import CancelEvent, Progress, RetrievalSet, named, no_progress

SCHEMA = 1
CHUNK_TOKENS = (64, 128, 256, 512)
"""Tokens of a chunk that are tried, as far as the model reads them."""
TRUNCATED = "truncated"


def company_key(of: RetrievalSet, ref: ModelRef, options: PoolingOptions) -> ResultKey:
    """The key under which the unmasked mean in growing company is stored."""
    return _key("company", of, ref, options)


def chunks_key(of: RetrievalSet, ref: ModelRef, options: PoolingOptions) -> ResultKey:
    """The key under which truncation and chunking are stored."""
    return _key("chunks", of, ref, options)


def _key(kind: str, of: RetrievalSet, ref: ModelRef, options: PoolingOptions) -> ResultKey:
    params = {"query_prompt": options.query_prompt, "document_prompt": options.document_prompt}
    return ResultKey(kind, of.digest, ref.model_id, ref.revision, params, SCHEMA)


def compute_company(of: RetrievalSet, ref: ModelRef, options: PoolingOptions, *, store: ResultStore, device: str = "auto",
                    allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                    cancelled: CancelEvent | None = None) -> StoredResult:
    """Documents in batches of growing size in the order of their file; queries alone.

    Arrays: drift_unmasked, drift_masked (n_sizes, n_documents) cosine distance to the vector of the text alone; widths the same
    shape; metrics_unmasked, metrics_masked (n_sizes, n_metrics, n_answered). meta: sizes.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
    """
    key = company_key(of, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.model_modules import after_pooling
    from components.pooling_faults import BATCH_SIZES, LIMIT, drift, in_company
    from components.retrieval import METRICS, evaluate_vectors, placed

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    head = after_pooling(ref)
    start = time.perf_counter()
    queries = in_company(encoder, [of.queries[q] for q in of.answered], 1, prompt=options.query_prompt, cancelled=cancelled)
    sizes: list[int | str] = [size for size in BATCH_SIZES if size == 1 or size < 2 * len(of.documents)] + [LIMIT]
    columns: dict[str, list[Any]] = {name: [] for name in ("drift_unmasked", "drift_masked", "widths", "metrics_unmasked",
                                                           "metrics_masked")}
    alone = None
    for k, size in enumerate(sizes):
        company = in_company(encoder, of.documents, size, prompt=options.document_prompt, cancelled=cancelled,
                             progress=_part(progress, k, len(sizes)))
        alone = company if alone is None else alone
        columns["widths"].append(company.widths)
        for name in ("unmasked", "masked"):
            vectors, asked = getattr(company, name), getattr(queries, name)
            columns[f"drift_{name}"].append(drift(vectors, getattr(alone, name)))
            vectors, asked = head.apply(vectors), head.apply(asked)
            ranked = evaluate_vectors(of, placed(of, asked), vectors)
            columns[f"metrics_{name}"].append([ranked.metrics[metric] for metric in METRICS])
    seconds["company"] = time.perf_counter() - start
    assert alone is not None
    meta = {"sizes": [str(size) for size in sizes], "n_documents": len(of.documents), "n_answered": len(of.answered),
            "corpus": of.name, "max_length": encoder.max_length}
    return store.put(key, {name: np.array(values) for name, values in columns.items()} | {"n_tokens": alone.widths}, meta, seconds)


def compute_chunks(of: RetrievalSet, ref: ModelRef, options: PoolingOptions, *, store: ResultStore, device: str = "auto",
                   allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                   cancelled: CancelEvent | None = None) -> StoredResult:
    """Documents cut at the model's limit, beside chunks of several lengths: their mean, and the best of them.

    Arrays: metrics (n_ways, n_metrics, n_answered), first (n_ways, n_answered), full_tokens and read_tokens (n_documents,). meta:
    ways ("truncated", "mean of 64", "best of 64", ...), chunks: how many of each length.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
    """
    key = chunks_key(of, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.model_modules import after_pooling
    from components.pooling_faults import chunk_scores, chunk_vectors
    from components.pooling_measures import pooled_vectors, reference_for
    from components.retrieval import COSINE, METRICS, evaluate, scores

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    head, pooling = after_pooling(ref), reference_for(declared(ref.folder).pooling, ref.model_id)
    start = time.perf_counter()
    queries = pooled_vectors(encoder, [of.queries[q] for q in of.answered], [pooling], head, prompt=options.query_prompt,
                             cancelled=cancelled).vectors[pooling]
    documents = pooled_vectors(encoder, of.documents, [pooling], head, prompt=options.document_prompt, cancelled=cancelled)
    ways, results, counts = [TRUNCATED], [evaluate(of, scores(queries, documents.vectors[pooling], COSINE))], {}
    # What a chunk's limit leaves for its text: special tokens count, and a prompt's tokens do.
    around = len(encoder.tokenise([""], options.document_prompt).ids[0])
    for tokens in CHUNK_TOKENS:
        room = tokens - around
        if room < 8 or (encoder.max_length is not None and tokens > encoder.max_length):
            continue
        vectors, owner = chunk_vectors(encoder, of.documents, room, pooling, prompt=options.document_prompt, cancelled=cancelled,
                                       progress=named(progress, f"Chunks of {tokens} tokens"))
        vectors = head.apply(vectors)
        counts[str(tokens)] = len(owner)
        for how in ("mean", "best"):
            ways.append(f"{how} of {tokens}")
            results.append(evaluate(of, chunk_scores(queries, vectors, owner, how)))
    seconds["chunks"] = time.perf_counter() - start
    arrays = {"metrics": np.array([[found.metrics[metric] for metric in METRICS] for found in results]),
              "first": np.array([found.first for found in results], dtype=np.int32),
              "full_tokens": documents.full_tokens, "read_tokens": documents.n_tokens}
    meta = {"ways": ways, "chunks": counts, "pooling": pooling, "n_answered": len(of.answered), "n_documents": len(of.documents),
            "max_length": encoder.max_length, "corpus": of.name}
    return store.put(key, arrays, meta, seconds)


def _part(progress: Progress, k: int, parts: int) -> Progress:
    """The k-th of equal parts as progress of the whole."""
    return lambda done, total, stage: progress(k * total + done, parts * total, stage)


def run_company(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task; ``args`` as for ``run_pooling``."""
    from components.inline_texts import set_of

    return run_task(args, set_of(args), PoolingOptions(**args["options"]), company_key, compute_company,
                    store=store, progress=progress, cancelled=cancelled)


def run_chunks(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task; ``args`` as for ``run_pooling``."""
    from components.inline_texts import set_of

    return run_task(args, set_of(args), PoolingOptions(**args["options"]), chunks_key, compute_chunks,
                    store=store, progress=progress, cancelled=cancelled)
