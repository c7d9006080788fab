"""Queries, documents and judgements: the bundled sets, or a reader's own folder.

A folder holds three files, each a .csv, .tsv, .jsonl or .parquet: queries (query_id, text), documents (document_id, text) and
qrels (query_id, document_id, relevance). The names and the layout of BEIR are taken too: queries.jsonl and corpus.jsonl with
_id, title and text, and qrels/test.tsv with query-id, corpus-id and score. Ids are compared as they are written; nothing is
repaired. What cannot be scored (a blank text, a query that nothing answers) is left out and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

import numpy as np

from components.columns import check_any_row, texts_of
from components.corpora import DATA_DIR
from components.errors import DataError, shown
from components.files import DEFAULT_LIMITS, ReadLimits, listed, plural, read_file, shown_path
from components.tables import MISSING, Table, read_table
from components.types import IntArray, RetrievalSet

BUNDLED_SETS: Mapping[str, str] = {"passages": "300 short passages with a question each, near-duplicates among them",
                                   "long-documents": "12 long documents with 48 questions, half answered in their last third"}
"""Name -> what it holds; each a folder of ``data/``."""
QUERIES, DOCUMENTS, QRELS = "queries", "documents", "qrels"
_STEMS = {QUERIES: ("queries",), DOCUMENTS: ("documents", "corpus"), QRELS: ("qrels", "qrels/test")}
_QUERY_ID, _DOCUMENT_ID = ("query_id", "query-id", "_id", "id"), ("document_id", "corpus-id", "doc_id", "_id", "id")
_RELEVANCE, _TEXT = ("relevance", "score"), ("text", "sentence", "content")
ROLES: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]] = {
    QUERIES: {"id": ("Query ids", _QUERY_ID), "text": ("Texts of queries", _TEXT)},
    DOCUMENTS: {"id": ("Document ids", _DOCUMENT_ID), "text": ("Texts of documents", _TEXT)},
    QRELS: {"query": ("Query ids judged", _QUERY_ID[:2]), "document": ("Document ids judged", _DOCUMENT_ID[:3]),
            "relevance": ("Relevance", _RELEVANCE)}}
"""File -> what its columns are for -> (words, names that are taken unless a column is chosen)."""
_LABEL, _GROUP = ("domain", "label", "subject"), ("group",)
_EXTENSIONS = (".csv", ".tsv", ".jsonl", ".parquet")


def load_retrieval_set(name_or_folder: str | Path, limits: ReadLimits = DEFAULT_LIMITS) -> RetrievalSet:
    """A bundled set by its name, or the three files of a folder.

    Raises:
        DataError: no such folder, a file that is missing, twice there or malformed; duplicate ids; qrels that name what there
            is not; relevance that is no whole number from 0; fewer than two documents; no query that a document answers.
    """
    if isinstance(name_or_folder, str) and name_or_folder in BUNDLED_SETS:
        return _of_folder(DATA_DIR / name_or_folder, name_or_folder, limits, f"Poolscope {name_or_folder}, CC0")
    folder = Path(name_or_folder)
    if not folder.is_dir():
        raise DataError(f"{shown_path(folder)}", "must be a folder with queries, documents and qrels, or the name of a bundled set",
                        "a file" if folder.is_file() else "nothing there", f"name a folder, or one of {listed(list(BUNDLED_SETS))}")
    return _of_folder(folder, folder.resolve().name, limits, "")


def _of_folder(folder: Path, name: str, limits: ReadLimits, source: str) -> RetrievalSet:
    files = {}
    for part, stems in _STEMS.items():
        there = [folder / f"{stem}{extension}" for stem in stems for extension in _EXTENSIONS
                 if (folder / f"{stem}{extension}").is_file()]
        if len(there) != 1:
            raise DataError(f"folder {shown_path(folder.name)}", f"must hold one file of {part}",
                            "none" if not there else listed([p.relative_to(folder).as_posix() for p in there]),
                            f"add {stems[0]}.csv, .tsv, .jsonl or .parquet" if not there else "keep one of them")
        files[part] = (there[0].name, read_file(there[0], f"file {shown_path(there[0])}", limits, "add it"))
    return read_retrieval_set(name, files, limits, source)


def read_retrieval_set(name: str, files: Mapping[str, tuple[str, bytes]], limits: ReadLimits = DEFAULT_LIMITS,
                       source: str = "", columns: Mapping[str, Mapping[str, str]] | None = None) -> RetrievalSet:
    """As ``load_retrieval_set``, of files in memory: "queries", "documents" and "qrels" -> (file name, bytes).

    Args:
        columns: file -> what a column is for (see ``ROLES``) -> its name, where it is not one of the usual ones.
    """
    names = {part: {role: (columns[part][role],) if columns and role in columns.get(part, {}) else usual
                    for role, (_, usual) in roles.items()} for part, roles in ROLES.items()}
    tables = {part: read_table(PurePath(file).name, data, f"{part} file {shown_path(PurePath(file).name)}", limits)
              for part, (file, data) in files.items()}
    for table in tables.values():
        check_any_row(table)
        if table.extension == ".txt":
            raise DataError(table.argument, "must be a table with columns", "a .txt", "use a .csv, .tsv, .jsonl or .parquet")
    notes: list[str] = []
    query_ids, queries, _, blank_queries = _texts(tables[QUERIES], names[QUERIES], "query id", limits, notes)
    document_ids, documents, kept, blank_documents = _texts(tables[DOCUMENTS], names[DOCUMENTS], "document id", limits, notes)
    if len(documents) < 2:
        raise DataError(tables[DOCUMENTS].argument, "must hold two documents or more, since retrieval ranks them",
                        plural(len(documents), "document"), "add documents")
    judged = _judged(tables[QRELS], names[QRELS], {q: i for i, q in enumerate(query_ids)}, {d: i for i, d in enumerate(document_ids)},
                     blank_queries | blank_documents, notes)
    labels, groups = (_optional(tables[DOCUMENTS], usual, kept) for usual in (_LABEL, _GROUP))
    found = RetrievalSet(name, tuple(query_ids), tuple(queries), tuple(document_ids), tuple(documents), judged, labels, groups,
                         (), source)
    without = len(queries) - len(found.answered)
    if not len(found.answered):
        raise DataError(tables[QRELS].argument, "must say of a query which document answers it",
                        f"no relevance above 0, with {len(queries):,} queries", "add such rows")
    if without:
        notes.append(f"{without:,} of {len(queries):,} queries are left out of every metric, since no document answers them.")
    return RetrievalSet(name, found.query_ids, found.queries, found.document_ids, found.documents, judged, labels, groups,
                        tuple(notes), source)


def usual_column(table: Table, names: Sequence[str]) -> str | None:
    """The first of these columns that a table has, in any case; None where it has none."""
    named = {column.strip().casefold(): column for column in table.columns} | {column: column for column in table.columns}
    return next((named[name] for name in names if name in named), None)


def _column(table: Table, names: Sequence[str], what: str) -> str:
    found = usual_column(table, names)
    if found is not None:
        return found
    raise DataError(table.argument, f"must have a column {names[0]}", f"the columns {listed([shown(c) for c in table.columns])}",
                    f"name the column of {what} {names[0]}")


def _ids(table: Table, names: Sequence[str], what: str) -> list[str]:
    ids = []
    for number, value in zip(table.numbers, table.cells(_column(table, names, what)), strict=True):
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise DataError(table.at(number), f"must name its {what}", "nothing" if value in (None, MISSING, "") else shown(value),
                            "write the id as a text or a whole number")
        ids.append(str(value))
    return ids


def _texts(table: Table, names: Mapping[str, Sequence[str]], what: str, limits: ReadLimits,
           notes: list[str]) -> tuple[list[str], list[str], list[int], set[str]]:
    """Ids and texts of the rows that hold a text, those rows, and the ids of the others."""
    ids = _ids(table, names["id"], what)
    first: dict[str, int] = {}
    for number, one in zip(table.numbers, ids, strict=True):
        if one in first:
            raise DataError(table.at(number), "must have an id of its own", f"{shown(one)}, as in {table.unit} {first[one]}",
                            "rename or remove one of the two")
        first[one] = number
    texts: list[str | None] = list(texts_of(table, _column(table, names["text"], "texts"), limits, notes))
    titles = [column for column in table.columns if column.strip().casefold() == "title"]
    if titles and what == "document id":
        texts = [" ".join(part for part in (title if isinstance(title, str) else "", text or "") if part.strip()) or None
                 for title, text in zip(table.cells(titles[0]), texts, strict=True)]
        notes.append(f"Each document is its {shown(titles[0])}, a space and its text, as BEIR joins them.")
    kept = [i for i, text in enumerate(texts) if text is not None]
    return ([ids[i] for i in kept], [text for text in texts if text is not None], kept,
            {ids[i] for i, text in enumerate(texts) if text is None})


def _judged(table: Table, names: Mapping[str, Sequence[str]], queries: Mapping[str, int], documents: Mapping[str, int],
            blank: set[str], notes: list[str]) -> IntArray:
    query_ids, document_ids = _ids(table, names["query"], "query id"), _ids(table, names["document"], "document id")
    found: dict[tuple[int, int], int] = {}
    skipped = repeated = 0
    for number, query, document, value in zip(table.numbers, query_ids, document_ids,
                                              table.cells(_column(table, names["relevance"], "relevance")), strict=True):
        for one, known, what in ((query, queries, QUERIES), (document, documents, DOCUMENTS)):
            if one not in known and one not in blank:
                raise DataError(table.at(number), f"must name one of the {what}", f"{shown(one)}, which is none",
                                f"add it to the {what} or remove the row")
        relevance = _whole(value)
        if relevance is None:
            raise DataError(table.at(number), "must have a whole number from 0 as its relevance",
                            "nothing" if value in (None, MISSING) else shown(value),
                            "write 1 for a document that answers, 0 for one that does not")
        if query not in queries or document not in documents:
            skipped += 1
            continue
        pair = (queries[query], documents[document])
        if found.get(pair, relevance) != relevance:
            raise DataError(table.at(number), "must not contradict an earlier row",
                            f"relevance {relevance} after {found[pair]} for {shown(query)} and {shown(document)}",
                            "keep one of the two")
        repeated += pair in found
        found[pair] = relevance
    if skipped:
        notes.append(f"{plural(skipped, 'judgement')} of blank texts left out.")
    if repeated:
        notes.append(f"{plural(repeated, 'judgement')} stood twice and {'counts' if repeated == 1 else 'count'} once.")
    return np.array([(q, d, r) for (q, d), r in found.items()], dtype=np.int64).reshape(-1, 3)


def _whole(value: object) -> int | None:
    """The value as a whole number from 0 (1, "1", 1.0), or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if number.is_integer() and 0 <= number < 2**31 else None


def _optional(table: Table, names: Sequence[str], kept: Sequence[int]) -> tuple[str, ...]:
    named = {column.strip().casefold(): column for column in table.columns}
    column = next((named[name] for name in names if name in named), None)
    if column is None:
        return ()
    cells = table.cells(column)
    return tuple("" if cells[i] in (None, MISSING) else str(cells[i]) for i in kept)
