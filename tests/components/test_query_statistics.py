"""Intervals and tests over queries: coverage and size by simulation, and equality with hand-worked and other libraries' values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from components.query_statistics import (
    bootstrap_means,
    holm,
    randomisation_p,
    spearman_difference,
    spearman_interval,
)


def test_the_bootstrap_covers_what_it_claims():
    # nDCG-like values (many ones, the rest spread): 600 sets of 60 queries, all columns of one call.
    rng = np.random.default_rng(0)
    values = np.where(rng.random((60, 600)) < 0.4, 1.0, rng.beta(1.5, 2.0, (60, 600)))
    truth = 0.4 + 0.6 * 1.5 / 3.5
    # Columns share their draws of rows, which ties the intervals' randomness together but not their data.
    covered = np.mean([one.low <= truth <= one.high for one in bootstrap_means(values, "queries")])
    # 0.95 less what a percentile interval of 60 lacks, within three standard errors of 600 trials.
    assert 0.91 <= covered <= 0.975


def test_the_bootstrap_of_a_difference_is_paired():
    rng = np.random.default_rng(1)
    one = rng.random((100, 1))
    gap = bootstrap_means(one + 0.1 - one, "queries")[0]
    assert gap.value == pytest.approx(0.1) and (gap.low is None or gap.high - gap.low < 1e-12)


def test_no_interval_for_few_rows_or_for_equal_ones():
    assert bootstrap_means(np.array([[0.0], [1.0], [1.0]]), "queries")[0].low is None
    all_right = bootstrap_means(np.ones((50, 1)), "queries")[0]
    assert (all_right.value, all_right.low, all_right.n, all_right.of) == (1.0, None, 50, "queries")


def test_p_is_uniform_where_there_is_no_difference():
    rng = np.random.default_rng(2)
    # Differences of two ways that are equally good, with many zeros, as retrieval metrics have them.
    gaps = rng.normal(size=(80, 400)) * (rng.random((80, 400)) < 0.5)
    p = randomisation_p(gaps)
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.035)


def test_p_is_exact_for_few_rows():
    gaps = np.array([0.3, 0.1, -0.05, 0.2, 0.4, 0.0])
    signs = np.array(list(itertools.product([-1, 1], repeat=6)))
    sums = signs @ gaps
    expected = min(1.0, 2 * np.mean(sums >= gaps.sum() - 1e-12))
    assert randomisation_p(gaps[:, None])[0] == pytest.approx(expected)


def test_p_of_nothing_to_tell_is_one():
    assert randomisation_p(np.zeros((30, 1)))[0] == 1
    assert randomisation_p(np.array([[0.5]]))[0] == 1
    assert randomisation_p(np.full((40, 1), 0.1))[0] < 0.001  # one direction everywhere


def test_holm_by_hand_and_order_kept():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, made rising: 0.04, 0.06, 0.06, 0.06 (Holm 1979's rule).
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, float("nan"), 0.9])[0] == 1.0 and math.isnan(holm([0.5, float("nan")])[1])
    assert holm([]) == []


def test_spearman_equals_scipys_and_its_interval_holds_it():
    rng = np.random.default_rng(3)
    grades = rng.integers(0, 6, 120).astype(float)
    one = grades + rng.normal(size=120)
    found = spearman_interval(one, grades, "pairs")
    assert found.value == pytest.approx(stats.spearmanr(one, grades).statistic, abs=1e-12)
    assert found.low < found.value < found.high
    # Fisher's interval with Bonett and Wright's error is another way to the same width.
    half = 1.96 * math.sqrt((1 + found.value**2 / 2) / (120 - 3))
    theirs = [math.tanh(math.atanh(found.value) + s * half) for s in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(theirs, abs=0.05)


def test_spearman_difference_of_alike_and_of_unlike():
    rng = np.random.default_rng(4)
    grades = rng.integers(0, 6, 100).astype(float)
    near, far = grades + rng.normal(size=100) * 0.5, grades + rng.normal(size=100) * 4
    gap, p = spearman_difference(near, far, grades, "pairs")
    assert gap.value > 0.3 and gap.low > 0 and p < 0.01
    same, p_same = spearman_difference(near, 3 * near + 1, grades, "pairs")
    assert same.value == 0 and p_same == 1


def test_a_constant_side_has_no_spearman():
    assert math.isnan(spearman_interval(np.ones(20), np.arange(20.0), "pairs").value)
    gap, p = spearman_difference(np.ones(20), np.arange(20.0), np.arange(20.0), "pairs")
    assert math.isnan(gap.value) and math.isnan(p)
