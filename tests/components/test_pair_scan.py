"""Every pair once, the same numbers whichever way they are asked for, and sinks that equal brute force."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import Cancelled
from components.moments import text_moments
from components.pair_scan import PairTile, condensed_index, n_pairs_of, pair_of_index, scan_pairs
from components.sinks import QUANTITIES, ArraySink, HistogramSink, MomentSink, SampleSink, TopSink, quantities_of
from components.socm import GRAM_LIMIT, pair_statistics, pairwise_statistics
from tests.components.definitions import by_singular_values, random_texts

pytestmark = pytest.mark.usefixtures("one_torch_thread")


class Collector:
    """Keeps every tile."""

    def __init__(self) -> None:
        self.tiles: list[PairTile] = []

    def add(self, tile) -> None:
        self.tiles.append(tile)


def scanned(lengths, dim=8, seed=0, **options):
    moments = text_moments(random_texts(np.random.default_rng(seed), lengths, dim))
    sink = Collector()
    assert scan_pairs(moments, [sink], **options) == n_pairs_of(len(lengths))
    return moments, sink.tiles


def joined(tiles, name):
    return np.concatenate([quantities_of(tile)[name] if name in QUANTITIES else getattr(tile, name) for tile in tiles])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=2, max_size=60), st.integers(0, 1000))
def test_every_pair_comes_once_and_equals_its_row_by_row_value(lengths, seed):
    moments, tiles = scanned(lengths, seed=seed)
    i, j = joined(tiles, "i"), joined(tiles, "j")
    order = np.lexsort((j, i))
    wanted = np.triu_indices(len(lengths), 1)
    assert np.array_equal(i[order], wanted[0]) and np.array_equal(j[order], wanted[1])
    rows = pairwise_statistics(moments, i, j)
    assert np.allclose(joined(tiles, "d_sigma"), rows.d_sigma, atol=1e-7)
    assert np.allclose(joined(tiles, "d_mu"), rows.d_mu, atol=1e-12)


@pytest.mark.parametrize(("dtype", "direct", "tolerance"), [(torch.float32, False, 1e-6), (torch.float64, True, 1e-9)])
def test_tiles_rows_and_single_pairs_agree_across_the_gram_limit(dtype, direct, tolerance):
    """Equal and unequal ranks round the limit, one token, and more tokens than dims; each within its tolerance."""
    lengths = [1, 2, 2, 40, GRAM_LIMIT, GRAM_LIMIT + 1, GRAM_LIMIT + 1, GRAM_LIMIT + 2, GRAM_LIMIT + 3, 129, 129, 150]
    states = random_texts(np.random.default_rng(9), lengths, 140)
    moments = text_moments(states, dtype=dtype)
    sink = ArraySink(len(lengths))
    scan_pairs(moments, [sink], direct=direct)
    i, j = np.triu_indices(len(lengths), 1)
    rows = pairwise_statistics(moments, i, j, direct=direct)
    for k in range(len(i)):
        d_mu, d_sigma = by_singular_values(states[i[k]], states[j[k]])
        scale = max(1.0, moments.spread[i[k]], moments.spread[j[k]])
        alone = pair_statistics(states[i[k]], states[j[k]])
        for found in (sink.d_sigma[k], rows.d_sigma[k], alone.d_sigma[0]):
            assert abs(found - d_sigma) <= tolerance * scale
        for found in (sink.d_mu[k], rows.d_mu[k], alone.d_mu[0]):
            assert abs(found - d_mu) <= 1e-9


def test_the_same_bits_again_and_with_other_threads(embedded_states):
    moments = text_moments(embedded_states, dtype=torch.float32)
    results = []
    for threads in (1, 2, 2, 3):
        sink = ArraySink(len(moments))
        scan_pairs(moments, [sink], threads=threads)
        results.append((sink.d_mu, sink.d_sigma))
    for other in results[1:]:
        assert np.array_equal(results[0][0], other[0]) and np.array_equal(results[0][1], other[1])


def test_the_threads_of_torch_are_as_before():
    before = torch.get_num_threads()
    scanned([5] * 20)
    assert torch.get_num_threads() == before


def test_cancel_stops_and_raises():
    event = threading.Event()
    event.set()
    with pytest.raises(Cancelled):
        scanned([5, 6, 7], cancelled=event)


def test_cancel_stops_in_the_middle():
    event, tiles = threading.Event(), []

    def watch(done, total, stage):
        tiles.append(done)
        if len(tiles) == 3:
            event.set()

    with pytest.raises(Cancelled):
        scanned(list(range(2, 22)), progress=watch, cancelled=event)
    assert len(tiles) == 3 and tiles[-1] < n_pairs_of(20)


def test_an_error_in_a_sink_ends_the_scan_and_leaves_no_thread():
    class Full:
        def add(self, tile) -> None:
            raise OSError("no space left")

    before = threading.active_count()
    moments = text_moments(random_texts(np.random.default_rng(0), range(2, 22), 8))
    with pytest.raises(OSError, match="no space left"):
        scan_pairs(moments, [Full()], threads=2)
    assert threading.active_count() == before


def test_progress_ends_at_all_pairs():
    seen = []
    scanned([4, 5, 6, 6, 9], progress=lambda *step: seen.append(step))
    assert seen[-1] == (10, 10, "Comparing pairs")


@pytest.mark.parametrize("n", [2, 3, 17, 200])
def test_condensed_order(n):
    i, j = np.triu_indices(n, 1)
    assert np.array_equal(condensed_index(i, j, n), np.arange(n_pairs_of(n)))
    a, b = pair_of_index(np.arange(n_pairs_of(n)), n)
    assert np.array_equal(a, i) and np.array_equal(b, j)


@pytest.fixture(scope="module")
def mixed():
    """Texts of many lengths, one-token texts and copies among them."""
    rng = np.random.default_rng(8)
    states = random_texts(rng, [1, 1, *rng.integers(2, 30, 50)], 12)
    moments = text_moments(states)
    sinks = {"arrays": ArraySink(52), "hist": HistogramSink(np.linspace(0, 1, 31), np.linspace(0, 20, 41)),
             "top": TopSink(25), "sample": SampleSink(52, 300, seed=4), "sums": MomentSink(52), "all": Collector()}
    scan_pairs(moments, list(sinks.values()))
    return moments, sinks


def test_histogram_equals_numpy(mixed):
    _, sinks = mixed
    arrays, hist = sinks["arrays"], sinks["hist"]
    wanted = np.histogram2d(arrays.d_mu, arrays.d_sigma, (hist.mu_edges, hist.sigma_edges))[0]
    assert hist.counts.sum() == 52 * 51 // 2
    assert np.array_equal(hist.counts, wanted)


def test_histogram_keeps_what_lies_beyond_its_edges(mixed):
    hist = HistogramSink(np.linspace(0.4, 0.5, 3), np.linspace(0.1, 0.2, 3))
    for tile in mixed[1]["all"].tiles:
        hist.add(tile)
    assert hist.counts.sum() == 52 * 51 // 2


def test_top_equals_a_full_sort(mixed):
    _, sinks = mixed
    arrays, top = sinks["arrays"], sinks["top"]
    socm = (1 - arrays.d_mu) * arrays.d_sigma
    i, j = np.triu_indices(52, 1)
    best = np.lexsort((j, i, -socm))[:25]
    assert np.array_equal(top.i, i[best]) and np.array_equal(top.j, j[best])
    assert np.array_equal(top.socm, socm[best])


def test_top_orders_ties_by_text_numbers():
    moments = text_moments(random_texts(np.random.default_rng(0), [1] * 12, 4))  # every SOCM is 0
    top = TopSink(5)
    scan_pairs(moments, [top])
    assert list(zip(top.i, top.j, strict=True)) == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]


def test_sample_holds_the_pairs_it_names_and_does_not_depend_on_the_order_of_tiles(mixed):
    _, sinks = mixed
    sample, arrays = sinks["sample"], sinks["arrays"]
    assert np.array_equal(sample.d_sigma, arrays.d_sigma[sample.index])
    other = SampleSink(52, 300, seed=4)
    for tile in reversed(sinks["all"].tiles):
        other.add(tile)
    assert np.array_equal(other.d_mu, sample.d_mu)


def test_sample_is_uniform():
    hits = np.zeros(n_pairs_of(10))
    for seed in range(2000):
        hits[SampleSink(10, 9, seed).index] += 1
    # 9 of 45 pairs, 2,000 draws: 400 expected each, standard deviation 18.
    assert abs(hits - 400).max() < 18 * 4.5


def test_sums_and_row_sums_equal_brute_force(mixed):
    _, sinks = mixed
    sums, tiles = sinks["sums"], sinks["all"].tiles
    i, j = joined(tiles, "i"), joined(tiles, "j")
    for name in QUANTITIES:
        values = joined(tiles, name)
        kept = ~np.isnan(values)
        assert sums.counts[name] == kept.sum()
        assert sums.sums[name] == pytest.approx(values[kept].sum())
        assert sums.lowest[name] == values[kept].min() and sums.highest[name] == values[kept].max()
        rows = np.bincount(i[kept], values[kept], 52) + np.bincount(j[kept], values[kept], 52)
        assert np.allclose(sums.row_sums[name], rows)
    # The two one-token texts have no alignment with anything: 101 pairs.
    assert sums.counts["align"] == 52 * 51 // 2 - 101
    assert sums.align_counts.sum() == 2 * sums.counts["align"]


def test_mean_d_sigma_stays_below_half_the_mean_spread(mixed):
    """Theorem 2 made usable: the corpus mean of d_sigma is at most the mean of its ceiling, half the mean spread."""
    moments, sinks = mixed
    sums = sinks["sums"]
    assert sums.mean("d_sigma") <= sums.mean("ceiling")
    assert sums.mean("ceiling") == pytest.approx(moments.spread.mean() / 2)
    assert sums.mean("socm") <= sums.mean("socm_ceiling")
