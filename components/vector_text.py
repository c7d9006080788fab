"""Vectors written as text: numbers between delimiters, a list in a cell, or a JSON list a line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from components.errors import DataError, shown
from components.files import ReadLimits, check_rows, decode, listed, plural, split_lines
from components.tables import DELIMITER_NAMES, MISSING, Table, read_table

MAX_DIMS = 8_192
"""Widest vector; the largest embedders in use give 4,096."""
VECTOR_NAMES = ("embedding", "embeddings", "vector", "vectors", "values", "dense_vector")
"""Columns that hold a whole vector a row."""
SIDE_NAMES = ("", "id", "_id", "index", "row", "text", "sentence", "content", "label", "query_id", "document_id", "unnamed: 0")
"""Columns beside the numbers of a wide table that are no coordinates."""


def check_dims(dims: int, argument: str) -> None:
    """Raises DataError when vectors are wider than ``MAX_DIMS``."""
    if dims > MAX_DIMS:
        raise DataError(argument, f"must have at most {MAX_DIMS:,} dims", f"{dims:,}", "check that rows are texts and columns are dims")


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def delimited_vectors(name: str, data: bytes, argument: str, limits: ReadLimits, delimiter: str, notes: list[str]) -> Any:
    """(n_rows, dim) float64 of a .csv or .tsv, with or without a header; what was left out goes into ``notes``."""
    text = decode(data, argument)
    lines = [(number, line) for number, line in enumerate(split_lines(text), 1) if line.strip()]
    if not lines:
        raise DataError(argument, "must hold vectors", "blank lines only", "write one row a text")
    first = lines[0][1].split(delimiter)
    # pandas calls unnamed columns 0, 1, 2 ...; spreadsheets take what begins with = for a formula, which no name begins with.
    if formula := next((cell for cell in first if cell.strip().lstrip('"').startswith(("=", "@"))), None):
        raise _no_number(f"line {lines[0][0]} of {argument}", formula)
    counted = len(first) > 2 and [cell.strip() for cell in first] == [str(k) for k in range(len(first))]
    if counted or any(_number(cell) is None for cell in first):
        return _of_table(read_table(name, data, argument, limits), delimiter, notes)
    check_dims(len(first), argument)
    check_rows(len(lines), "row", argument, limits)
    values = np.empty((len(lines), len(first)))
    for row, (number, line) in enumerate(lines):
        cells = line.split(delimiter)
        where = f"line {number} of {argument}"
        if len(cells) != len(first):
            raise DataError(where, f"must have {plural(len(first), 'cell')}, as the first row has", f"{len(cells):,}",
                            "complete the row, or write the vectors again")
        try:
            values[row] = cells
        except ValueError:
            raise _no_number(where, next(cell for cell in cells if _number(cell) is None)) from None
    return values


def _no_number(where: str, cell: object) -> DataError:
    return DataError(where, "must hold numbers", shown(cell), "write the number out, with a point before decimals")


def _of_table(table: Table, delimiter: str, notes: list[str]) -> Any:
    """A table with a header: a column of whole vectors, or one column a coordinate."""
    whole = [name for name in table.columns if name.strip().casefold() in VECTOR_NAMES]
    if len(whole) == 1:
        return _stack([_vector(cell, table.at(number)) for number, cell in zip(table.numbers, table.cells(whole[0]), strict=True)],
                      [table.at(number) for number in table.numbers], table.argument)
    if len(table.columns) == 1 and (other := next((d for d in DELIMITER_NAMES if d != delimiter and d in table.columns[0]), None)):
        raise DataError(table.argument, f"must have a {DELIMITER_NAMES[delimiter]} between cells",
                        f"a {DELIMITER_NAMES[other]} in its first line", f"save it with {DELIMITER_NAMES[delimiter]}s")
    sides = [name for name in table.columns if name.strip().casefold() in SIDE_NAMES]
    coordinates = [name for name in table.columns if name not in sides]
    if not coordinates or not table.numbers:
        raise DataError(table.argument, "must hold vectors", "no column of numbers" if not coordinates else "a header and no rows",
                        f"write one column a dim, or one column called {VECTOR_NAMES[0]} with lists")
    if sides:
        notes.append(f"{plural(len(sides), 'column')} of {table.argument} {'holds' if len(sides) == 1 else 'hold'} no coordinates and "
                     f"{'was' if len(sides) == 1 else 'were'} left out: {listed([shown(name) for name in sides])}.")
    values = np.empty((len(table.numbers), len(coordinates)))
    for column, name in enumerate(coordinates):
        cells: Sequence[Any] = table.cells(name)
        try:
            values[:, column] = cells
        except (TypeError, ValueError):
            number, cell = next((n, c) for n, c in zip(table.numbers, cells, strict=True)
                                if not isinstance(c, str) or _number(c) is None)
            raise _no_number(f"column {shown(name)} in {table.at(number)}", cell) from None
    return values


def _vector(cell: object, where: str) -> Any:
    """A vector written into one cell or line: a JSON list, or numbers in brackets as numpy prints them."""
    if isinstance(cell, str):
        if "..." in cell:
            raise DataError(where, "must hold the whole vector", f"{shown(cell)}, which was shortened when it was printed",
                            "write it with vector.tolist()")
        if not re.fullmatch(r"\s*\[[^\[\]{}\"']*\]\s*", cell):
            raise DataError(where, "must hold a list of numbers", shown(cell), "write the vector as [0.1, -0.2]")
        cell = [_number(part) for part in re.split(r"[,\s]+", cell.strip()[1:-1].strip())]
    if cell is None or cell is MISSING or not isinstance(cell, list):
        raise DataError(where, "must hold a list of numbers", "nothing" if cell is None or cell is MISSING else shown(cell),
                        "write the vector as [0.1, -0.2]")
    for value in cell:
        if type(value) not in (int, float):
            raise DataError(where, "must hold numbers only", shown(value), "write the vector as [0.1, -0.2]")
    try:
        return np.array(cell, dtype=np.float64)
    except OverflowError:
        raise DataError(where, "must hold numbers that fit into 64 bits", "a larger one", "write the vectors again") from None


def _stack(rows: Sequence[Any], places: Sequence[str], argument: str) -> Any:
    if not rows:
        raise DataError(argument, "must hold vectors", "no rows", "write one row a text")
    for row, place in zip(rows, places, strict=True):
        if len(row) != len(rows[0]):
            raise DataError(place, f"must have {len(rows[0]):,} dims, as the first row has", f"{len(row):,}", "write the vectors again")
        check_dims(len(row), argument)
    return np.stack(rows)


def jsonl_vectors(data: bytes, argument: str, limits: ReadLimits) -> Any:
    """(n_rows, dim) float64 of lines that hold a list, or an object with one."""
    lines = [(number, line) for number, line in enumerate(split_lines(decode(data, argument)), 1) if line.strip()]
    check_rows(len(lines), "line", argument, limits)
    rows, places = [], []
    for number, line in lines:
        where = f"line {number} of {argument}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(where, "must be a JSON list or object", shown(str(error)), "write one vector a line") from None
        if isinstance(found, dict):
            named = [key for key in found if key.strip().casefold() in VECTOR_NAMES] or \
                [key for key, value in found.items() if isinstance(value, list)]
            if len(named) != 1:
                raise DataError(where, f"must have one vector, called {VECTOR_NAMES[0]}",
                                f"{plural(len(named), 'list')} among the keys {listed([shown(key) for key in found])}",
                                f"rename the vector to {VECTOR_NAMES[0]}")
            found = found[named[0]]
        rows.append(_vector(found if isinstance(found, list) else None, where))
        places.append(where)
    return _stack(rows, places, argument)
