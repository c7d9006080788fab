"""Intervals: equal to brute force, and covering what they claim to cover."""

from __future__ import annotations

import numpy as np
import pytest

from components.statistics import (
    balanced_pairs,
    cycle_mean,
    cycle_mean_over_texts,
    jackknife_difference,
    jackknife_pair_mean,
    jackknife_ratio,
    mean_interval,
    t_quantile,
)


def additive(g: np.ndarray) -> np.ndarray:
    """Text effects alone."""
    return 1 + 0.5 * (g[:, None] + g[None, :])


def interacting(g: np.ndarray) -> np.ndarray:
    """Text effects and their product."""
    return 1 + 0.5 * (g[:, None] + g[None, :]) + 0.125 * g[:, None] * g[None, :]


def crooked(g: np.ndarray) -> np.ndarray:
    """A distance between texts on a line: non-linear, skew; E |g_i - g_j| = 2 / sqrt(pi)."""
    return np.abs(g[:, None] - g[None, :]) * np.sqrt(np.pi) / 2


def simulated(n: int, rng: np.random.Generator, kernel=interacting) -> np.ndarray:
    """A symmetric table of pair values with noise of its own in each pair; the true mean of every kernel is 1."""
    noise = rng.standard_normal((n, n)) * 0.3
    table = kernel(rng.standard_normal(n)) + np.triu(noise, 1) + np.triu(noise, 1).T
    np.fill_diagonal(table, 0)
    return table


@pytest.mark.parametrize("kernel", [additive, interacting, crooked])
def test_the_kernels_true_mean_is_one(kernel):
    rng = np.random.default_rng(10)
    means = [simulated(80, rng, kernel)[np.triu_indices(80, 1)].mean() for _ in range(150)]
    assert np.mean(means) == pytest.approx(1, abs=4 * np.std(means) / np.sqrt(150))


