"""The terms of MIC as loops over numbers, written from their formulas, and the cases they are compared on."""

from __future__ import annotations

import math

import torch

from components import mic_terms
from components.mic_terms import CV_EPS, EPS

TAU, WEIGHT, T = 0.2, 0.7, 2.0
JUNK = 37.0
"""What lies at tokens that do not count."""


def counted(states, mask):
    """Each text's counted tokens, as lists of floats."""
    return [[row for row, real in zip(text, kept, strict=True) if real]
            for text, kept in zip(states.tolist(), mask.tolist(), strict=True)]


def mean_of(values):
    return sum(values) / len(values)


def std_of(values):
    return math.sqrt(mean_of([(x - mean_of(values)) ** 2 for x in values]) + EPS)


def loop_cross(states, mask, dim):
    texts = [text for text in counted(states, mask) if len(text) > 1]
    width = states.shape[2]
    c = torch.zeros(dim, width - dim, dtype=torch.float64)
    for text in texts:
        columns = [[token[k] for token in text] for k in range(width)]
        z = [[(x - mean_of(column)) / std_of(column) for x in column] for column in columns]
        for i in range(dim):
            for j in range(dim, width):
                c[i, j - dim] += mean_of([a * b for a, b in zip(z[i], z[j], strict=True)]) / len(texts)
    return c


def loop_correlation(states, mask, dim):
    entries = [max(0.0, abs(x) - TAU) ** 2 for row in loop_cross(states, mask, dim).tolist() for x in row]
    return mean_of(entries) if entries else 0.0


def loop_variance(states, mask, dim):
    texts = [text for text in counted(states, mask) if len(text) > 1]
    parts = []
    for coordinates in (range(dim), range(dim, states.shape[2])):
        stds = [std_of([token[k] for token in text]) for text in texts for k in coordinates]
        parts.append(max(0.0, 1 - mean_of(stds)) if stds else 0.0)
    return parts[0] + 0.5 * parts[1]


def loop_pooled(states, mask, dim):
    return [[mean_of([token[k] for token in text]) for k in range(dim)] for text in counted(states, mask) if text]


def loop_cv(states, mask, dim):
    rows = loop_pooled(states, mask, dim)
    v = [mean_of([(row[k] - mean_of([r[k] for r in rows])) ** 2 for row in rows]) for k in range(dim)]
    shares = [x / (mean_of(v) + EPS) for x in v]
    return math.sqrt(mean_of([(x - mean_of(shares)) ** 2 for x in shares]) + CV_EPS)


def loop_uniformity(states, mask, dim):
    rows = [[x / math.sqrt(sum(y * y for y in row) + EPS) for x in row] for row in loop_pooled(states, mask, dim)]
    pairs = [math.exp(-2 * T * (1 - sum(a * b for a, b in zip(rows[i], rows[j], strict=True))))
             for i in range(len(rows)) for j in range(len(rows)) if i != j]
    return math.log(mean_of(pairs)) if pairs else 0.0


def loop_scr(states, mask, dim):
    if dim == states.shape[2]:
        return 0.0
    return loop_correlation(states, mask, dim) + WEIGHT * loop_variance(states, mask, dim)


def loop_sir(states, mask, dim):
    return (loop_cv(states, mask, dim) + loop_uniformity(states, mask, dim)) / 2


TERMS = {  # each as called on a module of terms, and as a loop
    "cross": (lambda m, *case: m.cross_correlation(*case), loop_cross),
    "correlation": (lambda m, *case: m.correlation_loss(*case, TAU), loop_correlation),
    "variance": (lambda m, *case: m.variance_floor(*case), loop_variance),
    "cv": (lambda m, *case: m.coefficient_of_variation(m.pooled_prefixes(*case)), loop_cv),
    "uniformity": (lambda m, *case: m.uniformity(m.pooled_prefixes(*case), T), loop_uniformity),
    "scr": (lambda m, *case: m.SCR(TAU, WEIGHT)(*case).loss, loop_scr),
    "sir": (lambda m, *case: m.SIR(T)(*case).loss, loop_sir),
}


def states_of(seed, batch=4, n=7, width=6, scale=0.6, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randn(batch, n, width, generator=generator, dtype=torch.float64)
    mixed = tokens @ torch.randn(width, width, generator=generator, dtype=torch.float64)
    offsets = torch.randn(batch, 1, width, generator=generator, dtype=torch.float64)
    return (scale * (mixed * torch.linspace(0.3, 1.2, width, dtype=torch.float64) / 2 + offsets)).to(dtype)


def ragged_mask():
    """Padding right, left, none and within, a text of one token and a text without any."""
    rows = ["1111000", "0011111", "1111111", "1101011", "0001000", "0000000"]
    return torch.tensor([[int(x) for x in row] for row in rows])


def cases():
    mask = ragged_mask()
    for seed, scale, dim in ((0, 0.6, 2), (1, 0.6, 3), (2, 2.5, 2), (3, 0.05, 1), (4, 0.6, 6), (5, 0.6, 5)):
        yield states_of(seed, batch=6, scale=scale).masked_fill(mask.unsqueeze(-1) == 0, JUNK), mask, dim
    uneven = states_of(6, batch=6)
    uneven[..., 2:] *= 4  # the residual's mean std above the floor, the prefix's below
    yield uneven.masked_fill(mask.unsqueeze(-1) == 0, JUNK), mask, 2
    yield states_of(7, batch=2), torch.ones(2, 7), 3


def agrees(term, module=mic_terms):
    """Whether a term equals its loop on every case, to 1e-12."""
    call, loop = TERMS[term]
    for states, mask, dim in cases():
        found, expected = call(module, states, mask, dim), torch.as_tensor(loop(states, mask, dim), dtype=torch.float64)
        if found.shape != expected.shape or not torch.allclose(found, expected, rtol=0, atol=1e-12):
            return False
    return True
