"""Selections equal a brute-force filter, and say what they rest on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from components.errors import DataError
from components.pair_map import PairMap, PairOptions
from components.pair_selection import (
    DIFFERENT,
    SAME,
    Box,
    Filter,
    box_rows,
    by_length,
    cell_sums,
    counts_of,
    difference,
    filter_mask,
    length_matched,
    paired_difference,
    pairs_of,
    strata_of,
)
from components.types import Interval

N = 60


def made(seed: int = 0, shift: float = 0.0) -> PairMap:
    rng = np.random.default_rng(seed)
    n_pairs = N * (N - 1) // 2
    arrays = {"d_mu": rng.random(n_pairs), "d_sigma": rng.random(n_pairs) * 2 + shift, "spread": rng.random(N) * 3,
              "n_tokens": rng.integers(3, 50, N), "norms": np.ones(N)}
    arrays["spread"][0] = 0.0
    references = dict.fromkeys(("within", "between", "ratio", "half_tokens", "unrelated", "unrelated_norm"))
    meta = {"n_texts": N, "n_pairs": n_pairs, "method": "all", "means": {},
            "references": references | {"norm": 1.0, "missing": []}, "options": PairOptions().params(N),
            "lowest": {name: float(arrays[name].min()) for name in ("d_mu", "d_sigma")},
            "highest": {name: float(arrays[name].max()) for name in ("d_mu", "d_sigma")}}
    return PairMap.from_stored(arrays, meta)


@pytest.mark.parametrize("box", [Box(0.1, 0.4, 0.5, 1.5), Box(0, 1, 0, 9), Box(2, 3, 2, 3), Box(0.3, 0.3, 0, 9)])
def test_a_box_equals_a_brute_force_filter(box):
    pairs = pairs_of(made())
    wanted = [k for k in range(len(pairs)) if box.mu_low <= pairs.d_mu[k] <= box.mu_high
              and box.sigma_low <= pairs.d_sigma[k] <= box.sigma_high]
    wanted.sort(key=lambda k: (-(1 - pairs.d_mu[k]) * pairs.d_sigma[k], pairs.i[k], pairs.j[k]))
    assert box_rows(pairs, box).tolist() == wanted


@pytest.mark.parametrize("text", ["", "1,2,3", "a,b,c,d", "nan,0,0,1", "inf,0,0,1", "1,2,3,4,5", "1e9,0,0,0", "<script>"])
def test_what_is_no_box_in_a_link(text):
    assert Box.parse(text) is None


def test_a_box_survives_its_link_whichever_corner_came_first():
    assert Box.parse("0.4,0.1,1.5,0.5") == Box(0.1, 0.4, 0.5, 1.5)
    assert Box.parse(str(Box(0.1, 0.4, 0.5, 1.5))) == Box(0.1, 0.4, 0.5, 1.5)


def test_filters_equal_brute_force():
    result = made()
    pairs, n = pairs_of(result), result.n_tokens
    labels = [f"s{k % 4}" for k in range(N)]
    for chosen, rule in (
            (Filter(tokens=(10, 30)), lambda a, b: 10 <= n[a] <= 30 and 10 <= n[b] <= 30),
            (Filter(label="s1"), lambda a, b: a % 4 == b % 4 == 1),
            (Filter(relation=SAME), lambda a, b: a % 4 == b % 4),
            (Filter(relation=DIFFERENT, tokens=(3, 25)), lambda a, b: a % 4 != b % 4 and max(n[a], n[b]) <= 25)):
        mask = filter_mask(pairs, chosen, n, labels)
        assert mask.tolist() == [bool(rule(a, b)) for a, b in zip(pairs.i, pairs.j, strict=True)]
    with pytest.raises(DataError, match="needs texts with labels"):
        filter_mask(pairs, Filter(relation=SAME), n, ())
    with pytest.raises(DataError, match="relation must be one of"):
        Filter(relation="other")


def test_means_of_a_selection_are_means_and_leave_out_what_is_undefined():
    pairs = pairs_of(made())
    part = pairs.take(pairs.d_mu < 0.5)
    assert part.mean("socm").value == pytest.approx(part.socm.mean())
    align = pairs.quantity("align")
    assert np.isnan(align).sum() == N - 1, "text 0 has no spread"
    assert pairs.mean("align").value == pytest.approx(np.nanmean(align))
    assert pairs.mean("socm").n == N


def test_cells_hold_every_pair_once():
    pairs = pairs_of(made())
    counts, mu_edges, sigma_edges = counts_of(pairs, 20, 15)
    assert counts.sum() == len(pairs)
    sums, kept = cell_sums(pairs, pairs.quantity("align"), mu_edges, sigma_edges)
    assert kept.sum() == len(pairs) - (N - 1)
    assert sums.sum() == pytest.approx(np.nansum(pairs.align))


def test_length_bins_hold_every_pair_once():
    pairs = pairs_of(made())
    bins = by_length(pairs, "socm")
    assert sum(b.n_pairs for b in bins) == len(pairs)
    assert all(one.high < two.low for one, two in itertools.pairwise(bins))
    assert bins[0].low == pairs.shorter.min() and bins[-1].high == pairs.shorter.max()


def test_a_paired_difference_is_exact_where_the_gap_is_constant():
    one, other = pairs_of(made()), pairs_of(made(shift=0.25))
    gap = paired_difference(one, other, "d_sigma")
    assert gap.value == pytest.approx(0.25) and gap.high - gap.low == pytest.approx(0, abs=1e-9)
    with pytest.raises(DataError, match="same pairs"):
        paired_difference(one, other.take(slice(0, 10)), "d_sigma")


def test_independent_differences_add_their_widths_in_squares():
    gap = difference(Interval(1, 0.7, 1.3, 9, "texts"), Interval(2, 1.6, 2.4, 9, "texts"))
    assert (gap.value, round(gap.low, 6), round(gap.high, 6)) == (1, 0.5, 1.5)


def test_like_length_uses_pairs_within_strata_alone():
    pairs = pairs_of(made())
    words = np.array([5] * 30 + [20] * 30)
    assert strata_of(words) == {0, 2}
    value = length_matched(pairs, words, "socm", [0, 2])
    inside = [pairs.socm[(words[pairs.i] == w) & (words[pairs.j] == w)].mean() for w in (5, 20)]
    assert value.value == pytest.approx(np.mean(inside))
    assert length_matched(pairs, words, "socm", []) is None
