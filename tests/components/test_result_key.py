"""A result's key: one spelling, every field counts, nothing that JSON cannot hold."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from components.errors import DataError
from components.store import ResultKey
from tests.components.store_samples import make_key


def test_golden() -> None:
    key = ResultKey("pair_map", "c" * 64, "sentence-transformers/m", "r1",
                    {"layer": 3, "x": [1, 2.5, None], "é": {"b": True, "a": 1e-7}}, 2)
    assert key.canonical == (
        '{"corpus_digest":"' + "c" * 64 + '","kind":"pair_map","model_id":"sentence-transformers/m",'
        '"model_revision":"r1","params":{"layer":3,"x":[1,2.5,null],"\\u00e9":{"a":1e-07,"b":true}},"schema":2}')
    assert key.digest == "fbb1b30008adf7ddf214ae9cb84e9763ac6e8f3663443ed0f41459583fd715fb"


def test_order_and_tuples_do_not_matter() -> None:
    a, b = make_key(u=1, v=(1, 2)), make_key(v=[1, 2], u=1)
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1 and a.params["v"] == [1, 2]


@pytest.mark.parametrize("change", [
    {"kind": "other"}, {"corpus_digest": "d" * 64}, {"model_id": "x"}, {"model_revision": "x"},
    {"params": {"name": "b"}}, {"params": {"name": "a", "more": None}}, {"schema": 2}])
def test_every_field_counts(change: dict[str, Any]) -> None:
    key = make_key()
    assert ResultKey(**(key.as_dict() | change)).digest != key.digest


def test_round_trips() -> None:
    key = make_key(x=[1.5, {"y": None}])
    assert ResultKey.from_json(key.canonical) == ResultKey.from_json(key.as_dict()) == key
    assert pickle.loads(pickle.dumps(key)) == key


def test_params_are_a_copy() -> None:
    params = {"x": [1]}
    key = ResultKey("k", "c", "m", "r", params, 1)
    params["x"].append(2)
    assert key.params["x"] == [1]
    with pytest.raises(TypeError):
        key.params["x"] = 3  # type: ignore[index]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1, 2}, {1: 2}, [{2: 3}], np.arange(2), b"x"])
def test_what_json_cannot_hold(bad: object) -> None:
    with pytest.raises(DataError, match="parameters must be"):
        make_key(x=bad)


@pytest.mark.parametrize("kind", ["", "../x", "a/b", "A", ".locks", "a" * 65, "a\n"])
def test_kind_is_a_plain_word(kind: str) -> None:
    with pytest.raises(DataError, match="kind"):
        ResultKey(kind, "c", "m", "r", {}, 1)


@pytest.mark.parametrize("source", ["", "[]", "3", "{}", '{"kind": "a"}', "[" * 100_000])
def test_from_json_refuses(source: str) -> None:
    with pytest.raises(DataError):
        ResultKey.from_json(source)
