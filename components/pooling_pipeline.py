"""From a retrieval set and a model to stored metrics of every pooling, query by query."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.models import ModelRef, declared
from components.pipeline import run_task, scan_device, timed_encoder
from components.pooling_result import (
    HELD_OUT,
    PENALTY,
    PROBE,
    RANKINGS,
    SCHEMA,
    W2,
    PoolingOptions,
    PoolingResult,
    graded_rows,
    plain_rows,
    probe_rows,
    retrieval_rows,
)
from components.store import ResultKey, ResultStore, StoredResult
from components.types import CancelEvent, Progress, RetrievalSet, named, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder
    from components.pooling_measures import Pooled
    from components.retrieval import Found

SECOND_ORDER_PAIRS = 2_000_000
"""Query-document pairs up to which the second-order scores are computed (half a minute on two cores)."""
WEIGHTS = tuple(round(0.05 * k, 2) for k in range(41))
"""Of the SOCM penalty, tried on one half of the queries; 0 is the cosine alone."""


def pooling_key(of: RetrievalSet, ref: ModelRef, options: PoolingOptions) -> ResultKey:
    """The key under which the poolings of this model on this set are stored."""
    params = {"query_prompt": options.query_prompt, "document_prompt": options.document_prompt, "more": options.more,
              "seed": options.seed}
    return ResultKey("pooling", of.digest, ref.model_id, ref.revision, params, SCHEMA)


def compute_pooling(of: RetrievalSet, ref: ModelRef, options: PoolingOptions, *, store: ResultStore, device: str = "auto",
                    allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                    cancelled: CancelEvent | None = None) -> StoredResult:
    """Every pooling's retrieval under a model, from the store or computed and stored; see ``PoolingResult``.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
        Cancelled: the event was set; nothing was stored.
    """
    key = pooling_key(of, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.model_modules import after_pooling
    from components.pooling_measures import geometry, overlap_at, plane, pooled_vectors, poolings_for, reference_for

    own = declared(ref.folder)
    names, reference = poolings_for(own.pooling), reference_for(own.pooling, ref.model_id)
    head = after_pooling(ref)
    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    second = options.more and len(of.answered) * len(of.documents) <= SECOND_ORDER_PAIRS
    start = time.perf_counter()
    how: dict[str, Any] = {"keep_states": second, "cancelled": cancelled}
    documents = pooled_vectors(encoder, of.documents, names, head, prompt=options.document_prompt,
                               progress=named(progress, "Encoding documents"), **how)
    queries = pooled_vectors(encoder, [of.queries[q] for q in of.answered], names, head, prompt=options.query_prompt,
                             progress=named(progress, "Encoding queries"), **how)
    seconds["encode"] = time.perf_counter() - start
    start = time.perf_counter()
    progress(0, 0, "Ranking documents")
    by_ranking = _rankings(of, queries, documents, names)
    planes, shares = zip(*(plane(np.concatenate([queries.vectors[name], documents.vectors[name]])) for name in names), strict=True)
    arrays: dict[str, Any] = {
        "metrics": np.array([[list(found.metrics.values()) for found in row] for row in by_ranking], np.float64),
        "top": np.array([[found.top for found in row] for row in by_ranking], np.int32),
        "first": np.array([[found.first for found in row] for row in by_ranking], np.int32),
        "planes": np.stack(planes), "overlap": overlap_at(documents.vectors),
        "n_tokens_queries": queries.n_tokens, "n_tokens_documents": documents.n_tokens,
        "full_tokens_documents": documents.full_tokens, "widths_documents": documents.widths}
    meta: dict[str, Any] = {
        "poolings": list(names), "reference": reference, "declared": own.pooling, "declared_source": own.pooling_source,
        "normalize": own.normalize, "prompts": dict(own.prompts or {}), "default_prompt": own.default_prompt,
        "n_queries": len(of.queries), "n_answered": len(of.answered), "n_documents": len(of.documents), "graded": of.graded,
        "tied": {ranking: {name: found.tied for name, found in zip(names, row, strict=True)}
                 for ranking, row in zip(RANKINGS, by_ranking, strict=True)},
        "geometry": {name: _finite(geometry(queries.vectors[name], documents.vectors[name], of.answers)) for name in names},
        "plane_shares": [list(pair) for pair in shares], "dim": int(documents.vectors[reference].shape[1]),
        "modules": list(head.names), "unknown_modules": list(head.unknown),
        "max_length": encoder.max_length, "n_cut_documents": documents.n_cut, "n_cut_queries": queries.n_cut,
        "unknown_share": documents.unknown_share, "corpus": of.name, "device": encoder.device, "notes": list(of.notes),
        "model_notes": list(documents.notes), "second_order": second}
    seconds["rank"] = time.perf_counter() - start
    if options.more:
        start = time.perf_counter()
        if second and queries.states is not None and documents.states is not None:
            arrays |= _second_order(of, queries, documents, reference, encoder, options, meta, progress, cancelled)
        del queries.states, documents.states
        progress(0, 0, "Graded pairs and probe")
        arrays |= _graded_and_probe(encoder, names, head, meta, cancelled)
        seconds["more"] = time.perf_counter() - start
    start = time.perf_counter()
    progress(0, 0, "Intervals and tests")
    result = PoolingResult.from_stored(arrays, meta)
    meta["table"] = plain_rows([*retrieval_rows(result), *graded_rows(result), *probe_rows(result)])
    seconds["statistics"] = time.perf_counter() - start
    progress(0, 0, "Storing the result")
    return store.put(key, arrays, meta, seconds)


def _rankings(of: RetrievalSet, queries: Pooled, documents: Pooled, names: Sequence[str]) -> list[list[Found]]:
    """Each of ``RANKINGS``: what every pooling finds."""
    from components.retrieval import COSINE, DOT, EUCLIDEAN, evaluate_vectors, placed

    hows = {COSINE: (COSINE, False, False), DOT: (DOT, False, False), EUCLIDEAN: (EUCLIDEAN, False, False),
            RANKINGS[3]: (EUCLIDEAN, True, False), RANKINGS[4]: (EUCLIDEAN, False, True)}
    return [[evaluate_vectors(of, placed(of, queries.vectors[name]), documents.vectors[name], similarity, unit_queries=unit_queries,
                              unit_documents=unit_documents) for name in names]
            for similarity, unit_queries, unit_documents in (hows[ranking] for ranking in RANKINGS)]


def _second_order(of: RetrievalSet, queries: Pooled, documents: Pooled, reference: str, encoder: Encoder, options: PoolingOptions,
                  meta: dict[str, Any], progress: Progress, cancelled: CancelEvent | None) -> dict[str, Any]:
    """Scores that see covariances: minus (d_mu + d_sigma), and the cosine of means less a multiple of SOCM.

    The multiple is the one of highest mean nDCG@10 on one half of the queries; only the other half is reported.
    """
    from components.moments import text_moments
    from components.pair_scan import scan_pairs
    from components.pooling_measures import joined
    from components.retrieval import METRICS, PRIMARY, evaluate
    from components.sinks import RectangleSink

    assert queries.states is not None and documents.states is not None
    n = len(of.answered)
    moments = text_moments(joined([queries.states, documents.states]), dtype=_float32(), device=scan_device(encoder.device),
                           names=[*(of.queries[q] for q in of.answered), *of.documents])
    sink = RectangleSink(n, len(of.documents))
    scan_pairs(moments, [sink], split=n, progress=progress, cancelled=cancelled)
    w2 = evaluate(of, -(sink.d_mu + sink.d_sigma))
    cosine, socm = 1 - 2 * sink.d_mu, (1 - sink.d_mu) * sink.d_sigma
    tuning = np.zeros(n, bool)
    tuning[np.random.default_rng(options.seed).permutation(n)[:n // 2]] = True
    if tuning.any():
        tried = [evaluate(of, cosine - weight * socm, [PRIMARY]).metrics[PRIMARY][tuning].mean() for weight in WEIGHTS]
        weight = WEIGHTS[int(np.argmax(tried))]
    else:
        tried, weight = [], 0.0
    penalty = evaluate(of, cosine - weight * socm)
    meta |= {"penalty_weight": weight, "penalty_tuned_on": int(tuning.sum()), "penalty_tried": [float(x) for x in tried]}
    arrays: dict[str, Any] = {}
    for name, found in ((W2, w2), (PENALTY, penalty)):
        values = np.array([found.metrics[metric] for metric in METRICS])
        if name == PENALTY:
            values[:, tuning] = np.nan
        arrays |= {f"metrics_{name}": values, f"top_{name}": found.top, f"first_{name}": found.first.astype(np.int32)}
    return arrays


def _float32() -> Any:
    import torch

    return torch.float32


def _graded_and_probe(encoder: Encoder, names: Sequence[str], head: Any, meta: dict[str, Any],
                      cancelled: CancelEvent | None) -> dict[str, Any]:
    """The bundled graded pairs' similarities, and which of the bundled sentences a linear probe names rightly."""
    from components.corpora import load_corpus, load_pairs, subject_fields
    from components.moments import text_moments
    from components.pooling import unit
    from components.pooling_measures import pooled_vectors, probe_right
    from components.socm import pairwise_statistics

    pairs, corpus, fields = load_pairs("graded"), load_corpus("encyclopedia"), subject_fields()
    texts = [*pairs.texts_a, *pairs.texts_b]
    graded = pooled_vectors(encoder, texts, names, head, keep_states=True, cancelled=cancelled)
    n = len(pairs.texts_a)
    out: dict[str, Any] = {"graded_grades": np.array([float(label) for label in pairs.labels])}
    for name in names:
        u = unit(graded.vectors[name].astype(np.float64))
        out[f"graded_{name}"] = np.einsum("ij,ij->i", u[:n], u[n:])
    if graded.states is not None:
        moments = text_moments(graded.states, dtype=_float32(), device=scan_device(encoder.device), names=texts)
        found = pairwise_statistics(moments, np.arange(n), np.arange(n, 2 * n))
        out[f"graded_{W2}"] = -(found.d_mu + found.d_sigma)
    labelled = pooled_vectors(encoder, corpus.texts, names, head, cancelled=cancelled)
    over = [fields[label] for label in corpus.labels]
    out[PROBE] = np.array([probe_right(labelled.vectors[name], corpus.labels) for name in names])
    out[HELD_OUT] = np.array([probe_right(labelled.vectors[name], over, corpus.labels) for name in names])
    meta |= {"n_graded": n, "n_probe": len(corpus.texts), "n_subjects": len(set(corpus.labels)), "n_fields": len(set(over))}
    return out


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def run_pooling(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: measures the poolings that a page asked for; ``args`` as for ``run_pair_map``, the set as "set"."""
    from components.inline_texts import set_of

    return run_task(args, set_of(args), PoolingOptions(**args["options"]), pooling_key, compute_pooling, store=store,
                    progress=progress, cancelled=cancelled)


