"""Frozen dataclasses of arrays that cross module borders; each checks its shapes when made.

Axes have one vocabulary everywhere: ``(n_texts, dim)``, ``(n_tokens, dim)``, ``(n_layers + 1, ...)``. Layer 0 is the
embedding output, layer L the output of the last block, and "final" what pooling sees (they differ only in models that
normalise once more after the last block). Arrays are made read-only, since results are shared between sessions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from components.errors import DataError

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]

FINAL = "final"
Layer = int | str
"""A layer number 0..L, or ``FINAL``."""

Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, stage)``; total 0 means that the end is not known."""


class CancelEvent(Protocol):
    """What a long computation asks between two chunks (a ``threading.Event`` will do)."""

    def is_set(self) -> bool: ...


def no_progress(done: int, total: int, message: str) -> None:
    """The progress callable of those who do not watch."""


def named(progress: Progress, stage: str) -> Progress:
    """A part's progress under a name of its own."""
    return lambda done, total, _: progress(done, total, stage)


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array, marked read-only."""
    array.flags.writeable = False
    return array


def texts_digest(texts: Sequence[str], second: Sequence[str] | None = None) -> str:
    """sha256 (hex) of the texts in order, lengths included so that no two lists can collide by concatenation."""
    h = hashlib.sha256(b"poolscope-texts-1")
    for column in (texts, second or ()):
        h.update(len(column).to_bytes(8, "big"))
        for text in column:
            raw = text.encode("utf-8", "surrogatepass")
            h.update(len(raw).to_bytes(8, "big"))
            h.update(raw)
    return h.hexdigest()


@dataclass(frozen=True)
class Corpus:
    """Texts to be compared with each other.

    Attributes:
        name: what to call it on screen (a bundled name, or a file's name without its folder).
        texts: the texts, in the file's order.
        labels: one label a text (a subject, say), or empty.
        label_name: what the labels are, for legends ("subject").
        notes: sentences about what was read and changed ("3 blank lines were skipped: lines 4, 9, 17").
        source: where it comes from and under which licence, for captions.
    """

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()
    label_name: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.labels and len(self.labels) != len(self.texts):
            raise DataError("labels", "must be one for each text", f"{len(self.labels)} for {len(self.texts)} texts",
                            "give as many labels as texts, or none")
        object.__setattr__(self, "digest", texts_digest(self.texts))


@dataclass(frozen=True)
class PairList:
    """Pairs of texts given row by row (not all pairs of a corpus)."""

    name: str
    texts_a: tuple[str, ...]
    texts_b: tuple[str, ...]
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.texts_a) != len(self.texts_b) or (self.labels and len(self.labels) != len(self.texts_a)):
            raise DataError("pairs", "must have as many first texts as second texts and labels",
                            f"{len(self.texts_a)}, {len(self.texts_b)} and {len(self.labels)}", "give whole rows")
        object.__setattr__(self, "digest", texts_digest(self.texts_a, self.texts_b))


@dataclass(frozen=True)
class TokenStates:
    """Token states of many texts at one layer, without padding, one after the other.

    Attributes:
        states: (total_tokens, dim) float32 or float64.
        offsets: (n_texts + 1,) int64; text i's tokens are ``states[offsets[i]:offsets[i + 1]]``.
    """

    states: FloatArray
    offsets: IntArray

    def __post_init__(self) -> None:
        if self.states.ndim != 2 or self.offsets.ndim != 1 or self.offsets[0] != 0 \
                or self.offsets[-1] != len(self.states) or (np.diff(self.offsets) < 0).any():
            raise DataError("token states", "must be (total_tokens, dim) with rising offsets from 0 to total_tokens",
                            f"states {self.states.shape}, offsets {self.offsets.shape}", "rebuild the offsets")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> FloatArray:
        """Text i's tokens, (n_tokens, dim)."""
        return self.states[self.offsets[i]:self.offsets[i + 1]]

    @property
    def dim(self) -> int:
        return int(self.states.shape[1])

    @property
    def lengths(self) -> IntArray:
        """(n_texts,) tokens per text."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Interval:
    """A mean with its interval and what it rests on; ``low``/``high`` are None where no interval can be given."""

    value: float
    low: float | None
    high: float | None
    n: int
    of: str
    """What n counts: "texts", "pairs", "cycles"."""

    def as_dict(self) -> Mapping[str, float | int | str | None]:
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n, "of": self.of}


@dataclass(frozen=True)
class References:
    """Both references of one corpus, model and layer; an entry is None where it cannot be given, with the reason.

    Attributes:
        within, between: mean d_sigma between halves of one text, and of two.
        ratio: within / between, jackknifed over texts.
        half_tokens: mean number of tokens in a half.
        unrelated: d_sigma between texts made of shuffled tokens.
        unrelated_norm, norm: median ||mu|| of those, and of the real texts.
        missing: sentences on what is not given and why.
    """

    within: Interval | None
    between: Interval | None
    ratio: Interval | None
    half_tokens: float | None
    unrelated: Interval | None
    unrelated_norm: float | None
    norm: float
    missing: tuple[str, ...] = ()

    def as_dict(self) -> Mapping[str, Any]:
        def plain(value: Any) -> Any:
            return value.as_dict() if isinstance(value, Interval) else value

        return {name: list(self.missing) if name == "missing" else plain(getattr(self, name))
                for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> References:
        def rich(value: Any) -> Any:
            return Interval(**value) if isinstance(value, dict) else value

        fields: dict[str, Any] = {name: rich(value) for name, value in data.items()}
        return cls(**fields | {"missing": tuple(data["missing"])})


@dataclass(frozen=True)
class RetrievalSet:
    """Queries, documents, and which documents answer which query.

    Attributes:
        name: what to call it on screen.
        query_ids, queries: (n_queries,) ids and texts.
        document_ids, documents: (n_documents,) ids and texts.
        judged: (n_judged, 3) int64: number of the query, number of the document, relevance (0 or more; 0 judged irrelevant).
        labels: one label a document (its domain), or empty.
        groups: one group a document (near-duplicates), "" for none; or empty.
        notes: sentences about what was read and left out.
        source: where it comes from and under which licence.
    """

    name: str
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    document_ids: tuple[str, ...]
    documents: tuple[str, ...]
    judged: IntArray
    labels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.query_ids) != len(self.queries) or len(self.document_ids) != len(self.documents) \
                or any(column and len(column) != len(self.documents) for column in (self.labels, self.groups)):
            raise DataError("queries and documents", "must have one id, label and group each",
                            f"{len(self.query_ids)} ids for {len(self.queries)} queries, {len(self.document_ids)} for "
                            f"{len(self.documents)} documents", "give whole rows")
        frozen(self.judged)
        rows = [f"{self.query_ids[q]}\0{self.document_ids[d]}\0{r}" for q, d, r in self.judged.tolist()]
        parts = (texts_digest(self.queries, self.documents), texts_digest(self.query_ids, self.document_ids),
                 texts_digest(sorted(rows)))
        object.__setattr__(self, "digest", hashlib.sha256("".join(parts).encode()).hexdigest())

    @property
    def answered(self) -> IntArray:
        """Numbers of the queries that some document answers; the others cannot be scored."""
        return np.unique(self.judged[self.judged[:, 2] > 0, 0])

    @property
    def answers(self) -> IntArray:
        """(n_pairs, 2): the place of a query among the answered ones, and the number of a document that answers it."""
        pairs = self.judged[self.judged[:, 2] > 0]
        return np.stack([np.searchsorted(self.answered, pairs[:, 0]), pairs[:, 1]], axis=1)

    def relevant(self, query: int) -> IntArray:
        """Numbers of the documents that answer a query."""
        return self.judged[(self.judged[:, 0] == query) & (self.judged[:, 2] > 0), 1]

    @property
    def graded(self) -> bool:
        """Whether some document answers more than another does."""
        return bool((self.judged[:, 2] > 1).any())
