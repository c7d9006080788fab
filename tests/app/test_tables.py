"""Exported tables open again and are equal, say what they are, and hold no formula."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

from app.tables import csv_bytes, pair_table, parquet_bytes
from components.pair_selection import pairs_of
from components.types import Corpus
from tests.components.test_pair_selection import N, made

ABOUT = {"model": "m", "revision": "r", "layer": "final"}


def table() -> pd.DataFrame:
    texts = tuple(f"{'=+-@'[k % 4]}cmd|' /C calc'!A{k}, \"quoted\"" if k < 4 else f"text {k}" for k in range(N))
    pairs = pairs_of(made())
    return pair_table(pairs, np.arange(80), Corpus("c", texts, tuple("ab"[k % 2] for k in range(N)), "subject"))


def test_csv_opens_again_equal_and_inert():
    before = table()
    after = pd.read_csv(io.BytesIO(csv_bytes(before, ABOUT)))
    for name in ("SOCM", "d_mu", "d_sigma", "size", "shape", "align"):
        assert np.allclose(after[name], before[name].astype(float), equal_nan=True)
    assert after["align"].isna().sum() == before["align"].isna().sum() > 0
    assert (after["about: model"] == "m").all()
    cells = after.select_dtypes("str").to_numpy().ravel()
    assert not any(str(cell).startswith(("=", "+", "-", "@")) for cell in cells)
    assert after["text A"].str.removeprefix("'").tolist() == before["text A"].tolist()


def test_parquet_opens_again_equal_and_says_what_it_is():
    before = table()
    after = pd.read_parquet(io.BytesIO(parquet_bytes(before, ABOUT)))
    pd.testing.assert_frame_equal(after, before, check_dtype=False)
    assert after.attrs == ABOUT
