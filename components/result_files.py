"""How one result lies on the disk, and how it is written and read so that a torn one is never taken for a whole one.

``<digest>.json`` says everything about the result and names the file of its arrays, ``<digest>-<checksum12>.npz``.
The arrays go first and the JSON last, each under a temporary name until it is complete: the JSON's rename is the
commit. The array file's name holds its own checksum, so a rewrite never changes a file that a reader has open.
Nothing here unpickles.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from components.errors import PoolscopeError, StoreError
from components.result_key import DIGEST_PATTERN, ResultKey, canonical_json

Arrays = Mapping[str, np.ndarray[Any, Any]]

FORMAT = "poolscope-result-1"
VERSIONS_OF = ("numpy", "torch", "transformers", "sentence-transformers", "poolscope")

_KINDS = "biufcmMSU"
_ARRAY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_JSON_NAME = re.compile(r"([0-9a-f]{64})\.json")
_NPZ_NAME = re.compile(r"([0-9a-f]{64})-[0-9a-f]{12}\.npz")
_TEMP_NAME = re.compile(r"\.([0-9a-f]{64})\.[0-9]+-[0-9a-f]{8}\.(?:json|npz)\.tmp")


class BadResult(Exception):
    """A stored result that cannot be used: which file, and what is wrong with it ("is cut short ...")."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(f"{path.name} {fault}")
        self.path, self.fault = path, fault


@dataclass(frozen=True)
class Header:
    """What the JSON of a stored result says. ``arrays`` maps a name to its shape and dtype string."""

    key: ResultKey
    file: str
    sha256: str
    bytes: int
    arrays: dict[str, dict[str, Any]]
    meta: dict[str, Any]
    versions: dict[str, str]
    seconds: dict[str, float]
    created: datetime


@dataclass
class ResultFiles:
    """The files of one digest in a folder, with their sizes; ``used`` is when the result was last written or read."""

    json: dict[str, int] = field(default_factory=dict)
    npz: dict[str, int] = field(default_factory=dict)
    temps: dict[str, float] = field(default_factory=dict)
    """Temporary name -> mtime in seconds."""
    used: int = 0

    @property
    def bytes(self) -> int:
        return sum(self.json.values()) + sum(self.npz.values())


@cache
def library_versions() -> dict[str, str]:
    """Versions of what computes, from the installed metadata (nothing is imported)."""
    found = {}
    for name in VERSIONS_OF:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def npz_name(digest: str, sha256: str) -> str:
    return f"{digest}-{sha256[:12]}.npz"


def checked_arrays(arrays: Arrays) -> dict[str, np.ndarray[Any, Any]]:
    """Read-only views of the arrays.

    Raises:
        StoreError: a name that is no plain word, a masked array (its mask would be lost), or a dtype that a file
            without pickle does not keep (objects, records, types of other libraries).
    """
    views = {}
    for name, array in arrays.items():
        if not isinstance(name, str) or not _ARRAY_NAME.fullmatch(name):
            raise StoreError("a stored array's name", "must be a plain word", repr(name), "rename it")
        if isinstance(array, np.ma.MaskedArray) or np.asarray(array).dtype.kind not in _KINDS:
            raise StoreError(f"array {name!r}", "must hold numbers or text of fixed length",
                             f"a {type(array).__name__} of {np.asarray(array).dtype}", "convert it first")
        view = np.asarray(array).view()
        view.flags.writeable = False
        views[name] = view
    return views


def scan(folder: Path) -> tuple[dict[str, ResultFiles], list[str]]:
    """The results' files in a folder, by digest, and the names that are not the store's (hidden ones left out)."""
    found: dict[str, ResultFiles] = {}
    foreign = []
    with os.scandir(folder) as listing:
        for item in listing:
            try:
                state = item.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process has just renamed or removed it
                continue
            if match := _JSON_NAME.fullmatch(item.name):
                files = found.setdefault(match[1], ResultFiles())
                files.json[item.name] = state.st_size
                files.used = state.st_mtime_ns
            elif match := _NPZ_NAME.fullmatch(item.name):
                files = found.setdefault(match[1], ResultFiles())
                files.npz[item.name] = state.st_size
                files.used = files.used or state.st_mtime_ns
            elif match := _TEMP_NAME.fullmatch(item.name):
                found.setdefault(match[1], ResultFiles()).temps[item.name] = state.st_mtime
            elif not item.name.startswith("."):
                foreign.append(item.name)
    return found, sorted(foreign)


