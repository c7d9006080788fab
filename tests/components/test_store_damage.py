"""Torn, cut, forged and foreign files: a miss with a warning, never a wrong number, and overwritten later."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.errors import StoreError
from components.result_files import npz_name
from components.store import ResultStore, StoreWarning
from tests.components.store_samples import files_of, make_key, put, visible


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "store")


def truncate_npz(json_file: Path, npz: Path) -> None:
    npz.write_bytes(npz.read_bytes()[:-7])


def flip_bit(json_file: Path, npz: Path) -> None:
    raw = bytearray(npz.read_bytes())
    raw[len(raw) // 2] ^= 1
    npz.write_bytes(raw)


def other_numbers(json_file: Path, npz: Path) -> None:
    size = npz.stat().st_size
    with zipfile.ZipFile(npz, "w") as archive, archive.open("x.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.arange(10, dtype=np.float64) + 1)
    assert npz.stat().st_size == size  # whole in every respect, but not what was stored


def empty_json(json_file: Path, npz: Path) -> None:
    json_file.write_bytes(b"")


def half_json(json_file: Path, npz: Path) -> None:
    json_file.write_bytes(json_file.read_bytes()[:100])


def deep_json(json_file: Path, npz: Path) -> None:
    json_file.write_text("[" * 200_000)


def foreign_json(json_file: Path, npz: Path) -> None:
    json_file.write_text('{"some": "thing"}')


def binary_json(json_file: Path, npz: Path) -> None:
    json_file.write_bytes(b"\xff\xfe\x00")


def other_format(json_file: Path, npz: Path) -> None:
    edit(json_file, format="poolscope-result-0")


def missing_npz(json_file: Path, npz: Path) -> None:
    npz.unlink()


def outside(json_file: Path, npz: Path) -> None:
    shutil.copy(npz, json_file.parent.parent / "x.npz")
    edit(json_file, file="../x.npz")


def other_key(json_file: Path, npz: Path) -> None:
    edit(json_file, key=make_key("another").as_dict())


def wrong_shape(json_file: Path, npz: Path) -> None:
    edit(json_file, arrays={"x": {"shape": [11], "dtype": "<f8"}})


def wrong_dtype(json_file: Path, npz: Path) -> None:
    edit(json_file, arrays={"x": {"shape": [10], "dtype": "<f4"}})


def fields_of_other_types(json_file: Path, npz: Path) -> None:
    edit(json_file, arrays=[1], sha256=7, created=None)


def with_pickle(json_file: Path, npz: Path) -> None:
    np.savez(npz, x=np.array([Bomb()], dtype=object))
    adopt(json_file, npz, {"x": {"shape": [1], "dtype": "|O"}})


def bare_pickle(json_file: Path, npz: Path) -> None:
    npz.write_bytes(pickle.dumps(Bomb()))
    adopt(json_file, npz, {})


def no_arrays(json_file: Path, npz: Path) -> None:
    with zipfile.ZipFile(npz, "w") as archive:
        archive.writestr("x.npy", b"no array")
    adopt(json_file, npz, {"x": {"shape": [10], "dtype": "<f8"}})


def a_folder(json_file: Path, npz: Path) -> None:
    npz.unlink()
    npz.mkdir()


class Bomb:
    """Leaves a trace if anybody unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os; os.environ['POOLSCOPE_TEST_UNPICKLED'] = 'yes'",)


def edit(json_file: Path, **changes: Any) -> None:
    json_file.write_text(json.dumps(json.loads(json_file.read_text()) | changes))


def adopt(json_file: Path, npz: Path, arrays: dict[str, Any]) -> None:
    """Make the description fit a forged array file in every way that can be forged."""
    raw = npz.read_bytes()
    sha256 = hashlib.sha256(raw).hexdigest()
    target = npz.with_name(npz_name(json_file.stem, sha256))
    npz.rename(target)
    edit(json_file, file=target.name, sha256=sha256, bytes=len(raw), arrays=arrays)


DAMAGES = [truncate_npz, flip_bit, other_numbers, empty_json, half_json, deep_json, foreign_json, binary_json,
           other_format, missing_npz, outside, other_key, wrong_shape, wrong_dtype, fields_of_other_types, with_pickle,
           bare_pickle, no_arrays]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_a_miss_with_a_warning_and_is_overwritten(store: ResultStore, damage: Any) -> None:
    key, other = make_key(), make_key("other")
    put(store, key)
    put(store, other)
    damage(*files_of(store, key))
    with pytest.warns(StoreWarning, match=f"pair_map/{key.digest}.*again"):
        assert store.get(key) is None
    assert "POOLSCOPE_TEST_UNPICKLED" not in os.environ
    problems = [problem for problem in store.verify() if problem.file != "x.npz"]
    assert len(problems) == 1 and key.digest in problems[0].file and not problems[0].removed
    assert [entry.key for entry in store.entries()].count(other) == 1
    put(store, key)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(key) is not None and store.get(other) is not None
    assert [problem for problem in store.verify() if problem.file != "x.npz"] == []
    assert sum(key.digest in name for name in visible(store.root)) == 2


def test_a_folder_in_the_arrays_place_is_a_sentence(store: ResultStore) -> None:
    key = make_key()
    put(store, key)
    a_folder(*files_of(store, key))
    with pytest.warns(StoreWarning):
        assert store.get(key) is None
    with pytest.raises(StoreError, match="result store"):
        put(store, key)


def test_foreign_files_are_reported_and_kept(store: ResultStore) -> None:
    put(store, make_key())
    for path in (store.root / "note.txt", store.root / "pair_map" / "x.json", store.root / "Other" / "y"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    assert [p.file for p in store.verify()] == ["Other", "note.txt", "pair_map/x.json"]
    assert all("not a file of the store" in p.sentence and not p.removed for p in store.verify())
