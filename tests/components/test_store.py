"""The result store: what comes back, what is refused, what goes when it is full."""

from __future__ import annotations

import os
import stat
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import components.store
from components.errors import StoreError
from components.result_files import Header, read_arrays
from components.store import ResultStore, default_store_root
from components.store_folder import StoreFolder
from tests.components.store_samples import files_of, make_key, put, visible


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "store")


class TestRoundTrip:
    def test_everything_comes_back(self, store: ResultStore) -> None:
        arrays: dict[str, Any] = {
            "f": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3), "i": np.array([-1, 2], dtype=np.int16),
            "text": np.array(["ä", "long one"]), "scalar": np.array(3.5), "none": np.empty((0, 4)),
            "nan": np.array([np.nan, -0.0, np.inf]), "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
            "file": np.arange(2), "every_other": np.arange(10)[::2], "when": np.array(["2020-01-01"], "M8[D]")}
        key = make_key()
        assert store.get(key) is None
        seconds: Any = {"encode": np.float32(1.5)}
        given = store.put(key, arrays, {"n": (1, None), "s": "é"}, seconds)
        got = store.get(key)
        assert got is not None and got.key == key == given.key
        assert got.meta == given.meta == {"n": [1, None], "s": "é"} and got.seconds == given.seconds == {"encode": 1.5}
        assert got.created == given.created and got.versions == given.versions
        assert {"numpy", "torch", "poolscope"} <= set(got.versions) and got.versions["numpy"] == np.__version__
        for result in (got, given):
            assert set(result.arrays) == set(arrays)
            for name, array in arrays.items():
                assert result.arrays[name].dtype == array.dtype and not result.arrays[name].flags.writeable
                np.testing.assert_array_equal(result.arrays[name], array)
        assert arrays["i"].flags.writeable, "the caller's array stays as it was"

    def test_by_digest_from_outside(self, store: ResultStore) -> None:
        key = make_key()
        put(store, key)
        assert store.get_by_digest(key.kind, key.digest) is not None
        for kind, digest in ((key.kind, "../" + key.digest), ("..", key.digest), (key.kind, ""), ("other", key.digest)):
            assert store.get_by_digest(kind, digest) is None

    def test_overwriting_leaves_one_pair_of_files(self, store: ResultStore) -> None:
        key = make_key()
        for size in (3, 4, 4):
            put(store, key, size)
        got = store.get(key)
        assert got is not None and len(got.arrays["x"]) == 4
        assert len(visible(store.root)) == 2 and store.verify() == []

    def test_root_is_private(self, store: ResultStore) -> None:
        put(store, make_key())
        assert stat.S_IMODE(store.root.stat().st_mode) == 0o700

    @pytest.mark.parametrize(("arrays", "said"), [
        ({"x": np.array([{}, None], dtype=object)}, "object"), ({"x": np.array([(1, [])], dtype="i4,O")}, "'O'"),
        ({"x": np.ma.masked_array([1, 2], [True, False])}, "MaskedArray"), ({"../x": np.arange(2)}, "plain word"),
        ({"": np.arange(2)}, "plain word"), ({"x": np.array(["a"], dtype=np.dtypes.StringDType())}, "StringDType")])
    def test_refused_arrays(self, store: ResultStore, arrays: dict[str, Any], said: str) -> None:
        with pytest.raises(StoreError, match=said):
            store.put(make_key(), arrays, {}, {})
        assert not store.root.exists()

    @pytest.mark.parametrize("meta", [{"x": float("nan")}, {"x": np.arange(2)}, {1: 2}])
    def test_refused_meta(self, store: ResultStore, meta: dict[Any, Any]) -> None:
        with pytest.raises(StoreError, match="JSON"):
            store.put(make_key(), {}, meta, {})

    def test_entries_and_clear(self, store: ResultStore) -> None:
        assert store.entries() == [] and store.clear() == (0, 0) and store.verify() == []
        keys = [make_key(name) for name in "abc"]
        for key in keys:
            put(store, key)
        for age, key in enumerate(keys):
            os.utime(files_of(store, key)[0], (1000.0 - age, 1000.0 - age))
        entries = store.entries()
        assert [entry.key for entry in entries] == keys[::-1] and entries[0].used.timestamp() == 998.0
        (store.root / "pair_map" / "mine.txt").write_text("keep")
        assert store.clear() == (3, sum(entry.bytes for entry in entries))
        assert store.entries() == [] and visible(store.root) == ["mine.txt"]

    def test_default_root(self) -> None:
        assert default_store_root().parts[-2:] == ("poolscope", "store")


