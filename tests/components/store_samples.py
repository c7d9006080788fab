"""Small results for the store's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from components.store import ResultKey, ResultStore


def make_key(name: str = "a", **params: Any) -> ResultKey:
    return ResultKey("pair_map", "c" * 64, "model", "rev", {"name": name, **params}, 1)


def put(store: ResultStore, key: ResultKey, size: int = 10) -> None:
    store.put(key, {"x": np.arange(size, dtype=np.float64)}, {"n": size}, {"all": 0.5})


def files_of(store: ResultStore, key: ResultKey) -> tuple[Path, Path]:
    (npz,) = (store.root / key.kind).glob(f"{key.digest}-*.npz")
    return store.root / key.kind / f"{key.digest}.json", npz


def visible(root: Path) -> list[str]:
    return sorted(p.name for p in root.rglob("*") if p.is_file() and p.suffix != ".lock")
