"""Tables of pairs as CSV or Parquet: written beside their final name and renamed, so that none is ever half there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from app.cli.outputs import put_in_place
from components.cells import inert
from components.errors import DataError
from components.pair_map import PairMap
from components.pair_parts import alignment, size_part
from components.types import FloatArray, PairList

COLUMNS = ("text1", "text2", "d_mu", "d_sigma", "size", "shape", "align", "socm")
CHUNK = 500_000


class _Writer:
    """A CSV or Parquet file that appears under its name only when it is whole."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".poolscope-", suffix=path.suffix)
        os.close(handle)
        self.temporary = Path(name)
        self.schema = schema
        parquet = path.suffix.lower() == ".parquet"
        try:
            self._out: Any = pq.ParquetWriter(name, schema) if parquet else pa.csv.CSVWriter(name, schema)
        except BaseException:
            self.temporary.unlink(missing_ok=True)
            raise

    def write(self, columns: Mapping[str, Any]) -> None:
        self._out.write_table(pa.table(dict(columns), schema=self.schema))

    def close(self) -> None:
        self._out.close()
        put_in_place(self.temporary, self.path)

    def abandon(self) -> None:
        with suppress(OSError):  # what it still holds back cannot be written either
            self._out.close()
        self.temporary.unlink(missing_ok=True)


@contextmanager
def _sentence(path: Path, kept: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError("--out", "must be writable to its end", f"{str(path)!r} ({error.strerror or error})",
                        f"free some space or choose another folder{kept}") from error


@contextmanager
def writing(path: Path, schema: pa.Schema) -> Iterator[_Writer]:
    """A file of rows that is whole or not there; a full disk is a sentence."""
    with _sentence(path, "; what was computed is in the store"):
        writer = _Writer(path, schema)
        try:
            yield writer
            writer.close()
        except BaseException:
            writer.abandon()
            raise


_PAIR_SCHEMA = pa.schema([("text1", pa.int32()), ("text2", pa.int32())] + [(n, pa.float64()) for n in COLUMNS[2:]])


def write_pair_map(result: PairMap, path: Path) -> None:
    """All pairs of a map that holds them, in the order of text1, then text2 (an estimate: its cycles' pairs)."""
    i, j, d_mu, d_sigma = result.pairs
    with writing(path, _PAIR_SCHEMA) as writer:
        for start in range(0, len(i), CHUNK):
            at = slice(start, start + CHUNK)
            writer.write(_columns(i[at], j[at], d_mu[at], d_sigma[at], result.spread[i[at]], result.spread[j[at]]))


def _columns(i: Any, j: Any, d_mu: FloatArray, d_sigma: FloatArray, t_i: FloatArray, t_j: FloatArray) -> dict[str, Any]:
    size = size_part(t_i, t_j)
    # Null, not NaN: a quotient that is 0/0 has no value.
    align = pa.array(alignment(d_sigma, t_i, t_j), from_pandas=True)
    return {"text1": i.astype(np.int32), "text2": j.astype(np.int32), "d_mu": d_mu, "d_sigma": d_sigma, "size": size,
            "shape": d_sigma - size, "align": align, "socm": (1 - d_mu) * d_sigma}


class PairWriterSink:
    """Writes the pairs of a scan as they come (too many to keep), in the order of the scan's tiles."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _sentence(path):
            self._writer = _Writer(path, _PAIR_SCHEMA)

    def add(self, tile: Any) -> None:
        with _sentence(self._path):
            self._writer.write(_columns(tile.i, tile.j, tile.d_mu, tile.d_sigma, tile.spread_i, tile.spread_j))

    def close(self) -> None:
        try:
            with _sentence(self._path, "; what was computed is in the store"):
                self._writer.close()
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        self._writer.abandon()


def write_pair_list(pairs: PairList, arrays: Mapping[str, Any], label: str | None, path: Path) -> None:
    """A list's pairs in its own order; text1 and text2 both name the row, which holds the two texts."""
    n = len(arrays["d_mu"])
    fields = [*_PAIR_SCHEMA, pa.field("n_tokens_a", pa.int32()), pa.field("n_tokens_b", pa.int32())]
    rows = np.arange(n)
    columns = _columns(rows, rows, arrays["d_mu"], arrays["d_sigma"], arrays["spread_a"], arrays["spread_b"])
    columns |= {"n_tokens_a": arrays["n_tokens_a"].astype(np.int32), "n_tokens_b": arrays["n_tokens_b"].astype(np.int32)}
    if pairs.labels:
        name = label or "label"
        name = f"label_{name}" if name in columns else name
        table = path.suffix.lower() == ".csv"
        name = inert(name) if table else name
        fields.append(pa.field(name, pa.string()))
        columns[name] = [inert(text) for text in pairs.labels] if table else list(pairs.labels)
    with writing(path, pa.schema(fields)) as writer:
        writer.write(columns)
