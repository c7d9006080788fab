"""Vectors that some pipeline produced: .npy, .csv, .tsv, .jsonl or .parquet, one row a text, in the texts' order.

Nothing is repaired: a row that is too short, a number that is not finite or a header that promises more than the file holds is
refused with its place. A .npy is read by its header only as far as that is plausible, so that neither a pickle runs nor a
gigabyte is set aside for a file of a hundred bytes.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from components.errors import DataError, shown
from components.files import DEFAULT_LIMITS, ReadLimits, check_rows, check_size, listed, plural, read_file, shown_path
from components.tables import DELIMITERS
from components.types import FloatArray, frozen
from components.vector_text import SIDE_NAMES, VECTOR_NAMES, check_dims, delimited_vectors, jsonl_vectors

EXTENSIONS = (".npy", ".csv", ".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Vectors:
    """Vectors of one file.

    Attributes:
        name: the file's name without its folder.
        values: (n_rows, dim) as stored; float64 from text files, read-only.
        stored: how the file holds its numbers: "float32", "int8", "text".
        notes: what was left out and why.
    """

    name: str
    values: FloatArray
    stored: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dim(self) -> int:
        return int(self.values.shape[1])


def load_vectors(path: str | Path, limits: ReadLimits = DEFAULT_LIMITS) -> Vectors:
    """The vectors of a file.

    Raises:
        DataError: no such file, another format, too large, malformed, ragged, not finite, no rows.
    """
    argument = f"vectors {shown_path(path)}"
    _extension(str(path), argument)
    return read_vectors(str(path), read_file(Path(path), argument, limits, "check the path of the vectors"), limits)


def read_vectors(name: str, data: bytes, limits: ReadLimits = DEFAULT_LIMITS) -> Vectors:
    """As ``load_vectors``, of a file in memory."""
    argument = f"vectors {shown_path(name)}"
    extension = _extension(name, argument)
    check_size(len(data), argument, limits)
    if not data:
        raise DataError(argument, "must hold vectors", "an empty file", "write the vectors again")
    if data.startswith(b"PK\x03\x04"):
        raise DataError(argument, f"must be a {extension} file", "a zip file under that name (an .npz or .xlsx?)",
                        "save one array with numpy.save(file, vectors), or export the sheet as CSV")
    notes: list[str] = []
    if extension == ".npy":
        values = _npy(data, argument, limits)
    elif extension == ".parquet":
        values = _parquet(data, argument, limits, notes)
    elif extension == ".jsonl":
        values = jsonl_vectors(data, argument, limits)
    else:
        values = delimited_vectors(name, data, argument, limits, DELIMITERS[extension], notes)
    _check(values, argument, limits)
    stored = str(values.dtype) if extension in (".npy", ".parquet") else "text"
    return Vectors(PurePath(name.replace("\\", "/")).name, frozen(values), stored, tuple(notes))


def _extension(name: str, argument: str) -> str:
    extension = PurePath(name).suffix.lower()
    if extension not in EXTENSIONS:
        raise DataError(argument, f"must be one of {', '.join(EXTENSIONS)}",
                        f"the extension {shown(extension)}" if extension else "no extension",
                        "save them with numpy.save(file, vectors)")
    return extension


def _check(values: Any, argument: str, limits: ReadLimits) -> None:
    if values.ndim != 2:
        raise DataError(argument, "must be a table of rows and dims", f"the shape {tuple(values.shape)}",
                        "give one row a text: reshape(1, -1) for a single vector")
    check_rows(len(values), "row", argument, limits)
    if not values.size:
        raise DataError(argument, "must hold vectors", f"the shape {tuple(values.shape)}", "write one row a text")
    check_dims(values.shape[1], argument)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        first = values[bad[0]]
        raise DataError(argument, "must be finite numbers",
                        f"{shown(first[~np.isfinite(first)][0])} in {plural(len(bad), 'row')} (from 1: "
                        f"{listed([int(row) + 1 for row in bad])})",
                        "find the texts of those rows; an empty text often gives NaN")


def _npy(data: bytes, argument: str, limits: ReadLimits) -> Any:
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError) as error:
        raise DataError(argument, "must be a .npy file", shown(str(error).split("\n")[0]),
                        "save one array with numpy.save(file, vectors)") from error
    if dtype.hasobject:
        raise DataError(argument, "must hold numbers", "pickled Python objects, which can run code when opened",
                        "save it with numpy.save(file, numpy.asarray(vectors, dtype='float32'))")
    if dtype.kind not in "fiub" or dtype.itemsize > 8:
        raise DataError(argument, "must hold real numbers of at most 64 bits", f"the dtype {shown(dtype)}",
                        "convert them to float32 first")
    if len(shape) != 2 or any(type(n) is not int or n < 0 for n in shape):
        raise DataError(argument, "must be a table of rows and dims", f"the shape {shown(tuple(shape))}",
                        "give one row a text: reshape(1, -1) for a single vector")
    announced, there = math.prod(shape) * dtype.itemsize, len(data) - file.tell()
    if announced != there:
        raise DataError(argument, "must hold as many bytes as its header announces", f"{announced:,} announced, {there:,} there",
                        "write or copy the file again")
    check_rows(shape[0], "row", argument, limits)
    check_dims(shape[1], argument)
    values = np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order="F" if fortran else "C")
    return _own(values)


def _own(values: Any) -> Any:
    """Native byte order, rows one after the other, in memory of its own."""
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    return np.array(values, dtype=values.dtype.newbyteorder("="), order="C")


def _parquet(data: bytes, argument: str, limits: ReadLimits, notes: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
        schema, metadata = file.schema_arrow, file.metadata
        check_rows(metadata.num_rows, "row", argument, limits)
        lists = [field.name for field in schema if pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
                 or pa.types.is_fixed_size_list(field.type)]
        lists = [name for name in lists if name.strip().casefold() in VECTOR_NAMES] or lists
        numeric = [field.name for field in schema if (pa.types.is_floating(field.type) or pa.types.is_integer(field.type))
                   and field.name.strip().casefold() not in SIDE_NAMES]
        chosen = lists if len(lists) == 1 else numeric
        if not chosen or not metadata.num_rows or len(set(schema.names)) != len(schema.names):
            found = f"the columns {listed([shown(name) for name in schema.names])}" if metadata.num_rows else "no rows"
            raise DataError(argument, f"must have one column of lists, called {VECTOR_NAMES[0]}, or one column of numbers a dim", found,
                            "write the vectors again")
        check_dims(len(chosen), argument)
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
        wanted = {name.split(".")[0] for name in chosen}
        # By the values counted, not the bytes: a dictionary lets a few bytes stand for very many numbers.
        size = 8 * sum(group.column(k).num_values for group in groups for k in range(metadata.num_columns)
                       if group.column(k).path_in_schema.split(".")[0] in wanted)
        if size > limits.max_decoded_bytes:
            raise DataError(argument, f"must unpack to at most {limits.max_decoded_bytes:,} bytes", f"{size:,}",
                            "split it, or keep a sample of its rows")
        table = file.read(columns=chosen)
        if len(lists) == 1:
            column = table.column(chosen[0]).combine_chunks()
            if column.null_count or column.flatten().null_count:
                raise DataError(argument, "must have a vector in every row", "a null", "fill it, or leave the row and its text out")
            flat, lengths = column.flatten(), np.diff(_offsets(column))
            if len(set(lengths.tolist())) > 1:
                row = int(np.flatnonzero(lengths != lengths[0])[0])
                raise DataError(f"row {row + 1} of {argument}", f"must have {lengths[0]:,} dims, as the first row has",
                                f"{lengths[row]:,}", "write the vectors again")
            if not (pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type)):
                raise DataError(argument, "must hold numbers", f"lists of {shown(flat.type)}", "write them as float32")
            return _own(flat.to_numpy(zero_copy_only=False).reshape(len(lengths), -1))
        if any(table.column(name).null_count for name in chosen):
            raise DataError(argument, "must have a number in every cell", "a null", "fill it, or leave the row and its text out")
        return _own(np.stack([table.column(name).to_numpy() for name in chosen], axis=1))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(argument, "must be a parquet file of vectors", shown(str(error).split("\n")[0]), "write it again") from error


def _offsets(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        return np.arange(len(column) + 1) * column.type.list_size
    return column.offsets.to_numpy()
