"""A finished pair map: its plane counts every pair by all three methods; options become keys."""

from __future__ import annotations

import numpy as np
import pytest

from components.errors import DataError
from components.moments import text_moments
from components.pair_map import ARRAY_LIMIT, ESTIMATE_CYCLES, EXACT_LIMIT, PUBLISHED, PairMap, PairOptions
from components.pair_scan import n_pairs_of, scan_pairs
from components.sinks import ArraySink, HistogramSink, MomentSink, SampleSink
from components.socm import pairwise_statistics
from components.statistics import balanced_pairs
from tests.components.definitions import random_texts

pytestmark = pytest.mark.usefixtures("one_torch_thread")

N = 70
REFERENCES = dict.fromkeys(("within", "between", "ratio", "half_tokens", "unrelated", "unrelated_norm")) \
    | {"norm": 1.0, "missing": ["none"]}
GRID = np.linspace(0, 1, 257), np.linspace(0, 9, 2049)


@pytest.fixture(scope="module")
def scanned():
    """All pairs, a fine grid, a sample and the moments of one corpus."""
    moments = text_moments(random_texts(np.random.default_rng(0), np.random.default_rng(1).integers(1, 25, N), 12))
    arrays, grid, sample, sums = ArraySink(N), HistogramSink(*GRID), SampleSink(N, 300), MomentSink(N)
    scan_pairs(moments, [arrays, grid, sample, sums])
    return moments, arrays, grid, sample, sums


def made(method: str, scanned) -> PairMap:
    moments, arrays, grid, sample, sums = scanned
    columns = {"n_tokens": moments.n_tokens, "spread": moments.spread, "norms": moments.norms}
    n_pairs, lowest, highest = n_pairs_of(N), sums.lowest, sums.highest
    if method == "all":
        columns |= {"d_mu": arrays.d_mu, "d_sigma": arrays.d_sigma}
    elif method == "streamed":
        columns |= {"i": sample.i, "j": sample.j, "d_mu": sample.d_mu, "d_sigma": sample.d_sigma,
                    "counts": grid.counts.astype(np.uint32), "mu_edges": grid.mu_edges, "sigma_edges": grid.sigma_edges}
    else:
        i, j, cycle = balanced_pairs(N, 10 * N)
        found = pairwise_statistics(moments, i, j)
        columns |= {"i": i, "j": j, "cycle": cycle, "d_mu": found.d_mu, "d_sigma": found.d_sigma}
        n_pairs = len(i)
        lowest = {name: columns[name].min() for name in ("d_mu", "d_sigma")}
        highest = {name: columns[name].max() for name in ("d_mu", "d_sigma")}
    mean = {"value": 0.5, "low": None, "high": None, "n": N, "of": "texts"}
    meta = {"n_texts": N, "n_pairs": n_pairs, "method": method, "means": {"socm": mean}, "references": REFERENCES,
            "lowest": dict(lowest), "highest": dict(highest)}
    return PairMap.from_stored(columns, meta)


@pytest.mark.parametrize("method", ["all", "streamed", "cycles"])
@pytest.mark.parametrize("bins", [(110, 100), (1, 1), (7, 13), (3, 400)])
def test_the_planes_counts_sum_to_the_pairs(method, bins, scanned):
    result = made(method, scanned)
    counts, mu_edges, sigma_edges = result.plane_counts(*bins)
    assert counts.sum() == result.n_pairs == (700 if method == "cycles" else n_pairs_of(N))
    assert counts.shape == (len(mu_edges) - 1, len(sigma_edges) - 1)
    assert counts.shape[0] <= bins[0] and counts.shape[1] <= bins[1]
    assert counts.shape == bins or method == "streamed"
    # Every cell holds the pairs that lie in it: against numpy, on the numbers themselves.
    if method == "streamed":
        d_mu, d_sigma = scanned[1].d_mu, scanned[1].d_sigma
    else:
        _, _, d_mu, d_sigma = result.pairs
    assert np.array_equal(counts, np.histogram2d(d_mu, d_sigma, (mu_edges, sigma_edges))[0])


