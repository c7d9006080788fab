from __future__ import annotations

import numpy as np
import pytest

from components.charts.pair_means import MAX_BINS, MAX_BINS_NARROW, mean_grid, pair_means, pair_means_alt
from components.charts.style import LIGHT, ChartTheme
from components.errors import DataError
from tests.components.charts.figures import HOSTILE, THEMES, cloud, covers, hovers, mega, traces

EDGES = np.linspace(0, 1, 151), np.linspace(0, 4, 141)


def binned(n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts per cell; the quantity is 10 * d_sigma."""
    d_mu, d_sigma = cloud(n)
    counts = np.histogram2d(d_mu, d_sigma, bins=EDGES)[0]
    return np.histogram2d(d_mu, d_sigma, bins=EDGES, weights=10 * d_sigma)[0], counts.astype(np.int64)


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_sums_and_counts_survive_the_merging(theme: ChartTheme, narrow: bool) -> None:
    sums, counts = binned()
    drawn = mean_grid(sums, counts, *EDGES, narrow=narrow)
    assert drawn.grid.total == counts.sum() and drawn.sums.sum() == pytest.approx(sums.sum())
    assert max(drawn.grid.counts.shape) <= (MAX_BINS_NARROW if narrow else MAX_BINS)
    fig = pair_means(sums, counts, *EDGES, theme, quantity_label="Ten times it", narrow=narrow)
    data = np.asarray(traces(fig, "heatmap")[0].customdata)
    assert data[:, :, 4].sum() == counts.sum()


def test_a_cells_mean_is_the_mean_of_its_pairs() -> None:
    d_mu, d_sigma = cloud(20_000)
    sums, counts = binned()
    drawn = mean_grid(sums, counts, *EDGES)
    k, m = np.unravel_index(int(drawn.grid.counts.argmax()), drawn.grid.counts.shape)
    mu, sigma = drawn.grid.mu_edges, drawn.grid.sigma_edges
    inside = (d_mu >= mu[k]) & (d_mu < mu[k + 1]) & (d_sigma >= sigma[m]) & (d_sigma < sigma[m + 1])
    assert drawn.means[k, m] == pytest.approx(10 * d_sigma[inside].mean())
    assert drawn.grid.counts[k, m] == inside.sum()


def test_thin_cells_are_masked_and_counted() -> None:
    sums, counts = np.array([[8.0, 50.0], [0.0, 12.0]]), np.array([[4, 5], [0, 6]])
    drawn = mean_grid(sums, counts, np.arange(3.0), np.arange(3.0), least=5)
    assert np.array_equal(drawn.means, [[np.nan, 10], [np.nan, 2]], equal_nan=True)
    assert drawn.masked == (1, 4)
    fig = pair_means(sums, counts, np.arange(3.0), np.arange(3.0), LIGHT, quantity_label="Q", least=5)
    means, thin = traces(fig, "heatmap")
    assert np.array_equal(np.asarray(means.z), [[np.nan, np.nan], [10, 2]], equal_nan=True)
    assert np.array_equal(np.isnan(np.asarray(thin.z)), [[False, True], [True, True]])
    assert "too few for a mean" in thin.hovertemplate
    words = pair_means_alt(sums, counts, np.arange(3.0), np.arange(3.0), quantity_label="Q", least=5)
    assert words.endswith("1 cell with fewer than 5 pairs is masked (4 pairs).")


def test_the_scales_ends_say_where_they_are_passed() -> None:
    sums, counts = binned(200_000)
    heat = traces(pair_means(sums, counts, *EDGES, LIGHT, quantity_label="Q"), "heatmap")[0]
    z = np.asarray(heat.z)[~np.isnan(np.asarray(heat.z))]
    words = heat.colorbar.ticktext
    assert words[0].startswith("≤") == (z.min() < heat.zmin) and words[-1].startswith("≥") == (z.max() > heat.zmax)
    assert ((z >= heat.zmin) & (z <= heat.zmax)).mean() > 0.5
    shared = traces(pair_means(sums, counts, *EDGES, LIGHT, quantity_label="Q", value_range=(0, 100)), "heatmap")[0]
    assert (shared.zmin, shared.zmax, shared.colorbar.ticktext) == (0, 100, ("0", "50", "100"))


def test_axes_cover_the_pairs_and_pass_1() -> None:
    sums, counts = binned()
    grid = mean_grid(sums, counts, *EDGES).grid
    fig = pair_means(sums, counts, *EDGES, LIGHT, quantity_label="Q")
    assert covers(fig, grid.mu_edges, grid.sigma_edges) and fig.layout.yaxis.range[1] > 1


def test_less_than_a_megabyte_at_most_bins() -> None:
    counts = np.tile([3, 9], (4 * MAX_BINS, 2 * MAX_BINS))
    edges = np.linspace(0, 1, 4 * MAX_BINS + 1)
    assert mega(pair_means(counts * 0.5, counts, edges, edges, LIGHT, quantity_label="Q", least=1_000)) < 1
    assert mega(pair_means(counts * 0.5, counts, edges, edges, LIGHT, quantity_label="Q")) < 1


def test_nothing_one_cell_and_only_thin_cells() -> None:
    edges = np.arange(2.0)
    empty = pair_means(np.zeros((1, 1)), np.zeros((1, 1), dtype=int), edges, edges, LIGHT, quantity_label="Q")
    assert "No pairs to draw" in [note.text for note in empty.layout.annotations]
    one = pair_means(np.array([[20.0]]), np.array([[10]]), edges, edges, LIGHT, quantity_label="Q")
    heat = traces(one, "heatmap")[0]
    assert np.asarray(heat.z).tolist() == [[2.0]] and heat.zmin < 2 < heat.zmax
    thin = pair_means(np.array([[2.0]]), np.array([[1]]), edges, edges, LIGHT, quantity_label="Q")
    assert np.isnan(np.asarray(traces(thin, "heatmap")[0].z)).all()
    assert "no cell holds 5 pairs" in pair_means_alt(np.array([[2.0]]), np.array([[1]]), edges, edges, quantity_label="Q")
    assert "no pairs" in pair_means_alt(np.zeros((1, 1)), np.zeros((1, 1), dtype=int), edges, edges, quantity_label="Q")


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(DataError, match="sums"):
        pair_means(np.zeros((2, 3)), np.ones((2, 2), dtype=int), np.arange(3.0), np.arange(3.0), LIGHT, quantity_label="Q")


def test_hostile_label_is_escaped() -> None:
    sums, counts = binned()
    fig = pair_means(sums, counts, *EDGES, LIGHT, quantity_label=HOSTILE[:60])
    assert "<script" not in hovers(fig) + fig.data[0].colorbar.title.text


def test_alt_names_both_ends() -> None:
    sums, counts = binned()
    words = pair_means_alt(sums, counts, *EDGES, quantity_label="Ten times it")
    assert "20,000 pairs" in words and "lowest" in words and "highest" in words and "masked" in words
