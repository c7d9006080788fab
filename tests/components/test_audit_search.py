"""Vectors made wrongly on purpose, each named rightly, and none on right vectors, over random draws of real texts and models."""

from __future__ import annotations

import numpy as np
import pytest

from components.audit import departures, judge
from components.audit_config import CLEAN, DEPARTS, UNKNOWN
from components.audit_setting import NO, UNSEEN, YES
from components.encoders import load_encoder
from components.models import resolve_model
from tests.components.audit_samples import Sample, bfloat16, per_row, ranges, sample_of, unit

DRAWS = 200


@pytest.fixture(scope="module")
def real(embedded) -> Sample:
    return sample_of(embedded, 240, "mean", True)


@pytest.fixture(scope="module")
def nano() -> Sample:
    return sample_of(load_encoder(resolve_model("nano-cls"), device="cpu"), 240, "cls", False)


@pytest.fixture(params=["real", "nano"])
def sample(request) -> Sample:
    return request.getfixturevalue(request.param)


def differs(sample: Sample, found) -> set[str]:
    """What the nearest of the settings that give these vectors differs in."""
    return set(departures(found.parts[0].setting, sample.expected(), {""}, found.longest))


def rows_of(sample: Sample, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice(len(sample.texts), int(rng.integers(16, 60)), replace=False)


def faults(sample: Sample, rows: np.ndarray, rng: np.random.Generator):
    """Fault -> (vectors, outcome, names of what differs)."""
    right = sample.right(rows)
    other = "cls" if sample.pooling == "mean" else "mean"
    finish = unit if sample.normalize else (lambda x: x.astype(np.float32))
    dims = int(rng.integers(16, right.shape[1] // 2))
    moved = rng.permutation(len(rows))
    while (moved == np.arange(len(rows))).all():
        moved = rng.permutation(len(rows))
    half = len(rows) // 2
    mixed = right.copy()
    mixed[half:] = finish(sample.poolings[other][rows[half:]])
    return {
        "right": (right, "one", set()),
        "other pooling": (finish(sample.poolings[other][rows]), "one", {"pooling"}),
        "weighted mean": (finish(sample.poolings["weightedmean"][rows]), "one", {"pooling"}),
        "last token": (finish(sample.poolings["lasttoken"][rows]), "one", {"pooling"}),
        "max": (finish(sample.poolings["max"][rows]), "one", {"pooling"}),
        "normalisation": (sample.poolings[sample.pooling][rows] if sample.normalize else unit(right), "one", {"normalize"}),
        "float16": (right.astype(np.float16), "one", {"precision"}),
        "float16 held as float32": (right.astype(np.float16).astype(np.float32), "one", {"precision"}),
        "bfloat16": (bfloat16(right), "one", {"precision"}),
        "4 decimals": (np.round(right.astype(np.float64), 4), "one", {"precision"}),
        "int8, one scale": (np.round(right / np.abs(right).max() * 127).astype(np.int8), "one", {"precision"}),
        "int8, a scale a row": (per_row(right), "one", {"precision"}),
        "int8, a range a dim": (ranges("int8")(right), "one", {"precision"}),
        "uint8, a range a dim": (ranges("uint8")(right), "one", {"precision"}),
        "binary": (ranges("binary")(right), "one", {"precision"}),
        "signs": (np.where(right > 0, 1, -1).astype(np.int8), "one", {"precision"}),
        "cut": (finish(sample.poolings[sample.pooling][rows][:, :dims]), "one", {"truncate_dim"}),
        "shuffled": (right[moved], "shuffled", set()),
        "mixed": (mixed, "mixed", set()),
        "noise": ((right + rng.normal(size=right.shape) * np.abs(right).mean()).astype(np.float32), "none", set()),
        "another model": (rng.normal(size=right.shape).astype(np.float32), "none", set()),
    }


FAULTS = ("right", "other pooling", "weighted mean", "last token", "max", "normalisation", "float16", "float16 held as float32",
    "bfloat16",
          "4 decimals", "int8, one scale", "int8, a scale a row", "int8, a range a dim", "uint8, a range a dim", "binary", "signs",
          "cut",
          "shuffled", "mixed", "noise", "another model")


def test_every_fault_is_named_and_right_vectors_are_clean_over_random_draws(sample, one_torch_thread):
    for seed in range(DRAWS // 2):  # of each of the two models
        rng = np.random.default_rng(seed)
        rows = rows_of(sample, seed)
        made = faults(sample, rows, rng)
        assert tuple(made) == FAULTS
        for name in ("right", FAULTS[1 + seed % (len(FAULTS) - 1)]):
            vectors, outcome, differing = made[name]
            found = sample.search(vectors, rows)
            assert found.outcome == outcome, (seed, name, found.outcome, [t.setting.words for t in found.tried[:2]])
            verdict = judge(found, sample.expected(), {""})
            assert verdict == {"right": CLEAN}.get(name, UNKNOWN if outcome == "none" else DEPARTS), (seed, name)
            if outcome == "one":
                assert differs(sample, found) == differing, (seed, name, found.parts[0].setting.words)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_once(sample, name):
    rows = np.arange(40)
    vectors, outcome, differing = faults(sample, rows, np.random.default_rng(1))[name]
    found = sample.search(vectors, rows)
    assert found.outcome == outcome and (outcome != "one" or differs(sample, found) == differing)


@pytest.mark.parametrize(("size", "normalised"), [(8, False), (16, True), (32, False)])
def test_an_unmasked_mean_with_its_batch_size(real, size, normalised):
    rows = np.random.default_rng(size).choice(240, 48, replace=False)
    vectors = real.unmasked(rows, size)
    found = real.search(unit(vectors) if normalised else vectors, rows)
    assert found.outcome == "unmasked" and found.padding is not None
    assert found.padding.batch_size == size and "in the order of the file" in found.padding.words
    assert found.parts[0].setting.normalize == (YES if normalised else NO)
    assert judge(found, real.expected(), {""}) == DEPARTS


def test_an_unmasked_mean_of_sorted_batches_of_a_fixed_length_and_in_float16(real, nano):
    rows = np.random.default_rng(5).choice(240, 40, replace=False)
    found = real.search(real.unmasked(rows, 16, by_length=True), rows)
    assert found.padding is not None and "of 16, sorted by length in characters" in found.padding.words
    found = real.search(unit(real.unmasked(rows[:24], 24, fixed=128)), rows[:24])
    assert found.padding is not None and "padded to 128 tokens" in (found.padding.words, *found.padding.others)
    found = nano.search(nano.unmasked(rows, 32).astype(np.float16), rows)
    assert found.outcome == "unmasked" and found.parts[0].setting.precision == "float16"


def test_an_unmasked_mean_whose_batches_are_not_in_the_file_is_still_one(real):
    rows = np.arange(100)
    found = real.search(real.unmasked(rows, 100)[:20], rows[:20])
    assert found.outcome == "unmasked" and found.padding is not None and found.padding.batch_size is None
    assert "do not show" in found.padding.words


@pytest.mark.parametrize(("order", "kind"), [
    (lambda n, texts: np.roll(np.arange(n), 3), "shifted by 3 rows down"), (lambda n, texts: np.arange(n)[::-1], "reversed"),
    (lambda n, texts: np.argsort([-len(t) for t in texts]), "sorted by length in characters, longest first"),
    (lambda n, texts: np.r_[1, 0, 2:n], "in no order that we know")])
def test_what_happened_to_the_order(real, order, kind):
    rows = np.arange(50)
    moved = order(50, [real.texts[k] for k in rows])
    found = real.search(real.right(rows)[moved], rows)
    assert found.outcome == "shuffled" and found.order is not None and found.order.kind == kind


def test_how_many_rows_follow_which_setting(real):
    rows = np.arange(50)
    vectors = real.right(rows).copy()
    vectors[30:] = real.poolings["cls"][rows[30:]]
    vectors[45:] = np.random.default_rng(0).normal(size=(5, vectors.shape[1]))
    found = real.search(vectors, rows)
    assert [(part.setting.pooling, part.setting.normalize, len(part.rows)) for part in found.parts] == \
        [("mean", YES, 30), ("cls", NO, 15)] and list(found.unexplained) == [45, 46, 47, 48, 49]
    halves = np.concatenate([real.right(rows[:25]), real.right(rows[25:]).astype(np.float16).astype(np.float32)])
    assert {part.setting.precision for part in real.search(halves, rows).parts} == {"float32", "float16"}


def test_equal_texts_are_not_taken_for_moved_rows(real):
    rows = np.r_[0, 0, 1:20]
    found = real.search(real.right(rows), rows)
    assert found.outcome == "one"
    found = real.search(real.right(rows)[::-1], rows)
    assert found.outcome == "shuffled"


def test_what_cannot_be_told_apart_is_said(real):
    rows = np.arange(30)
    found = real.search(real.right(rows), rows)
    assert [s.pooling for s in found.alike] == ["mean_sqrt_len"], "a mean by the root of the length has the same direction"
    assert real.search(ranges("binary")(real.right(rows)), rows).parts[0].setting.normalize == UNSEEN
    found = real.search(per_row(real.right(rows)), rows)
    assert found.parts[0].setting.normalize == UNSEEN


def test_another_revision_is_near_and_not_named_as_a_setting(real):
    rows = np.arange(60)
    rng = np.random.default_rng(2)
    near = unit(real.right(rows) + rng.normal(size=(60, 384)) * 5e-4 / np.sqrt(384) * 10)
    found = real.search(near, rows)
    assert found.outcome == "none" and found.tried[0].setting.pooling in ("mean", "mean_sqrt_len")
    assert 1e-4 < np.median(found.tried[0].error) < 0.05
