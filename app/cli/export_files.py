"""HTML files that are whole or not there: checked before anything is computed, renamed into place at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from components.errors import DataError


def check_html(path: Path, texts: str = "") -> None:
    """Refuses an output that cannot be written, or that would replace the texts.

    Raises:
        DataError: with what is wrong with it.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise DataError("--out", "must end in .html", repr(path.name), "add the ending")
    if path.is_dir():
        raise DataError("--out", "must be a file", f"a folder, {str(path)!r}", "add a file name")
    if texts and path.exists() and os.path.exists(texts) and path.samefile(texts):
        raise DataError("--out", "must not replace the file of texts", f"{str(path)!r} for both", "choose another name")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".poolscope-")
    except OSError as error:
        raise unwritable(path, error) from error
    os.close(handle)
    os.unlink(name)


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
        # mkstemp makes files for their owner alone; a page is an ordinary file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise unwritable(path, error) from error
    return path.stat().st_size


def unwritable(path: Path, error: OSError) -> DataError:
    """The sentence for a place that cannot be written."""
    return DataError("--out", "must lie in a folder that can be written", f"{str(path.parent)!r} ({error.strerror})",
                     "choose another folder; what was computed is in the store")
