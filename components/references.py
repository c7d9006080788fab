"""What a d_sigma should be measured against: finite samples, and tokens of unrelated texts.

Two covariances from 15 tokens of one and the same text already lie far apart, so a bare d_sigma says little. Two
references stand beside it:

* ``finite_samples``: d_sigma between two random halves of one text ("within") and between halves of two texts
  ("between"), all halves of equal token count; the ratio within / between says how much of a distance between texts is
  there within one text already. Read on d_sigma only, never on SOCM (there d_mu alone makes halves of one text look
  worse). Tokens of a text depend on each other, so it is descriptive.
* ``unrelated_tokens``: all tokens of the corpus shuffled across texts, lengths kept, then scaled: what d_sigma would be
  if texts had nothing in common with themselves. Most of it comes from the smaller ||mu||, whose median is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from components.errors import DataError
from components.moments import text_moments
from components.pair_parts import n_pairs_of
from components.pair_scan import pair_of_index
from components.socm import pairwise_statistics
from components.statistics import MIN_CYCLES, balanced_pairs, cycle_mean, jackknife_ratio, mean_interval
from components.types import IntArray, Interval, References, TokenStates

MIN_TOKENS = 20
"""A text takes part in the finite-sample reference from this many tokens on: ten to a half."""
SPLITS = 4
"""Random splits averaged per text."""


def references(states: TokenStates, norms: Any, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> References:
    """Both references (see the module docstring).

    Args:
        states: raw token states of the corpus (before any scaling).
        norms: (n_texts,) ||mu|| of the texts.
        seed: of halves, partners and shuffles.
    """
    missing: list[str] = []
    within = between = ratio = half = None
    eligible = np.flatnonzero(states.lengths >= MIN_TOKENS)
    if len(eligible) < 2:
        missing.append(f"The finite-sample reference needs two texts of {MIN_TOKENS} tokens or more; "
                       f"this corpus has {len(eligible)}.")
    else:
        within, between, ratio, half = finite_samples(states, eligible, seed=seed, dtype=dtype)
    unrelated = unrelated_norm = None
    try:
        unrelated, unrelated_norm = unrelated_tokens(states, seed=seed, dtype=dtype)
    except DataError as error:
        missing.append(f"Tokens of unrelated texts: {error}")
    return References(within, between, ratio, half, unrelated, unrelated_norm, float(np.median(norms)), tuple(missing))


def finite_samples(states: TokenStates, eligible: IntArray, *, seed: int = 0, splits: int = SPLITS, half: int | None = None,
                   dtype: torch.dtype = torch.float32) -> tuple[Interval, Interval, Interval, float]:
    """Mean d_sigma within and between texts from halves of equal token count, their ratio, and the halves' length.

    Each eligible text a is split into disjoint random parts a1 and a2 of m tokens; b1 are m random tokens of another
    text b, one of those nearest to a in length; m is half the shorter of the two texts, or ``half`` where that is given
    (then every eligible text must have twice as many tokens).
    """
    rng = np.random.default_rng(seed)
    lengths = states.lengths
    pieces: list[IntArray] = []
    rows: list[tuple[int, int]] = []
    for _ in range(splits):
        for a, b in zip(eligible, _partners(eligible, lengths, rng), strict=True):
            m = int(min(lengths[a], lengths[b])) // 2 if half is None else half
            own = states.offsets[a] + rng.permutation(int(lengths[a]))[:2 * m]
            pieces += [own[:m], own[m:], states.offsets[b] + rng.permutation(int(lengths[b]))[:m]]
            rows.append((int(a), int(b)))
    offsets = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])])
    moments = text_moments(TokenStates(states.states[np.concatenate(pieces)], offsets), dtype=dtype)
    first = np.arange(0, len(pieces), 3)
    within = pairwise_statistics(moments, first, first + 1).d_sigma.reshape(splits, -1).mean(axis=0)
    between = pairwise_statistics(moments, first, first + 2).d_sigma.reshape(splits, -1)
    involved = np.array(rows)
    return (mean_interval(within, "texts"), mean_interval(between.mean(axis=0), "texts"),
            jackknife_ratio(np.tile(within, splits), between.reshape(-1), involved),
            float(np.mean([len(piece) for piece in pieces])))


def _partners(eligible: IntArray, lengths: IntArray, rng: np.random.Generator) -> IntArray:
    """For each eligible text another one near it in length: neighbours in the order of length, ties broken at random."""
    order = eligible[np.lexsort((rng.random(len(eligible)), lengths[eligible]))]
    step = 1 if rng.random() < 0.5 else -1
    partner_of = dict(zip(order.tolist(), np.roll(order, step).tolist(), strict=True))
    # The ring's seam would pair the longest with the shortest text: give each its neighbour on the other side.
    end, start = (order[0], order[1]) if step == 1 else (order[-1], order[-2])
    partner_of[int(end)] = int(start)
    return np.array([partner_of[int(text)] for text in eligible])


def unrelated_tokens(states: TokenStates, *, seed: int = 0,
                     dtype: torch.dtype = torch.float32) -> tuple[Interval, float]:
    """Mean d_sigma (all pairs, or balanced cycles) and median ||mu|| of texts made of shuffled tokens."""
    rng = np.random.default_rng(seed + 1)
    shuffled = TokenStates(states.states[rng.permutation(len(states.states))], states.offsets)
    moments = text_moments(shuffled, dtype=dtype)
    n = len(moments)
    if n < 2 * MIN_CYCLES + 1:
        first, second = pair_of_index(np.arange(n_pairs_of(n)), n)
        d_sigma = pairwise_statistics(moments, first, second).d_sigma
        interval = Interval(float(d_sigma.mean()), None, None, len(d_sigma), "pairs")
    else:
        first, second, cycle = balanced_pairs(n, MIN_CYCLES * n, seed)
        interval = cycle_mean(pairwise_statistics(moments, first, second).d_sigma, cycle)
    return interval, float(np.median(moments.norms))
