"""Texts and pairs of texts: the bundled ones, or a reader's own .txt, .csv, .tsv, .jsonl or .parquet.

What an embedding model sees is measured here, so a text is never repaired on the way in: no strip, no Unicode
normalisation, no replaced bytes, no deduplication. Blank and null cells are left out, since they hold no text, and the
corpus says so in its notes, with line numbers. Anything else that is not a text is refused in one sentence. The same
texts have the same digest, whichever of the formats they came in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Literal

from components.columns import (
    check_any_row,
    check_column,
    chosen_column,
    labels_of,
    note_blank_lines,
    note_repeats,
    note_twins,
    pair_columns,
    texts_of,
)
from components.errors import DataError, shown
from components.files import DEFAULT_LIMITS, ReadLimits, listed, plural, read_file, shown_path
from components.hub_datasets import hub_rows, is_hub_name, parse
from components.tables import Table, extension_of, read_table
from components.types import Corpus, PairList

__all__ = ["BUNDLED", "DATA_DIR", "Bundled", "ReadLimits", "bundled_names", "load_corpus", "load_pairs",
           "read_corpus_bytes", "read_pairs_bytes"]

DATA_DIR = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class Bundled:
    """A file of ``data/``: what it is called, which columns hold its texts and its label, and where it comes from."""

    name: str
    kind: Literal["corpus", "pairs"]
    file: str
    description: str
    text_columns: tuple[str, ...]
    label_column: str
    source: str


BUNDLED: Mapping[str, Bundled] = MappingProxyType({entry.name: entry for entry in (
    Bundled("encyclopedia", "corpus", "encyclopedia.csv", "short encyclopedia passages on several subjects",
            ("text",), "subject", "Poolscope encyclopedia, CC0"),
    Bundled("pairs", "pairs", "pairs.csv", "pairs of texts in several languages, labelled by how the two differ",
            ("text_a", "text_b"), "label", "Poolscope pairs, CC0"),
    Bundled("graded", "pairs", "graded.csv", "pairs of texts with a score of how close they are in meaning",
            ("text_a", "text_b"), "score", "Poolscope graded pairs, CC0"),
)})


def bundled_names(kind: Literal["corpus", "pairs"] = "corpus") -> tuple[str, ...]:
    """Names that ``load_corpus`` (or, for "pairs", ``load_pairs``) takes instead of a path."""
    return tuple(entry.name for entry in BUNDLED.values() if entry.kind == kind)


def load_corpus(name_or_path: str | Path, column: str | None = None, limits: ReadLimits = DEFAULT_LIMITS,
                label_column: str | None = None) -> Corpus:
    """The texts of a bundled corpus or of a file, in the file's order.

    Args:
        name_or_path: one of ``bundled_names()``; a .txt (one text a line), .csv, .tsv, .jsonl or .parquet; or a column of a
            Hugging Face dataset (see ``hub_datasets``), which is fetched.
        column: the column of the texts; None takes the only text column, or the only one called text, sentence or
            content in any case. (All columns of .csv and .tsv are text columns.)
        limits: what is refused as too large.
        label_column: a column of one label a text; None means the bundled corpus's own, and none for a file.

    Returns:
        n_texts >= 2 texts, with a note on everything that was left out, repeated or worth knowing.

    Raises:
        DataError: the file cannot be found or read, is malformed or too large, no column can be chosen, a cell is not
            a text, or fewer than two texts are left.
    """
    if isinstance(name_or_path, str) and is_hub_name(name_or_path):
        return _hub_corpus(name_or_path, column, limits, label_column)
    name, data, entry = _fetch(name_or_path, "corpus", limits)
    if entry is None:
        return read_corpus_bytes(name, data, column, limits, label_column)
    return _corpus(entry.name, read_table(name, data, _called(name), limits),
                   entry.text_columns[0] if column is None else column,
                   entry.label_column if label_column is None else label_column, limits, entry.source)


def read_corpus_bytes(name: str, data: bytes, column: str | None = None, limits: ReadLimits = DEFAULT_LIMITS,
                      label_column: str | None = None) -> Corpus:
    """As ``load_corpus``, of a file in memory (an upload); the name's extension says how to read it."""
    name = _displayed(name)
    return _corpus(name, read_table(name, data, _called(name), limits), column, label_column, limits)


def load_pairs(name_or_path: str | Path, text_a: str | None = None, text_b: str | None = None,
               label: str | None = None, limits: ReadLimits = DEFAULT_LIMITS) -> PairList:
    """Pairs of texts, one a row, of a bundled pair list or of a .csv, .tsv, .jsonl or .parquet.

    Args:
        name_or_path: one of ``bundled_names("pairs")``, or a path.
        text_a: the column of the first texts. When both are None, the bundled list's own, and for a file text_a and
            text_b, text1 and text2, or sentence1 and sentence2 in any case, if it has one of these pairs of columns.
        text_b: the column of the second texts.
        label: a column of one label a pair; None means the bundled list's own, and none for a file.
        limits: what is refused as too large.

    Returns:
        At least one pair. A row with a blank or null text is left out, with a note.

    Raises:
        DataError: as in ``load_corpus``; a .txt; one column given without the other, or twice.
    """
    name, data, entry = _fetch(name_or_path, "pairs", limits)
    if entry is None:
        return read_pairs_bytes(name, data, text_a, text_b, label, limits)
    if text_a is None and text_b is None:
        text_a, text_b = entry.text_columns
    return _pairs(entry.name, read_table(name, data, _called(name), limits), text_a, text_b,
                  entry.label_column if label is None else label, limits, entry.source)


