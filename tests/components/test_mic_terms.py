"""The terms of MIC against loops written from their formulas, at the edges of numerics, and by what they do."""

from __future__ import annotations

import math

import pytest
import torch

from components import mic_terms
from components.mic_terms import (
    CV_EPS,
    EPS,
    SCR,
    SIR,
    coefficient_of_variation,
    correlation_loss,
    cross_correlation,
    pooled_prefixes,
    uniformity,
    variance_floor,
)
from tests.components.mic_definitions import JUNK, TAU, TERMS, WEIGHT, T, agrees, cases, loop_cross, loop_variance, states_of

pytestmark = pytest.mark.usefixtures("one_torch_thread")

each_term = pytest.mark.parametrize("term", list(TERMS))


@each_term
def test_each_term_equals_the_loop_of_its_formula(term):
    assert agrees(term)


def test_the_cases_reach_every_branch():
    """Cases that never leave a kink would let a dropped max pass."""
    cross = [loop_cross(*case).abs() for case in cases() if case[2] < 6]
    assert any((c < TAU).any() and (c > TAU).any() for c in cross)
    floors = [loop_variance(*case) for case in cases()]
    assert min(floors) == 0 < max(floors)


@each_term
@pytest.mark.parametrize("dim", [1, 3, 5])
def test_gradients_agree_with_finite_differences(term, dim):
    states = states_of(dim, batch=3, n=4, width=5).requires_grad_()
    mask = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]])
    assert torch.autograd.gradcheck(lambda x: TERMS[term][0](mic_terms, x, mask, dim), (states,), atol=1e-7, rtol=1e-5)


def edge(name, dtype):
    states, mask, dim = states_of(1, dtype=dtype), torch.ones(4, 7), 2
    if name == "batch of one":
        states, mask = states[:1], mask[:1]
    elif name == "one token":
        states, mask = states[:, :1], mask[:, :1]
    elif name == "one text of one token":
        states, mask = states[:1, :1], mask[:1, :1]
    elif name == "all padding but one":
        mask[:, 1:] = 0
    elif name == "all padding but one in one text":
        mask[1, :-1] = 0
    elif name == "no token counts":
        mask[:] = 0
    elif name == "constant dims":
        states[..., [0, 3]] = 1.7
    elif name == "zero variance":
        states[:] = 0.3
    elif name == "zeros":
        states[:] = 0
    elif name == "equal texts":
        states[:] = states[:1].clone()
    elif name == "full dim":
        dim = 6
    elif name == "large":
        states *= 1e4
    elif name == "padding is NaN":
        mask[:, 4:] = 0
        states[:, 4:] = math.nan
    return states.requires_grad_(), mask, dim


EDGES = ("batch of one", "one token", "one text of one token", "all padding but one", "all padding but one in one text",
         "no token counts", "constant dims", "zero variance", "zeros", "equal texts", "full dim", "large", "padding is NaN")


@each_term
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", EDGES)
def test_edges_have_finite_values_and_gradients(term, name, dtype):
    states, mask, dim = edge(name, dtype)
    value = TERMS[term][0](mic_terms, states, mask, dim)
    assert value.dtype == dtype and value.isfinite().all()
    value.sum().backward()
    assert states.grad is not None and states.grad.isfinite().all()


def test_edges_have_the_values_they_should():
    states, mask, _ = edge("full dim", torch.float64)
    assert correlation_loss(states, mask, 6, TAU) == 0 and cross_correlation(states, mask, 6).shape == (6, 0)
    assert tuple(SCR(TAU, WEIGHT)(states, mask, 6)) == (0, 0, 0)
    for name in ("one token", "all padding but one", "no token counts"):
        states, mask, dim = edge(name, torch.float64)
        assert correlation_loss(states, mask, dim, 0.0) == 0 and variance_floor(states, mask, dim) == 0
    states, mask, dim = edge("batch of one", torch.float64)
    assert uniformity(pooled_prefixes(states, mask, dim)) == 0
    assert coefficient_of_variation(pooled_prefixes(states, mask, dim)).item() == pytest.approx(CV_EPS**0.5)
    states, mask, dim = edge("equal texts", torch.float64)
    assert uniformity(pooled_prefixes(states, mask, dim)).item() == pytest.approx(0, abs=1e-7)
    states, mask, dim = edge("zero variance", torch.float64)
    assert variance_floor(states, mask, dim).item() == pytest.approx(1.5 * (1 - EPS**0.5))


@each_term
@pytest.mark.parametrize("side", ["right", "left"])
def test_more_padding_changes_nothing(term, side):
    states, mask, dim = states_of(3), torch.tensor([[1] * 7, [1] * 5 + [0] * 2, [0] * 3 + [1] * 4, [1, 1] + [0] * 5]), 2
    at = (0, 0, 0, 9) if side == "right" else (0, 0, 9, 0)
    wider = torch.nn.functional.pad(states, at, value=JUNK)
    wider_mask = torch.nn.functional.pad(mask, at[2:])
    found, call = TERMS[term][0](mic_terms, states, mask, dim), TERMS[term][0]
    assert torch.allclose(found, call(mic_terms, wider, wider_mask, dim), rtol=0, atol=1e-13)
    assert torch.allclose(found, call(mic_terms, states, mask.bool(), dim), rtol=0, atol=0), "masks of bool or int"


