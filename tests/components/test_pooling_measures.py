"""Vectors in one pass, modules after pooling, geometry, neighbours and probes, each by another route."""

from __future__ import annotations

import numpy as np
import pytest

from components import pooling_measures
from components.model_modules import AfterPooling
from components.models import resolve_model
from components.pipeline import timed_encoder
from components.pooling import POOLINGS, UNMASKED, pool
from components.pooling_measures import geometry, overlap_at, plane, pooled_vectors, poolings_for, probe_right
from components.types import FINAL, no_progress

TEXTS = [f"The {w} stood by the {v}." for w in ("mill", "bridge", "ship", "cow", "clock") for v in ("river", "house", "old road")]


@pytest.fixture(scope="module")
def encoder():
    return timed_encoder(resolve_model("nano-contrastive"), "cpu", (), no_progress)[0]


def test_chunks_of_texts_give_what_all_at_once_gives(encoder, monkeypatch):
    whole = pooled_vectors(encoder, TEXTS, POOLINGS, keep_states=True)
    monkeypatch.setattr(pooling_measures, "TEXTS_AT_ONCE", 4)
    parts = pooled_vectors(encoder, TEXTS, POOLINGS, keep_states=True)
    for name in POOLINGS:
        assert np.allclose(whole.vectors[name], parts.vectors[name], atol=1e-5)
    assert np.allclose(whole.states.states, parts.states.states, atol=1e-5)
    assert (whole.n_tokens == parts.n_tokens).all() and parts.n_cut == 0
    monkeypatch.setattr(pooling_measures, "STATES_BYTES", 1000)
    assert pooled_vectors(encoder, TEXTS, ["mean"], keep_states=True).states is None


def test_several_poolings_joined_stand_side_by_side(encoder):
    names = poolings_for("mean+max")
    assert names[-2:] == ("mean+max", UNMASKED) and poolings_for("mean+else") == (*POOLINGS, UNMASKED)
    states = encoder.token_states(TEXTS[:3], [FINAL]).states[FINAL]
    found = pooled_vectors(encoder, TEXTS[:3], ["mean+max"]).vectors["mean+max"]
    assert np.allclose(found, np.concatenate([pool(states, "mean"), pool(states, "max")], axis=1), atol=1e-5)


def test_modules_after_pooling_are_applied_and_a_prompt_may_stay_out(encoder):
    doubled = AfterPooling(("Dense",), lambda v: 2 * v, pools_prompt=False)
    plain = pooled_vectors(encoder, TEXTS[:3], ["mean", "cls"], prompt="query: ")
    found = pooled_vectors(encoder, TEXTS[:3], ["mean", "cls"], doubled, prompt="query: ")
    states = encoder.token_states(TEXTS[:3], [FINAL], prompt="query: ").states[FINAL]
    skipped = len(encoder.tokenizer("query: ")["input_ids"]) - 1  # [SEP] stands at the end only
    for k in range(3):
        assert np.allclose(found.vectors["mean"][k], 2 * states[k][skipped:].mean(axis=0), atol=1e-5)
        assert np.allclose(found.vectors["cls"][k], 2 * states[k][skipped], atol=1e-5)
    assert not np.allclose(plain.vectors["mean"], found.vectors["mean"] / 2, atol=1e-3)


def test_geometry_equals_its_definitions():
    rng = np.random.default_rng(2)
    q, d = rng.normal(size=(4, 6)), rng.normal(size=(9, 6))
    judged = np.array([[0, 3], [1, 1], [2, 8]])
    found = geometry(q, d, judged)
    u = [x / np.linalg.norm(x) for x in d]
    v = [x / np.linalg.norm(x) for x in q]
    pairs = [(i, j) for i in range(9) for j in range(i)]
    assert found["mean_cosine"] == pytest.approx(np.mean([u[i] @ u[j] for i, j in pairs])) and found["n_pairs"] == 36
    assert found["uniformity"] == pytest.approx(np.log(np.mean([np.exp(-2 * np.sum((u[i] - u[j]) ** 2)) for i, j in pairs])))
    assert found["alignment"] == pytest.approx(np.mean([np.sum((v[a] - u[b]) ** 2) for a, b in judged]))
    variances = np.var(np.array(u), axis=0)
    assert found["effective_dims"] == pytest.approx(variances.sum() ** 2 / np.square(variances).sum())


def test_many_documents_are_sampled_to_the_same_numbers(monkeypatch):
    rng = np.random.default_rng(3)
    d = rng.normal(size=(300, 8)) + 1
    whole = geometry(d[:2], d, np.array([[0, 0]]))
    monkeypatch.setattr(pooling_measures, "RANDOM_PAIRS", 40_000)
    sampled = geometry(d[:2], d, np.array([[0, 0]]))
    assert sampled["n_pairs"] == 40_000 != whole["n_pairs"] and sampled["mean_cosine"] == pytest.approx(whole["mean_cosine"], abs=0.01)


def test_neighbours_in_common_by_brute_force():
    rng = np.random.default_rng(4)
    one, other = rng.normal(size=(30, 5)), rng.normal(size=(30, 5))
    found = overlap_at({"a": one, "b": other, "c": 3 * one}, k=4)

    def nearest(x, i):
        u = x / np.linalg.norm(x, axis=1, keepdims=True)
        return set(np.argsort([-(u[i] @ u[j]) if j != i else np.inf for j in range(30)])[:4].tolist())

    assert found[0, 1] == pytest.approx(np.mean([len(nearest(one, i) & nearest(other, i)) / 4 for i in range(30)]))
    assert found[0, 2] == 1 and (found == found.T).all()


def test_the_plane_keeps_the_two_largest_variances():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 6))
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    coordinates, shares = plane(x)
    s = np.linalg.svd(u - u.mean(axis=0), compute_uv=False)
    assert shares == pytest.approx((s**2 / np.sum(s**2))[:2], rel=1e-6)
    assert np.var(coordinates, axis=0).sum() == pytest.approx((s[:2] ** 2).sum() / 40, rel=1e-4)


def test_a_probe_finds_what_is_there_and_nothing_where_nothing_is():
    rng = np.random.default_rng(6)
    labels = np.repeat(["a", "b", "c"], 40)
    signal = np.eye(3)[np.repeat([0, 1, 2], 40)] * 3 + rng.normal(size=(120, 3))
    vectors = np.concatenate([signal, rng.normal(size=(120, 17))], axis=1)
    assert probe_right(vectors, labels).mean() > 0.8
    assert abs(probe_right(rng.normal(size=(120, 20)), labels).mean() - 1 / 3) < 0.15


def test_groups_are_never_split():
    rng = np.random.default_rng(7)
    # Each group sits in a place of its own, and labels are drawn by group: only leakage could find them.
    groups = np.repeat(np.arange(40), 6)
    labels = np.repeat(rng.permutation(["a", "b"] * 20), 6)
    vectors = np.repeat(rng.normal(size=(40, 60)) * 5, 6, axis=0) + rng.normal(size=(240, 60))
    leaking = probe_right(vectors, labels).mean()
    held_out = probe_right(vectors, labels, groups).mean()
    assert leaking > 0.8 and held_out < leaking - 0.25
