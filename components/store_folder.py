"""The folder behind the result store: who may rename or remove files in it, and how it is kept tidy.

Reading takes no lock: a description and its arrays get their names only when complete, and the arrays' name holds
their checksum. Renames and removals of one digest happen under that digest's lock, which the system drops when its
holder dies; so whoever gets the lock knows that temporary files he finds have no living writer.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from components.errors import StoreError
from components.result_files import BadResult, ResultFiles, leftovers, read_header, scan
from components.result_key import KIND_PATTERN

STALE_SECONDS = 3600.0
"""A temporary file this old has no living writer, whatever its lock says."""

_LOCKS = ".locks"
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class StoreProblem:
    """What ``verify`` found: a file (relative to the root), a sentence, and whether the file was removed at once."""

    file: str
    sentence: str
    removed: bool = False


@dataclass(frozen=True)
class Group:
    """All files of one digest."""

    kind: str
    digest: str
    files: ResultFiles


class StoreFolder:
    """The files below a store's root, results by kind and digest."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def make(self, kind: str) -> Path:
        """The folder of a kind, created with its parents; only the store's own folders get mode 0700."""
        folder = self.root / kind
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def json_path(self, kind: str, digest: str) -> Path:
        return self.root / kind / f"{digest}.json"

    def name(self, path: Path) -> str:
        """How messages call a file: relative to the root."""
        return path.relative_to(self.root).as_posix()

    def error(self, error: OSError) -> StoreError:
        """The sentence for what the file system answered."""
        where = f"the result store {self.root}"
        if error.errno in _NO_SPACE:
            return StoreError(where, "must have room for the result", f"no space left ({error.strerror})",
                              "free some space there, or choose another folder")
        return StoreError(where, "must be a folder that can be read and written", error.strerror or str(error),
                          "choose another folder, or change its permissions")

    def kinds(self) -> list[str]:
        """The kinds' folders; none if the root does not exist yet."""
        try:
            with os.scandir(self.root) as listing:
                return sorted(item.name for item in listing if KIND_PATTERN.fullmatch(item.name) and item.is_dir())
        except FileNotFoundError:
            return []

    def groups(self) -> list[Group]:
        """Every digest's files, as they are at this moment."""
        return [Group(kind, digest, files) for kind in self.kinds()
                for digest, files in scan(self.root / kind)[0].items()]

    def foreign(self) -> list[Path]:
        """Files and folders that are not the store's (hidden ones left out)."""
        found = [self.root / kind / name for kind in self.kinds() for name in scan(self.root / kind)[1]]
        if self.root.exists():
            found += [path for path in self.root.iterdir() if not path.name.startswith(".")
                      and not (KIND_PATTERN.fullmatch(path.name) and path.is_dir())]
        return sorted(found)

    def lock(self, digest: str, wait: float) -> FileLock:
        """The lock of a digest, not yet taken. It guards the names of the digest's files, not their reading."""
        # 256 lock files, never removed: removing a lock file is what makes two holders possible.
        (self.root / _LOCKS).mkdir(mode=0o700, exist_ok=True)
        return FileLock(self.root / _LOCKS / f"{digest[:2]}.lock", timeout=wait)

    @contextmanager
    def lock_if_free(self, digest: str, wait: float = 0.0) -> Iterator[bool]:
        """Whether the lock of a digest could be had; it is held inside the ``with`` block then."""
        lock = self.lock(digest, wait)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def remove(self, group: Group, wait: float = 0.0) -> bool:
        """Remove a digest's files; False if somebody is writing them.

        Raises:
            OSError: the file system refuses.
        """
        folder = self.root / group.kind
        with self.lock_if_free(group.digest, wait) as locked:
            if locked:
                # The description first: a reader then sees no result, rather than one without arrays.
                for path in (folder / f"{group.digest}.json", *leftovers(folder, group.digest, None)):
                    path.unlink(missing_ok=True)
        return locked

    def evict(self, max_bytes: int, keep: tuple[str, str]) -> None:
        """Remove what was used longest ago until the rest fits; never ``keep`` (kind, digest)."""
        groups = sorted(self.groups(), key=lambda group: (group.files.used, group.digest))
        total = sum(group.files.bytes for group in groups)
        for group in groups:
            if total <= max_bytes:
                return
            if (group.kind, group.digest) != keep and self.remove(group):
                total -= group.files.bytes

    def sweep(self) -> list[StoreProblem]:
        """Remove what ended writers left: temporary files, and array files that no description names."""
        removed = []
        for group in self.groups():
            files = group.files
            if not files.temps and len(files.npz) == len(files.json):
                continue
            folder = self.root / group.kind
            old = [folder / name for name, written in files.temps.items() if time.time() - written > STALE_SECONDS]
            with suppress(OSError), self.lock_if_free(group.digest) as locked:  # a store only to be read stays as it is
                for path in self._dead(folder, group.digest) if locked else old:
                    path.unlink()
                    removed.append(StoreProblem(self.name(path), f"{self.name(path)} was left by a process that "
                                                "ended while writing; it was removed.", removed=True))
        return removed

    @staticmethod
    def _dead(folder: Path, digest: str) -> list[Path]:
        try:
            current = read_header(folder / f"{digest}.json").file
        except FileNotFoundError:
            current = None
        except BadResult:  # it cannot say which arrays are its own; the next put of this key clears up
            return list(folder.glob(f".{digest}.*.tmp"))
        return leftovers(folder, digest, current)
