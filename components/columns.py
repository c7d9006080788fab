"""Columns of a table as texts and labels: which column is meant, which cells are texts, and what was left out.

A text is passed on exactly as it was written. Blank and null cells hold none; their rows are kept as None, so that
columns stay aligned, and a note says where they are. Every other cell that is not a text is refused with its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Sequence

from components.errors import DataError, shown
from components.files import ReadLimits, listed, plural
from components.tables import DELIMITER_NAMES, DELIMITERS, MISSING, Table

TEXT_NAMES = ("text", "sentence", "content")
PAIR_NAMES = (("text_a", "text_b"), ("text1", "text2"), ("sentence1", "sentence2"))
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_any_row(table: Table) -> None:
    """Raises DataError when the file has no rows at all."""
    if not table.numbers:
        header = table.columns and table.extension != ".txt"
        raise DataError(table.argument, "must hold texts", "a header and no rows" if header else "blank lines only",
                        "put texts into it")


def check_column(table: Table, column: str, what: str) -> str:
    """The column's name; raises DataError when the table has no such column."""
    if table.extension == ".txt":
        raise DataError(what, "must be left out for a .txt", shown(column), "give no column, or a table with columns")
    if column not in table.columns:
        raise DataError(what, f"must be a column of {table.argument}", shown(column), _choices(table.columns))
    return column


def _choices(columns: Sequence[str]) -> str:
    return f"choose {listed([shown(name) for name in columns])}" if columns else "write rows with columns"


def chosen_column(table: Table, label_column: str | None, notes: list[str]) -> str:
    """The column of the texts when none was asked for: the one with a usual name, or else the only one of texts.

    A column with a usual name is taken even if its cells turn out not to be texts, since a sentence about them is
    better than the texts of some other column, of identifiers say.
    """
    named = [name for name in table.columns if name.strip().casefold() in TEXT_NAMES and name != label_column]
    candidates = named or [name for name in table.text_columns if name != label_column]
    if len(candidates) != 1:
        raise DataError(f"the column of {table.argument}", "must be given, unless it is the only one of texts or the "
                        f"only one called {', '.join(TEXT_NAMES)}",
                        f"{plural(len(candidates), 'text column')} among {listed([shown(c) for c in table.columns])}",
                        _choices(candidates or table.columns))
    name = candidates[0]
    if named:
        return name
    if table.extension in DELIMITERS and len(table.columns) == 1:
        own = DELIMITERS[table.extension]
        other = next((d for d in DELIMITER_NAMES if d != own and d in name), None)
        if other:
            raise DataError(table.argument, f"must have a {DELIMITER_NAMES[own]} between cells",
                            f"a {DELIMITER_NAMES[other]} in its only column name {shown(name)}",
                            f"save it with {DELIMITER_NAMES[own]}s, or give that column's name if it is one")
        notes.append(f"The first line was read as the name of the column, {shown(name)}.")
    else:
        notes.append(f"The texts are those of column {shown(name)}.")
    return name


def texts_of(table: Table, column: str, limits: ReadLimits, notes: list[str]) -> list[str | None]:
    """One text a row, exactly as written; None (and a note) where the cell is blank or null."""
    texts: list[str | None] = []
    found: dict[str, list[int]] = {"blank": [], "null": [], "missing": [], "long": []}
    for number, value in zip(table.numbers, table.cells(column), strict=True):
        text = None
        if value is MISSING:
            found["missing"].append(number)
        elif value is None:
            found["null"].append(number)
        elif not isinstance(value, str):
            raise DataError(table.at(number), f"must hold a text in {shown(column)}", _typed(value),
                            "write it as a text, or choose another column")
        elif not value.strip():
            found["blank"].append(number)
        else:
            text = value
            check_text(text, table.at(number), limits)
            if table.extension in DELIMITERS and ("\n" in text or "\r" in text):
                found["long"].append(number)
        texts.append(text)
    if found["missing"]:
        raise DataError(table.argument, f"must have the column {shown(column)} in every row",
                        f"none in {_places(table.unit, found['missing'])}", "add it there, or null for no text")
    for key, what in (("blank", "a blank"), ("null", "a null")):
        if found[key]:
            notes.append(f"{_were(len(found[key]), 'row')} skipped for {what} {shown(column)}: "
                         f"{_places(table.unit, found[key])}.")
    if found["long"]:
        n = len(found["long"])
        notes.append(f"{plural(n, 'quoted text')} in {shown(column)} {'spans' if n == 1 else 'span'} several lines, "
                     f"from {_places(table.unit, found['long'])}.")
    return texts


def _typed(value: object) -> str:
    return f"{shown(value)} of type {type(value).__name__}"


