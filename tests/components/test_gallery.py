"""The results that come along are found under today's keys, and a part of them, recomputed, agrees."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from components.corpora import load_corpus, load_pairs
from components.fault_pipeline import company_key
from components.gallery import GALLERY_DIR, LONG_SET, RETRIEVAL_SET, gallery_models
from components.layer_curves import LayerCurves, LayerOptions
from components.layer_pipeline import layers_key
from components.models import EMBEDDED, ModelRef, declared, resolve_model
from components.moments import text_moments
from components.pair_map import PairMap, PairOptions
from components.pair_scan import condensed_index
from components.pipeline import pair_list_key, pair_map_key
from components.pooling_pipeline import pooling_key
from components.pooling_result import PoolingOptions, PoolingResult, declared_prompts
from components.retrieval import METRICS
from components.retrieval_sets import load_retrieval_set
from components.socm import pairwise_statistics
from components.store import ResultStore, StoredResult
from components.truncation_pipeline import truncation_key
from components.truncation_result import DTYPES, FLOAT32, TruncationOptions, TruncationResult, spearman


def test_every_bundled_result_is_there_and_small():
    gallery = ResultStore(GALLERY_DIR)
    for name in gallery_models():
        ref = resolve_model(name)
        assert gallery.get(pair_map_key(load_corpus("encyclopedia"), ref, PairOptions())) is not None
        assert gallery.get(layers_key(load_corpus("encyclopedia"), ref, LayerOptions())) is not None
        for listed in ("pairs", "graded"):
            assert gallery.get(pair_list_key(load_pairs(listed), ref, PairOptions())) is not None
    assert sum(f.stat().st_size for f in GALLERY_DIR.rglob("*")) < 6_000_000 * len(gallery_models())


def cuts_of(name: str) -> tuple[StoredResult | None, ModelRef]:
    ref = resolve_model(name)
    options = TruncationOptions(*declared_prompts(declared(ref.folder)))
    return ResultStore(GALLERY_DIR).get(truncation_key(load_retrieval_set(RETRIEVAL_SET), ref, options)), ref


def test_cuts_of_every_model_are_there_small_and_what_their_queries_say():
    for name in gallery_models():
        found, _ = cuts_of(name)
        assert found is not None, name
        assert sum(array.nbytes for array in found.arrays.values()) < 300_000
        result = TruncationResult.from_stored(found.arrays, found.meta)
        for dim in result.dims:
            for dtype in DTYPES:
                assert result.value("ndcg@10", dim, dtype).value == pytest.approx(result.each("ndcg@10", dim, dtype).mean(), abs=1e-12)
                rho = spearman(result.each("spearman", dim, dtype), result.grades)
                # Cosines are kept as float32, which may turn a tie or make one.
                assert result.value("spearman", dim, dtype).value == pytest.approx(rho, abs=1e-4)


def test_cuts_of_some_passages_encoded_anew_agree(embedded):
    from components.truncation_measures import stored_as

    found, _ = cuts_of(EMBEDDED)
    result, of = TruncationResult.from_stored(found.arrays, found.meta), load_retrieval_set(RETRIEVAL_SET)
    listed = load_pairs("graded")
    some = np.arange(0, 200, 9)
    states = embedded.token_states([*(listed.texts_a[k] for k in some), *(listed.texts_b[k] for k in some)], ["final"]).states["final"]
    vectors = np.array([states[i].astype(np.float64).mean(axis=0) for i in range(len(states))])
    for dim in (8, 64, 384):
        x = stored_as(FLOAT32, vectors[:, :dim])(vectors[:, :dim])
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        assert np.allclose(result.each("spearman", dim)[some], (x[:len(some)] * x[len(some):]).sum(axis=1), atol=1e-5)
    assert result.n("ndcg@10") == len(of.answered) == 300


def test_a_part_recomputed_agrees(embedded):
    corpus = load_corpus("encyclopedia")
    found = ResultStore(GALLERY_DIR).get(pair_map_key(corpus, embedded.ref, PairOptions()))
    result = PairMap.from_stored(found.arrays, found.meta)
    some = np.sort(np.random.default_rng(7).choice(len(corpus.texts), 40, replace=False))
    states = embedded.token_states([corpus.texts[k] for k in some], ["final"]).states["final"]
    moments = text_moments(states, dtype=torch.float64)
    i, j = np.triu_indices(40, 1)
    now = pairwise_statistics(moments, i, j, direct=True)
    at = condensed_index(some[i], some[j], len(corpus.texts))
    # Encoding in other batches moves a state by some 1e-6, and a sum over a text's tokens accordingly.
    assert np.allclose(now.d_sigma, result.arrays["d_sigma"][at], atol=2e-5)
    assert np.allclose(now.d_mu, result.arrays["d_mu"][at], atol=1e-6)
    assert (moments.n_tokens == result.n_tokens[some]).all()
    socm = (1 - result.arrays["d_mu"]) * result.arrays["d_sigma"]
    assert abs(socm.mean() - result.means["socm"].value) < 1e-7


def test_layers_of_some_texts_recomputed_agree_and_socm_is_near_that_of_all_pairs(embedded):
    from components.concentration import layer_statistics

    corpus, gallery = load_corpus("encyclopedia"), ResultStore(GALLERY_DIR)
    found = gallery.get(layers_key(corpus, embedded.ref, LayerOptions()))
    curves = LayerCurves.from_stored(found.arrays, found.meta)
    some = np.sort(np.random.default_rng(5).choice(len(corpus.texts), 12, replace=False))
    now = layer_statistics(embedded, [corpus.texts[k] for k in some])
    assert curves.available and np.allclose(curves.lambda_[some], now.lambda_, rtol=1e-4, atol=1e-6)
    for name, array in (("r", now.r), ("C", now.c), ("normalized_spread", now.normalized_spread), ("mean_cosine", now.mean_cosine)):
        assert np.allclose(curves.values[name][some], array, rtol=1e-4, atol=1e-6), name
    whole = gallery.get(pair_map_key(corpus, embedded.ref, PairOptions()))
    means = PairMap.from_stored(whole.arrays, whole.meta).means
    # 20,000 pairs in balanced cycles against all 499,500.
    assert curves.pairs("final")["socm"].value == pytest.approx(means["socm"].value, abs=0.003)


def poolings_of(name: str, set_name: str = RETRIEVAL_SET) -> PoolingResult:
    ref = resolve_model(name)
    options = PoolingOptions(*declared_prompts(declared(ref.folder)))
    found = ResultStore(GALLERY_DIR).get(pooling_key(load_retrieval_set(set_name), ref, options))
    assert found is not None, name
    return PoolingResult.from_stored(found.arrays, found.meta)


def test_poolings_of_every_model_are_there_and_their_table_is_what_their_queries_say():
    for name in gallery_models():
        result, ref = poolings_of(name), resolve_model(name)
        for row in result.table():
            if row.metric in METRICS:
                values = result.per_query(row.pooling, row.metric)
                assert row.value.value == pytest.approx(float(np.nanmean(values)), abs=1e-6), "kept as float32"
        options = PoolingOptions(*declared_prompts(declared(ref.folder)))
        assert ResultStore(GALLERY_DIR).get(company_key(load_retrieval_set(RETRIEVAL_SET), ref, options)) is not None
    assert poolings_of(EMBEDDED, LONG_SET).meta["n_cut_documents"] == 12


def test_ranks_of_some_passages_encoded_anew_agree(embedded):
    of, result = load_retrieval_set(RETRIEVAL_SET), poolings_of(EMBEDDED)
    asked = list(range(0, 300, 29))
    states = embedded.token_states([*(of.queries[q] for q in asked), *of.documents], ["final"]).states["final"]
    vectors = np.array([states[i].astype(np.float64).mean(axis=0) for i in range(len(states))])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[:len(asked)] @ vectors[len(asked):].T
    for row, query in zip(cosines, asked, strict=True):
        assert int((row > row[query]).sum()) + 1 == result.found("mean")[1][query], "question q is answered by passage q"
