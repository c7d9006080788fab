"""The probe's figures against other libraries, hand-worked cases and the pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score, top_k_accuracy_score

from components.encoders import load_encoder
from components.errors import DataError
from components.models import resolve_model
from components.moments import text_moments
from components.pair_map import PairOptions
from components.pipeline import compute_pair_map
from components.probe import AT, ProbeSet, measure, pooled, ranks, retrieval
from components.spread import effective_dims, normalised_spread
from components.statistics import share_interval
from components.store import ResultStore
from components.types import FINAL, Corpus, TokenStates
from tests.components.tiny_models import save

RNG = np.random.default_rng(5)
STATES = TokenStates(RNG.normal(size=(14, 6)).astype(np.float32) + 0.4, np.array([0, 1, 6, 9, 14]))
TEXTS = ("the cat sat on the mat .", "a dog ran far", "rain in the home", "the dog sat", "a cat runs , a dog sat .", "mat")


def test_pooling_by_loops():
    for i in range(4):
        tokens = STATES[i].astype(float)
        assert np.allclose(pooled(STATES, "mean")[i], sum(tokens) / len(tokens), atol=1e-12)
        assert np.array_equal(pooled(STATES, "cls")[i], tokens[0])


def test_ranks_agree_with_scikit_learn():
    queries, answers = RNG.normal(size=(60, 5)), RNG.normal(size=(60, 5))
    answers += 0.6 * queries
    place = ranks(queries, answers, np.arange(60))
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (queries, answers)]
    scores = unit[0] @ unit[1].T
    assert (place <= AT).mean() == top_k_accuracy_score(np.arange(60), scores, k=AT)
    assert np.isclose((1 / place).mean(), label_ranking_average_precision_score(np.eye(60, dtype=int), scores), atol=1e-12)
    assert place.max() > 1 and place.min() == 1


def test_vectors_that_are_all_equal_find_nothing():
    same = np.ones((30, 4))
    assert (ranks(same, same, np.arange(30)) == 30).all()
    assert retrieval(same, same, [str(i) for i in range(30)], [4])["4"]["recall"]["value"] == 0


def test_an_answer_that_stands_twice_is_right_under_either_number():
    queries = np.eye(3)
    answers = np.array([[0.0, 0.1, 1.0], [1.0, 0.2, 0.0], [0.9, 0.3, 0.1]])
    assert ranks(queries, answers, np.array([0, 1, 2]))[0] == 3
    assert ranks(queries, answers, np.array([0, 0, 1]))[0] == 1


def test_prefixes_are_cut_before_they_are_compared():
    queries = np.array([[1.0, 0.0, 9.0], [0.0, 1.0, -9.0]])
    answers = np.array([[1.0, 0.0, -9.0], [0.0, 1.0, 9.0]])
    found = retrieval(np.tile(queries, (6, 1)) + RNG.normal(0, 1e-9, (12, 3)), np.tile(answers, (6, 1)), ["a", "b"] * 6, [2, 3])
    assert found["2"]["mrr"]["value"] == 1 and found["3"]["mrr"]["value"] < 0.5


def test_share_interval_stays_inside_and_agrees_with_its_formula():
    from scipy.stats import norm

    z, n, hits = norm.ppf(0.975), 40, 38
    p = hits / n
    centre, half = (p + z * z / 2 / n) / (1 + z * z / n), z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    found = share_interval(hits, n, "questions")
    assert np.allclose([found.low, found.high], [centre - half, centre + half], atol=1e-12)
    assert share_interval(40, 40, "questions").high == 1 and share_interval(5, 5, "questions").low is None


def test_spread_agrees_with_the_factors_of_the_covariance():
    assert np.allclose(normalised_spread(STATES), text_moments(STATES).spread, rtol=1e-9)
    assert normalised_spread(STATES)[0] == 0


def test_spread_of_a_hand_worked_text():
    states = TokenStates(np.array([[3.0, 1.0], [1.0, 1.0]], dtype=np.float32), np.array([0, 2]))
    assert normalised_spread(states)[0] == pytest.approx(1 / 5)  # mean (2, 1), each token 1 away


def test_effective_dims_of_known_clouds():
    assert effective_dims(np.vstack([np.eye(4), -np.eye(4)])) == pytest.approx((4, 4))
    line = np.outer(RNG.normal(size=50), [1.0, 1, 1, 1])
    assert effective_dims(line) == pytest.approx((4, 1))
    turn, _ = np.linalg.qr(RNG.normal(size=(6, 6)))
    cloud = RNG.normal(size=(40, 6)) * [5, 3, 1, 1, 0.2, 0.1]
    assert effective_dims(cloud @ turn)[1] == pytest.approx(effective_dims(cloud)[1])
    assert effective_dims(cloud @ turn)[0] > effective_dims(cloud)[0]
    variances = cloud.var(axis=0)
    assert effective_dims(cloud)[0] == pytest.approx(6 / (1 + (variances.std() / variances.mean()) ** 2))
    assert np.isnan(effective_dims(np.ones((3, 2)))).all()


def test_more_texts_than_dims_and_fewer_give_the_same_ratio():
    cloud = RNG.normal(size=(7, 5))
    wide = np.hstack([cloud, np.zeros((7, 9))])
    assert effective_dims(wide)[1] == pytest.approx(effective_dims(cloud)[1])


def test_measure_agrees_with_the_map_of_the_same_texts(tmp_path):
    folder = save("bert", tmp_path / "m")
    ref = resolve_model(str(folder))
    found = measure(load_encoder(ref, device="cpu"), ProbeSet("p", TEXTS, TEXTS[:3], TEXTS[3:]), "mean", [8, 32])
    stored = compute_pair_map(Corpus("p", TEXTS), ref, PairOptions(), store=ResultStore(tmp_path / "s"), device="cpu")
    for name in ("socm", "d_mu", "d_sigma"):
        assert found[name]["value"] == pytest.approx(stored.meta["means"][name]["value"], rel=1e-5)
    assert list(found["spread"]) == ["0", "1", "2", FINAL] and found["n_pairs"] == 15
    assert set(found["retrieval"]) == {"8", "32"} == set(found["dims"])


def test_questions_need_answers():
    with pytest.raises(DataError, match="an answer for each question"):
        ProbeSet("p", TEXTS, TEXTS[:2], TEXTS[:3])
