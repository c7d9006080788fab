"""The result store: what was computed once is read back by its key, after a restart and from another process.

Layout: ``<root>/<kind>/<digest>.json`` beside its arrays (see ``result_files``), and ``<root>/.locks``. A result that
cannot be trusted (torn, cut short, changed, foreign) is a miss with a warning, never an exception and never a wrong
number; the next ``put`` overwrites it. The store is capped in size: what was used longest ago goes first.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from filelock import Timeout

from components.errors import StoreError
from components.result_files import Arrays, BadResult, Header, checked_arrays, read_arrays, read_header, write_result
from components.result_key import DIGEST_PATTERN, KIND_PATTERN, ResultKey, canonical_json
from components.store_folder import StoreFolder, StoreProblem

__all__ = ["DEFAULT_MAX_BYTES", "ResultKey", "ResultStore", "StoreEntry", "StoreProblem", "StoreWarning",
           "StoredResult", "default_store_root"]

DEFAULT_MAX_BYTES = 4 * 2**30
LOCK_SECONDS = 120.0
"""How long a put waits for another process that writes the same key."""
CLEAR_SECONDS = 1.0
"""How long ``clear`` waits for a result that is being written, before it leaves that one alone."""
READ_TRIES = 5


class StoreWarning(UserWarning):
    """A stored result was ignored; the text names its file, relative to the store's root."""


@dataclass(frozen=True)
class StoredResult:
    """One result as it was stored. The arrays are read-only."""

    key: ResultKey
    arrays: Mapping[str, np.ndarray[Any, Any]]
    meta: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: Mapping[str, float]
    created: datetime


@dataclass(frozen=True)
class StoreEntry:
    """One line of the store's listing. ``bytes`` counts arrays and description; both times are UTC."""

    key: ResultKey
    bytes: int
    created: datetime
    used: datetime


def default_store_root() -> Path:
    """The user's cache folder for results (``~/.cache/poolscope/store`` on Linux); it is not created here."""
    from platformdirs import user_cache_path

    return user_cache_path("poolscope") / "store"