def read_pairs_bytes(name: str, data: bytes, text_a: str | None = None, text_b: str | None = None,
                     label: str | None = None, limits: ReadLimits = DEFAULT_LIMITS) -> PairList:
    """As ``load_pairs``, of a file in memory."""
    name = _displayed(name)
    return _pairs(name, read_table(name, data, _called(name), limits), text_a, text_b, label, limits)


def _hub_corpus(name: str, column: str | None, limits: ReadLimits, label_column: str | None) -> Corpus:
    if label_column is not None:
        raise DataError("label column", "must be left out for a dataset of the hub", shown(label_column),
                        "leave it out, or save a file")
    chosen, cells, notes = hub_rows(name, column, limits)
    argument = f"dataset {shown(name)}"
    table = Table(argument, ".parquet", "row", (chosen,), (chosen,), range(1, len(cells) + 1), (), lambda _: cells)
    found = _corpus(name, table, chosen, None, limits)
    return Corpus(name, found.texts, notes=(*notes, *found.notes), source=f"Hugging Face dataset {parse(name).name}")


def _called(name: str) -> str:
    return f"file {shown_path(name)}"


def _displayed(name: str) -> str:
    """The name without folders, and without what a file system allows but UTF-8 does not."""
    return PurePath(name.replace("\\", "/")).name.encode("utf-8", "replace").decode()


def _fetch(name_or_path: str | Path, kind: Literal["corpus", "pairs"],
           limits: ReadLimits) -> tuple[str, bytes, Bundled | None]:
    """File name, bytes, and the registry's entry when it is a bundled one."""
    entry = BUNDLED.get(name_or_path) if isinstance(name_or_path, str) else None
    names = listed([repr(name) for name in bundled_names(kind)])
    wanted = "a corpus" if kind == "corpus" else "a list of pairs"
    if entry is not None:
        if entry.kind != kind:
            other = "a list of pairs" if kind == "corpus" else "a corpus"
            raise DataError(f"bundled name {entry.name!r}", f"must be that of {wanted}", other, f"choose {names}")
        data = read_file(DATA_DIR / entry.file, f"bundled file {shown_path(DATA_DIR / entry.file)}", limits,
                         "restore the data folder from the repository")
        return entry.file, data, entry
    path = Path(name_or_path)
    if not str(name_or_path) or (not path.suffix and path.name == str(path) and not os.path.lexists(path)):
        raise DataError(f"{shown_path(name_or_path)}", f"must be a file or the name of {wanted} that is bundled",
                        "neither", f"choose {names}, or give the path of a file")
    argument = f"file {shown_path(path)}"
    way_out = f"check the spelling and the folder, or choose a bundled one ({names})"
    if os.path.isfile(path):  # read_file has the better sentence for a folder, a pipe or a path to nothing
        extension_of(path, argument)
    return _displayed(path.name), read_file(path, argument, limits, way_out), None


def _corpus(name: str, table: Table, column: str | None, label_column: str | None, limits: ReadLimits,
            source: str = "") -> Corpus:
    notes: list[str] = []
    check_any_row(table)
    if label_column is not None:
        check_column(table, label_column, "label column")
    chosen = chosen_column(table, label_column, notes) if column is None else check_column(table, column, "column")
    note_blank_lines(table, notes)
    texts = texts_of(table, chosen, limits, notes)
    kept = [i for i, text in enumerate(texts) if text is not None]
    if len(kept) < 2:
        skipped = len(texts) - len(kept) + len(table.blank_lines)
        raise DataError(table.argument, "must hold at least two texts, since one text makes no pair",
                        plural(len(kept), "text") + (f" and {skipped:,} blank" if skipped else ""), "add texts to it")
    labels = labels_of(table, label_column, limits) if label_column is not None else []
    result = tuple(text for text in texts if text is not None)
    note_repeats(table, result, kept, "text", notes)
    note_twins(table, result, kept, notes)
    return Corpus(name, result, tuple(labels[i] for i in kept) if labels else (), label_column or "", tuple(notes),
                  source)


def _pairs(name: str, table: Table, text_a: str | None, text_b: str | None, label: str | None, limits: ReadLimits,
           source: str = "") -> PairList:
    notes: list[str] = []
    check_any_row(table)
    column_a, column_b = pair_columns(table, text_a, text_b)
    if label is not None:
        check_column(table, label, "label column")
    note_blank_lines(table, notes)
    first, second = texts_of(table, column_a, limits, notes), texts_of(table, column_b, limits, notes)
    whole = [(i, a, b) for i, (a, b) in enumerate(zip(first, second, strict=True)) if a is not None and b is not None]
    if not whole:
        raise DataError(table.argument, "must hold at least one pair of texts", f"none in {plural(len(first), 'row')}",
                        f"fill {shown(column_a)} and {shown(column_b)} in some row")
    labels = labels_of(table, label, limits) if label is not None else []
    rows = [i for i, _, _ in whole]
    note_repeats(table, [(a, b) for _, a, b in whole], rows, "pair", notes)
    return PairList(name, tuple(a for _, a, _ in whole), tuple(b for _, _, b in whole),
                    tuple(labels[i] for i in rows) if labels else (), tuple(notes), source)


def subject_fields() -> Mapping[str, str]:
    """Subject of the bundled encyclopedia -> the wider field it belongs to, for probes that are tested on unseen subjects."""
    called = "bundled file 'fields.csv'"
    data = read_file(DATA_DIR / "fields.csv", called, DEFAULT_LIMITS, "restore the data folder from the repository")
    table = read_table("fields.csv", data, called, DEFAULT_LIMITS)
    return dict(zip(map(str, table.cells("subject")), map(str, table.cells("field")), strict=True))
