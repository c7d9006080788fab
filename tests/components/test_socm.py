"""Pair statistics against the definitions, on real states and on the cases that break numerics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import DataError
from components.moments import helmert, text_moments
from components.pair_scan import pair_of_index
from components.socm import GRAM_LIMIT, pair_statistics, pairwise_statistics
from tests.components.definitions import by_covariances, by_singular_values, ragged, random_texts, unit_mean

LOOSE, TIGHT = 1e-6, 1e-9


def random_pairs(n_texts: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    index = np.random.default_rng(seed).choice(n_texts * (n_texts - 1) // 2, n, replace=False)
    return pair_of_index(index, n_texts)


@pytest.mark.parametrize(("dtype", "direct", "tolerance"), [(torch.float32, False, LOOSE), (torch.float64, True, TIGHT)])
def test_real_pairs_equal_the_singular_values_of_the_definition(embedded_states, dtype, direct, tolerance):
    moments = text_moments(embedded_states, dtype=dtype)
    i, j = random_pairs(len(moments), 400)
    found = pairwise_statistics(moments, i, j, direct=direct)
    for k in range(len(i)):
        d_mu, d_sigma = by_singular_values(embedded_states[i[k]], embedded_states[j[k]])
        scale = max(1.0, moments.spread[i[k]], moments.spread[j[k]])
        assert abs(found.d_sigma[k] - d_sigma) <= tolerance * scale
        assert abs(found.d_mu[k] - d_mu) <= TIGHT


def test_real_pairs_equal_the_definition_by_whole_covariance_matrices(embedded_states):
    moments = text_moments(embedded_states, dtype=torch.float32)
    i, j = random_pairs(len(moments), 12, seed=1)
    found = pairwise_statistics(moments, i, j)
    for k in range(len(i)):
        assert abs(found.d_sigma[k] - by_covariances(embedded_states[i[k]], embedded_states[j[k]])) <= LOOSE


def hard_cases() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    dim = 768
    centre = rng.standard_normal(dim)

    def text(n: int, rank: int | None = None) -> np.ndarray:
        noise = rng.standard_normal((n, dim)) if rank is None else \
            rng.standard_normal((n, rank)) @ rng.standard_normal((rank, dim))
        return noise + centre

    twelve = text(12)
    long = text(512, rank=40)
    return {
        "rank-deficient": (text(60, rank=5), text(50, rank=3)),
        "one token against many": (text(1), text(30)),
        "one token each": (text(1), text(1)),
        "duplicated tokens": (np.repeat(twelve, 5, axis=0), np.repeat(text(9), 11, axis=0)),
        "all tokens equal": (np.repeat(text(1), 20, axis=0), text(25)),
        "512 tokens": (text(512), text(480)),
        "512 tokens of rank 40": (long, text(512, rank=35)),
        "512 duplicated tokens": (np.repeat(text(8), 64, axis=0), np.repeat(text(4), 128, axis=0)),
        "identical": (twelve, twelve.copy()),
        "identical, long": (long, long.copy()),
        "more tokens than dims": (text(800), text(20)),
        "long against short": (text(400), text(3)),
        "rank at the limit": (text(GRAM_LIMIT + 1), text(GRAM_LIMIT + 1)),
        "rank above the limit": (text(GRAM_LIMIT + 2), text(GRAM_LIMIT + 2)),
        "tiny spread": (centre + 1e-6 * text(20), centre + 1e-6 * text(22)),
        "wide spread": (1e3 * text(20) + centre, text(22)),
    }


@pytest.mark.parametrize("name", list(hard_cases()))
@pytest.mark.parametrize(("dtype", "direct", "tolerance"), [(torch.float32, False, LOOSE), (torch.float64, True, TIGHT)])
def test_hard_cases_of_dim_768(name, dtype, direct, tolerance):
    x, y = hard_cases()[name]
    moments = text_moments(ragged(x, y), dtype=dtype)
    found = pairwise_statistics(moments, [0], [1], direct=direct)
    d_mu, d_sigma = by_singular_values(x, y)
    scale = max(1.0, *moments.spread)
    assert abs(found.d_sigma[0] - d_sigma) <= tolerance * scale
    assert abs(found.d_mu[0] - d_mu) <= TIGHT
    assert abs(found.size[0] + found.shape[0] - found.d_sigma[0]) <= TIGHT * scale
    if min(moments.spread) > 0:
        assert 0 <= found.align[0] <= 1
    else:
        assert np.isnan(found.align[0])


def test_as_published_equals_the_authors_computation_and_is_lower_by_what_its_eps_costs(embedded_states):
    moments = text_moments(embedded_states, dtype=torch.float64)
    i, j = random_pairs(len(moments), 6, seed=2)
    exact = pairwise_statistics(moments, i, j, direct=True)
    published = pairwise_statistics(moments, i, j, direct=True, published=True)
    for k in range(len(i)):
        theirs = by_covariances(embedded_states[i[k]], embedded_states[j[k]], eps=1e-9)
        assert abs(published.d_sigma[k] - theirs) <= 2e-5
        rank = min(moments.ranks[i[k]], moments.ranks[j[k]])
        assert exact.d_sigma[k] - published.d_sigma[k] == pytest.approx(0.5 * 1e-9**0.5 * (384 - rank), rel=0.02)


def test_the_sum_is_a_quarter_of_the_gaussians_w2(embedded_states):
    """W2^2 of two Gaussians by POT, an independent library (long texts, few dims: it gives NaN where Sigma is singular)."""
    import ot

    a, b = np.argsort(embedded_states.lengths)[-2:]
    x, y = embedded_states[a][:, :8].astype(float), embedded_states[b][:, :8].astype(float)
    found = pair_statistics(x, y)
    x, y = unit_mean(x), unit_mean(y)
    w2 = ot.gaussian.bures_wasserstein_distance(x.mean(0), y.mean(0), np.cov(x.T, bias=True), np.cov(y.T, bias=True))
    assert found.d_mu[0] + found.d_sigma[0] == pytest.approx(w2**2 / 4, abs=1e-6)


def test_a_hand_worked_case():
    """Means (1, 0) both; x spreads by 1 along the second axis, y by 4 along the second axis: BW^2 = (2 - 1)^2."""
    x = np.array([[1.0, 1.0], [1.0, -1.0]])
    y = np.array([[1.0, 2.0], [1.0, -2.0]])
    found = pair_statistics(x, y)
    assert found.d_mu[0] == pytest.approx(0, abs=1e-15)
    assert found.d_sigma[0] == pytest.approx(0.25)
    assert found.size[0] == pytest.approx(0.25)
    assert found.align[0] == pytest.approx(1)
    assert found.socm[0] == pytest.approx(0.25)
    z = np.array([[2.0, 0.0], [0.5, 0.0]])  # mean (1.25, 0), spreads along the first axis: nothing in common with x
    other = pair_statistics(x, z)
    assert other.align[0] == pytest.approx(0, abs=1e-12)
    assert other.d_sigma[0] == pytest.approx((1 + (0.75 / 1.25) ** 2) / 4)


@st.composite
def two_texts(draw) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dim = draw(st.integers(2, 24))
    centre = rng.standard_normal(dim)
    x, y = (rng.standard_normal((draw(st.integers(1, 40)), dim)) * draw(st.floats(0.01, 3)) + centre for _ in "xy")
    return x, y, rng


def all_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = pair_statistics(x, y)
    return np.array([found.d_mu[0], found.d_sigma[0], found.size[0], found.shape[0], found.socm[0]])


@settings(max_examples=60, deadline=None)
@given(two_texts())
def test_properties(case):
    x, y, rng = case
    base = all_of(x, y)
    tolerance = 1e-8 * max(1.0, *(np.var(unit_mean(t), axis=0).sum() for t in (x, y)))
    turn = np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0]
    assert np.allclose(all_of(y, x), base, atol=tolerance, rtol=0), "symmetry"
    assert np.allclose(all_of(x @ turn, y @ turn), base, atol=tolerance, rtol=0), "rotation of both"
    assert np.allclose(all_of(7.5 * x, 0.02 * y), base, atol=tolerance, rtol=0), "positive scaling of either"
    assert np.allclose(all_of(rng.permutation(x), rng.permutation(y)), base, atol=tolerance, rtol=0), "order of tokens"
    assert np.allclose(all_of(np.repeat(x, 3, axis=0), y), base, atol=tolerance, rtol=0), "every token three times"
    bound = sum(np.var(unit_mean(t), axis=0).sum() for t in (x, y)) / 4
    assert 0 <= base[1] <= bound + tolerance
    assert 0 <= base[0] <= 1


def test_helmert_is_orthonormal_and_forgets_a_translation():
    h = helmert(7).numpy()
    assert np.allclose(h @ h.T, np.eye(6))
    x = np.random.default_rng(0).standard_normal((7, 5))
    assert np.allclose(h @ x, h @ (x + 100.0))
    assert np.allclose((h @ x).T @ (h @ x), (x - x.mean(0)).T @ (x - x.mean(0)))


def test_moments_equal_their_definition(embedded_states):
    moments = text_moments(embedded_states)
    for k in range(0, 120, 17):
        x = unit_mean(embedded_states[k])
        assert np.allclose(moments.means[k], x.mean(0), atol=1e-12)
        assert moments.spread[k] == pytest.approx(np.var(x, axis=0).sum(), abs=1e-10)
        assert moments.norms[k] == pytest.approx(np.linalg.norm(embedded_states[k].astype(float).mean(0)))
        factor = moments.factor(k).numpy()
        assert np.allclose(factor.T @ factor, np.cov(x.T, bias=True), atol=1e-12)


@pytest.mark.parametrize(("x", "found"), [
    (np.array([[1.0, 2.0], [-1.0, -2.0]]), "||mu|| = 0"), (np.array([[np.nan, 1.0]]), "||mu|| = nan"),
    (np.array([[np.inf, 1.0]]), "||mu|| = inf"),
])
def test_a_text_without_a_usable_mean_is_named(x, found):
    states = ragged(np.ones((3, 2)), x)
    with pytest.raises(DataError, match=r"^text 1 \(row numbers start at 0\) 'the second'") as error:
        text_moments(states, names=["the first", "the second"])
    assert found in str(error.value)


def test_texts_of_different_dims_are_refused():
    with pytest.raises(DataError, match="of one dim"):
        pair_statistics(np.ones((3, 4)), np.ones((3, 5)))


def test_golden_mean_socm_of_the_embedded_model(embedded_states):
    """Held against the definition in float64 here and now, on every 11th pair, so that no number is copied from us."""
    moments = text_moments(embedded_states, dtype=torch.float32)
    i, j = pair_of_index(np.arange(0, 7140, 11), 120)
    found = pairwise_statistics(moments, i, j)
    slow = [by_singular_values(embedded_states[a], embedded_states[b]) for a, b in zip(i, j, strict=True)]
    mean = float(np.mean([(1 - d_mu) * d_sigma for d_mu, d_sigma in slow]))
    assert float(found.socm.mean()) == pytest.approx(mean, abs=1e-7)
    assert 0.3 < mean < 0.6, "the published 1,000-sentence mean of this model lies at 0.44"


def test_random_texts_give_the_same_by_pairs_and_row_by_row():
    states = random_texts(np.random.default_rng(5), [1, 2, 3, 9, 9, 30], 16)
    moments = text_moments(states)
    i, j = pair_of_index(np.arange(15), 6)
    found = pairwise_statistics(moments, i, j, direct=True)
    for k in range(15):
        alone = pair_statistics(states[i[k]], states[j[k]])
        assert alone.d_sigma[0] == pytest.approx(found.d_sigma[k], abs=1e-12)