@each_term
def test_a_text_that_counts_too_little_contributes_nothing(term):
    states, mask = states_of(4), torch.ones(4, 7)
    mask[3] = 0
    mask[3, 2] = 0 if term in ("cv", "uniformity", "sir") else 1
    call = TERMS[term][0]
    assert torch.allclose(call(mic_terms, states, mask, 2), call(mic_terms, states[:3], mask[:3], 2), rtol=0, atol=1e-13)


def test_scaling_of_coordinates_leaves_the_correlation_alone():
    states, mask = states_of(5), torch.ones(4, 7)
    scales = torch.tensor([0.2, 3.0, 40.0, 1.0, 0.5, 9.0], dtype=torch.float64)
    value = correlation_loss(states, mask, 2, 0.05)
    assert value > 1e-3
    assert correlation_loss(states * scales, mask, 2, 0.05) == pytest.approx(float(value), rel=1e-4)
    shifted = states + torch.randn(4, 1, 6, dtype=torch.float64)
    assert correlation_loss(shifted, mask, 2, 0.05) == pytest.approx(float(value), rel=1e-9), "nor does moving a text"
    pooled = pooled_prefixes(states, mask, 4)
    for term in (coefficient_of_variation, uniformity):
        assert term(7 * pooled) == pytest.approx(float(term(pooled)), rel=1e-5), "one scale for all"


def test_cross_correlation_of_a_copied_coordinate_is_one():
    states = states_of(6)
    states[..., 4] = 2 * states[..., 1] + 3
    states[..., 5] = -states[..., 0]
    found = cross_correlation(states, torch.ones(4, 7), 2)
    assert found[1, 2] == pytest.approx(1, abs=1e-5) and found[0, 3] == pytest.approx(-1, abs=1e-5)
    assert found.abs().max() <= 1


@pytest.mark.parametrize("t", [0.5, 2.0, 5.0])
def test_uniformity_by_distances_of_pairs(t):
    pooled = states_of(7, batch=30)[:, 0, :4]
    rows = torch.nn.functional.normalize(pooled, dim=1)
    assert uniformity(pooled, t) == pytest.approx(float(torch.pdist(rows).square().mul(-t).exp().mean().log()), abs=1e-6)


def test_uniformity_of_a_hand_worked_case():
    """Two rows at right angles: cos 0, exp(-2 t); opposite ones: exp(-4 t)."""
    assert uniformity(torch.tensor([[3.0, 0], [0, 2]]), 2.0) == pytest.approx(-4, abs=1e-6)
    assert uniformity(torch.tensor([[3.0, 0], [-1, 0]]), 2.0) == pytest.approx(-8, abs=1e-6)


def test_cv_of_hand_worked_variances():
    """Variances 1 and 0 have CV 1 and one coordinate in effect, equal ones CV 0 and two."""
    one = torch.tensor([[1.0, 5], [-1, 5]], dtype=torch.float64)
    assert coefficient_of_variation(one) == pytest.approx(1, abs=1e-6)
    assert coefficient_of_variation(torch.tensor([[1.0, 5], [-1, 3]], dtype=torch.float64)) == pytest.approx(0, abs=2e-6)


def descend(loss, start, steps=200, rate=0.05):
    x = start.clone().requires_grad_()
    optimiser = torch.optim.Adam([x], lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss(x).backward()
        optimiser.step()
    return x.detach()


def test_following_each_gradient_does_what_the_term_is_for():
    states, mask = states_of(8), torch.ones(4, 7)
    after = descend(lambda x: correlation_loss(x, mask, 2, 0.02), states)
    assert cross_correlation(after, mask, 2).abs().mean() < 0.2 * cross_correlation(states, mask, 2).abs().mean()
    after = descend(lambda x: variance_floor(x, mask, 2), 0.1 * states)
    assert variance_floor(0.1 * states, mask, 2) > 0.5 and variance_floor(after, mask, 2) < 0.01
    pooled = states_of(9, batch=12)[:, 0, :3] * torch.tensor([1.0, 0.2, 0.1])
    after = descend(coefficient_of_variation, pooled)
    assert coefficient_of_variation(pooled) > 1 and coefficient_of_variation(after) < 0.05
    crowded = torch.tensor([[1.0, 0, 0]], dtype=torch.float64) + 0.1 * pooled[:4]
    after = torch.nn.functional.normalize(descend(uniformity, crowded), dim=1)
    cosines = (after @ after.T)[~torch.eye(4, dtype=torch.bool)]
    assert torch.allclose(cosines, torch.full_like(cosines, -1 / 3), atol=0.02), "four points on a sphere: a tetrahedron"


def test_modules_give_their_parts():
    states, mask = states_of(2), torch.ones(4, 7)
    scr, sir = SCR(TAU, WEIGHT)(states, mask, 2), SIR(T)(states, mask, 2)
    assert scr.correlation == correlation_loss(states, mask, 2, TAU) and scr.variance == variance_floor(states, mask, 2)
    assert sir.uniformity == uniformity(pooled_prefixes(states, mask, 2), T)
    assert not list(SCR().parameters()) and not list(SIR().parameters())
