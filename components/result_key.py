"""What makes two results the same: a key of scalars and digests, spelled one way only.

A result is found again by the sha256 of its key's canonical JSON (sorted keys, no white space, ASCII, no NaN). Two
things follow. Everything that can change the numbers has to be in the key; and ``3`` and ``3.0`` are different keys,
so callers settle the type of each parameter once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from components.errors import DataError, shown

KIND_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A kind names a folder, so it is a plain word."""

DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")

_FIELDS = ("kind", "corpus_digest", "model_id", "model_revision", "params", "schema")


def canonical_json(value: object) -> str:
    """The one spelling of a JSON value: sorted keys, no white space, ASCII, shortest float form, no NaN or infinity.

    Raises:
        TypeError: a value that JSON does not have, or a dictionary key that is not text.
        ValueError: NaN or an infinity, or a value that contains itself.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    _text_keys_only(value)  # after dumps, which has refused cycles
    return text


def _text_keys_only(value: object) -> None:
    # json.dumps turns the key 1 into "1", which would give {1: x} and {"1": x} one digest.
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the key {name!r} is not text")
            _text_keys_only(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _text_keys_only(item)


@dataclass(frozen=True, eq=False)
class ResultKey:
    """The identity of one stored result; equal and hashed by ``digest``.

    Attributes:
        kind: what was computed ("pair_map"); also the name of its folder in the store.
        corpus_digest: sha256 of the texts (``Corpus.digest``).
        model_id: the model's name.
        model_revision: its revision, or the digest of its files.
        params: everything else that changes the numbers: scalars, lists and dictionaries of JSON. Kept as a copy.
        schema: an integer raised whenever the maths changes.
        canonical: the key's canonical JSON.
        digest: sha256 (hex) of ``canonical``.

    Raises:
        DataError: a field of the wrong type, or a parameter that JSON cannot hold (NaN, an array, a set).
    """

    kind: str
    corpus_digest: str
    model_id: str
    model_revision: str
    params: Mapping[str, Any]
    schema: int
    canonical: str = field(init=False, repr=False)
    digest: str = field(init=False, repr=False)

    @property
    def short_revision(self) -> str:
        """The beginning of the model's revision, or of its files' digest, for captions."""
        return self.model_revision.removeprefix("sha256:")[:10]

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not KIND_PATTERN.fullmatch(self.kind):
            raise DataError("a result's kind", "must be lower-case letters, digits and underscores", shown(self.kind),
                            "rename it")
        for name in ("corpus_digest", "model_id", "model_revision"):
            if not isinstance(getattr(self, name), str):
                raise DataError(f"a result's {name}", "must be text", shown(getattr(self, name)), "pass a string")
        if isinstance(self.schema, bool) or not isinstance(self.schema, int):
            raise DataError("a result's schema", "must be an integer", shown(self.schema), "pass an integer")
        try:
            params = dict(self.params)
            # The round trip makes the copy that nobody else can change, with tuples as lists.
            object.__setattr__(self, "params", MappingProxyType(json.loads(canonical_json(params))))
            canonical = canonical_json({name: getattr(self, name) for name in _FIELDS} | {"params": params})
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError("a result's parameters", "must be numbers, text, lists and dictionaries that JSON can hold",
                            f"{shown(self.params)} ({error})", "convert them first") from error
        object.__setattr__(self, "canonical", canonical)
        object.__setattr__(self, "digest", hashlib.sha256(canonical.encode("ascii")).hexdigest())

    def as_dict(self) -> dict[str, Any]:
        """The key as plain JSON values."""
        value: dict[str, Any] = json.loads(self.canonical)
        return value

    @classmethod
    def from_json(cls, source: str | Mapping[str, Any]) -> ResultKey:
        """The key that ``canonical`` or ``as_dict()`` came from.

        Raises:
            DataError: no JSON, or not exactly the fields of a key.
        """
        try:
            value = json.loads(source) if isinstance(source, str) else dict(source)
            names = sorted(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError("a result's key", "must be a JSON object", shown(source), "compute it again") from error
        if not isinstance(value, dict) or names != sorted(_FIELDS) or not isinstance(value["params"], dict):
            raise DataError("a result's key", f"must have the fields {', '.join(_FIELDS)}", shown(names),
                            "compute it again")
        return cls(**value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultKey) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # A read-only mapping cannot be pickled; the canonical JSON says all of it.
        return ResultKey.from_json, (self.canonical,)
