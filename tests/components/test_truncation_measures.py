"""Cuts of vectors: numbers kept as int8 and bits, neighbours, baselines; against numpy, scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sentence_transformers.util import quantize_embeddings

from components.pooling import unit
from components.pooling_measures import geometry, overlap_at
from components.retrieval import METRICS, evaluate_vectors
from components.truncation_measures import (
    info_nce,
    int8_scales,
    measure_cut,
    nearest_documents,
    principal_axes,
    random_subsets,
    shared_neighbours,
    stored_as,
    to_binary,
    to_int8,
)
from components.truncation_result import BINARY, FLOAT32, INT8, PCA, bytes_per_vector
from components.truncation_statistics import model_differences
from tests.components.truncation_samples import questions, result_of, signal


@pytest.fixture(scope="module")
def vectors():
    return signal(48, slice(0, 48), 0.8)


@pytest.fixture(scope="module")
def result(vectors):
    return result_of(vectors, (8, 16, 48), draws=20)


def test_int8_is_within_half_a_step_and_clips_beyond_the_documents(vectors):
    documents = unit(vectors.documents.astype(np.float64))
    scales = int8_scales(documents)
    steps = to_int8(documents, scales)
    assert steps.dtype == np.int8 and np.abs(steps).max() == 127
    assert (np.abs(steps * scales - documents) <= scales / 2 + 1e-12).all()
    assert to_int8(np.full((1, 48), 9.0), scales).tolist() == [[127] * 48]
    assert to_int8(np.ones((1, 2)), np.array([0.0, 0.5])).tolist() == [[0, 2]], "no scale where every document is 0"


def test_bits_are_the_signs_of_sentence_transformers(vectors):
    ours = to_binary(vectors.documents)
    packed = np.packbits(ours > 0, axis=1)
    assert (packed == quantize_embeddings(vectors.documents, "ubinary")).all()
    assert packed.shape[1] == bytes_per_vector(48, BINARY) == 6
    assert to_binary(np.array([[0.0, -0.1, 0.1]])).tolist() == [[-1, -1, 1]]


def test_bytes():
    assert [bytes_per_vector(384, kind) for kind in (FLOAT32, INT8, BINARY)] == [1536, 384, 48]
    assert bytes_per_vector(9, BINARY) == 2, "whole bytes"


def test_a_prefix_is_the_cosine_of_the_first_coordinates(vectors, result):
    of = questions()
    for dim in (8, 16, 48):
        q, d = (unit(x[:, :dim].astype(np.float64)) for x in (vectors.queries, vectors.documents))
        found = evaluate_vectors(of, q, d, "dot")
        for metric in METRICS:
            assert np.array_equal(result.each(metric, dim), found.metrics[metric])
            assert result.value(metric, dim).value == pytest.approx(found.metrics[metric].mean())
        a, b = vectors.graded_a[:, :dim].astype(np.float64), vectors.graded_b[:, :dim].astype(np.float64)
        cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert result.value("spearman", dim).value == pytest.approx(stats.spearmanr(cosine, vectors.grades).statistic)
        shape = geometry(vectors.queries[:, :dim], vectors.documents[:, :dim], np.stack([np.arange(200)] * 2, axis=1))
        assert result.geometry("effective_axes", dim) == pytest.approx(shape["effective_axes"])


def test_overlap_is_that_of_the_pooling_page_and_1_at_full_dim(vectors, result):
    both = overlap_at({"full": vectors.documents, "cut": vectors.documents[:, :16]})
    assert result.value("overlap@10", 16).value == pytest.approx(both[0, 1])
    assert result.value("overlap@10", 48).value == 1 and result.loss("overlap@10", 48).value == 0
    assert result.chance_overlap == pytest.approx(10 / 199)


def test_equally_near_documents_count_as_a_fair_draw_would():
    rows = np.array([[1.0, 1], [1, 1], [1, 1], [1, -1], [1, -1]])
    nearest = np.array([[1], [0], [3], [4], [0]])
    # The first document's nearest is one of two equals, of which one is listed; the third's is one of two, none listed.
    assert shared_neighbours(rows, nearest).tolist() == [0.5, 0.5, 0.0, 1.0, 0.0]


def test_many_ties_of_bits_are_counted(vectors):
    of = questions()
    found = measure_cut(of, vectors, lambda x: to_binary(x[:, :8]).astype(float), nearest_documents(vectors.documents), signs=True)
    agree = (vectors.documents[:, None, :8] > 0) == (vectors.documents[None, :, :8] > 0)
    q = (vectors.queries[:, None, :8] > 0) == (vectors.documents[None, :, :8] > 0)
    hamming = q.sum(axis=2)
    own = np.diag(hamming)
    assert found.tied == ((hamming == own[:, None]).sum(axis=1) > 1).sum() > 100
    rank = 1 + (hamming > own[:, None]).sum(axis=1) + np.array([(hamming[i, :i] == own[i]).sum() for i in range(len(own))])
    assert np.allclose(found.metrics[METRICS.index("mrr@10")], np.where(rank <= 10, 1 / rank, 0))
    assert agree.shape == (200, 200, 8)


def test_principal_axes_are_those_of_a_singular_value_decomposition(vectors, result):
    rows = unit(vectors.others.astype(np.float64))
    mean, axes = principal_axes(vectors.others)
    assert np.allclose(mean, rows.mean(axis=0))
    _, _, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    assert np.allclose(np.abs((axes * right).sum(axis=1)), 1, atol=1e-8)
    q, d = ((unit(x.astype(np.float64)) - mean) @ right[:16].T for x in (vectors.queries, vectors.documents))
    found = evaluate_vectors(questions(), q, d)
    assert np.allclose(result.each("ndcg@10", 16, FLOAT32, PCA), found.metrics["ndcg@10"])
    assert np.isnan(result.value("probe_accuracy", 16, FLOAT32, PCA).value), "the axes know the probe's texts"


def test_axes_beyond_what_few_texts_give_are_not_measured():
    few = signal(48, slice(0, 48), 0.8)
    few = type(few)(few.queries, few.documents, few.graded_a, few.graded_b, few.grades, few.others[:20])
    found = result_of(few, (8, 16, 48), draws=1)
    assert found.meta["n_axes"] == 19 and found.row(48, FLOAT32, PCA) is None and found.row(16, FLOAT32, PCA) is not None
    assert np.isnan(found.value("map", 48, FLOAT32, PCA).value)


def test_random_subsets_are_drawn_without_repeats_and_measured_as_any_cut(vectors, result):
    subsets = random_subsets(48, (8, 16, 48), 20, 0)
    assert set(subsets) == {8, 16} and all(len(set(row)) == 16 for row in subsets[16].tolist())
    assert not np.array_equal(*random_subsets(48, (8,), 2, 0)[8])
    means = sorted(evaluate_vectors(questions(), vectors.queries[:, row], vectors.documents[:, row]).metrics["ndcg@10"].mean()
                   for row in subsets[16])
    assert np.allclose(result.random("ndcg@10", 16), means)
    assert len(result.random("ndcg@10", 48)) == 0


def test_where_no_coordinate_is_better_the_prefix_lies_among_the_draws(result):
    drawn = result.random("ndcg@10", 16)
    assert drawn[0] <= result.value("ndcg@10", 16).value <= drawn[-1]


def test_losses_are_paired_and_corrected(result):
    for metric in ("ndcg@10", "spearman", "overlap@10"):
        loss = result.loss(metric, 8)
        assert loss.value == pytest.approx(result.value(metric, 48).value - result.value(metric, 8).value)
        assert loss.low < loss.value < loss.high and result.p(metric, 8) < 0.05
        assert result.p(metric, 48) is None and result.loss(metric, 48).value == 0


def test_info_nce_is_sentence_transformers_loss_with_all_documents_as_negatives(vectors):
    import torch

    q, d = (torch.from_numpy(unit(x[:, :16].astype(np.float64))) for x in (vectors.queries, vectors.documents))
    loss = torch.nn.functional.cross_entropy(20 * q @ d.T, torch.arange(len(q)))
    assert info_nce(questions(), vectors.queries, vectors.documents, 16) == pytest.approx(float(loss))


def test_stored_as_float32_changes_nothing(vectors):
    assert stored_as(FLOAT32, vectors.documents)(vectors.queries) is vectors.queries
    assert stored_as(INT8, vectors.documents)(vectors.queries).shape == vectors.queries.shape


def test_differences_between_models_are_query_by_query(result):
    better = result_of(signal(48, slice(0, 48), 0.4), (8, 16, 48), draws=1)
    found = {one.dim: one for one in model_differences(better, result, "ndcg@10")}
    gap = better.each("ndcg@10", 16) - result.each("ndcg@10", 16)
    assert found[16].value.value == pytest.approx(gap.mean()) and found[16].value.low > 0 and found[16].p_holm < 0.01
    assert set(found) == {8, 16, 48}
    narrow = result_of(signal(32, slice(0, 32), 0.4), (8, 32), draws=1)
    assert [one.dim for one in model_differences(narrow, result, "spearman")] == [8, None], "full against full where dims differ"
    assert all(one.value.value == 0 and one.p == 1 for one in model_differences(result, result, "map"))
