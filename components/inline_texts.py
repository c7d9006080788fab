"""Texts that travel with a request, since they lie in a visitor's session and in no file.

The server writes them as one JSON object behind the request (``app.worker``); the worker makes the same dataclass of it
again. File name and notes stay behind: what is stored later names neither the reader's file nor a word of it. The text
is made piece by piece, so that 50 MB of it never hold the server's other threads up.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from components.corpora import load_corpus, load_pairs
from components.errors import DataError
from components.retrieval_sets import load_retrieval_set
from components.types import Corpus, PairList, RetrievalSet

INLINE = "inline"
"""The argument of a task that holds the texts."""
NAME = "own texts"
"""What stored results call them."""
Own = Corpus | PairList | RetrievalSet


def inline_texts(own: Own) -> bytes:
    """The texts as one line of JSON in UTF-8."""
    if isinstance(own, Corpus):
        columns = {"texts": own.texts, "labels": own.labels}
        single: dict[str, Any] = {"label_name": own.label_name}
    elif isinstance(own, PairList):
        columns, single = {"texts_a": own.texts_a, "texts_b": own.texts_b, "labels": own.labels}, {}
    else:
        columns = {"query_ids": own.query_ids, "queries": own.queries, "document_ids": own.document_ids,
                   "documents": own.documents, "labels": own.labels, "groups": own.groups}
        single = {"judged": own.judged.tolist()}
    parts = [f"{json.dumps(name)}: [{', '.join(_quoted(column))}]" for name, column in columns.items()]
    parts += [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in single.items()]
    return ("{" + ", ".join(parts) + "}").encode()


def _quoted(column: Iterable[str]) -> list[str]:
    return [json.dumps(text, ensure_ascii=False) for text in column]


def inline_bytes(data: bytes) -> bytes:
    """A file's bytes as one line of JSON."""
    return json.dumps({"base64": base64.b64encode(data).decode("ascii")}).encode()


def bytes_of(args: Mapping[str, Any]) -> bytes:
    """The bytes that came with a request."""
    return base64.b64decode(args[INLINE]["base64"], validate=True)


def inline_files(files: Mapping[str, tuple[str, bytes]]) -> bytes:
    """Several files, role -> (name, bytes), as one line of JSON."""
    return json.dumps({role: [name, base64.b64encode(data).decode("ascii")] for role, (name, data) in files.items()}).encode()


def files_of(args: Mapping[str, Any]) -> dict[str, tuple[str, bytes]]:
    """The files that came with a request."""
    return {role: (name, base64.b64decode(data, validate=True)) for role, (name, data) in args[INLINE].items()}


def corpus_of(args: Mapping[str, Any]) -> Corpus:
    """The corpus that a task's arguments name ("corpus", "column") or bring along.

    Raises:
        DataError: as ``load_corpus``.
    """
    if INLINE not in args:
        return load_corpus(args["corpus"], args.get("column"))
    own = _columns(args[INLINE])
    return Corpus(NAME, own["texts"], own["labels"], own["label_name"])


def pairs_of(args: Mapping[str, Any]) -> PairList:
    """The list of pairs that a task's arguments name ("pairs") or bring along.

    Raises:
        DataError: as ``load_pairs``.
    """
    if INLINE not in args:
        return load_pairs(args["pairs"])
    own = _columns(args[INLINE])
    return PairList(NAME, own["texts_a"], own["texts_b"], own["labels"])


def set_of(args: Mapping[str, Any]) -> RetrievalSet:
    """The retrieval set that a task's arguments name ("set") or bring along.

    Raises:
        DataError: as ``load_retrieval_set``.
    """
    if INLINE not in args:
        return load_retrieval_set(args["set"])
    own = _columns(args[INLINE])
    judged = np.array(args[INLINE]["judged"], dtype=np.int64).reshape(-1, 3)
    return RetrievalSet(NAME, own["query_ids"], own["queries"], own["document_ids"], own["documents"], judged, own["labels"],
                        own["groups"])


def _columns(own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}


def size_of(own: Own) -> int:
    """Bytes of the texts, labels and ids in UTF-8: what a session's cap counts."""
    if isinstance(own, Corpus):
        columns: tuple[tuple[str, ...], ...] = (own.texts, own.labels)
    elif isinstance(own, PairList):
        columns = (own.texts_a, own.texts_b, own.labels)
    elif isinstance(own, RetrievalSet):
        columns = (own.query_ids, own.queries, own.document_ids, own.documents, own.labels, own.groups)
    else:
        raise DataError("own texts", "must be a corpus, pairs or a retrieval set", type(own).__name__, "read them first")
    return sum(len(text.encode("utf-8", "surrogatepass")) for column in columns for text in column)
