"""Rankings and metrics against sentence-transformers' evaluator, hand-worked cases and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.util import cos_sim

from components.errors import DataError
from components.pooling_result import RANKINGS, ranking_of
from components.retrieval import METRICS, SIMILARITIES, evaluate, evaluate_vectors, scores
from components.types import RetrievalSet


def made_set(n_queries: int, n_documents: int, judged: list[tuple[int, int, int]]) -> RetrievalSet:
    return RetrievalSet("made", tuple(f"q{i}" for i in range(n_queries)), tuple(f"question {i}" for i in range(n_queries)),
                        tuple(f"d{i}" for i in range(n_documents)), tuple(f"document {i}" for i in range(n_documents)),
                        np.array(judged, dtype=np.int64).reshape(-1, 3))


def random_case(seed: int, n_queries: int = 60, n_documents: int = 200, dim: int = 16):
    rng = np.random.default_rng(seed)
    judged = [(q, int(d), 1) for q in range(n_queries) for d in rng.choice(n_documents, rng.integers(1, 4), replace=False)]
    documents = rng.normal(size=(n_documents, dim)).astype(np.float32) * rng.uniform(0.5, 2, size=(n_documents, 1)).astype(np.float32)
    queries = rng.normal(size=(n_queries, dim)).astype(np.float32)
    queries += np.array([documents[[d for q2, d, _ in judged if q2 == q]].mean(axis=0) for q in range(n_queries)])
    return made_set(n_queries, n_documents, judged), queries, documents


class FixedVectors:
    """Stands where the evaluator expects a model; gives the vectors of texts it is told."""

    similarity_fn_name = "cosine"
    model_card_data = None

    def __init__(self, vectors):
        self.vectors = vectors

    def _encode(self, texts, **_):
        import torch

        return torch.from_numpy(np.stack([self.vectors[text] for text in texts]))

    encode = encode_query = encode_document = _encode


@pytest.mark.parametrize("seed", range(4))
def test_every_metric_equals_sentence_transformers_evaluator(seed):
    of, queries, documents = random_case(seed)
    relevant = {q: {of.document_ids[d] for d in of.relevant(k)} for k, q in enumerate(of.query_ids)}
    evaluator = InformationRetrievalEvaluator(
        dict(zip(of.query_ids, of.queries, strict=True)), dict(zip(of.document_ids, of.documents, strict=True)), relevant,
        mrr_at_k=[10], ndcg_at_k=[10], precision_recall_at_k=[1, 5, 10], map_at_k=[len(of.documents)], accuracy_at_k=[1],
        show_progress_bar=False, write_csv=False, score_functions={"cosine": cos_sim})
    model = FixedVectors(dict(zip(of.queries, queries.astype(np.float64), strict=True))
                         | dict(zip(of.documents, documents.astype(np.float64), strict=True)))
    theirs = evaluator.compute_metrices(model)["cosine"]
    ours = evaluate_vectors(of, queries, documents).metrics
    expected = {"ndcg@10": theirs["ndcg@k"][10], "mrr@10": theirs["mrr@k"][10], "map": theirs["map@k"][len(of.documents)],
                **{f"recall@{k}": theirs["recall@k"][k] for k in (1, 5, 10)}}
    assert set(expected) == set(METRICS)
    for metric, value in expected.items():
        assert ours[metric].mean() == pytest.approx(value, abs=1e-9), metric


def test_graded_ndcg_takes_the_relevance_as_gain():
    of = made_set(1, 4, [(0, 0, 3), (0, 1, 1), (0, 2, 0)])
    found = evaluate(of, np.array([[0.2, 0.9, 0.5, 0.7]]))  # order: d1 (1), d3 (unjudged), d2 (0), d0 (3)
    gained = 1 / math.log2(2) + 3 / math.log2(5)
    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert found.metrics["ndcg@10"][0] == pytest.approx(gained / ideal, abs=1e-12)
    assert found.metrics["map"][0] == pytest.approx((1 / 1 + 2 / 4) / 2) and found.first[0] == 1
    assert found.metrics["recall@1"][0] == 0.5 and found.metrics["mrr@10"][0] == 1
    assert found.top[0].tolist() == [1, 3, 2, 0]


def test_nothing_among_the_first_ten_counts_zero_but_map_sees_it():
    of = made_set(1, 30, [(0, 29, 1)])
    found = evaluate(of, -np.arange(30.0)[None])
    assert {m: found.metrics[m][0] for m in METRICS} == pytest.approx(
        {"ndcg@10": 0, "mrr@10": 0, "map": 1 / 30, "recall@1": 0, "recall@5": 0, "recall@10": 0}) and found.first[0] == 30


def test_ties_keep_the_documents_order_and_are_counted():
    of = made_set(2, 3, [(0, 0, 1), (1, 2, 1)])
    found = evaluate(of, np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]))
    assert found.top.tolist() == [[0, 1, 2]] * 2 and found.first.tolist() == [1, 3] and found.tied == 2
    assert evaluate(of, np.array([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]])).tied == 0


def test_near_ties_below_float32_are_told_apart():
    of = made_set(1, 3, [(0, 2, 1)])
    assert evaluate(of, np.array([[0.5, 0.5 + 1e-12, 0.5 + 2e-12]])).first[0] == 1


def test_queries_that_nothing_answers_are_left_out():
    of = made_set(3, 3, [(0, 1, 1), (1, 0, 0), (2, 2, 1)])
    assert of.answered.tolist() == [0, 2]
    found = evaluate_vectors(of, np.eye(3)[[1, 0, 2]], np.eye(3))
    assert found.metrics["recall@1"].tolist() == [1, 1]


def test_scores_are_what_they_are_called():
    rng = np.random.default_rng(0)
    q, d = rng.normal(size=(4, 6)), rng.normal(size=(5, 6))
    assert scores(q, d, "dot") == pytest.approx(np.array([[a @ b for b in d] for a in q]))
    assert scores(q, d, "cosine")[1, 2] == pytest.approx(q[1] @ d[2] / np.linalg.norm(q[1]) / np.linalg.norm(d[2]))
    assert scores(q, d, "euclidean") == pytest.approx(np.array([[-np.square(a - b).sum() for b in d] for a in q]))
    assert scores(q, d, "euclidean", unit_queries=True, unit_documents=True) == pytest.approx(2 * scores(q, d, "cosine") - 2)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("unit_queries", [False, True])
@pytest.mark.parametrize("unit_documents", [False, True])
def test_five_rankings_are_all_there_are(similarity, unit_queries, unit_documents):
    of, queries, documents = random_case(7)
    how = {"cosine": ("cosine", {}), "dot": ("dot", {}), "euclidean": ("euclidean", {}),
           "euclidean_unit_queries": ("euclidean", {"unit_queries": True}),
           "euclidean_unit_documents": ("euclidean", {"unit_documents": True})}
    assert set(how) == set(RANKINGS)
    name, flags = how[ranking_of(similarity, unit_queries, unit_documents)]
    asked = evaluate_vectors(of, queries, documents, similarity, unit_queries=unit_queries, unit_documents=unit_documents)
    assert (asked.top == evaluate_vectors(of, queries, documents, name, **flags).top).all()


def test_mixing_normalisation_does_change_the_ranking():
    of, queries, documents = random_case(7)
    tops = [evaluate_vectors(of, queries, documents, *how).top for how in (("cosine",), ("dot",), ("euclidean",))]
    assert not (tops[0] == tops[1]).all() and not (tops[0] == tops[2]).all()


def test_rotating_all_vectors_changes_nothing():
    of, queries, documents = random_case(3)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))[0]
    one, other = evaluate_vectors(of, queries, documents), evaluate_vectors(of, queries @ rotation, documents @ rotation)
    assert (one.first == other.first).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_must_be_finite(bad):
    of, queries, documents = random_case(0)
    documents[3, 2] = bad
    with pytest.raises(DataError, match="vectors must be finite"):
        evaluate_vectors(of, queries, documents)


def test_another_similarity_is_refused():
    with pytest.raises(DataError, match="similarity must be one of cosine, dot, euclidean"):
        scores(np.eye(2), np.eye(2), "manhattan")