def write_result(folder: Path, key: ResultKey, arrays: Arrays, meta: Mapping[str, Any],
                 seconds: Mapping[str, float]) -> Header:
    """Write a result into its kind's folder and remove what it replaces. The caller holds the key's lock.

    Raises:
        OSError: from the file system; nothing new is visible then, and an older result is still whole.
    """
    stem = f".{key.digest}.{os.getpid()}-{secrets.token_hex(4)}"
    temp_npz, temp_json = folder / f"{stem}.npz.tmp", folder / f"{stem}.json.tmp"
    new_npz: Path | None = None
    try:
        sha256, size = _write_npz(temp_npz, arrays)
        header = Header(key, npz_name(key.digest, sha256), sha256, size,
                        {name: {"shape": list(a.shape), "dtype": a.dtype.str} for name, a in arrays.items()},
                        dict(meta), library_versions(), {k: float(v) for k, v in seconds.items()}, datetime.now(UTC))
        _write_json(temp_json, header)
        # Both files are complete and on the disk before either gets its name, so that a full disk shows up to here.
        if not (folder / header.file).exists():
            new_npz = folder / header.file
        os.replace(temp_npz, folder / header.file)
        os.replace(temp_json, folder / f"{key.digest}.json")
    except BaseException:
        for path in (temp_npz, temp_json, new_npz):
            if path is not None:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        raise
    _fsync_folder(folder)
    for path in leftovers(folder, key.digest, header.file):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    return header


def leftovers(folder: Path, digest: str, current: str | None) -> list[Path]:
    """Temporary files and array files of a digest other than ``current``. Only under the key's lock are they dead."""
    return [*folder.glob(f".{digest}.*.tmp"),
            *(path for path in folder.glob(f"{digest}-*.npz") if path.name != current)]


def _write_npz(path: Path, arrays: Arrays) -> tuple[str, int]:
    # np.savez's own layout, written by hand because np.savez takes "file" and "allow_pickle" as its own arguments.
    with path.open("x+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest(), size


def _write_json(path: Path, header: Header) -> None:
    text = canonical_json({
        "format": FORMAT, "key": header.key.as_dict(), "file": header.file, "sha256": header.sha256,
        "bytes": header.bytes, "arrays": header.arrays, "meta": header.meta, "versions": header.versions,
        "seconds": header.seconds, "created": header.created.isoformat()})
    with path.open("xb") as file:
        file.write(text.encode("ascii") + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _fsync_folder(folder: Path) -> None:
    # Makes the renames themselves durable; some file systems cannot, and then only a power cut could tell.
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def read_header(path: Path) -> Header:
    """The checked JSON of a stored result.

    Raises:
        FileNotFoundError: no such result.
        BadResult: not a result of this store, or another key's.
    """
    raw = path.read_bytes()
    try:
        value = json.loads(raw)
        if value["format"] != FORMAT:
            raise BadResult(path, f"has another format than {FORMAT}")
        key = ResultKey.from_json(value["key"])
        header = Header(key, value["file"], value["sha256"], value["bytes"],
                        {str(name): {"shape": list(spec["shape"]), "dtype": str(spec["dtype"])}
                         for name, spec in value["arrays"].items()},
                        dict(value["meta"]), dict(value["versions"]), dict(value["seconds"]),
                        datetime.fromisoformat(value["created"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, PoolscopeError) as error:
        raise BadResult(path, f"is not the description of a result ({type(error).__name__})") from error
    if (key.kind, f"{key.digest}.json") != (path.parent.name, path.name):
        raise BadResult(path, "describes the result of another key")
    if not isinstance(header.sha256, str) or not DIGEST_PATTERN.fullmatch(header.sha256) \
            or header.file != npz_name(key.digest, header.sha256):
        # Also what keeps "../x.npz" from being opened: the only file name accepted is the one we would write.
        raise BadResult(path, "names an array file that is not its own")
    return header


def read_arrays(folder: Path, header: Header) -> dict[str, np.ndarray[Any, Any]]:
    """The read-only arrays that a header describes.

    Raises:
        FileNotFoundError: the array file is gone (or has just been replaced).
        BadResult: its length, checksum, names, shapes or dtypes are not those that were written, or it needs pickle.
    """
    path = folder / header.file
    if (size := path.stat().st_size) != header.bytes:
        raise BadResult(path, f"is {size} bytes long where {header.bytes} were written")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != header.sha256:
            raise BadResult(path, "does not have the checksum it was written with")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as loaded:
                arrays = {name: loaded[name] for name in loaded.files}
            found = {name: {"shape": list(a.shape), "dtype": a.dtype.str} for name, a in arrays.items()}
        except MemoryError:
            raise
        except Exception as error:  # arbitrary bytes reach zipfile and a literal parser: there is no closed list
            raise BadResult(path, f"cannot be read as plain arrays ({type(error).__name__})") from error
    if found != header.arrays:
        raise BadResult(path, "holds other arrays than its description says")
    return checked_arrays(arrays)
