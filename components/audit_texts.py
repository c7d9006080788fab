"""The texts that vectors belong to, row by row: a blank line is a row too, since a pipeline may have embedded it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from components.columns import check_any_row, check_column, chosen_column, texts_of
from components.errors import DataError, shown
from components.files import DEFAULT_LIMITS, ReadLimits, plural, shown_path
from components.tables import MISSING, read_table

ID_NAMES = ("id", "_id", "document_id", "query_id", "doc_id")


@dataclass(frozen=True)
class RowTexts:
    """The texts of a file in its order; None where a row is blank.

    Attributes:
        name: the file's name without its folder.
        texts: one a row.
        ids: one a row where the file has a column of ids, or empty.
        notes: which column was taken.
    """

    name: str
    texts: tuple[str | None, ...]
    ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def rows_for(self, n_vectors: int) -> tuple[int, ...]:
        """Row of the text that each vector belongs to; blank texts were embedded with the others or left out.

        Raises:
            DataError: there are neither as many vectors as rows nor as many as texts.
        """
        filled = tuple(row for row, text in enumerate(self.texts) if text is not None)
        if n_vectors == len(self.texts):
            return tuple(range(n_vectors))
        if n_vectors == len(filled):
            return filled
        blank = len(self.texts) - len(filled)
        raise DataError("vectors", f"must be as many as the texts of {shown_path(self.name)}, {len(self.texts):,}"
                        + (f" ({plural(blank, 'blank row')} among them)" if blank else ""), f"{n_vectors:,} rows",
                        "give the texts that these vectors were made from, in the same order")


def read_row_texts(name: str, data: bytes, column: str | None = None, limits: ReadLimits = DEFAULT_LIMITS) -> RowTexts:
    """The texts of a .txt, .csv, .tsv, .jsonl or .parquet in memory.

    Raises:
        DataError: as ``corpora.read_corpus_bytes``, but one text is enough; ids that stand twice.
    """
    argument = f"texts {shown_path(name)}"
    table = read_table(name, data, argument, limits)
    check_any_row(table)
    notes: list[str] = []
    chosen = chosen_column(table, None, notes) if column is None else check_column(table, column, "column")
    texts = texts_of(table, chosen, limits, [])
    if not any(text is not None for text in texts):
        raise DataError(argument, "must hold at least one text", "blank rows only", "give the texts that the vectors were made from")
    if table.extension == ".txt" and table.blank_lines:
        by_line: dict[int, str | None] = dict.fromkeys(table.blank_lines) | dict(zip(table.numbers, texts, strict=True))
        texts = [by_line[line] for line in sorted(by_line)]
    ids: tuple[str, ...] = ()
    named = [c for c in table.columns if c.strip().casefold() in ID_NAMES and c != chosen]
    if named:
        cells = table.cells(named[0])
        ids = tuple("" if cell is None or cell is MISSING else str(cell) for cell in cells)
        seen: set[str] = set()
        for number, one in zip(table.numbers, ids, strict=True):
            if one and one in seen:
                raise DataError(table.at(number), "must have an id of its own", f"{shown(one)} a second time", "number the rows anew")
            seen.add(one)
    return RowTexts(PurePath(name.replace("\\", "/")).name, tuple(texts), ids, tuple(notes))
