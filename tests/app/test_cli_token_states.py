"""``poolscope pairs --token-states``: the same numbers as the library's, and a sentence for all that cannot be."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from components.moments import text_moments
from components.socm import pairwise_statistics
from components.token_files import read_token_states
from tests.app.command import call, refused
from tests.app.test_data_page import npz, some_states


@pytest.fixture
def file(place):
    (place / "mine.npz").write_bytes(some_states())
    return place


def test_every_pair_is_written(file):
    done = call("pairs", "--token-states", "mine.npz", "--out", "pairs.csv", "--json", "--device", "cpu")
    assert done.code == 0, done.err
    own, (i, j) = read_token_states("mine.npz", some_states()), np.triu_indices(9, 1)
    expected = pairwise_statistics(text_moments(own.states), i, j)
    with open("pairs.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(int(row["text1"]), int(row["text2"])) for row in rows] == list(zip(i.tolist(), j.tolist(), strict=True))
    assert [float(row["d_mu"]) for row in rows] == pytest.approx(expected.d_mu.tolist(), abs=1e-9)
    assert [float(row["d_sigma"]) for row in rows] == pytest.approx(expected.d_sigma.tolist(), abs=1e-6)
    summary = json.loads(done.out)
    assert (summary["model"], summary["revision"], summary["layer"]) == ("own token states", own.revision, "given")
    assert summary["mean_socm"] == pytest.approx(float(((1 - expected.d_mu) * expected.d_sigma).mean()), abs=1e-6)
    assert "neither texts nor tokens" in done.err


def test_float64_and_a_sample(file):
    assert call("pairs", "--token-states", "mine.npz", "--json", "--float64").code == 0
    (file / "many.npz").write_bytes(some_states(200))
    done = call("pairs", "--token-states", "many.npz", "--json", "--sample", "2000")
    assert json.loads(done.out)["method"] == "cycles" and "Means are estimated" in done.err


@pytest.mark.parametrize(("arguments", "said"), [
    (("nano-mrl", "texts.txt"), "MODEL says how a model reads texts"), (("--layer", "2"), "--layer says"),
    (("--column", "x"), "--column says"), (("--text-a", "x", "--text-b", "y"), "--text-a says"),
    (("--no-special-tokens",), "--no-special-tokens says"), (("--prompt", "q: "), "--prompt says"),
    (("--revision", "x"), "--revision says"),
    (("--label", "x"), "--label says")])
def test_what_a_model_would_need_is_refused(file, arguments, said):
    assert said in refused(file, "pairs", *arguments, "--token-states", "mine.npz", "--out", "x.csv")


@pytest.mark.parametrize(("name", "data", "said"), [
    ("none.npz", None, "must exist"), ("a.npz", b"", "must be an .npz"), ("a.csv", b"text\nx\n", "the extension '.csv'"),
    ("a.npz", npz(states=np.ones((3, 2), object), offsets=np.array([0, 1, 3])), "no pickled objects"),
    ("a.npz", npz(states=np.ones((3, 2)), offsets=np.array([0, 5, 3])), "5 at [1]"),
    ("a.npz", npz(states=np.zeros((3, 2)), offsets=np.array([0, 1, 3])), "must have a finite token mean of length above 0"),
    ("a.npz", npz(states=np.ones((3000, 2)), offsets=np.array([0, 1, 3000])), "must unpack to at most 10,000 bytes")])
def test_bad_files(place, name, data, said):
    if data is not None:
        (place / name).write_bytes(data)
    assert said in refused(place, "pairs", "--token-states", name, "--out", "x.csv", POOLSCOPE_MAX_STATES_MB="0.01")


def test_the_output_does_not_replace_the_input_and_something_is_asked_for(file):
    assert "must end in .csv or .parquet" in refused(file, "pairs", "--token-states", "mine.npz", "--out", "mine.npz")
    assert "--out" in refused(file, "pairs", "--token-states", "mine.npz")


def test_without_them_model_and_texts_are_needed(place):
    for given in ((), ("nano-mrl",)):
        done = call("pairs", *given, "--json")
        assert done.code == 2 and "Missing argument" in done.err
