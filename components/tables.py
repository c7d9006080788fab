"""The bytes of a .txt, .csv, .tsv, .jsonl or .parquet file as named columns of cells, each row with its line number.

Cells come as they were written: no column is turned into numbers, "NA" and "null" are texts, blanks inside a cell stay.
Quoting in .csv and .tsv is RFC 4180 taken strictly. Lenient parsers let one forgotten quote swallow the rows after it
into a single cell; here that is an error naming the line where the quote opens. pandas is not used for this since it
infers types, accepts ragged rows, and knows rows but not lines.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from components.errors import DataError, shown
from components.files import ReadLimits, check_rows, check_size, count_breaks, count_lines, decode, plural, split_lines

MISSING = object()
"""The cell of a JSON row that lacks the column (not the same as one that is null)."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}
DELIMITER_NAMES = {",": "comma", "\t": "tab", ";": "semicolon"}
EXTENSIONS = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
MAX_COLUMNS = 10_000
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)("?)')


@dataclass(frozen=True)
class Table:
    """Rows of a file, read by column.

    Attributes:
        argument: how sentences call the file: ``file 'notes.csv'``.
        extension: one of ``EXTENSIONS``.
        unit: what ``numbers`` count, "line" (from 1, as an editor does) or "row" (of parquet, from 1).
        columns: all names, in the file's order.
        text_columns: those that hold strings, if only in some rows.
        numbers: one a row; the first line of a row that spans several.
        blank_lines: lines that hold nothing and make no row.
        cells: gives a column's cells, one a row: str, None for null, ``MISSING``, or a value of another type.
    """

    argument: str
    extension: str
    unit: str
    columns: tuple[str, ...]
    text_columns: tuple[str, ...]
    numbers: Sequence[int]
    blank_lines: Sequence[int]
    cells: Callable[[str], Sequence[object]]

    def at(self, number: int) -> str:
        """``line 4 of file 'notes.csv'``."""
        return f"{self.unit} {number} of {self.argument}"


def extension_of(name: str | PurePath, argument: str) -> str:
    """The lower-case extension.

    Raises:
        DataError: there is none, or none that can be read.
    """
    extension = PurePath(name).suffix.lower()
    if extension not in EXTENSIONS:
        raise DataError(argument, f"must be one of {', '.join(EXTENSIONS)}",
                        f"the extension {shown(extension)}" if extension else "no extension",
                        "save it in one of these formats, or rename it if it is one")
    return extension


def read_table(name: str, data: bytes, argument: str, limits: ReadLimits) -> Table:
    """A file's bytes as a table; the name's extension says how to read them.

    Raises:
        DataError: an unknown extension, more bytes or rows than ``limits`` allow, an empty file, or a malformed one.
    """
    extension = extension_of(name, argument)
    check_size(len(data), argument, limits)
    if extension == ".parquet" and data:
        return _read_parquet(data, argument, limits)
    text = decode(data, argument)
    if not text:
        raise DataError(argument, "must hold texts", "an empty file", "put texts into it")
    if extension == ".txt":
        return _read_txt(text, argument, limits)
    if extension == ".jsonl":
        return _read_jsonl(text, argument, limits)
    return _read_delimited(text, argument, limits, extension)


def _check_columns(columns: Sequence[str], argument: str) -> None:
    if len(columns) > MAX_COLUMNS:
        raise DataError(argument, f"must have at most {MAX_COLUMNS:,} columns", f"{len(columns):,}", "keep the columns that are read")
    seen: set[str] = set()
    for name in columns:
        if name in seen:
            raise DataError(argument, "must have distinct column names", f"more than one {shown(name)}",
                            "rename one of them")
        seen.add(name)


def _numbered(lines: Sequence[str], argument: str, limits: ReadLimits) -> tuple[list[int], list[int]]:
    """Numbers of the lines that hold something, and of the blank ones."""
    check_rows(len(lines), "line", argument, limits)
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    blank = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    return numbers, blank


def _read_txt(text: str, argument: str, limits: ReadLimits) -> Table:
    lines = split_lines(text)
    numbers, blank = _numbered(lines, argument, limits)
    return Table(argument, ".txt", "line", ("text",), ("text",), numbers, blank,
                 lambda column: [lines[number - 1] for number in numbers])


def _delimited_rows(text: str, delimiter: str, argument: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells with the line each starts on, quotes resolved; an empty line is a row of one empty cell."""
    plain = re.compile(f"[^{delimiter}\r\n]*")
    after = re.compile(f"[^{delimiter}\r\n\"]+")
    at, line, end = 0, 1, len(text)
    while at < end:
        start, cells = line, []
        while True:
            if text.startswith('"', at):
                match = _QUOTED.match(text, at)
                assert match is not None  # it starts with a quote
                where = f"line {line} of {argument}"
                if not match[2]:
                    raise DataError(where, "must close the quote that it opens", "no closing quote up to the end of the"
                                    " file", 'add the quote, or write "" for a quote within a cell')
                at, line = match.end(), line + count_breaks(match[1])
                cells.append(match[1].replace('""', '"'))
                if at < end and text[at] not in (delimiter, "\r", "\n"):
                    rest = after.match(text, at)
                    raise DataError(where, "opens a quote, which must close at the end of its cell",
                                    f"{shown(rest[0] if rest else text[at])} after the closing quote in line {line}",
                                    'write "" for a quote within a cell, or add the quote that is missing')
            else:
                match = plain.match(text, at)
                assert match is not None  # it may be empty
                at = match.end()
                cells.append(match[0])
            if at >= end or text[at] != delimiter:
                break
            at += 1
            if len(cells) == MAX_COLUMNS:
                raise DataError(f"line {start} of {argument}", f"must have at most {MAX_COLUMNS:,} cells", "more",
                                "keep the columns that are read")
        if at < end:
            at, line = at + (2 if text.startswith("\r\n", at) else 1), line + 1
        yield start, cells


def _read_delimited(text: str, argument: str, limits: ReadLimits, extension: str) -> Table:
    delimiter = DELIMITERS[extension]
    rows = _delimited_rows(text, delimiter, argument)
    header, blank = list[str](), list[int]()
    for start, cells in rows:
        if len(cells) > 1 or cells[0].strip():
            header = cells
            break
        blank.append(start)
        check_rows(len(blank), "row", argument, limits)
    _check_columns(header, argument)
    numbers, kept = list[int](), list[list[str]]()
    for start, cells in islice(rows, limits.max_texts):
        if len(cells) == 1 and not cells[0].strip():
            blank.append(start)
            continue
        if len(cells) != len(header):
            raise DataError(f"line {start} of {argument}",
                            f"must have {plural(len(header), 'cell')}, as the header has", f"{len(cells):,}",
                            f"put quotes around a cell with a {DELIMITER_NAMES[delimiter]} in it, or complete the row")
        numbers.append(start)
        kept.append(cells)
    if next(rows, None) is not None:  # counting the rest could take long, so the sentence counts lines
        raise DataError(argument, f"must have at most {plural(limits.max_texts, 'row')}",
                        f"more, on {count_lines(text):,} lines", f"keep {limits.max_texts:,} of them or fewer")
    columns = tuple(header)
    place = {name: i for i, name in enumerate(columns)}
    return Table(argument, extension, "line", columns, columns, numbers, blank,
                 lambda column: [cells[place[column]] for cells in kept])


def _read_jsonl(text: str, argument: str, limits: ReadLimits) -> Table:
    lines = split_lines(text)
    numbers, blank = _numbered(lines, argument, limits)
    rows = [_json_row(lines[number - 1], f"line {number} of {argument}") for number in numbers]
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    text_columns = tuple(name for name, types in kinds.items() if str in types)
    _check_columns(tuple(kinds), argument)
    return Table(argument, ".jsonl", "line", tuple(kinds), text_columns, numbers, blank,
                 lambda column: [row.get(column, MISSING) for row in rows])


def _json_row(line: str, where: str) -> dict[str, Any]:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _check_columns([name for name, _ in pairs], where)
        return dict(pairs)

    try:
        row = json.loads(line, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        raise DataError(where, "must be a JSON object", f"{error.msg.lower()} at character {error.pos + 1:,}",
                        'write one object a line, as {"text": "..."}') from None
    except (ValueError, RecursionError) as error:
        raise DataError(where, "must be a JSON object", shown(error), "write one plain object a line") from None
    if not isinstance(row, dict):
        raise DataError(where, "must be a JSON object", shown(line), 'write one object a line, as {"text": "..."}')
    return row


def _read_parquet(data: bytes, argument: str, limits: ReadLimits) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def malformed(reason: object) -> DataError:
        return DataError(argument, "must be a parquet file", shown(str(reason).split("\n")[0]), "write it again")

    def is_text(kind: Any) -> bool:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))

    def check_decoded(size: int) -> None:
        if size > limits.max_decoded_bytes:
            raise DataError(argument, f"must unpack to at most {limits.max_decoded_bytes:,} bytes a column",
                            f"{size:,} or more", "split it, or keep a sample of its rows")

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        schema, metadata = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError, ValueError) as error:
        raise malformed(error) from error
    columns = tuple(schema.names)
    _check_columns(columns, argument)
    check_rows(metadata.num_rows, "row", argument, limits)

    def cells(column: str) -> list[object]:
        kind = schema.field(column).type
        if pa.types.is_nested(kind):
            raise DataError(f"column {shown(column)} of {argument}", "must hold one value a row",
                            f"the type {shown(kind)}", "choose another column")
        # Few bytes can stand for very many: by compression, which the declared sizes show, and by a dictionary of a few
        # long texts that all rows point to. So the dictionary is kept, and its texts counted once for each row.
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        chunks = (group.column(j) for group in groups for j in range(metadata.num_columns))
        check_decoded(sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == column))
        values, size = list[object](), 0
        try:
            reader = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True,
                                    read_dictionary=[column] if is_text(kind) or pa.types.is_binary(kind) else None)
            for batch in reader.iter_batches(batch_size=1_000, columns=[column]):
                array = batch.column(batch.schema.get_field_index(column))
                if pa.types.is_dictionary(array.type):
                    words = [*array.dictionary.to_pylist(), None]
                    part = [words[-1 if i is None else i] for i in array.indices.to_pylist()]
                    size += sum(len(word) for word in part if isinstance(word, str | bytes))
                else:
                    size += array.nbytes
                    part = array.to_pylist()
                check_decoded(size)
                values.extend(part)
        except UnicodeDecodeError as error:
            raise DataError(f"column {shown(column)} of {argument}", "must hold UTF-8 text",
                            f"byte 0x{error.object[error.start]:02x} in a cell among rows {len(values) + 1} to "
                            f"{min(len(values) + 1_000, metadata.num_rows)}", "write the column as UTF-8") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise malformed(error) from error
        if len(values) != metadata.num_rows:
            raise malformed(f"{len(values):,} of {metadata.num_rows:,} rows")
        return values

    text_columns = tuple(field.name for field in schema if is_text(field.type))
    return Table(argument, ".parquet", "row", columns, text_columns, range(1, metadata.num_rows + 1), (), cells)
