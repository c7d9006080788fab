"""Faults put into the source of MIC's terms, one at a time: the comparison with the loops has to see each."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from components import mic_terms
from tests.components.mic_definitions import TERMS, agrees

pytestmark = pytest.mark.usefixtures("one_torch_thread")

FAULTS = [
    ("cross", "prefix.flatten(0, 1).T @ tokens[..., dim:].flatten(0, 1)",
     "(prefix.flatten(0, 1).T @ tokens[..., dim:].flatten(0, 1)).T"),
    ("cross", "return prefix.flatten(0, 1).T", "return -prefix.flatten(0, 1).T"),
    ("correlation", "return prefix.flatten(0, 1).T", "return prefix.transpose(0, 1).flatten(0, 1).T"),
    ("correlation", "tokens[..., dim:].flatten", "tokens[..., :tokens.shape[-1] - dim].flatten"),
    ("correlation", "dim).abs() - tau", "dim).abs() + tau"),
    ("correlation", "dim).abs() - tau", "dim) - tau"),
    ("correlation", "- tau).clamp_min(0)", "- tau)"),
    ("correlation", "excess.square().sum()", "excess.sum()"),
    ("correlation", "max(1, excess.numel())", "max(1, len(excess))"),
    ("correlation", "mean.unsqueeze(1)).masked_fill(outside, 0)", "mean.unsqueeze(1))"),
    ("correlation", "states.masked_fill(outside, 0).sum(dim=1)", "states.sum(dim=1)"),
    ("correlation", "used = (count >= 2).to(states.dtype)\n    weight", "used = (count >= 1).to(states.dtype)\n    weight"),
    ("correlation", "used / count.clamp_min(1) / used", "used / used"),
    ("correlation", "/ shared + EPS).sqrt()", "/ shared).sqrt()"),
    ("correlation", "/ shared + EPS).sqrt()", "/ (shared - 1).clamp_min(1) + EPS).sqrt()"),
    ("variance", "/ shared + EPS).sqrt()", "/ shared).sqrt()"),
    ("variance", "/ shared + EPS).sqrt()", "/ (shared - 1).clamp_min(1) + EPS).sqrt()"),
    ("variance", "return (1 - mean).clamp_min(0)", "return (1 - mean)"),
    ("variance", "return (1 - mean).clamp_min(0)", "return (mean - 1).clamp_min(0)"),
    ("variance", "+ 0.5 * _shortfall(std", "+ _shortfall(std"),
    ("variance", "+ 0.5 * _shortfall(std", "- 0.5 * _shortfall(std"),
    ("variance", "_shortfall(std[:, :dim], used)", "_shortfall(std[:, dim:], used)"),
    ("variance", "(std * used.unsqueeze(-1)).sum()", "std.sum()"),
    ("variance", "* (used.any() * (std.shape[1] > 0))", "* used.any()"),
    ("cv", ".sum(dim=0) / texts\n", ".sum(dim=0) / max(1, texts - 1)\n"),
    ("cv", "(pooled - pooled.sum(dim=0) / texts)", "pooled"),
    ("cv", "(pooled - pooled.sum(dim=0) / texts)", "(pooled + pooled.sum(dim=0) / texts)"),
    ("cv", "(variances.mean() + EPS)", "variances.mean()"),
    ("cv", "(shares - shares.mean())", "(shares + shares.mean())"),
    ("cv", ".square().mean() + CV_EPS).sqrt()", ".square().mean()).sqrt()"),
    ("cv", ".square().mean() + CV_EPS).sqrt()", ".square().sum() + CV_EPS).sqrt()"),
    ("cv", ".masked_fill(~mask.bool().unsqueeze(-1), 0)", ""),
    ("uniformity", ".masked_fill(~mask.bool().unsqueeze(-1), 0)", ""),
    ("uniformity", "/ count[count > 0].to(states.dtype).unsqueeze(-1)", "/ states.shape[1]"),
    ("uniformity", "states[..., :dim].masked_fill", "states[..., -dim:].masked_fill"),
    ("uniformity", "return total[count > 0] / count[count > 0]", "return total / count.clamp_min(1)"),
    ("uniformity", "-2 * t * (1 - rows", "2 * t * (1 - rows"),
    ("uniformity", "-2 * t * (1 - rows", "-2 * t * (1 + rows"),
    ("uniformity", "-2 * t * (1 - rows", "-t * (1 - rows"),
    ("uniformity", "rows @ rows.T)[others]", "rows @ rows.T).flatten()"),
    ("uniformity", "new_tensor(n * (n - 1))", "new_tensor(n * n)"),
    ("uniformity", "keepdim=True) + EPS).sqrt()", "keepdim=True)).sqrt()"),
    ("uniformity", "pooled / (pooled.square()", "pooled * (pooled.square()"),
    ("scr", "correlation + self.lambda_var * variance", "correlation - self.lambda_var * variance"),
    ("scr", "if dim == states.shape[-1]:", "if dim > states.shape[-1]:"),
    ("sir", "(cv + uniform) / 2", "(cv - uniform) / 2"),
    ("sir", "(cv + uniform) / 2", "cv + uniform"),
]


def with_fault(fragment, replacement):
    source = Path(mic_terms.__file__).read_text("utf-8")
    assert source.count(fragment) == 1, "the fault must have one place to go"
    module = types.ModuleType("faulty_terms")
    exec(compile(source.replace(fragment, replacement), "faulty_terms", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize(("term", "fragment", "replacement"), FAULTS)
def test_a_fault_put_into_a_term_is_seen(term, fragment, replacement):
    assert not agrees(term, with_fault(fragment, replacement))


@pytest.mark.parametrize("term", list(TERMS))
def test_the_comparison_passes_a_copy_without_a_fault(term):
    assert agrees(term, with_fault("nothing = states[..., dim:].sum()", "nothing = states[..., dim:].sum()"))
