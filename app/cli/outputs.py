"""What every command checks before it computes: where its output goes, and which layer was meant. Quick to import."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from components.errors import DataError
from components.types import FINAL, Layer

TABLES = (".csv", ".parquet")


def check_asked(out: Path | None, json_: bool, name: str, source: str) -> None:
    """Refuses a command that would show nothing, or whose table cannot be written.

    Args:
        name: of the command, for the way out.
        source: the file or folder that is read, which must not be replaced.

    Raises:
        DataError: with a sentence.
    """
    if out is None and not json_:
        raise DataError("--out", "must name a .csv or .parquet file, unless --json is given", "neither",
                        f"add --out {name}.csv or --json")
    if out is not None:
        check_place(out, TABLES, "must end in .csv or .parquet", "choose one of these", source)


def check_place(path: Path, endings: tuple[str, ...], rule: str, way_out: str, source: str = "") -> None:
    """Refuses, before anything is computed, an output that cannot be written, or that would replace what is read.

    Args:
        endings: that the path may have; else ``rule`` and ``way_out`` are what is said.

    Raises:
        DataError: with the path and what is wrong with it.
    """
    if path.suffix.lower() not in endings:
        raise DataError("--out", rule, repr(path.name), way_out)
    try:
        if path.is_dir():
            raise DataError("--out", "must be a file", f"a folder, {str(path)!r}", "add a file name")
        if path.exists() and os.path.exists(source) and path.samefile(source):
            raise DataError("--out", "must not replace the file of texts", f"{str(path)!r} for both", "choose another name")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".poolscope-")
    except OSError as error:
        raise DataError("--out", "must lie in a folder that can be written", f"{str(path.parent)!r} ({error.strerror})",
                        "choose another folder") from error
    os.close(handle)
    os.unlink(name)


def put_in_place(temporary: Path, path: Path) -> None:
    """Renames a finished file to its name; mkstemp makes files for their owner alone, an output is an ordinary one."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(temporary, 0o666 & ~mask)
    os.replace(temporary, path)


def layer_of(text: str) -> Layer:
    """A layer as it is given to ``--layer``.

    Raises:
        DataError: neither a number nor "final".
    """
    if text == FINAL:
        return FINAL
    try:
        return int(text)
    except ValueError:
        raise DataError("--layer", f"must be a number from 0 or {FINAL!r}", repr(text), "choose a layer") from None
