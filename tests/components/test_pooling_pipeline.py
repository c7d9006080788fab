"""A small real set under real models: what is stored equals what each step gives by itself, and reads back whole."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from components import pooling_pipeline
from components.fault_pipeline import compute_chunks, compute_company
from components.models import Declared, resolve_model
from components.pipeline import timed_encoder
from components.pooling_measures import pooled_vectors
from components.pooling_pipeline import compute_pooling, pooling_key
from components.pooling_result import (
    HELD_OUT,
    PENALTY,
    PROBE,
    RANKINGS,
    SPEARMAN,
    W2,
    PoolingOptions,
    PoolingResult,
    declared_prompts,
)
from components.retrieval import METRICS, PRIMARY, evaluate, evaluate_vectors
from components.retrieval_sets import load_retrieval_set
from components.socm import pair_statistics
from components.store import ResultStore
from components.types import FINAL, RetrievalSet, no_progress

MODEL = "nano-cls"


@pytest.fixture(scope="module")
def small() -> RetrievalSet:
    of = load_retrieval_set("passages")
    return RetrievalSet("small", of.query_ids[:16], of.queries[:16], of.document_ids[:40], of.documents[:40], of.judged[:16].copy())


@pytest.fixture(scope="module")
def found(small, tmp_path_factory):
    store = ResultStore(tmp_path_factory.mktemp("store"))
    stored = compute_pooling(small, resolve_model(MODEL), PoolingOptions(), store=store)
    again = store.get(stored.key)
    assert again is not None
    return PoolingResult.from_stored(again.arrays, again.meta)


def test_the_declared_pooling_is_read_and_compared_with(found):
    assert found.declared == "cls" == found.meta["declared"] and "1_Pooling/config.json" in found.meta["declared_source"]
    assert found.row("cls", PRIMARY).difference is None and found.row("mean", PRIMARY).difference is not None


def test_metrics_are_those_of_the_vectors(found, small):
    encoder, _ = timed_encoder(resolve_model(MODEL), "cpu", (), no_progress)
    queries = pooled_vectors(encoder, small.queries, ("cls", "mean")).vectors
    documents = pooled_vectors(encoder, small.documents, ("cls", "mean")).vectors
    for name in ("cls", "mean"):
        for ranking, flags in (("cosine", ("cosine",)), ("dot", ("dot",)), ("euclidean", ("euclidean",))):
            direct = evaluate_vectors(small, queries[name], documents[name], *flags)
            for metric in METRICS:
                assert found.per_query(name, metric, ranking) == pytest.approx(direct.metrics[metric], abs=1e-9)
            assert (found.found(name, ranking)[0] == direct.top).all()


def test_every_row_is_there_once(found):
    rows = found.table()
    assert len({(row.pooling, row.metric) for row in rows}) == len(rows)
    assert {row.metric for row in rows} == {*METRICS, SPEARMAN, PROBE, HELD_OUT}
    assert {row.pooling for row in rows if row.metric == PRIMARY} == {*found.poolings, W2, PENALTY}
    for row in rows:
        assert row.value.low is None or row.value.low <= row.value.value <= row.value.high
        assert (row.difference is None) == (row.pooling == found.declared) == (row.p is None)
        if row.p_holm is not None and not math.isnan(row.p_holm):
            assert row.p <= row.p_holm <= 1


def test_differences_are_of_the_same_queries(found):
    row = found.row("mean", "recall@5")
    gap = found.per_query("mean", "recall@5") - found.per_query("cls", "recall@5")
    assert row.difference.value == pytest.approx(gap.mean()) and row.difference.n == 16


def test_the_mean_scaled_by_root_n_ranks_by_cosine_as_the_mean_does(found):
    assert (found.found("mean")[0] == found.found("mean_sqrt_len")[0]).all()
    assert found.row("mean", PRIMARY).value.value == found.row("mean_sqrt_len", PRIMARY).value.value


def test_second_order_scores_equal_pair_by_pair_definitions(found, small):
    encoder, _ = timed_encoder(resolve_model(MODEL), "cpu", (), no_progress)
    states = encoder.token_states([*small.queries, *small.documents], [FINAL]).states[FINAL]
    w2, cosine, socm = (np.empty((16, 40)) for _ in range(3))
    for q in range(16):
        for d in range(40):
            pair = pair_statistics(states[q], states[16 + d])
            w2[q, d] = -(pair.d_mu[0] + pair.d_sigma[0])
            cosine[q, d], socm[q, d] = 1 - 2 * pair.d_mu[0], pair.socm[0]
    assert (found.second[W2][2] == evaluate(small, w2).first).all()
    weight = found.meta["penalty_weight"]
    direct = evaluate(small, cosine - weight * socm)
    assert (found.second[PENALTY][2] == direct.first).all()
    reported = ~np.isnan(found.per_query(PENALTY, PRIMARY))
    assert reported.sum() == 8 == 16 - found.meta["penalty_tuned_on"]
    assert found.per_query(PENALTY, PRIMARY)[reported] == pytest.approx(direct.metrics[PRIMARY][reported])
    # The weight is the best on the half that is not reported.
    tried = [evaluate(small, cosine - w * socm).metrics[PRIMARY][~reported].mean() for w in pooling_pipeline.WEIGHTS]
    assert weight == pooling_pipeline.WEIGHTS[int(np.argmax(tried))]


def test_flips_are_queries_that_one_answers_first(found):
    at = found.flips("mean")
    one, other = found.found("mean")[1] == 1, found.found("cls")[1] == 1
    assert at.tolist() == np.flatnonzero(one != other).tolist()


def test_other_rankings_have_their_own_table(found):
    rows = found.table("dot")
    assert {row.metric for row in rows} == set(METRICS) and {row.pooling for row in rows} == set(found.poolings)
    # The declared pooling by inner product is compared with itself by cosine.
    declared = next(row for row in rows if (row.pooling, row.metric) == ("cls", PRIMARY))
    gap = found.per_query("cls", PRIMARY, "dot") - found.per_query("cls", PRIMARY)
    assert declared.difference.value == pytest.approx(gap.mean())


def test_nothing_is_computed_twice_and_options_are_part_of_the_key(small, tmp_path, monkeypatch):
    store, ref = ResultStore(tmp_path), resolve_model(MODEL)
    options = PoolingOptions(more=False)
    first = compute_pooling(small, ref, options, store=store)
    assert "graded_grades" not in first.arrays and "metrics_w2" not in first.arrays
    monkeypatch.setattr(pooling_pipeline, "timed_encoder", lambda *_: pytest.fail("loaded a model"))
    assert compute_pooling(small, ref, options, store=store).key == first.key
    keys = {pooling_key(small, ref, o).digest for o in (options, PoolingOptions(), PoolingOptions(query_prompt="query: "))}
    assert len(keys) == 3


def test_a_prompt_changes_the_side_it_is_for(small, tmp_path, found):
    options = PoolingOptions(query_prompt="query: ", more=False)
    stored = compute_pooling(small, resolve_model(MODEL), options, store=ResultStore(tmp_path))
    assert (stored.arrays["n_tokens_documents"].sum() ==
            sum(len(ids) for ids in timed_encoder(resolve_model(MODEL), "cpu", (), no_progress)[0].tokenise(small.documents).ids))
    assert not np.array_equal(stored.arrays["planes"], found.planes)


def test_queries_without_an_answer_change_nothing(small, found, tmp_path):
    """One more query, in front, that nothing answers: every number stays what it was."""
    more = RetrievalSet("more", ("q-none", *small.query_ids), ("What is this?", *small.queries), small.document_ids, small.documents,
                        small.judged + np.array([1, 0, 0]))
    store, options, ref = ResultStore(tmp_path), PoolingOptions(more=False), resolve_model(MODEL)
    stored = compute_pooling(more, ref, options, store=store)
    assert np.allclose(stored.arrays["metrics"], found.metrics, atol=1e-9)
    assert (stored.meta["n_queries"], stored.meta["n_answered"]) == (17, 16)
    company = compute_company(more, ref, options, store=store)
    mean = found.per_query("mean", PRIMARY)
    assert company.arrays["metrics_masked"][0][METRICS.index(PRIMARY)] == pytest.approx(mean, abs=1e-9)


def test_too_many_pairs_leave_second_order_scores_out(small, tmp_path, monkeypatch):
    monkeypatch.setattr(pooling_pipeline, "SECOND_ORDER_PAIRS", 100)
    stored = compute_pooling(small, resolve_model(MODEL), PoolingOptions(), store=ResultStore(tmp_path))
    result = PoolingResult.from_stored(stored.arrays, stored.meta)
    assert result.names == result.poolings and "graded_grades" in stored.arrays and not stored.meta["second_order"]


def test_which_prompts_a_model_declares():
    def own(prompts, default=None):
        return declared_prompts(Declared(prompts=prompts, default_prompt=default))

    assert own(None) == ("", "") == own({})
    assert own({"query": "query: ", "passage": "passage: "}) == ("query: ", "passage: ")
    assert own({"query": "q: ", "document": "d: ", "passage": "p: "}) == ("q: ", "d: ")
    assert own({"retrieval": "r: "}, "retrieval") == ("r: ", "r: ") and own({"query": "q: "}) == ("q: ", "")


def test_company_and_chunks_are_stored(small, tmp_path):
    store = ResultStore(tmp_path)
    company = compute_company(small, resolve_model(MODEL), PoolingOptions(), store=store)
    assert company.meta["sizes"] == ["1", "2", "8", "32", "limit"] and company.arrays["metrics_masked"].shape == (5, len(METRICS), 16)
    assert (company.arrays["drift_masked"] < 1e-8).all() and company.arrays["drift_unmasked"][-1].max() > 1e-5
    masked = company.arrays["metrics_masked"]
    assert np.allclose(masked, masked[:1], atol=1e-9)  # a masked mean retrieves alike in every company
    chunks = compute_chunks(small, resolve_model(MODEL), PoolingOptions(), store=store)
    assert chunks.meta["ways"][0] == "truncated" and chunks.meta["pooling"] == "cls"
    assert json.dumps(chunks.meta["chunks"])


def test_one_ranking_for_each_name(found):
    assert found.metrics.shape == (len(RANKINGS), len(found.poolings), len(METRICS), 16)
