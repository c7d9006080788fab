"""Pair statistics against the definitions, on real states and on the cases that break numerics."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import DataError
from components.moments import text_moments
from components.pair_scan import pair_of_index
from components.socm import GRAM_LIMIT, PUBLISHED_EPS, pair_statistics, pairwise_statistics
from tests.components.definitions import by_covariances, by_singular_values, ragged, random_texts, unit_mean

pytestmark = pytest.mark.usefixtures("one_torch_thread")

LOOSE, TIGHT = 1e-6, 1e-9
PRECISIONS = pytest.mark.parametrize(("dtype", "direct", "tolerance"),
                                     [(torch.float32, False, LOOSE), (torch.float64, True, TIGHT)])
GOLDEN_SOCM = 0.42419041964580706
"""Mean SOCM of all 7,140 pairs of the first 120 encyclopedia sentences, all-MiniLM-L6-v2, final layer, special tokens
in. Computed once outside this code, in float64 by the definition (numpy: unit-mean scaling, centring, singular values),
from the embedded weights whose model.safetensors has the sha256 below."""
GOLDEN_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def random_pairs(n_texts: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    index = np.random.default_rng(seed).choice(n_texts * (n_texts - 1) // 2, n, replace=False)
    return pair_of_index(index, n_texts)


@PRECISIONS
def test_real_pairs_equal_the_singular_values_of_the_definition(embedded_states, dtype, direct, tolerance):
    moments = text_moments(embedded_states, dtype=dtype)
    i, j = random_pairs(len(moments), 400)
    found = pairwise_statistics(moments, i, j, direct=direct)
    for k in range(len(i)):
        d_mu, d_sigma = by_singular_values(embedded_states[i[k]], embedded_states[j[k]])
        scale = max(1.0, moments.spread[i[k]], moments.spread[j[k]])
        assert abs(found.d_sigma[k] - d_sigma) <= tolerance * scale
        assert abs(found.d_mu[k] - d_mu) <= TIGHT
        x, y = (embedded_states[n].astype(float).mean(0) for n in (i[k], j[k]))
        cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
        assert abs(found.d_mu[k] - (1 - cosine) / 2) <= TIGHT
        assert found.d_sigma[k] <= (moments.spread[i[k]] + moments.spread[j[k]]) / 4


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
        "rank at the limit": (text(97), text(97)),
        "rank above the limit": (text(98), text(98)),
        "rank two above the limit": (text(99), text(98)),
        "rank 128": (text(129), text(129)),
        "rank 128, identical": (long[:129], long[:129].copy()),
        "equal tokens at the limit": (np.repeat(text(1), 97, axis=0), text(97)),
        "few directions at the limit": (text(97, rank=4), text(97, rank=4)),
        "tiny spread": (centre + 1e-6 * text(20), centre + 1e-6 * text(22)),
        "wide spread": (1e3 * text(20) + centre, text(22)),
    }


@pytest.mark.parametrize("name", list(hard_cases()))
@PRECISIONS
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


@pytest.mark.parametrize(("n", "tolerance"), [(97, LOOSE), (98, 5e-9), (99, 5e-9), (129, 5e-9), (513, 5e-9)])
def test_long_texts_of_few_directions_do_not_lose_digits_in_a_gram_matrix(n, tolerance):
    """One direction in n tokens: n - 2 singular values are 0, and each costs sqrt(eps) of the largest by a Gram matrix.

    Up to rank 96 that stays within the tolerance; beyond, singular values are taken directly, which leaves the float32
    factors' own rounding.
    """
    assert GRAM_LIMIT == 96, "the token counts of these cases were chosen for it"
    rng = np.random.default_rng(0)
    centre, direction = np.linalg.qr(rng.standard_normal((768, 2)))[0].T
    x, y = (centre + size * rng.standard_normal((n, 1)) * direction for size in (1.0, 0.6))
    found = pairwise_statistics(text_moments(ragged(x, y), dtype=torch.float32), [0], [1])
    _, d_sigma = by_singular_values(x, y)
    assert d_sigma > 1e-3, "above 0, where clamping hides nothing"
    assert abs(found.d_sigma[0] - d_sigma) <= tolerance


def test_as_published_equals_the_authors_computation_and_is_lower_by_what_its_eps_costs(embedded_states):
    """Against dim x dim roots with eps on both diagonals.

    Their first root carries its eps into the second one's argument as eps Sigma2, which the closed form leaves out
    (derived): root of an operator of at least eps, so ours lies above theirs, by at most sqrt(eps) tr Sigma2 / 4.
    """
    moments = text_moments(embedded_states, dtype=torch.float64)
    i, j = random_pairs(len(moments), 10, seed=2)
    exact = pairwise_statistics(moments, i, j, direct=True)
    published = pairwise_statistics(moments, i, j, direct=True, published=True)
    assert abs(moments.ranks[i] - moments.ranks[j]).max() > 10, "pairs of unlike lengths are where the two could part"
    for k in range(len(i)):
        theirs = by_covariances(embedded_states[i[k]], embedded_states[j[k]], eps=PUBLISHED_EPS)
        carried = PUBLISHED_EPS**0.5 / 4 * moments.spread[j[k]]
        assert -1e-8 <= published.d_sigma[k] - theirs <= carried + 1e-8
        rank = min(moments.ranks[i[k]], moments.ranks[j[k]])
        lowered = 0.5 * PUBLISHED_EPS**0.5 * (384 - rank)
        # Singular values near sqrt(eps) are raised a little as well, so the lowering is never less than this.
        assert lowered * (1 - 1e-9) <= exact.d_sigma[k] - published.d_sigma[k] <= 1.02 * lowered
        assert lowered > 4e-3


def test_the_sum_is_a_quarter_of_the_gaussians_w2(embedded_states):
    """W2^2 of two Gaussians by POT, an independent library.

    Long texts and few dims, since it gives NaN where Sigma is singular.
    """
    import ot  # type: ignore[import-untyped]

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


def test_golden_mean_socm_of_all_pairs(embedded, embedded_states):
    weights = hashlib.sha256(Path(embedded.ref.folder, "model.safetensors").read_bytes()).hexdigest()
    assert weights == GOLDEN_WEIGHTS, "other weights: the golden value below is not theirs"
    i, j = pair_of_index(np.arange(7140), 120)
    for dtype, direct in ((torch.float32, False), (torch.float64, True)):
        found = pairwise_statistics(text_moments(embedded_states, dtype=dtype), i, j, direct=direct)
        assert float(found.socm.mean()) == pytest.approx(GOLDEN_SOCM, abs=1e-6)


def test_random_texts_give_the_same_by_pairs_and_row_by_row():
    states = random_texts(np.random.default_rng(5), [1, 2, 3, 9, 9, 30], 16)
    moments = text_moments(states)
    i, j = pair_of_index(np.arange(15), 6)
    found = pairwise_statistics(moments, i, j, direct=True)
    for k in range(15):
        alone = pair_statistics(states[i[k]], states[j[k]])
        assert alone.d_sigma[0] == pytest.approx(found.d_sigma[k], abs=1e-12)
