"""A session's own data: texts, pairs, retrieval sets and token states, read from what was uploaded and kept in memory."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from app import private
from app.settings import settings
from components.columns import check_any_row, chosen_column, pair_columns
from components.corpora import load_corpus, read_corpus_bytes, read_pairs_bytes
from components.errors import DataError
from components.files import ReadLimits, shown_path
from components.hub_datasets import PREFIX, is_hub_name
from components.inline_texts import size_of
from components.retrieval_sets import ROLES, read_retrieval_set, usual_column
from components.tables import Table, read_table
from components.token_files import MODEL, OwnStates, read_token_states
from components.types import Corpus, PairList, RetrievalSet

TEXTS, PAIRS, RETRIEVAL, STATES = KINDS = ("Texts", "Pairs of texts", "Queries and documents", "Token states")
OWN_STATES = MODEL
MOST_ITEMS = 20
MOST_NAME = 60
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class Own:
    """One thing uploaded.

    Attributes:
        name: in the menus of this session; no other has it.
        kind: one of ``KINDS``.
        data: what was read.
        size: bytes that count against the session's cap.
    """

    name: str
    kind: str
    data: Any
    size: int


def limits() -> ReadLimits:
    """What one file may hold, from the settings."""
    return settings().limits


def own(kind: str | None = None) -> dict[str, Own]:
    """This session's own data of a kind, by name, in the order in which they were added."""
    return {name: one for name, one in private.session().own.items() if kind in (None, one.kind)}


def used() -> int:
    """Bytes that this session's own data have."""
    return sum(one.size for one in own().values())


def add(kind: str, data: Corpus | PairList | RetrievalSet | OwnStates, taken: Iterable[str]) -> Own:
    """Puts data into the session under a name that no menu has yet.

    Args:
        taken: names that the menus have already.

    Raises:
        DataError: the session's cap is passed; it is as it was.
    """
    size = data.size if isinstance(data, OwnStates) else size_of(data)
    there, cap = used(), settings().max_upload_bytes
    if there + size > cap:
        raise DataError("your data", f"must have at most {cap:,} bytes in one session", f"{there + size:,} with this",
                        "remove something, or upload less")
    if len(own()) >= MOST_ITEMS:
        raise DataError("your data", f"must be at most {MOST_ITEMS} sets in one session", f"{len(own()) + 1} with this",
                        "remove one of them")
    name = free_name(data.name, {*taken, *own()})
    if isinstance(data, OwnStates):
        data = replace(data, corpus=replace(data.corpus, name=name))
    made = Own(name, kind, replace(data, name=name), size)
    private.session().own[name] = made
    return made


def remove(name: str) -> None:
    """Takes data out of the session, with all that was kept of them in memory."""
    private.session().own.pop(name, None)
    private.session().forget()


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The file's name as it may stand in a menu, with a number where another has it: no unseen characters, not too long.

    Names that only differ in how their characters are composed look alike, so they count as one.
    """
    name = _UNSEEN.sub("", unicodedata.normalize("NFC", PurePath(wanted).name)).strip() or "upload"
    if len(name) > MOST_NAME:
        name = name[:MOST_NAME - 13] + "…" + name[-12:]
    there = {unicodedata.normalize("NFC", one).casefold() for one in taken}
    number, free = 2, name
    while free.casefold() in there:
        free, number = f"{name} ({number})", number + 1
    return free


@dataclass(frozen=True)
class File:
    """A file as it was uploaded; ``id`` names this upload, so that what is read from it is read once."""

    name: str
    id: str
    data: bytes

    @property
    def plain(self) -> bool:
        """Whether it is a .txt, which has no columns."""
        return PurePath(self.name).suffix.lower() == ".txt"


def table(file: File) -> Table:
    """The file as columns of cells.

    Raises:
        DataError: with a sentence.
    """
    def read() -> Table:
        found = read_table(file.name, file.data, f"file {shown_path(PurePath(file.name).name)}", limits())
        check_any_row(found)
        return found

    return private.session().kept(("table", file.id), read)


def usual_text(of: Table) -> str | None:
    """The column that would be taken for the texts unless another is chosen."""
    try:
        return chosen_column(of, None, [])
    except DataError:
        return of.text_columns[0] if of.text_columns else None


def usual_pair(of: Table) -> tuple[str | None, str | None]:
    """The two columns that would be taken for pairs."""
    try:
        return pair_columns(of, None, None)
    except DataError:
        two = [*of.text_columns, None, None]
        return two[0], two[1]


def usual_roles(part: str, of: Table) -> dict[str, tuple[str, str | None]]:
    """Role -> (label of its control, the column that would be taken) for a file of a retrieval set."""
    return {role: (label, usual_column(of, names)) for role, (label, names) in ROLES[part].items()}


def corpus(file: File, column: str | None, label: str | None) -> Corpus:
    """The texts of a file.

    Raises:
        DataError: with a sentence.
    """
    return private.session().kept(("corpus", file.id, column, label),
                                  lambda: read_corpus_bytes(file.name, file.data, column, limits(), label))


def hub(name: str) -> Corpus:
    """The texts of a dataset of the hub, which is asked for them.

    Raises:
        DataError: with a sentence.
    """
    return load_corpus(name if is_hub_name(name) else PREFIX + name, limits=limits())


def pairs(file: File, a: str | None, b: str | None, label: str | None) -> PairList:
    """The pairs of a file.

    Raises:
        DataError: with a sentence.
    """
    return private.session().kept(("pairs", file.id, a, b, label),
                                  lambda: read_pairs_bytes(file.name, file.data, a, b, label, limits()))


def retrieval(files: Mapping[str, File], columns: Mapping[str, Mapping[str, str]]) -> RetrievalSet:
    """The retrieval set of three files, called after that of the documents.

    Raises:
        DataError: with a sentence.
    """
    key = ("set", *((part, file.id, *columns[part].values()) for part, file in files.items()))
    return private.session().kept(key, lambda: read_retrieval_set(
        PurePath(files["documents"].name).name, {part: (file.name, file.data) for part, file in files.items()}, limits(),
        columns=columns))


def states(file: File) -> OwnStates:
    """The token states of a file.

    Raises:
        DataError: with a sentence.
    """
    return private.session().kept(("states", file.id), lambda: read_token_states(
        file.name, file.data, limits(), min(settings().max_states_bytes, settings().max_upload_bytes)))


def is_states(name: str) -> bool:
    """Whether a name of the menu of texts is that of token states, for which there is no model to choose."""
    return name in own(STATES)


def short(name: str) -> str:
    """A column's name for a menu."""
    return name if len(name) <= MOST_NAME else name[:MOST_NAME - 1] + "…"


def megabytes(size: int) -> str:
    """``0 MB``, ``less than 0.1 MB``, ``12.3 MB``."""
    return "less than 0.1 MB" if 0 < size < 100_000 else f"{size / 1e6:,.1f} MB" if size else "0 MB"
