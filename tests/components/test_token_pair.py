"""Two texts taken apart: against the definition, against leaving a token out by hand, against another library's planes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from components.errors import DataError
from components.token_pair import (
    NUMBERS,
    cos_sim,
    ellipse,
    joint_pca,
    kept,
    leave_one_out,
    means_and_covariances,
    pair_numbers,
    pooled_cosines,
    spread_shares,
)
from tests.components.definitions import by_covariances, by_singular_values


def texts(n: int, m: int, dim: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, (n, dim)), rng.normal(0.5, 2, (m, dim))


@pytest.mark.parametrize(("n", "m", "dim"), [(5, 9, 12), (30, 4, 12), (1, 6, 12), (1, 1, 4), (40, 50, 8)])
def test_numbers_against_both_definitions(n, m, dim):
    x, y = texts(n, m, dim)
    found = pair_numbers(x, y)
    d_mu, d_sigma = by_singular_values(x, y)
    assert found.d_mu == pytest.approx(d_mu, abs=1e-12) and found.d_sigma == pytest.approx(d_sigma, abs=1e-12)
    assert found.d_sigma == pytest.approx(by_covariances(x, y), abs=1e-6)
    assert found.size + found.shape == pytest.approx(found.d_sigma, abs=1e-12)
    assert found.socm == (1 - found.d_mu) * found.d_sigma


def test_the_distance_is_wasserstein_of_the_gaussians():
    x, y = (t / np.linalg.norm(t.mean(axis=0)) for t in texts(20, 30, 5))
    sx, sy = np.cov(x.T, bias=True), np.cov(y.T, bias=True)
    root = sqrtm(sx)
    w2 = np.sum((x.mean(0) - y.mean(0)) ** 2) + np.trace(sx + sy - 2 * sqrtm(root @ sy @ root).real)
    assert pair_numbers(x, y).distance == pytest.approx(w2 / 4, abs=1e-7)


def test_numbers_of_the_embedded_model_are_those_of_the_scan(embedded):
    from components.socm import pair_statistics

    pair = ["The cat sat on the mat.", "Light from the Sun takes about eight minutes to reach Earth."]
    states = embedded.token_states(pair, ["final"]).states["final"]
    theirs = pair_statistics(states[0], states[1])
    ours = pair_numbers(states[0], states[1])
    assert ours.d_mu == pytest.approx(float(theirs.d_mu[0]), abs=1e-9) and ours.socm == pytest.approx(float(theirs.socm[0]), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(1, 9), st.integers(2, 12), st.integers(0, 10**6))
def test_leaving_a_token_out_is_computing_without_it(n, m, dim, seed):
    x, y = texts(n, m, dim, seed)
    without_x, without_y = leave_one_out(x, y)
    for i in range(n):
        again = pair_numbers(np.delete(x, i, axis=0), y)
        assert np.allclose(without_x[i], [getattr(again, name) for name in NUMBERS], atol=1e-9, equal_nan=True)
    for j in range(m if m > 1 else 0):
        again = pair_numbers(x, np.delete(y, j, axis=0))
        assert np.allclose(without_y[j], [getattr(again, name) for name in NUMBERS], atol=1e-9, equal_nan=True)
    assert m > 1 or np.isnan(without_y).all(), "without its only token there is no text"


def test_leaving_a_token_out_loses_no_digits_far_from_the_origin():
    rng = np.random.default_rng(0)
    x, y = 1e4 + rng.normal(size=(6, 8)), 1e4 + rng.normal(size=(7, 8))
    again = pair_numbers(np.delete(x, 2, axis=0), y)
    assert leave_one_out(x, y)[0][2, 1] == pytest.approx(again.d_sigma, rel=1e-6)


def test_shares_of_spread_add_up_and_name_the_far_token():
    x = np.array([[1.0, 0], [1, 0], [1, 3]])
    assert spread_shares(x) == pytest.approx([1 / 6, 1 / 6, 4 / 6])
    assert spread_shares(np.ones((3, 2))).tolist() == [0, 0, 0]


def test_principal_axes_are_those_of_another_library():
    from sklearn.decomposition import PCA

    x, y = texts(14, 11)
    found = joint_pca(x, y)
    both = np.concatenate([t / np.linalg.norm(t.mean(axis=0)) for t in (x, y)])
    theirs = PCA(2).fit(both)
    assert found.share == pytest.approx(theirs.explained_variance_ratio_.sum())
    assert np.allclose(np.abs(np.sum(found.basis * theirs.components_, axis=1)), 1)
    assert np.allclose(np.concatenate([found.x, found.y]), both @ found.basis.T)


def test_the_other_plane_shows_the_whole_distance_of_the_means_and_the_largest_difference():
    x, y = texts(40, 50)
    found = means_and_covariances(x, y)
    a, b = (t / np.linalg.norm(t.mean(axis=0)) for t in (x, y))
    gap = b.mean(axis=0) - a.mean(axis=0)
    assert np.allclose(found.basis @ found.basis.T, np.eye(2), atol=1e-9)
    assert found.y.mean(axis=0) - found.x.mean(axis=0) == pytest.approx([np.linalg.norm(gap), 0], abs=1e-9)
    across = np.eye(12) - np.outer(gap, gap) / (gap @ gap)
    values = np.linalg.eigvalsh(across @ (np.cov(a.T, bias=True) - np.cov(b.T, bias=True)) @ across)
    shown = np.var(found.x[:, 1]) - np.var(found.y[:, 1])
    assert abs(shown) == pytest.approx(np.abs(values).max(), rel=1e-9)


def test_planes_of_equal_texts_single_tokens_and_equal_tokens_are_finite():
    x, _ = texts(4, 4)
    for one, other in ((x, x), (x[:1], x[:1]), (x[:1], x[1:2]), (np.ones((3, 5)), np.ones((2, 5)))):
        for found in (joint_pca(one, other), means_and_covariances(one, other)):
            assert np.isfinite(found.x).all() and np.isfinite(found.y).all() and 0 <= found.share <= 1 + 1e-12


def test_an_ellipse_has_the_projected_covariance():
    points = np.random.default_rng(0).normal(size=(500, 2)) @ [[2, 0.5], [0, 0.7]] + [3, 1]
    line = ellipse(points, 2)
    covariance = np.cov(points.T, bias=True)
    distance = np.einsum("ij,jk,ik->i", line - points.mean(0), np.linalg.inv(covariance), line - points.mean(0))
    assert np.allclose(distance, 4)
    assert np.allclose(ellipse(points[:1], 1), points[0]), "one token has no extent"


def test_cosines_and_what_is_kept():
    x, y = texts(3, 4)
    assert cos_sim(x, y)[1, 2] == pytest.approx(x[1] @ y[2] / np.linalg.norm(x[1]) / np.linalg.norm(y[2]))
    pooled = pooled_cosines(x, y)
    weigh = [np.arange(1, len(t) + 1) @ t for t in (x, y)]
    assert set(pooled) == {"mean", "first token", "last token", "max", "weighted mean"}
    for name, a, b in (("mean", x.mean(0), y.mean(0)), ("first token", x[0], y[0]), ("max", x.max(0), y.max(0)),
                       ("last token", x[-1], y[-1]), ("weighted mean", *weigh)):
        assert pooled[name] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert pooled["mean"] == pytest.approx(1 - 2 * pair_numbers(x, y).d_mu), "d_mu is the cosine of mean pooling"
    tokens, special = ["[CLS]", "the", ",", "##s", "[SEP]"], [True, False, False, False, True]
    assert kept(tokens, special, with_special=False, with_punctuation=True) == [1, 2, 3]
    assert kept(tokens, special, with_special=True, with_punctuation=False, without=frozenset([1])) == [0, 3, 4]


@pytest.mark.parametrize(("x", "rule"), [(np.empty((0, 3)), "must have a token"), (np.array([[1.0, 0], [-1, 0]]), "mean that is not 0"),
                                         (np.full((2, 3), np.nan), "mean that is not 0")])
def test_texts_without_a_direction_are_one_sentence(x, rule):
    with pytest.raises(DataError, match=rule):
        pair_numbers(x, np.ones((2, x.shape[1])))