@pytest.mark.parametrize("what", ["replaced", "removed"])
def test_another_process_comes_between_the_two_reads(store: ResultStore, monkeypatch: pytest.MonkeyPatch,
                                                     what: str) -> None:
    """The description is read, then its arrays are replaced or evicted: the new result, or none, and no warning."""
    put(store, make_key(), 3)

    def late(folder: Path, header: Header) -> dict[str, Any]:
        monkeypatch.setattr(components.store, "read_arrays", read_arrays)
        if what == "replaced":
            put(store, make_key(), 4)
        else:
            store.clear()
        return read_arrays(folder, header)

    monkeypatch.setattr(components.store, "read_arrays", late)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = store.get(make_key())
    assert (got and len(got.arrays["x"])) == (4 if what == "replaced" else None)


class TestCap:
    def test_used_longest_ago_goes_first(self, tmp_path: Path) -> None:
        store = ResultStore(tmp_path / "store", max_bytes=3 * 9_500)
        keys = [make_key(name) for name in "abcd"]
        for age, key in enumerate(keys[:3]):
            put(store, key, 1000)
            os.utime(files_of(store, key)[0], (1000.0 + age, 1000.0 + age))
        assert store.get(keys[0]) is not None  # a use: now b is the oldest
        put(store, keys[3], 1000)
        assert [store.get(key) is not None for key in keys] == [True, False, True, True]
        assert store.verify() == [] and len(visible(store.root)) == 6

    def test_what_was_just_put_stays(self, tmp_path: Path) -> None:
        store = ResultStore(tmp_path / "store", max_bytes=10)
        for name in "ab":
            put(store, make_key(name), 1000)
        assert [entry.key for entry in store.entries()] == [make_key("b")]

    def test_a_clock_set_back_does_not_evict_the_new(self, tmp_path: Path) -> None:
        store = ResultStore(tmp_path / "store", max_bytes=10_000)
        put(store, make_key("future"), 1000)
        os.utime(files_of(store, make_key("future"))[0], (4e9, 4e9))
        put(store, make_key("new"), 1000)
        assert [entry.key for entry in store.entries()] == [make_key("new")]

    def test_failing_to_note_a_use_is_no_failure(self, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
        put(store, make_key())

        def refuse(*args: object, **kwargs: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "utime", refuse)
        assert store.get(make_key()) is not None


class TestLeftovers:
    def make(self, store: ResultStore, age: float) -> Path:
        key = make_key()
        put(store, key)
        temp = store.root / key.kind / f".{key.digest}.1-0123abcd.npz.tmp"
        temp.write_bytes(b"half")
        os.utime(temp, (time.time() - age,) * 2)
        return temp

    def test_of_an_ended_writer(self, store: ResultStore) -> None:
        temp = self.make(store, 0)
        (problem,) = store.verify()
        assert problem.removed and problem.file == f"pair_map/{temp.name}" and not temp.exists()
        assert store.verify() == [] and store.get(make_key()) is not None

    def test_of_a_living_writer(self, store: ResultStore) -> None:
        temp = self.make(store, 60)
        with StoreFolder(store.root).lock(make_key().digest, 0):
            assert store.verify() == [] and store.clear() == (0, 0)
        assert temp.exists() and store.get(make_key()) is not None

    def test_older_than_an_hour(self, store: ResultStore) -> None:
        temp = self.make(store, 3700)
        with StoreFolder(store.root).lock(make_key().digest, 0):
            assert [problem.removed for problem in store.verify()] == [True]
        assert not temp.exists()

    def test_the_next_put_of_another_key_clears_them(self, store: ResultStore) -> None:
        temp = self.make(store, 0)
        put(store, make_key("another"))
        assert not temp.exists()

    def test_arrays_without_description(self, store: ResultStore) -> None:
        put(store, make_key())
        json_file, npz = files_of(store, make_key())
        json_file.unlink()
        assert store.get(make_key()) is None
        assert [(p.file, p.removed) for p in store.verify()] == [(f"pair_map/{npz.name}", True)]
        assert visible(store.root) == []
