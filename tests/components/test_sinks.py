"""Sinks at their edges: ties, undefined values, kept pairs, few pairs, and independence of how tiles are cut."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import components.pair_scan as pair_scan
from components.moments import text_moments
from components.pair_scan import PairTile, n_pairs_of, scan_pairs
from components.sinks import QUANTITIES, ArraySink, HistogramSink, MomentSink, SampleSink, TopSink, bin_of
from components.socm import pairwise_statistics
from tests.components.definitions import by_singular_values, ragged, random_texts

pytestmark = pytest.mark.usefixtures("one_torch_thread")

LENGTHS = [1, 1, 2, 2, 3, 5, 5, 5, 8, 13, 13, 21]


def made_tile(rng: np.random.Generator, i: np.ndarray, j: np.ndarray, socm_steps: int = 3) -> PairTile:
    """Pairs with d_mu 0 and d_sigma, so SOCM, out of a few values: full of exact ties."""
    rows_of, place = np.unique(np.concatenate([i, j]), return_inverse=True)
    d_sigma = rng.integers(1, 1 + socm_steps, len(i)) / 4
    spread = np.full(len(i), 2.0)
    return PairTile(i, j, np.zeros(len(i)), d_sigma, spread, spread, rows_of, (place[:len(i)], place[len(i):]))


def test_top_orders_exact_ties_as_a_full_sort_does_however_the_tiles_come():
    rng = np.random.default_rng(0)
    n = 30
    i, j = np.triu_indices(n, 1)
    whole = made_tile(rng, i, j)
    best = np.lexsort((j, i, -whole.socm))
    assert len(np.unique(whole.socm)) == 3
    for k in (1, 7, 200, n_pairs_of(n), 10 * n_pairs_of(n)):
        for order in (np.arange(len(i)), rng.permutation(len(i))):
            top = TopSink(k)
            for part in np.array_split(order, 17):
                spread = np.full(len(part), 2.0)
                top.add(PairTile(i[part], j[part], whole.d_mu[part], whole.d_sigma[part], spread, spread,
                                 whole.rows_of, (i[part], j[part])))
            wanted = best[:k]
            assert np.array_equal(top.socm, whole.socm[wanted]), k
            assert np.array_equal(top.i, i[wanted]) and np.array_equal(top.j, j[wanted]), k
            assert np.array_equal(top.d_sigma, whole.d_sigma[wanted]), k


def test_rows_are_added_of_both_texts_and_only_of_kept_pairs():
    rng = np.random.default_rng(1)
    i, j = np.array([2, 2, 5, 5, 9]), np.array([5, 7, 7, 9, 12])
    tile = made_tile(rng, i, j)
    values, kept = rng.random(5), np.array([True, False, True, True, False])
    rows, counts = np.full(14, 10.0), np.zeros(14)
    tile.add_to_rows(values, rows)
    wanted = np.full(14, 10.0)
    for a, b, value in zip(i, j, values, strict=True):
        wanted[a] += value
        wanted[b] += value
    assert np.allclose(rows, wanted)
    tile.add_to_rows(None, counts, kept)
    assert counts.tolist() == [np.sum((i[kept] == k) | (j[kept] == k)) for k in range(14)]
    part = np.zeros(14)
    tile.add_to_rows(values[kept], part, kept)
    assert part.sum() == pytest.approx(2 * values[kept].sum())
    assert part[12] == 0 and part[2] == values[0]


@pytest.mark.parametrize(("direct", "published"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("rows", [1, 7, 768])
def test_sums_do_not_depend_on_how_tiles_are_cut(monkeypatch, rows, direct, published):
    """Brute force over the definition, one pair at a time; the groups as small as one text each."""
    monkeypatch.setattr(pair_scan, "GROUP_ROWS", rows)
    states = random_texts(np.random.default_rng(2), LENGTHS, 10)
    moments, n = text_moments(states), len(LENGTHS)
    arrays, sums = ArraySink(n), MomentSink(n)
    assert scan_pairs(moments, [arrays, sums], threads=2, direct=direct, published=published) == n_pairs_of(n)
    wanted = {name: [] for name in QUANTITIES}
    by_text = {name: np.zeros(n) for name in QUANTITIES}
    i, j = np.triu_indices(n, 1)
    for k, (a, b) in enumerate(zip(i, j, strict=True)):
        d_mu, exact = by_singular_values(states[a], states[b])
        t, u = moments.spread[[a, b]]
        rank = min(LENGTHS[a], LENGTHS[b], 11) - 1
        d_sigma = exact
        if published:
            d_sigma = arrays.d_sigma[k]
            assert exact - d_sigma == pytest.approx(0.5 * 1e-9**0.5 * (10 - rank), abs=2e-6)
        size = (t**0.5 - u**0.5) ** 2 / 4
        values = {"d_mu": d_mu, "d_sigma": d_sigma, "size": size, "shape": d_sigma - size,
                  "socm": (1 - d_mu) * d_sigma, "ceiling": (t + u) / 4, "socm_ceiling": (1 - d_mu) * (t + u) / 4,
                  "align": min(1.0, max(0.0, 1 - 2 * (d_sigma - size) / (t * u) ** 0.5)) if t * u > 0 else np.nan}
        for name, value in values.items():
            if not np.isnan(value):
                wanted[name].append(value)
                by_text[name][[a, b]] += value
    for name in QUANTITIES:
        assert sums.counts[name] == len(wanted[name])
        assert sums.mean(name) == pytest.approx(np.mean(wanted[name]), abs=1e-7)
        assert sums.squares[name] == pytest.approx(np.square(wanted[name]).sum(), abs=1e-5)
        assert sums.lowest[name] == pytest.approx(min(wanted[name]), abs=1e-7)
        assert sums.highest[name] == pytest.approx(max(wanted[name]), abs=1e-7)
        assert np.allclose(sums.row_sums[name], by_text[name], atol=1e-6)
    assert sums.counts["align"] == n_pairs_of(n) - 21, "two texts of one token: 10 + 11 pairs without an alignment"


def test_pairs_without_an_alignment_are_left_out_inside_a_tile_too():
    """A text of equal tokens has rank 4 but no spread: it shares its tiles with texts that have both."""
    rng = np.random.default_rng(5)
    texts = [rng.standard_normal((5, 7)) + 2 for _ in range(6)]
    texts[2] = np.repeat(texts[2][:1], 5, axis=0)
    moments, arrays, sums = text_moments(ragged(*texts)), ArraySink(6), MomentSink(6)
    scan_pairs(moments, [arrays, sums])
    assert sums.n_pairs == 15 and sums.counts["align"] == 10 and sums.counts["d_sigma"] == 15
    assert sums.align_counts.tolist() == [4, 4, 0, 4, 4, 4]
    i, j = np.triu_indices(6, 1)
    align = pairwise_statistics(moments, i, j).align
    rows = [np.nansum(align[(i == k) | (j == k)]) for k in range(6)]
    assert np.allclose(sums.row_sums["align"], rows, atol=1e-6)
    assert sums.mean("align") == pytest.approx(np.nanmean(align), abs=1e-6)


def test_alignment_of_one_token_texts_alone_is_no_number():
    sums = MomentSink(4)
    scan_pairs(text_moments(random_texts(np.random.default_rng(3), [1] * 4, 5)), [sums])
    assert sums.mean("align") is None and sums.counts["align"] == 0
    assert sums.mean("d_sigma") == 0 and sums.mean("d_mu") > 0


def test_bins_are_half_open_and_the_last_is_closed():
    edges = np.linspace(0.0, 1.0, 5)
    values = np.array([0.0, 0.2499, 0.25, 0.5, 0.74, 1.0])
    assert bin_of(values, edges).tolist() == [0, 0, 1, 2, 2, 3]
    assert bin_of(np.array([-3.0, -1e-12, 1.0 + 1e-12, 7.0]), edges).tolist() == [0, 0, 3, 3]


def test_histogram_of_real_pairs_equals_numpy(embedded_states):
    moments = text_moments(embedded_states, dtype=torch.float32)
    arrays, hist = ArraySink(120), HistogramSink(np.linspace(0, 1, 64), np.linspace(0, 3, 200))
    scan_pairs(moments, [arrays, hist])
    assert hist.counts.sum() == 7140
    wanted = np.histogram2d(arrays.d_mu, arrays.d_sigma, (hist.mu_edges, hist.sigma_edges))[0]
    assert np.array_equal(hist.counts, wanted)


def test_a_sample_of_all_pairs_or_more_is_all_pairs():
    moments = text_moments(random_texts(np.random.default_rng(4), LENGTHS, 6))
    total = n_pairs_of(len(LENGTHS))
    arrays, samples = ArraySink(len(LENGTHS)), [SampleSink(len(LENGTHS), k) for k in (total, total + 5)]
    scan_pairs(moments, [arrays, *samples])
    for sample in samples:
        assert np.array_equal(sample.d_mu, arrays.d_mu) and np.array_equal(sample.d_sigma, arrays.d_sigma)


def test_a_seed_names_a_sample():
    one, again, other = (SampleSink(200, 500, seed).index for seed in (1, 1, 2))
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    assert len(np.unique(one)) == 500 and one.max() < n_pairs_of(200)