def test_a_streamed_plane_reaches_no_further_than_one_cell_beyond_the_data(scanned):
    counts, mu_edges, sigma_edges = made("streamed", scanned).plane_counts(20, 20)
    assert counts[0].any() and counts[-1].any() and counts[:, 0].any() and counts[:, -1].any()
    assert np.allclose(np.diff(mu_edges), mu_edges[1] - mu_edges[0])
    assert np.allclose(np.diff(sigma_edges), sigma_edges[1] - sigma_edges[0])


def test_pairs_all_in_one_point_still_make_a_plane():
    arrays = {"d_mu": np.zeros(3), "d_sigma": np.full(3, 0.25), "n_tokens": np.ones(3), "spread": np.ones(3),
              "norms": np.ones(3)}
    meta = {"n_texts": 3, "n_pairs": 3, "method": "all", "means": {}, "references": REFERENCES,
            "lowest": {"d_mu": 0.0, "d_sigma": 0.25}, "highest": {"d_mu": 0.0, "d_sigma": 0.25}}
    counts, mu_edges, sigma_edges = PairMap.from_stored(arrays, meta).plane_counts(10, 10)
    assert counts.sum() == 3 and counts.max() == 3
    assert (np.diff(mu_edges) > 0).all() and (np.diff(sigma_edges) > 0).all()


def test_pairs_are_in_the_order_of_their_numbers(scanned):
    moments = scanned[0]
    for method in ("all", "streamed", "cycles"):
        i, j, d_mu, d_sigma = made(method, scanned).pairs
        assert (i < j).all()
        rows = pairwise_statistics(moments, i, j)
        assert np.allclose(d_mu, rows.d_mu, atol=1e-12) and np.allclose(d_sigma, rows.d_sigma, atol=1e-7)


def test_single_precision_in_the_gallery_is_read_as_double(scanned):
    result = made("all", scanned)
    narrow = PairMap.from_stored({**result.arrays, "d_mu": result.arrays["d_mu"].astype(np.float32),
                                  "d_sigma": result.arrays["d_sigma"].astype(np.float32)}, result.meta)
    assert narrow.pairs[2].dtype == narrow.pairs[3].dtype == np.float64
    assert narrow.plane_counts()[0].sum() == n_pairs_of(N)


def test_what_stands_in_a_stored_description_comes_back(scanned):
    result = made("all", scanned)
    assert result.means["socm"].as_dict() == result.meta["means"]["socm"]
    assert result.references.missing == ("none",) and result.references.ratio is None
    assert result.references.as_dict() == REFERENCES
    low, high, bottom, top = result.ranges()
    assert (low, high) == (scanned[1].d_mu.min(), scanned[1].d_mu.max())
    assert (bottom, top) == (scanned[1].d_sigma.min(), scanned[1].d_sigma.max())


def test_how_many_pairs_an_option_asks_for():
    most = next(n for n in range(2, 10**5) if n * (n - 1) // 2 > EXACT_LIMIT)
    assert ARRAY_LIMIT < EXACT_LIMIT
    assert PairOptions().cycles_pairs(most - 1) is None
    assert PairOptions().cycles_pairs(most) == ESTIMATE_CYCLES * most
    assert PairOptions(all_pairs=True, sample=5).cycles_pairs(most) is None
    assert PairOptions(sample=1000).cycles_pairs(100) == 1000
    assert PairOptions(sample=4950).cycles_pairs(100) is None, "a sample of all pairs is all pairs"


def test_what_cannot_change_the_numbers_is_in_no_key():
    one = PairOptions()
    assert one.params(100) == PairOptions(all_pairs=True).params(100) == PairOptions(sample=4950).params(100)
    for other in (PairOptions(layer=3), PairOptions(special_tokens=False), PairOptions(prompt="query: "),
                  PairOptions(float64=True), PairOptions(numerics=PUBLISHED), PairOptions(sample=1000),
                  PairOptions(seed=1)):
        assert other.params(100) != one.params(100)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"numerics": "roughly"}, "numerics must be exact or as_published; found roughly"),
    ({"sample": 0}, "--sample must be at least 1 pair; found 0")])
def test_options_that_are_none(options, sentence):
    with pytest.raises(DataError, match=sentence):
        PairOptions(**options)
