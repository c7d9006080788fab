"""From a retrieval set and a model to stored metrics of every cut, query by query, with baselines and geometry."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import Cancelled, DataError
from components.models import ModelRef, declared
from components.pipeline import run_task, timed_encoder
from components.store import ResultKey, ResultStore, StoredResult
from components.truncation_result import (
    GEOMETRY,
    SCHEMA,
    TAUS,
    TruncationOptions,
    checked_dims,
    variants_of,
)
from components.types import CancelEvent, FloatArray, Progress, RetrievalSet, TokenStates, named, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder
    from components.truncation_measures import Measured, Vectors

LEVEL = 1e-12
"""Variance below which vectors of length 1 are all the same; float32 rounds them by some 1e-15."""
TOKEN_TEXTS = 1_000
"""Documents, the first ones, whose tokens C and MIC's terms rest on."""


def truncation_key(of: RetrievalSet, ref: ModelRef, options: TruncationOptions) -> ResultKey:
    """The key under which this model's cuts on this set are stored."""
    params = {"query_prompt": options.query_prompt, "document_prompt": options.document_prompt, "dims": list(options.dims),
              "draws": options.draws, "seed": options.seed}
    return ResultKey("truncation", of.digest, ref.model_id, ref.revision, params, SCHEMA)


def compute_truncation(of: RetrievalSet, ref: ModelRef, options: TruncationOptions, *, store: ResultStore, device: str = "auto",
                       allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                       cancelled: CancelEvent | None = None) -> StoredResult:
    """One model cut to every dim, from the store or computed and stored; read it with ``TruncationResult``.

    Raises:
        DataError, ModelError, StoreError: with a sentence.
        Cancelled: the event was set; nothing was stored.
    """
    key = truncation_key(of, ref, options)
    found = store.get(key)
    if found is not None:
        return found

    from components.model_modules import after_pooling
    from components.models import hidden_size
    from components.pooling_measures import reference_for

    own = declared(ref.folder)
    pooling = reference_for(own.pooling, ref.model_id)
    after = after_pooling(ref)
    plain = not after.names and "+" not in pooling
    if plain:  # before anything is loaded
        checked_dims(options.dims, hidden_size(ref), ref.model_id)
    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    start = time.perf_counter()
    vectors, notes = _encode(encoder, of, pooling, after, options, progress, cancelled)
    dims = checked_dims(options.dims, vectors.dim, ref.model_id)
    seconds["encode"] = time.perf_counter() - start
    start = time.perf_counter()
    arrays, about = measure_vectors(of, vectors, dims, options, progress=progress, cancelled=cancelled)
    seconds["measure"] = time.perf_counter() - start
    start = time.perf_counter()
    tokens = encoder.dim == vectors.dim and plain
    if tokens:
        arrays |= _token_arrays(encoder, of, options, dims, about, progress, cancelled)
    seconds["tokens"] = time.perf_counter() - start
    meta = {**about, **notes, "pooling": pooling, "declared": own.pooling, "normalize": own.normalize,
            "prompts": dict(own.prompts or {}), "tokens": tokens,
            "dense": len(after.names), "max_length": encoder.max_length, "corpus": of.name, "set_digest": of.digest,
            "device": encoder.device, "notes": list(of.notes), "query_prompt": options.query_prompt,
            "document_prompt": options.document_prompt}
    progress(0, 0, "Storing the result")
    return store.put(key, arrays, meta, seconds)


def _encode(encoder: Encoder, of: RetrievalSet, pooling: str, after: Any, options: TruncationOptions, progress: Progress,
            cancelled: CancelEvent | None) -> tuple[Vectors, dict[str, Any]]:
    from components.corpora import load_corpus, load_pairs, subject_fields
    from components.pooling_measures import pooled_vectors
    from components.retrieval import placed
    from components.truncation_measures import Vectors

    def encode(texts: Sequence[str], what: str, prompt: str = "") -> Any:
        return pooled_vectors(encoder, texts, [pooling], after, prompt=prompt, cancelled=cancelled,
                              progress=named(progress, f"Encoding {what}"))

    documents = encode(of.documents, "documents", options.document_prompt)
    asked = encode([of.queries[q] for q in of.answered], "queries", options.query_prompt)
    pairs, others, fields = load_pairs("graded"), load_corpus("encyclopedia"), subject_fields()
    n = len(pairs.texts_a)
    graded = encode([*pairs.texts_a, *pairs.texts_b], "graded pairs").vectors[pooling]
    rest = encode(others.texts, "the encyclopedia").vectors[pooling]
    queries = placed(of, asked.vectors[pooling])
    for what, found in (("documents", documents.vectors[pooling]), ("queries", queries), ("graded pairs", graded),
                        ("encyclopedia", rest)):
        if not np.isfinite(found).all():
            raise DataError(f"vectors of the {what}", "must be finite", "NaN or infinity", "check the model's weights and texts")
    vectors = Vectors(queries, documents.vectors[pooling], graded[:n], graded[n:], np.array([float(label) for label in pairs.labels]),
                      rest, others.labels, [fields[label] for label in others.labels])
    return vectors, {"n_cut_documents": documents.n_cut, "n_cut_queries": asked.n_cut, "unknown_share": documents.unknown_share,
                     "model_notes": list(documents.notes), "others": others.name}


