"""C, its floor and MIC's terms against the torch modules that train with them, and against simulation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from components import mic_terms
from components import prefix_residual as pr
from tests.components.truncation_samples import token_sample

DIM = 24


def padded(states, counted):
    rows = [torch.from_numpy(states[i].astype(np.float64)) for i in range(len(states))]
    mask = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(one) for one in counted], batch_first=True)
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), mask


@pytest.mark.parametrize("plain", [False, True], ids=["all tokens", "without special"])
@pytest.mark.parametrize("dim", [1, 8, 23])
def test_every_term_is_that_of_the_loss(plain, dim):
    states, special = token_sample(DIM)
    counted = [~mask if plain else np.ones(len(mask), bool) for mask in special]
    found = pr.token_coordinates(states, counted if plain else None)
    x, mask = padded(states, counted)
    assert np.allclose(found.correlation[:dim, dim:], mic_terms.cross_correlation(x, mask, dim).numpy(), atol=1e-12)
    assert found.n_texts == sum(one.sum() > 1 for one in counted)
    taus = np.array([0.0, 0.02, 0.1, 0.3])
    mean, above, losses = pr.excesses(found.correlation, dim, taus)
    block = np.abs(found.correlation[:dim, dim:])
    assert mean == pytest.approx(block.mean()) and np.allclose(above, [(block > tau).mean() for tau in taus])
    assert np.allclose(losses, [float(mic_terms.correlation_loss(x, mask, dim, tau)) for tau in taus], atol=1e-12)
    assert pr.variance_floor(found.std, dim) == pytest.approx(float(mic_terms.variance_floor(x, mask, dim)), abs=1e-12)
    pooled = mic_terms.pooled_prefixes(x, mask, dim)
    assert np.allclose(found.means[:, :dim], pooled.numpy())
    assert pr.coefficient_of_variation(found.means, dim) == pytest.approx(float(mic_terms.coefficient_of_variation(pooled)), abs=1e-9)
    assert pr.uniformity(found.means, dim) == pytest.approx(float(mic_terms.uniformity(pooled)), abs=1e-9)


def test_the_constants_are_those_of_the_loss():
    assert (pr.EPS, pr.CV_EPS) == (mic_terms.EPS, mic_terms.CV_EPS)


@pytest.mark.parametrize("kind", ["normal", "heavy", "coins"])
def test_the_floor_is_what_independent_coordinates_give(kind):
    """40 texts of unlike length; 60 times 60 entries of C whatever the values are distributed like."""
    from components.types import TokenStates

    rng = np.random.default_rng(1)
    lengths = rng.integers(4, 40, size=40)
    draw = {"normal": rng.normal, "heavy": lambda size: rng.standard_t(2, size=size),
            "coins": lambda size: rng.integers(0, 2, size=size) + 1e-3 * rng.normal(size=size)}[kind]
    states = TokenStates(draw(size=(int(lengths.sum()), 120)), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    found = pr.token_coordinates(states)
    c = found.correlation[:60, 60:]
    assert found.sigma == pytest.approx(np.sqrt((1 / (lengths - 1)).sum()) / 40)
    assert c.std() == pytest.approx(found.sigma, rel=0.05)
    assert np.abs(c).mean() == pytest.approx(pr.floor_mean(found.sigma), rel=0.05)
    taus = np.array([0.5, 1.0, 2.0]) * found.sigma
    _, above, losses = pr.excesses(found.correlation, 60, taus)
    assert np.allclose(above, pr.floor_share(taus, found.sigma), atol=0.03)
    # Beyond two sigma the tails of heavy values are lighter than normal: their variance is exact, their shape is not.
    assert np.allclose(losses[:2], pr.floor_loss(taus, found.sigma)[:2], rtol=0.2)


def test_the_floor_s_loss_is_its_integral():
    from scipy import integrate, stats

    for tau in (0.0, 0.01, 0.05):
        whole, _ = integrate.quad(lambda x, tau=tau: (x - tau) ** 2 * stats.norm.pdf(x, scale=0.03), tau, 1)
        assert pr.floor_loss(np.array([tau]), 0.03)[0] == pytest.approx(2 * whole, rel=1e-6)


def test_texts_of_one_token_and_of_none_count_where_they_can():
    states, special = token_sample(DIM)
    found = pr.token_coordinates(states, [np.zeros(len(mask), bool) for mask in special])
    assert found.n_texts == 0 and not found.correlation.any() and np.isnan(found.sigma) and found.means.shape == (0, DIM)


def test_blocks_average_what_lies_in_them_and_every_dim_is_an_edge():
    rng = np.random.default_rng(0)
    k = rng.uniform(-1, 1, size=(100, 100))
    np.fill_diagonal(k, 1)
    edges = pr.block_edges((8, 16, 64, 100))
    assert {0, 8, 16, 64, 100} <= set(edges.tolist()) and (np.diff(edges) > 0).all() and edges[-1] == 100
    means = pr.block_means(k, edges)
    a, b = 10, 30
    inside = np.abs(k[edges[a]:edges[a + 1], edges[b]:edges[b + 1]])
    assert means[a, b] == pytest.approx(inside.mean())
    at = int(np.searchsorted(edges, 16))
    weights = np.outer(np.diff(edges[:at + 1]), np.diff(edges[at:]))
    assert np.average(means[:at, at:], weights=weights) == pytest.approx(np.abs(k[:16, 16:]).mean())
    assert np.isnan(means[0, 0]), "one coordinate alone has no other to correlate with"