def check_text(text: str, where: str, limits: ReadLimits) -> None:
    """Raises DataError for a text that is too long, or holds a NUL or half a character."""
    if len(text) > limits.max_text_chars:
        raise DataError(where, f"must be at most {limits.max_text_chars:,} characters long", f"{len(text):,}",
                        "split it into shorter texts")
    if "\0" in text:
        raise DataError(where, "must hold text", "a NUL character", "remove it")
    half = _SURROGATE.search(text)
    if half:
        raise DataError(where, "must hold whole characters", f"half of a surrogate pair, {half[0]!r}",
                        "write the whole character, or remove the half")


def labels_of(table: Table, column: str, limits: ReadLimits) -> list[str]:
    """One label a row; numbers as Python writes them, "" for null."""
    labels: list[str] = []
    for number, value in zip(table.numbers, table.cells(column), strict=True):
        if value is not None and not isinstance(value, str | int | float):
            raise DataError(table.at(number), f"must hold a label in {shown(column)}",
                            "no such column" if value is MISSING else _typed(value), "write a text or a number")
        label = "" if value is None else str(value)
        check_text(label, table.at(number), limits)
        labels.append(label)
    return labels


def _places(unit: str, numbers: Sequence[int]) -> str:
    return f"{unit}{'' if len(numbers) == 1 else 's'} {listed(numbers)}"


def _were(n: int, noun: str) -> str:
    return f"{plural(n, noun)} {'was' if n == 1 else 'were'}"


def note_blank_lines(table: Table, notes: list[str]) -> None:
    """Notes the lines that hold nothing."""
    if table.blank_lines:
        notes.append(f"{_were(len(table.blank_lines), 'blank line')} skipped: {_places('line', table.blank_lines)}.")


def note_repeats(table: Table, items: Sequence[Hashable], rows: Sequence[int], noun: str, notes: list[str]) -> None:
    """Notes the items that equal an earlier one; they stay, since a pair of equal texts is a pair like any other."""
    seen: set[Hashable] = set()
    repeats = []
    for item, row in zip(items, rows, strict=True):
        if item in seen:
            repeats.append(table.numbers[row])
        seen.add(item)
    if repeats:
        n = len(repeats)
        verbs = ("repeats", "was") if n == 1 else ("repeat", "were")
        notes.append(f"{plural(n, noun)} {verbs[0]} an earlier one and {verbs[1]} kept: "
                     f"{_places(table.unit, repeats)}.")


def note_twins(table: Table, texts: Sequence[str], rows: Sequence[int], notes: list[str]) -> None:
    """Notes the texts that look like an earlier one and are not: their characters are composed in another way.

    They stay as they are, since a model's tokeniser may tell them apart.
    """
    seen: dict[str, str] = {}
    twins = []
    for text, row in zip(texts, rows, strict=True):
        # Most texts are ASCII, which is composed one way only.
        looks = text if text.isascii() else unicodedata.normalize("NFC", text)
        if seen.setdefault(looks, text) != text:
            twins.append(table.numbers[row])
    if twins:
        n = len(twins)
        notes.append(f"{plural(n, 'text')} {'looks' if n == 1 else 'look'} like an earlier one but {'is' if n == 1 else 'are'} written "
                     f"with other characters (Unicode composition), and {'was' if n == 1 else 'were'} kept: "
                     f"{_places(table.unit, twins)}.")


def pair_columns(table: Table, text_a: str | None, text_b: str | None) -> tuple[str, str]:
    """The two columns of a pair list, chosen by the usual names when none was asked for."""
    if table.extension == ".txt":
        raise DataError(table.argument, "must be a table with two columns of texts",
                        "a .txt, which has one text a line", "use a .csv, .tsv, .jsonl or .parquet")
    if text_a is None and text_b is None:
        names = {name.strip().casefold(): name for name in table.columns}
        found = [(names[a], names[b]) for a, b in PAIR_NAMES if a in names and b in names]
        if len(found) != 1:
            known = ", ".join(f"{a} and {b}" for a, b in PAIR_NAMES)
            raise DataError(f"the two text columns of {table.argument}", f"must be named, unless they are {known}",
                            f"the columns {listed([shown(c) for c in table.columns])}", "give both columns' names")
        return found[0]
    if text_a is None or text_b is None:
        raise DataError("the two text columns", "must be given together", f"only {shown(text_a or text_b)}",
                        _choices(table.columns))
    if text_a == text_b:
        raise DataError("the two text columns", "must differ", f"{shown(text_a)} twice", _choices(table.columns))
    return check_column(table, text_a, "column of first texts"), check_column(table, text_b, "column of second texts")