def test_jackknife_equals_leaving_each_text_out():
    table = simulated(11, np.random.default_rng(0))
    found = jackknife_pair_mean(table.sum(axis=1))
    pairs = table[np.triu_indices(11, 1)]
    without = []
    for k in range(11):
        rest = np.delete(np.delete(table, k, 0), k, 1)
        without.append(rest[np.triu_indices(10, 1)].mean())
    error = np.sqrt(10 / 11 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert found.value == pytest.approx(pairs.mean())
    assert found.high - found.value == pytest.approx(t_quantile(10) * error)
    assert (found.n, found.of) == (11, "texts")


@pytest.mark.parametrize("kernel", [additive, interacting, crooked])
def test_coverage_is_what_it_claims_and_independent_pairs_would_cover_far_less(kernel):
    rng = np.random.default_rng(1)
    hits = naive = 0
    runs, n = 1500, 40
    for _ in range(runs):
        table = simulated(n, rng, kernel)
        found = jackknife_pair_mean(table.sum(axis=1))
        hits += found.low <= 1 <= found.high
        pairs = table[np.triu_indices(n, 1)]
        half = 1.96 * pairs.std(ddof=1) / np.sqrt(len(pairs))
        naive += abs(pairs.mean() - 1) <= half
    assert 0.92 <= hits / runs <= 0.97
    assert naive / runs < 0.5


def test_no_interval_below_six_texts():
    table = simulated(5, np.random.default_rng(2))
    found = jackknife_pair_mean(table.sum(axis=1))
    assert found.low is None and found.high is None and np.isfinite(found.value)
    assert mean_interval(np.arange(5.0), "texts").low is None


def test_a_difference_over_the_same_texts_is_sharper_than_two_intervals():
    rng = np.random.default_rng(3)
    one = simulated(60, rng)
    other = one + 0.1
    np.fill_diagonal(other, 0)
    found = jackknife_difference(one.sum(axis=1), other.sum(axis=1))
    assert found.value == pytest.approx(0.1)
    assert found.high - found.low == pytest.approx(0, abs=1e-9)


def test_ratio_equals_leaving_out_every_row_that_names_the_text():
    rng = np.random.default_rng(4)
    texts = np.array([[a, (a + 1) % 9] for a in range(9)] + [[0, 0], [3, 7]])
    top, bottom = rng.random(11) + 1, rng.random(11) + 2
    found = jackknife_ratio(top, bottom, texts)
    without = [top[keep].sum() / bottom[keep].sum() for k in range(9) for keep in [~(texts == k).any(axis=1)]]
    error = np.sqrt(8 / 9 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert found.value == pytest.approx(top.sum() / bottom.sum())
    assert found.high - found.value == pytest.approx(t_quantile(8) * error)


@pytest.mark.parametrize(("n", "wanted"), [(50, 500), (50, 1000), (1000, 20_000), (400, 600), (21, 210)])
def test_balanced_cycles_use_each_text_twice_and_no_pair_twice(n, wanted):
    i, j, cycle = balanced_pairs(n, wanted, seed=3)
    assert cycle.max() + 1 >= 10
    assert (i < j).all()
    assert len({(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)}) == len(i)
    for k in range(int(cycle.max()) + 1):
        uses = np.bincount(np.concatenate([i[cycle == k], j[cycle == k]]), minlength=n)
        assert set(uses.tolist()) <= {0, 2}
    assert abs(len(i) - wanted) <= max(210, 0.1 * wanted)


def test_too_few_texts_for_ten_cycles_is_refused():
    with pytest.raises(ValueError, match="disjoint cycles"):
        balanced_pairs(12, 60)


def test_cycles_are_unbiased_sharper_than_independent_pairs_and_cover():
    rng = np.random.default_rng(5)
    n = 120
    table = simulated(n, rng)
    all_pairs = table[np.triu_indices(n, 1)]
    estimates, plain, hits = [], [], 0
    for seed in range(400):
        i, j, cycle = balanced_pairs(n, 10 * n, seed)
        found = cycle_mean(table[i, j], cycle)
        estimates.append(found.value)
        hits += found.low <= all_pairs.mean() <= found.high
        plain.append(rng.choice(all_pairs, len(i)).mean())
    assert np.mean(estimates) == pytest.approx(all_pairs.mean(), abs=4 * np.std(estimates) / 20)
    assert np.var(estimates) < np.var(plain) / 3
    assert hits / 400 > 0.92


@pytest.mark.parametrize("kernel", [additive, interacting, crooked])
def test_cycles_cover_the_population_mean_over_texts(kernel):
    rng = np.random.default_rng(6)
    hits, runs, n = 0, 1000, 100
    for seed in range(runs):
        table = simulated(n, rng, kernel)
        i, j, cycle = balanced_pairs(n, 10 * n, seed)
        found = cycle_mean_over_texts(table[i, j], i, j, n, cycle)
        hits += found.low <= 1 <= found.high
    assert 0.92 <= hits / runs <= 0.98


def test_cycles_alone_do_not_cover_the_population_mean():
    """Their interval is for this corpus' mean: over texts it is far too short, which is why there are two."""
    rng = np.random.default_rng(7)
    hits, n = 0, 100
    for seed in range(300):
        table = simulated(n, rng)
        i, j, cycle = balanced_pairs(n, 10 * n, seed)
        found = cycle_mean(table[i, j], cycle)
        hits += found.low <= 1 <= found.high
    assert hits / 300 < 0.6


def test_pairs_left_out_count_for_their_texts():
    """Alignment is undefined for some pairs: leaving a text out removes the pairs it has, not n - 1."""
    table, n = simulated(9, np.random.default_rng(8)), 9
    there = np.triu(np.random.default_rng(9).random((n, n)) < 0.7, 1)
    there |= there.T
    found = jackknife_pair_mean((table * there).sum(axis=1), there.sum(axis=1).astype(float))
    i, j = np.triu_indices(n, 1)
    keep = there[i, j]
    without = [table[i, j][keep & (i != k) & (j != k)].mean() for k in range(n)]
    error = np.sqrt(8 / 9 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert found.value == pytest.approx(table[i, j][keep].mean())
    assert found.high - found.value == pytest.approx(t_quantile(8) * error)