def measure_vectors(of: RetrievalSet, vectors: Vectors, dims: Sequence[int], options: TruncationOptions, *,
                    progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and description of one model's cuts, from vectors alone: all but what needs token states.

    Returns:
        codes_<k> (n_variants, n_answered) and values_<k> of metric k: each query's value is values[codes]. graded (n_variants,
        n_pairs) cosines; grades; probe_accuracy, probe_accuracy_held_out (n_prefix_variants, n_texts / 8) packed bits; shared
        (n_variants, n_documents); tied (n_variants,); estimates, losses, p_holm; random (n_dims - 1, draws, 9); geometry
        (n_dims, 5); info_nce (n_dims,); variance (dim,) and spectrum (up to dim,) of the documents at length 1.
    """
    from components.pooling_measures import geometry
    from components.truncation_measures import (
        info_nce,
        measure_draw,
        measure_variants,
        nearest_documents,
        principal_axes,
        random_subsets,
    )

    n_axes = len(principal_axes(vectors.others)[1])
    variants = variants_of(dims, n_axes)
    subsets = random_subsets(vectors.dim, dims, options.draws, options.seed)
    total, done = len(variants) + sum(map(len, subsets.values())), 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(done, total, "Measuring cuts")
        if cancelled is not None and cancelled.is_set():
            raise Cancelled

    found: list[Measured] = []
    for _, one in measure_variants(of, vectors, dims):
        found.append(one)
        step()
    nearest = nearest_documents(vectors.documents)
    drawn = np.zeros((len(subsets), options.draws, 9))
    for at, subset in enumerate(subsets.values()):
        for draw, chosen in enumerate(subset):
            drawn[at, draw] = list(measure_draw(of, vectors, chosen, nearest).values())
            step()
    progress(0, 0, "Intervals and tests")
    arrays = _arrays(found, variants, vectors, nearest.shape[1])
    asked = vectors.queries[of.answered]
    shapes = [geometry(asked[:, :dim], vectors.documents[:, :dim], of.answers) for dim in dims]
    level = [_level(vectors.documents[:, :dim]) for dim in dims]
    for shape, same in zip(shapes, level, strict=True):
        if same:  # rounding errors have effective dims too
            shape |= {"effective_dims": float("nan"), "effective_axes": float("nan")}
    arrays |= {"random": drawn, "geometry": np.array([[one[name] for name in GEOMETRY] for one in shapes]),
               **_spectrum(vectors.documents),
               "info_nce": np.array([info_nce(of, vectors.queries, vectors.documents, dim) for dim in dims])}
    about = {"dims": list(dims), "n_axes": n_axes, "draws": options.draws, "n_nearest": nearest.shape[1], "constant": level[-1],
             "dim": vectors.dim,
             "n": {"queries": len(of.answered), "pairs": len(vectors.grades), "texts": len(vectors.labels),
                   "documents": len(of.documents), "all_queries": len(of.queries), "others": len(vectors.others)}}
    return arrays, about


def _level(documents: FloatArray) -> bool:
    """Whether documents at length 1 differ by no more than float32 rounds."""
    from components.pooling import unit

    return float(unit(documents.astype(np.float64)).var(axis=0).sum()) < LEVEL


def _arrays(found: Sequence[Measured], variants: Sequence[Any], vectors: Vectors, n_nearest: int) -> dict[str, Any]:
    from components.pooling_result import HELD_OUT, PROBE, SPEARMAN
    from components.retrieval import METRICS
    from components.truncation_result import OVERLAP, packed
    from components.truncation_statistics import losses_of

    each: dict[str, list[FloatArray]] = {
        **{metric: [one.metrics[k] for one in found] for k, metric in enumerate(METRICS)}, SPEARMAN: [one.graded for one in found],
        PROBE: [one.probe.astype(np.float64) for one in found], HELD_OUT: [one.held_out.astype(np.float64) for one in found],
        OVERLAP: [one.shared / n_nearest for one in found]}
    arrays: dict[str, Any] = dict(losses_of(each, vectors.grades, variants))
    for k in range(len(METRICS)):
        arrays[f"codes_{k}"], arrays[f"values_{k}"] = packed(np.array([one.metrics[k] for one in found]))
    for name, column in ((PROBE, [one.probe for one in found]), (HELD_OUT, [one.held_out for one in found])):
        right = [one for one in column if len(one)]
        arrays[name] = np.packbits(np.array(right, bool), axis=1) if right else np.zeros((0, 0), np.uint8)
    arrays |= {"graded": np.array([one.graded for one in found]), "grades": vectors.grades,
               "shared": np.array([one.shared for one in found], np.float32), "tied": np.array([one.tied for one in found], np.int32)}
    return arrays


def _spectrum(documents: FloatArray) -> dict[str, Any]:
    """Variance of each coordinate, and of each of the principal axes that so many documents can have, at length 1."""
    from components.pooling import unit

    centred = unit(documents.astype(np.float64))
    centred = centred - centred.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    return {"variance": np.square(centred).mean(axis=0), "spectrum": np.square(values[:len(centred) - 1]) / len(centred)}


def _token_arrays(encoder: Encoder, of: RetrievalSet, options: TruncationOptions, dims: Sequence[int], about: dict[str, Any],
                  progress: Progress, cancelled: CancelEvent | None) -> dict[str, Any]:
    """C and MIC's terms of the first documents' tokens, with special tokens and without."""
    from components.types import FINAL

    texts = of.documents[:TOKEN_TEXTS]
    encoded = encoder.token_states(texts, [FINAL], prompt=options.document_prompt, cancelled=cancelled,
                                   progress=named(progress, "Encoding tokens"))
    progress(0, 0, "Correlating prefix and residual")
    about |= {"n_token_texts": len(texts), "taus": [float(tau) for tau in TAUS]}
    return token_arrays(encoded.states[FINAL], encoded.tokenised.special, dims, about)


def token_arrays(states: TokenStates, special: Sequence[Any], dims: Sequence[int], about: dict[str, Any]) -> dict[str, Any]:
    """What is kept of token states: blocks of |C|, its shares above every tau, and MIC's terms.

    Args:
        states: raw, special tokens included.
        special: (n_tokens,) bool for each text.
        about: gets the numbers of texts that C rests on.

    Returns:
        blocks (2, n_blocks, n_blocks) float16 with and without special tokens, block_edges, share_above and correlation_loss
        (2, n_dims - 1, n_taus), mean_correlation (2, n_dims - 1), sigma (2,), terms (2, n_dims, 3).
    """
    from components import prefix_residual as pr

    edges = pr.block_edges(dims)
    both = [pr.token_coordinates(states), pr.token_coordinates(states, [~mask for mask in special])]
    about["n_correlated"] = [one.n_texts for one in both]
    apart = [[pr.excesses(one.correlation, dim, TAUS) for dim in dims[:-1]] for one in both]
    terms = np.array([[[pr.variance_floor(one.std, dim) if dim < dims[-1] else 0.0,
                        pr.coefficient_of_variation(one.means, dim) if len(one.means) else np.nan, pr.uniformity(one.means, dim)]
                       for dim in dims] for one in both])
    return {"blocks": np.array([pr.block_means(one.correlation, edges) for one in both], np.float16), "block_edges": edges,
            "mean_correlation": np.array([[mean for mean, _, _ in row] for row in apart]),
            "share_above": np.array([[share for _, share, _ in row] for row in apart]),
            "correlation_loss": np.array([[loss for _, _, loss in row] for row in apart]),
            "sigma": np.array([one.sigma for one in both]), "terms": terms}


def run_truncation(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: measures the cuts that a page asked for; ``args`` as for ``run_pair_map``, the set as "set"."""
    from components.inline_texts import set_of

    options = TruncationOptions(**{**args["options"], "dims": tuple(args["options"]["dims"])})
    return run_task(args, set_of(args), options, truncation_key, compute_truncation, store=store,
                    progress=progress, cancelled=cancelled)
