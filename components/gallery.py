"""Results that come with the project, so that a first visit computes nothing.

The gallery is a result store inside ``data/`` that is only read. Its pair maps hold every pair's d_mu and d_sigma, and its
layers every text's values, in float32 (a relative rounding of 6e-8, far below what a page shows), and so do cuts what no
interval is computed from anew except the cosines of the graded pairs, and poolings every query's metrics; everything else is as
computed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from components.corpora import DATA_DIR, bundled_names, load_corpus, load_pairs
from components.fault_pipeline import compute_chunks, compute_company
from components.layer_curves import QUANTITIES, LayerOptions
from components.layer_pipeline import compute_layers
from components.models import EMBEDDED, bundled_models, declared, resolve_model
from components.pair_map import PairOptions
from components.pipeline import compute_pair_list, compute_pair_map
from components.pooling_pipeline import compute_pooling
from components.pooling_result import PoolingOptions, declared_prompts
from components.retrieval_sets import load_retrieval_set
from components.store import ResultStore, StoredResult
from components.truncation_pipeline import compute_truncation
from components.truncation_result import TruncationOptions
from components.types import Progress, no_progress

GALLERY_DIR = DATA_DIR / "gallery"
HALVED = {"pair_map": ("d_mu", "d_sigma"), "pair_list": (), "layers": QUANTITIES,
          "pooling": ("metrics", "metrics_w2", "metrics_socm_penalty"), "company": ("metrics_masked", "metrics_unmasked"), "chunks": (),
          "truncation": ("graded", "random", "variance", "spectrum", "share_above", "correlation_loss")}
SHORT = {"pooling": ("top", "first", "top_w2", "first_w2", "top_socm_penalty", "first_socm_penalty")}
"""Whole numbers below 32,768, kept as int16."""
RETRIEVAL_SET, LONG_SET = "passages", "long-documents"
"""The sets that cuts and poolings come along for; the second for the embedded model only, with truncation beside chunks."""


def gallery_models() -> tuple[str, ...]:
    """Models whose results the gallery holds."""
    return EMBEDDED, *bundled_models()


def build_gallery(work: ResultStore, target: Path = GALLERY_DIR, *, models: Sequence[str] | None = None,
                  progress: Progress = no_progress) -> Iterator[tuple[str, str, int]]:
    """Computes the bundled corpora's results under the models and writes them into the gallery.

    Args:
        work: the ordinary store, where the full results are kept or found.
        target: the gallery's folder; what lay there is replaced.
        models: None takes the embedded model and those in ``data/models``.

    Yields:
        (model, what, bytes) for each result written.
    """
    shutil.rmtree(target, ignore_errors=True)
    gallery = ResultStore(target)
    for name in gallery_models() if models is None else models:
        ref = resolve_model(name)
        for corpus_name in bundled_names("corpus"):
            corpus = load_corpus(corpus_name)
            found = compute_pair_map(corpus, ref, PairOptions(), store=work, progress=progress)
            yield name, corpus_name, _copy(found, gallery)
            layers = compute_layers(corpus, ref, LayerOptions(), store=work, progress=progress)
            yield name, f"{corpus_name}, layers", _copy(layers, gallery)
        for list_name in bundled_names("pairs"):
            listed = compute_pair_list(load_pairs(list_name), ref, PairOptions(), store=work, progress=progress)
            yield name, list_name, _copy(listed, gallery)
        yield name, f"{RETRIEVAL_SET}, cut", add_truncation(name, work, gallery, progress)
        yield from add_poolings(name, work, gallery, progress)
    shutil.rmtree(target / ".locks", ignore_errors=True)


def add_truncation(model: str, work: ResultStore, gallery: ResultStore, progress: Progress = no_progress) -> int:
    """Writes one model's cuts on the bundled passages into a gallery; returns the bytes of their arrays."""
    ref = resolve_model(model)
    options = TruncationOptions(*declared_prompts(declared(ref.folder)))
    return _copy(compute_truncation(load_retrieval_set(RETRIEVAL_SET), ref, options, store=work, progress=progress), gallery)


def add_poolings(model: str, work: ResultStore, gallery: ResultStore,
                 progress: Progress = no_progress) -> Iterator[tuple[str, str, int]]:
    """Writes one model's poolings on the bundled passages into a gallery, with the faults; yields as ``build_gallery``."""
    ref = resolve_model(model)
    options = PoolingOptions(*declared_prompts(declared(ref.folder)))
    of, long = load_retrieval_set(RETRIEVAL_SET), load_retrieval_set(LONG_SET)
    yield model, f"{of.name}, poolings", _copy(compute_pooling(of, ref, options, store=work, progress=progress), gallery)
    yield model, f"{of.name}, company", _copy(compute_company(of, ref, options, store=work, progress=progress), gallery)
    if model == EMBEDDED:
        for compute, what in ((compute_pooling, "poolings"), (compute_company, "company"), (compute_chunks, "chunks")):
            yield model, f"{long.name}, {what}", _copy(compute(long, ref, options, store=work, progress=progress), gallery)


def _copy(found: StoredResult, gallery: ResultStore) -> int:
    halved, short = HALVED[found.key.kind], SHORT.get(found.key.kind, ())
    arrays = {name: array.astype(np.float32 if name in halved else np.int16) if name in (*halved, *short) else array
              for name, array in found.arrays.items()}
    gallery.put(found.key, arrays, {**found.meta, "from_gallery": True}, found.seconds)
    return sum(array.nbytes for array in arrays.values())
