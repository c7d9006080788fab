"""HTML files that are whole or not there: checked before anything is computed, renamed into place at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from app.cli.outputs import check_place, put_in_place
from components.errors import DataError


def check_html(path: Path, texts: str = "") -> None:
    """Refuses an output that cannot be written, or that would replace the texts.

    Raises:
        DataError: with what is wrong with it.
    """
    check_place(path, (".html", ".htm"), "must end in .html", "add the ending", texts)


def write_text(path: Path, text: str) -> int:
    """Writes the file and gives its size in bytes.

    Raises:
        DataError: a full disk, a folder that cannot be written.
    """
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".poolscope-")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        put_in_place(Path(name), path)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise unwritable(path, error) from error
    return path.stat().st_size


def unwritable(path: Path, error: OSError) -> DataError:
    """The sentence for a place that cannot be written."""
    return DataError("--out", "must lie in a folder that can be written", f"{str(path.parent)!r} ({error.strerror})",
                     "choose another folder; what was computed is in the store")
