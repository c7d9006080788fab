"""Whether vectors stand at other rows than their texts, and in which order they stand instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from components.audit_match import Compared, View
from components.types import FloatArray, IntArray

MOST_QUERIES = 512
"""Texts that are looked for among all rows; more say nothing new."""


@dataclass(frozen=True)
class Order:
    """Where texts' vectors were found.

    Attributes:
        texts: (k,) rows of the texts that were looked for.
        found: (k,) rows of the file of vectors at which theirs stand.
        moved: places in these two where the rows differ and the texts as well.
        kind: "shifted by 3 rows", "reversed", "sorted by length, longest first", or "in no order that we know".
    """

    texts: IntArray
    found: IntArray
    moved: IntArray
    kind: str


def match_rows(view: View, rows: IntArray, vectors: FloatArray, texts: Sequence[str],
               lengths: IntArray) -> Iterator[tuple[Order, Compared]]:
    """Each candidate's vector against the given vector of nearest direction, wherever that stands.

    Args:
        view: all given vectors, (n_texts, dims).
        rows: (k,) rows whose texts the candidate's vectors belong to.
        vectors: (k, dim) the candidate's.
        texts: all of the file.
        lengths: (n_texts,) tokens of each.
    """
    at = np.arange(len(rows)) if len(rows) <= MOST_QUERIES else np.linspace(0, len(rows) - 1, MOST_QUERIES).astype(np.int64)
    given: FloatArray = view.values
    mine: FloatArray = vectors[at][:, :view.dims]
    if view.kind == "binary":
        mine = np.sign(mine)
    elif view.kind == "int8":  # ranges for each dim move the origin
        given, mine = given - given.mean(axis=0), mine - mine.mean(axis=0)
    given, mine = _unit(given), _unit(mine)
    found = np.concatenate([(mine[start:start + 64] @ given.T).argmax(axis=1) for start in range(0, len(mine), 64)]).astype(np.int64)
    own = rows[at]
    # Equal texts have equal vectors: any of their rows is the right one.
    same = np.array([texts[a] == texts[b] for a, b in zip(own, found, strict=True)], dtype=bool)
    found = np.where(same, own, found)
    moved = np.flatnonzero(found != own)
    if not len(moved):
        return
    order = Order(own, found, moved, _kind(own, found, len(texts), texts, lengths))
    for compared in view.take(found).compare(vectors[at]):
        if len(np.unique(found)) < len({texts[row] for row in own}):
            compared = replace(compared, ok=np.zeros_like(compared.ok))  # one row stands for two texts: no order of rows
        yield order, compared


def _kind(own: IntArray, found: IntArray, n: int, texts: Sequence[str], lengths: IntArray) -> str:
    shifts = np.unique((found - own) % n)
    if len(shifts) == 1:
        shift = int(shifts[0]) if shifts[0] <= n / 2 else int(shifts[0]) - n
        return f"shifted by {abs(shift):,} {'row' if abs(shift) == 1 else 'rows'} {'down' if shift > 0 else 'up'}"
    if (found == n - 1 - own).all():
        return "reversed"
    for size, words in ((np.array([len(text) for text in texts]), "length in characters"), (lengths, "length in tokens")):
        along = size[own[np.argsort(found)]]
        if len(own) > 2 and (np.diff(along) <= 0).all():
            return f"sorted by {words}, longest first"
        if len(own) > 2 and (np.diff(along) >= 0).all():
            return f"sorted by {words}, shortest first"
    return "in no order that we know"


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
