"""A plane by UMAP for each pooling of a retrieval set, for the worker alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.errors import Cancelled, DataError
from components.models import ModelRef, declared
from components.pipeline import run_task, timed_encoder
from components.pooling_result import PoolingOptions
from components.store import ResultKey, ResultStore, StoredResult
from components.types import CancelEvent, Progress, RetrievalSet, no_progress

SCHEMA = 1
MOST = 5_000
"""Queries and documents together up to which planes are made (minutes on two cores)."""


def pooled_umap_key(of: RetrievalSet, ref: ModelRef, options: PoolingOptions) -> ResultKey:
    """The key under which the planes are stored."""
    params = {"query_prompt": options.query_prompt, "document_prompt": options.document_prompt, "seed": options.seed}
    return ResultKey("pooled_umap", of.digest, ref.model_id, ref.revision, params, SCHEMA)


def compute_pooled_umap(of: RetrievalSet, ref: ModelRef, options: PoolingOptions, *, store: ResultStore, device: str = "auto",
                        allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                        cancelled: CancelEvent | None = None) -> StoredResult:
    """Answered queries and documents, at length 1, on one plane for each pooling.

    Arrays: planes (n_poolings, n_answered + n_documents, 2) float32. meta: poolings, trustworthiness of each, n_neighbors.

    Raises:
        DataError: more texts than ``MOST``, or fewer than 8; others as in ``compute_pooling``.
    """
    n = len(of.answered) + len(of.documents)
    if not 8 <= n <= MOST:
        raise DataError("queries and documents", f"must be 8 to {MOST:,} together for UMAP", f"{n:,}", "look at the principal axes")
    key = pooled_umap_key(of, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.model_modules import after_pooling
    from components.pooling import unit
    from components.pooling_measures import pooled_vectors, poolings_for
    from components.projection import neighbours_of, umap_points

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    names, head = poolings_for(declared(ref.folder).pooling), after_pooling(ref)
    watched: dict[str, Any] = {"progress": progress, "cancelled": cancelled}
    queries = pooled_vectors(encoder, [of.queries[q] for q in of.answered], names, head, prompt=options.query_prompt, **watched)
    documents = pooled_vectors(encoder, of.documents, names, head, prompt=options.document_prompt, **watched)
    start = time.perf_counter()
    planes, kept = [], []
    for k, name in enumerate(names):
        if cancelled is not None and cancelled.is_set():
            raise Cancelled
        progress(k, len(names), "Arranging vectors by UMAP")
        points, trust = umap_points(unit(np.concatenate([queries.vectors[name], documents.vectors[name]]).astype(np.float64)),
                                    seed=options.seed)
        planes.append(points.astype(np.float32))
        kept.append(trust)
    seconds["umap"] = time.perf_counter() - start
    meta = {"poolings": list(names), "trustworthiness": kept, "n_neighbors": neighbours_of(n), "seed": options.seed, "corpus": of.name}
    return store.put(key, {"planes": np.stack(planes)}, meta, seconds)


def run_pooled_umap(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task; ``args`` as for ``run_pooling``."""
    from components.inline_texts import set_of

    return run_task(args, set_of(args), PoolingOptions(**args["options"]), pooled_umap_key, compute_pooled_umap,
                    store=store, progress=progress, cancelled=cancelled)
