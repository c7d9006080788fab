"""A text's mean, spread and covariance factor against their definitions, and texts that have none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import DataError
from components.moments import helmert, text_moments
from components.socm import pairwise_statistics
from components.types import TokenStates
from tests.components.definitions import ragged, random_texts, unit_mean

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.parametrize("n", [2, 7, 200])
def test_helmert_is_orthonormal_and_forgets_a_translation(n):
    h = helmert(n).numpy()
    assert np.allclose(h @ h.T, np.eye(n - 1))
    x = np.random.default_rng(0).standard_normal((n, 5))
    assert np.allclose(h @ x, h @ (x + 100.0))
    assert np.allclose((h @ x).T @ (h @ x), (x - x.mean(0)).T @ (x - x.mean(0)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 24))
@settings(max_examples=40, deadline=None)
def test_already_scaled_tokens_keep_their_covariance_under_translation(seed, n, dim):
    """Of whole texts a translation changes d_sigma, since it changes the mean that everything is divided by."""
    rng = np.random.default_rng(seed)
    x, shift = rng.standard_normal((n, dim)) + 2, 5 * rng.standard_normal(dim)
    one, other = (helmert(n).numpy() @ t for t in (unit_mean(x), unit_mean(x) + shift))
    assert np.allclose(one, other, atol=1e-11)
    # dim 1 with a mean near 0 or one token apart, scaling after a shift gives other spreads.
    if n > 1 and abs(np.linalg.norm(x.mean(0) + shift) / np.linalg.norm(x.mean(0)) - 1) > 0.01:
        assert text_moments(ragged(x)).spread[0] != pytest.approx(text_moments(ragged(x + shift)).spread[0], rel=1e-3)


def test_moments_equal_their_definition(embedded_states):
    moments = text_moments(embedded_states)
    for k in range(120):
        x = unit_mean(embedded_states[k])
        assert np.allclose(moments.means[k], x.mean(0), atol=1e-12)
        assert moments.spread[k] == pytest.approx(np.var(x, axis=0).sum(), abs=1e-10)
        assert moments.norms[k] == pytest.approx(np.linalg.norm(embedded_states[k].astype(float).mean(0)))
        if k % 17 == 0:
            factor = moments.factor(k).numpy()
            assert np.allclose(factor.T @ factor, np.cov(x.T, bias=True), atol=1e-12)
    assert np.array_equal(moments.n_tokens, embedded_states.lengths)


@pytest.mark.parametrize("lengths", [[1], [2, 1], [6, 7, 8, 9], [500, 3, 500], [1, 1, 1]])
def test_factors_have_the_covariance_and_at_most_dim_rows(lengths):
    """dim 6: up to 7 tokens the factor has n - 1 rows, beyond that a QR brings it down to 6."""
    states = random_texts(np.random.default_rng(1), lengths, 6)
    moments = text_moments(states)
    assert moments.ranks.tolist() == [min(n - 1, 6) for n in lengths]
    for k in range(len(lengths)):
        factor = moments.factor(k).numpy()
        wanted = np.cov(unit_mean(states[k]).T, bias=True)
        assert np.allclose(factor.T @ factor, wanted, atol=1e-12)
        assert moments.spread[k] == pytest.approx(np.trace(wanted), abs=1e-12)
        assert moments.spread[k] > 0 or lengths[k] == 1


def test_texts_do_not_depend_on_what_they_are_computed_with():
    """9,000 tokens of one length are more than one chunk; each text comes out as it does alone, in its own place."""
    lengths = [30] * 300 + [4, 30, 4]
    states = random_texts(np.random.default_rng(2), lengths, 5)
    moments = text_moments(states)
    for k in (0, 150, 272, 273, 274, 299, 300, 301, 302):
        alone = text_moments(ragged(states[k]))
        assert np.allclose(alone.means[0], moments.means[k], atol=1e-13)
        assert np.allclose(alone.factor(0), moments.factor(k), atol=1e-12)
        assert alone.spread[0] == pytest.approx(moments.spread[k], abs=1e-12)


def test_the_dtype_is_of_the_factors_alone():
    states = random_texts(np.random.default_rng(3), [5, 9], 12)
    single, double = (text_moments(states, dtype=dtype) for dtype in (torch.float32, torch.float64))
    assert single.factors.dtype == torch.float32 and double.factors.dtype == torch.float64
    assert np.array_equal(single.spread, double.spread) and np.array_equal(single.means, double.means)
    assert torch.equal(single.factors, double.factors.to(torch.float32))


@pytest.mark.parametrize(("x", "found"), [
    (np.array([[1.0, 2.0], [-1.0, -2.0]]), "||mu|| = 0"),
    (np.array([[0.0, 0.0]]), "||mu|| = 0"),
    (np.array([[np.nan, 1.0]]), "||mu|| = nan"),
    (np.array([[1.0, 1.0], [np.nan, 1.0]]), "||mu|| = nan"),
    (np.array([[np.inf, 1.0]]), "||mu|| = inf"),
    (np.array([[np.inf, 1.0], [-np.inf, 1.0]]), "||mu|| = nan"),
    # Tokens that cancel out, but for rounding: taken as it is, the spread came out as 1e32.
    (np.array([[0.1, 1.0], [0.2, -0.7], [-0.3, -0.3]]), "||mu|| = "),
    (np.array([[0.1, 1.0], [0.2, -0.7], [-0.3, -0.3]], np.float32), "||mu|| = "),
])
def test_a_text_without_a_usable_mean_is_named(x, found):
    states = TokenStates(np.concatenate([np.ones((3, 2), x.dtype), x]), np.array([0, 3, 3 + len(x)]))
    with pytest.raises(DataError, match=r"^text 1 \(row numbers start at 0\) 'the second' must have a finite") as error:
        text_moments(states, names=["the first", "the second"])
    assert found in str(error.value)
    with pytest.raises(DataError, match=r"^text 1 \(row numbers start at 0\) must have"):
        text_moments(states)


def test_a_small_mean_beside_a_large_spread_is_no_error():
    """||mu|| a millionth of the tokens' lengths is a legal text in float64, however odd."""
    x = np.array([[1.0, 1e-6], [-1.0, 1e-6]])
    assert text_moments(ragged(x)).spread[0] == pytest.approx(1e12)


def test_a_text_without_tokens_is_named_and_the_others_counted():
    states = TokenStates(np.ones((2, 3)), np.array([0, 1, 1, 2, 2]))
    with pytest.raises(DataError, match=r"^text 1 \(row.* at least one token; found none \(2 texts in all\)"):
        text_moments(states)


@pytest.mark.parametrize("n", [2, 3, 20, 200, 800])
def test_equal_tokens_have_no_spread_at_all(n):
    """To the last bit: from rounding of 1e-32 an alignment between 0 and 1 was made where there is none."""
    rng = np.random.default_rng(4)
    token = rng.standard_normal((1, 384))
    other = rng.standard_normal((n, 384)) + token
    moments = text_moments(ragged(np.repeat(token, n, axis=0), other))
    assert moments.spread[0] == 0 and not moments.factor(0).any()
    found = pairwise_statistics(moments, [0, 1], [1, 0], direct=True)
    assert np.isnan(found.align).all()
    assert found.d_sigma == pytest.approx(np.full(2, moments.spread[1] / 4))
