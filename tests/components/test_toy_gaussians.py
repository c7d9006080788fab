"""Toy Gaussians: the closed form against matrix roots and against token clouds, and what the corners claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from components.errors import DataError
from components.socm import pair_statistics
from components.toy_gaussians import CORNERS, START, ToyPair, corner_of, toy_finding, toy_statistics

ANGLES, TURNS = st.floats(0, 180), st.floats(0, 90)
SPREADS, LONG = st.floats(0, 3), st.floats(0, 1)
PAIRS = st.builds(ToyPair, ANGLES, TURNS, SPREADS, SPREADS, LONG, LONG)
INNER = st.builds(ToyPair, ANGLES, TURNS, st.floats(0.01, 3), st.floats(0.01, 3), st.floats(0, 0.99), st.floats(0, 0.99))
# Roots of numbers near 0 (a line's determinant, two equal spreads) cost half the digits of the reference, not ours.
CLOSE = {"rel": 1e-7, "abs": 1e-7}


def cloud(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Four tokens whose mean and covariance (divided by n) are exactly these."""
    values, vectors = np.linalg.eigh(covariance)
    steps = (vectors * np.sqrt(2 * np.clip(values, 0, None))).T
    return mean + np.concatenate([steps, -steps])


@given(PAIRS)
def test_size_and_shape_make_d_sigma_and_all_stay_in_range(pair):
    found = toy_statistics(pair)
    assert found.size + found.shape == pytest.approx(found.d_sigma, abs=1e-15)
    assert min(found.size, found.shape, found.d_sigma, found.socm) >= 0
    assert 0 <= found.d_mu <= 1 and -1 <= found.cosine <= 1
    assert found.d_sigma <= (pair.spread_a + pair.spread_b) / 4 + 1e-12
    if found.align is None:
        assert pair.spread_a * pair.spread_b == 0
    else:
        assert 0 <= found.align <= 1


@given(INNER)
def test_as_with_matrix_roots(pair):
    found, (one, other) = toy_statistics(pair), pair.covariances
    root = np.real(sqrtm(one))
    inner = np.real(sqrtm(root @ other @ root))
    bures = np.trace(one) + np.trace(other) - 2 * np.trace(inner)
    assert found.d_sigma == pytest.approx(bures / 4, **CLOSE)
    mean_a, mean_b = pair.means
    assert found.d_mu == pytest.approx(float(np.sum((mean_a - mean_b) ** 2)) / 4, abs=1e-12)


@given(PAIRS)
def test_as_with_tokens_of_exactly_these_moments(pair):
    found = toy_statistics(pair)
    clouds = [cloud(mean, covariance) for mean, covariance in zip(pair.means, pair.covariances, strict=True)]
    truth = pair_statistics(*clouds)
    assert found.d_mu == pytest.approx(truth.d_mu[0], abs=1e-9)
    assert found.d_sigma == pytest.approx(truth.d_sigma[0], **CLOSE)
    assert found.size == pytest.approx(truth.size[0], **CLOSE)
    assert found.shape == pytest.approx(truth.shape[0], **CLOSE)
    assert found.socm == pytest.approx(truth.socm[0], **CLOSE)
    if found.align is not None and min(pair.spread_a, pair.spread_b) > 0.01:
        assert found.align == pytest.approx(truth.align[0], abs=1e-6)


def test_clouds_have_the_moments_they_claim():
    pair = ToyPair(70, 25, 1.5, 0.5, 0.6, 0.9)
    for mean, covariance in zip(pair.means, pair.covariances, strict=True):
        tokens = cloud(mean, covariance)
        np.testing.assert_allclose(tokens.mean(axis=0), mean, atol=1e-15)
        np.testing.assert_allclose(np.cov(tokens.T, bias=True), covariance, atol=1e-15)


@given(PAIRS)
def test_means_lie_on_the_circle_and_covariances_have_their_spread_and_elongation(pair):
    np.testing.assert_allclose(np.linalg.norm(pair.means, axis=1), 1, atol=1e-15)
    for covariance, spread, long in zip(pair.covariances, (pair.spread_a, pair.spread_b), (pair.long_a, pair.long_b),
                                        strict=True):
        low, high = np.linalg.eigvalsh(covariance)
        assert low + high == pytest.approx(spread, abs=1e-12)
        assert high - low == pytest.approx(spread * long, abs=1e-12)


