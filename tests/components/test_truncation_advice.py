"""The recommendation on spectra whose answer is known, and on vectors of which nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from components.store import ResultKey
from components.truncation_advice import (
    Recommendation,
    change_words,
    embedding_yaml,
    finding,
    recommend,
    rule,
    size_words,
    smallest,
    within,
)
from components.truncation_measures import Vectors
from components.truncation_result import BINARY, FLOAT32, INT8, checked_dims, default_dims
from components.types import Interval
from tests.components.truncation_samples import result_of, signal

DIMS = (8, 16, 32, 64, 128)
KEY = ResultKey("truncation", "0" * 64, "a/model", "sha256:1", {}, 1)


@pytest.fixture(scope="module")
def early():
    """All that tells documents apart lies in the first 16 of 128 coordinates; the others are 0."""
    return result_of(signal(128, slice(0, 16), 0.5), DIMS)


@pytest.fixture(scope="module")
def late():
    """It lies in coordinates 32 to 63: 32 dims are noise, 64 hold all of it."""
    return result_of(signal(128, slice(32, 64), 0.3, rest=0.02), DIMS)


@pytest.fixture(scope="module")
def flat():
    """It is spread over all 128 alike, under so much noise that each is missed."""
    return result_of(signal(128, slice(0, 128), 2.5), DIMS)


def test_three_spectra_with_known_answers(early, late, flat):
    assert recommend(early).dim == 16 and recommend(early).loss.value == 0
    assert recommend(late).dim == 64
    assert recommend(flat).dim == 128 and flat.loss("ndcg@10", 64).value > 0.02
    assert recommend(early).saved == pytest.approx(1 - 16 / 128) and recommend(early).bytes == 64


def test_it_is_the_smallest_whose_interval_stays_within(late, flat):
    for result in (late, flat):
        for points in (0.5, 5, 30):
            best = recommend(result, points=points)
            for dim in result.dims:
                ok = dim == 128 or within(result.loss("ndcg@10", dim), points)
                assert (ok and dim >= best.dim) or not ok, (points, dim)
    assert recommend(flat, points=40).dim < 128
    assert recommend(flat, points=40).dim >= recommend(flat, points=80).dim


def test_an_interval_that_reaches_beyond_does_not_qualify():
    assert not within(Interval(0.0, -0.03, 0.03, 50, "queries"), 2) and within(Interval(0.0, -0.03, 0.02, 50, "queries"), 2)
    assert within(Interval(0.0, None, None, 50, "queries"), 2) and not within(Interval(0.0, None, None, 5, "queries"), 2)
    assert not within(Interval(float("nan"), None, None, 50, "queries"), 2)


def test_fewest_bytes_over_dtypes(early):
    best = smallest(early, points=2)
    others = [recommend(early, points=2, dtype=dtype) for dtype in (FLOAT32, INT8, BINARY)]
    assert best.bytes == min(one.bytes for one in others if one.bytes is not None) <= recommend(early).bytes


def test_sentences_say_dim_loss_and_bytes_and_whether_it_is_luck(early, flat, late):
    said = finding("made", early, recommend(early))
    assert "with 16 of 128 dims as float32, nDCG@10 changes on no query" in said and "64.0 MB instead of 512 MB" in said
    assert change_words(Interval(-0.02, -0.03, 0.01, 50, "queries")) == "changes by +2.00 [−1.00, 3.00] points"
    assert "above every one of 5 random choices of coordinates" in said
    assert "no shorter prefix is sure to stay within 2 points" in finding("made", flat, recommend(flat))
    assert "below every one" in finding("made", late, recommend(late))
    assert rule("ndcg@10", 2) == ("The smallest dim at which the 95% interval of the loss of nDCG@10 against the full float32 vector, "
                                  "query by query, ends at or below 2 points (a point is 0.01).")
    assert "pair by pair" in rule("spearman", 2) and [size_words(x) for x in (512e6, 1.5e9, 48)] == ["512 MB", "1.50 GB", "48 bytes"]


def test_constant_vectors_and_few_queries_say_so():
    one = np.ones((20, 16), np.float32)
    constant = result_of(Vectors(one, one, one[:10], one[:10], np.arange(10.0), one), (8, 16))
    best = recommend(constant)
    assert best.dim is None and "same vector" in best.why and "we cannot tell" in finding("made", constant, best)
    assert np.isnan(constant.value("spearman", 8).value) and np.isnan(constant.geometry("effective_dims", 16))
    assert np.isfinite(constant.value("ndcg@10", 8).value)
    few = result_of(signal(16, slice(0, 16), 0.5, n=4), (8, 16))
    assert recommend(few).dim is None and "4 queries are too few" in recommend(few).why
    assert few.value("ndcg@10", 8).low is None


def test_vectors_of_one_dim():
    found = result_of(signal(1, slice(0, 1), 0.5), (1,))
    assert found.dims == (1,) == default_dims(1) and recommend(found).dim == 1
    assert np.isfinite(found.value("ndcg@10", 1).value) and found.tied(1) > 150, "a cosine of one coordinate is 1 or -1"


def test_dims_above_the_model_s_are_refused():
    from components.errors import DataError

    with pytest.raises(DataError, match=r"dims must lie in 1 to 384, the dim of m; found 512: leave these out"):
        checked_dims((8, 512), 384, "m")
    assert checked_dims((), 384, "m") == (8, 16, 32, 64, 128, 256, 384) and checked_dims((64, 8, 64), 384, "m") == (8, 64, 384)


def test_the_lines_of_embedding_yaml(early, flat):
    written = yaml.safe_load(embedding_yaml(KEY, early, recommend(early)))
    assert written == {"embedding": {"model": "a/model", "revision": "sha256:1", "pooling": "mean", "normalize": True,
                                     "max_seq_len": 64, "truncate_dim": 16}}
    assert "truncate_dim" not in yaml.safe_load(embedding_yaml(KEY, flat, recommend(flat)))["embedding"], "nothing is cut"
    assert isinstance(recommend(early), Recommendation) and recommend(early).as_dict()["dim"] == 16