class ResultStore:
    """Stored results below one folder, shared by threads and processes.

    Args:
        root: the folder; created (mode 0700) by the first ``put``.
        max_bytes: the size above which ``put`` removes the results used longest ago. What was just put always
            stays, even if it alone is larger.
    """

    def __init__(self, root: Path, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.root = Path(root)
        self.max_bytes = max_bytes
        self._folder = StoreFolder(self.root)

    def get(self, key: ResultKey) -> StoredResult | None:
        """The stored result, or None. An unusable one is None too, after a ``StoreWarning``.

        Raises:
            StoreError: the root is not a folder.
        """
        return self.get_by_digest(key.kind, key.digest)

    def get_by_digest(self, kind: str, digest: str) -> StoredResult | None:
        """``get`` for a digest from outside (a URL, a worker's answer); None for anything that is no digest."""
        if not KIND_PATTERN.fullmatch(kind) or not DIGEST_PATTERN.fullmatch(digest):
            return None
        path = self._folder.json_path(kind, digest)
        try:
            result = self._read(path)
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            raise self._folder.error(error) from error
        except (BadResult, OSError) as error:
            warnings.warn(f"Stored result {self._fault(path, error)}; it is computed again.", StoreWarning,
                          stacklevel=2)
            return None
        with suppress(OSError):  # a store that may only be read still serves; it just cannot note the use
            os.utime(path)
        return result

    def put(self, key: ResultKey, arrays: Arrays, meta: Mapping[str, Any],
            seconds: Mapping[str, float]) -> StoredResult:
        """Store a result, replacing one of the same key, then remove others above the size cap.

        Args:
            key: what the result is found by.
            arrays: name -> array of numbers or fixed-length text. The returned result views them, without a copy.
            meta: JSON values; come back as JSON (a tuple as a list).
            seconds: how long each step took.

        Raises:
            StoreError: the store cannot be written (disk full, no permission, root not a folder), or the result holds
                what cannot be stored. No part of it is visible then.
        """
        checked = checked_arrays(arrays)
        try:
            plain = json.loads(canonical_json([dict(meta), {name: float(value) for name, value in seconds.items()}]))
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError("a result's meta and seconds", "must be JSON values", str(error),
                             "convert them first") from error
        try:
            folder = self._folder.make(key.kind)
            with self._folder.lock(key.digest, LOCK_SECONDS):
                header = write_result(folder, key, checked, *plain)
        except Timeout as error:
            raise StoreError(f"the result store {self.root}", "must be free to write",
                             f"another process writing the same result for {LOCK_SECONDS:.0f} s",
                             "try again, or end that process") from error
        except OSError as error:
            raise self._folder.error(error) from error
        with suppress(OSError):  # the result is stored; whoever puts next tries again to make room
            self._folder.sweep()
            self._folder.evict(self.max_bytes, keep=(key.kind, key.digest))
        return _stored(header, checked)

    def entries(self) -> list[StoreEntry]:
        """Every readable result, the one used longest ago first. Unusable ones are left to ``verify``.

        Raises:
            StoreError: the root is not a folder that can be read.
        """
        listing = []
        try:
            for group in self._folder.groups():
                with suppress(FileNotFoundError, BadResult):
                    header = read_header(self._folder.json_path(group.kind, group.digest))
                    listing.append(StoreEntry(header.key, group.files.bytes, header.created,
                                              datetime.fromtimestamp(group.files.used / 1e9, UTC)))
        except OSError as error:
            raise self._folder.error(error) from error
        return sorted(listing, key=lambda entry: (entry.used, entry.key.digest))

    def verify(self) -> list[StoreProblem]:
        """Read every result in full and report what is wrong.

        What ended writers left behind is removed and reported as such; a file that a living process is writing is no
        problem. Unusable results stay where they are: the next ``put`` of their key overwrites them.

        Raises:
            StoreError: the root is not a folder that can be read.
        """
        try:
            problems = self._folder.sweep()
            for group in self._folder.groups():
                path = self._folder.json_path(group.kind, group.digest)
                try:
                    self._read(path)
                except FileNotFoundError:  # removed since it was listed, or not yet complete
                    continue
                except (BadResult, OSError) as error:
                    at_fault = error.path if isinstance(error, BadResult) else path
                    problems.append(StoreProblem(self._folder.name(at_fault), f"{self._fault(path, error)}."))
            names = [self._folder.name(path) for path in self._folder.foreign()]
        except OSError as error:
            raise self._folder.error(error) from error
        return problems + [StoreProblem(name, f"{name} is not a file of the store.") for name in names]

    def clear(self) -> tuple[int, int]:
        """Remove every result, except one that is being written at this moment; foreign files stay.

        Returns:
            How many results went, and their bytes.

        Raises:
            StoreError: the store cannot be written.
        """
        count = size = 0
        try:
            for group in self._folder.groups():
                if self._folder.remove(group, wait=CLEAR_SECONDS):
                    count += bool(group.files.json)
                    size += group.files.bytes
        except OSError as error:
            raise self._folder.error(error) from error
        return count, size

    def _read(self, path: Path) -> StoredResult:
        before: Header | None = None
        for _ in range(READ_TRIES):
            header = read_header(path)
            try:
                return _stored(header, read_arrays(path.parent, header))
            except FileNotFoundError:
                # Another process may have replaced or removed the result between our two reads; the description,
                # read again, tells. Only if it still names the missing file is the result torn.
                if header == before:
                    break
                before = header
        raise BadResult(path, f"names {header.file}, which is missing")

    def _fault(self, path: Path, error: BadResult | OSError) -> str:
        if isinstance(error, BadResult):
            return f"{self._folder.name(error.path)} {error.fault}"
        return f"{self._folder.name(path)} cannot be read ({error.strerror})"


def _stored(header: Header, arrays: Mapping[str, np.ndarray[Any, Any]]) -> StoredResult:
    return StoredResult(header.key, arrays, header.meta, header.versions, header.seconds, header.created)