def test_known_values():
    crossed_lines = toy_statistics(ToyPair(60, 90, 2, 2, 1, 1))
    assert crossed_lines.d_mu == pytest.approx(0.25)
    assert crossed_lines.d_sigma == pytest.approx(1)
    assert crossed_lines.align == pytest.approx(0)
    assert crossed_lines.socm == pytest.approx(0.75)
    circles = toy_statistics(ToyPair(180, 40, 1, 0.25, 0, 0))
    assert (circles.d_mu, circles.align, circles.socm) == pytest.approx((1, 1, 0))
    assert (circles.size, circles.shape) == pytest.approx((1 / 16, 0))
    point = toy_statistics(ToyPair(0, 0, 2, 0, 0.5, 0.5))
    assert (point.d_sigma, point.size, point.shape, point.align) == (pytest.approx(0.5), pytest.approx(0.5), 0, None)


def test_corners_give_what_they_claim():
    hidden, both, nothing, means = (toy_statistics(CORNERS[name]) for name in (
        "Only the covariances differ", "Both differ", "Both agree", "Only the means differ"))
    assert hidden.d_mu == nothing.d_mu == 0
    assert both.d_mu == means.d_mu > 0.9
    assert hidden.d_sigma == both.d_sigma > 0.4
    assert nothing.d_sigma == means.d_sigma == 0
    assert hidden.socm > 10 * both.socm > 0
    assert START in CORNERS
    for name, pair in CORNERS.items():
        assert corner_of(toy_statistics(pair)) == name


def finding(*values: float) -> str:
    pair = ToyPair(*values)
    return toy_finding(pair, toy_statistics(pair))


@pytest.mark.parametrize("values, words", [
    ((0, 90, 1.2, 1.2, 0.95, 0.95), ["The means agree, the covariances do not", "one and the same vector", "SOCM 0.413",
                                     "All of the covariance distance is shape"]),
    ((20, 90, 1.2, 1.2, 0.95, 0.95), ["nearly the same vector (cosine 0.940)"]),
    ((50, 90, 1.2, 1.2, 0.95, 0.95), ["similar vectors (cosine 0.643)"]),
    ((0, 0, 2, 0.2, 0, 0), ["The means agree, the covariances do not", "All of the covariance distance is size"]),
    ((0, 30, 3, 0.5, 0.5, 0.5), ["% of the covariance distance is size: "]),
    ((0, 80, 2, 1, 0.9, 0.9), ["% of the covariance distance is shape: "]),
    ((150, 90, 1.2, 1.2, 0.95, 0.95), ["Means and covariances both differ", "(cosine −0.866)", "so 7% of the",
                                       "SOCM 0.0276"]),
    ((70, 90, 2, 2, 0.95, 0.95), ["so 67% of"]),
    ((0, 0, 1.2, 1.2, 0.95, 0.95), ["equal in mean and covariance", "SOCM 0."]),
    ((20, 10, 1.2, 1.2, 0.5, 0.5), ["Means and covariances agree", "cosine 0.940"]),
    ((150, 0, 1.2, 1.2, 0.95, 0.95), ["The means differ", "covariances are equal", "pooling keeps it"]),
    ((150, 20, 1.2, 1.2, 0.5, 0.5), ["covariances are nearly equal"]),
    ((40, 0, 0, 0, 0, 0), ["Neither text spreads", "SOCM 0."]),
])
def test_the_sentence_follows_from_the_numbers(values, words):
    sentence = finding(*values)
    assert all(part in sentence for part in words), sentence
    assert "_" not in sentence and "nan" not in sentence and ".." not in sentence


@given(PAIRS)
def test_every_setting_has_a_sentence(pair):
    assert "SOCM" in toy_finding(pair, toy_statistics(pair))


@pytest.mark.parametrize("field, value", [("angle", 181), ("turn", -1), ("spread_a", -0.1), ("spread_b", math.inf),
                                          ("long_a", 1.1), ("long_b", math.nan)])
def test_what_is_out_of_range_is_refused_by_name(field, value):
    values = {"angle": 0.0, "turn": 0.0, "spread_a": 1.0, "spread_b": 1.0, "long_a": 0.5, "long_b": 0.5, field: value}
    with pytest.raises(DataError, match=field):
        ToyPair(**values)
