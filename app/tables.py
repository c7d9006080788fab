"""Tables of pairs as the pages show and export them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import private
from app.map_data import Compared
from components.cells import inert
from components.pair_selection import Pairs
from components.types import Corpus, IntArray

Table = pd.DataFrame
SHOWN = 1000
"""Rows of a table on a page; how many there are in all is always said beside it."""


def pair_table(pairs: Pairs, at: IntArray, corpus: Corpus) -> pd.DataFrame:
    """The pairs at the given places with their texts and every number; alignment is null where it is 0/0."""
    part = pairs.take(at)
    columns: dict[str, Any] = {
        "SOCM": part.socm, "d_mu": part.d_mu, "d_sigma": part.d_sigma, "size": part.size,
        "shape": part.quantity("shape"), "align": pd.array(part.align, dtype="Float64"),
        "text A": [corpus.texts[k] for k in part.i], "text B": [corpus.texts[k] for k in part.j],
        "tokens A": part.n_tokens_i, "tokens B": part.n_tokens_j, "row A": part.i, "row B": part.j}
    if corpus.labels:
        taken = any(f"{corpus.label_name} {name}" in columns for name in "AB")  # a label column called "text", say
        called = f"label {corpus.label_name}" if taken else corpus.label_name
        columns |= {f"{called} A": [corpus.labels[k] for k in part.i], f"{called} B": [corpus.labels[k] for k in part.j]}
    table = pd.DataFrame(columns)
    table["align"] = table["align"].mask(pd.isna(part.align))
    return table


def difference_table(rows: Sequence[Compared]) -> pd.DataFrame:
    """Two maps' means and their differences in full digits; null where there is no interval or no length in common."""
    listed = []
    for row in rows:
        parts = (("first", row.one), ("second", row.other), ("second minus first", row.gap), ("like length", row.matched_gap))
        listed.append({"quantity": row.name} | {f"{name}{end}": getattr(part, of) if part else None for name, part in parts
                                                for end, of in (("", "value"), (" low", "low"), (" high", "high"))})
    table = pd.DataFrame(listed)
    return table.astype({name: "Float64" for name in table.columns if name != "quantity"})


def columns() -> Mapping[str, Any]:
    """Column titles in words with their symbols, numbers at three digits, texts so wide that both are seen."""
    titles = {"SOCM": "SOCM", "d_mu": "Mean distance dμ", "d_sigma": "Covariance distance dΣ", "size": "Size part",
              "shape": "Shape part", "align": "Alignment"}
    texts = {f"text {name}": st.column_config.TextColumn(f"Text {name}", width=260) for name in "AB"}
    tokens = {f"tokens {name}": st.column_config.NumberColumn(f"Tokens {name}") for name in "AB"}
    return {name: st.column_config.NumberColumn(title, format="%.3f") for name, title in titles.items()} | texts | tokens


def table_files(make: Callable[[], pd.DataFrame], label: str, file_name: str, about: Mapping[str, Any], *, key: str) -> None:
    """Two buttons that save a table as CSV and Parquet; the table is made when one is pressed.

    Args:
        label: what the table holds, in a word or two.
        file_name: without its ending.
        about: what the table was made from.
        key: beginning of the buttons' keys.
    """
    bound = private.bound(make)
    with st.container(horizontal=True):
        for kind, suffix, write in (("CSV", "csv", csv_bytes), ("Parquet", "parquet", parquet_bytes)):
            st.download_button(f"{label} as {kind}", lambda write=write: write(bound(), about),  # type: ignore[misc]
                               file_name=f"{file_name}.{suffix}", on_click="ignore", key=f"{key}_{suffix}")


def csv_bytes(table: pd.DataFrame, about: Mapping[str, Any]) -> bytes:
    """The table as CSV; text cells that a spreadsheet would run get a quote in front; one comment column says what it is.

    The description stands in a column of its own, so that the file still opens as a plain table.
    """
    safe = table.copy()
    for name in safe.columns[safe.dtypes.map(pd.api.types.is_string_dtype)]:
        safe[name] = safe[name].map(lambda cell: inert(cell) if isinstance(cell, str) else cell)
    safe = safe.rename(columns={name: inert(str(name)) for name in safe.columns})  # a label's name is a file's own
    for name, value in about.items():
        safe[f"about: {name}"] = inert(str(value))
    return safe.to_csv(index=False).encode("utf-8")


def parquet_bytes(table: pd.DataFrame, about: Mapping[str, Any]) -> bytes:
    """The table as Parquet; what it is stands in the file's metadata (pandas' ``attrs``)."""
    described = table.copy()
    described.attrs = {name: str(value) for name, value in about.items()}
    out = io.BytesIO()
    described.to_parquet(out, index=False)
    return out.getvalue()
