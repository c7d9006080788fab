"""A file's bytes, and its bytes as lines: what can go wrong before a single text is seen.

A path is refused by what it is (a folder, a device, a file too large) before anything is read from it, so that
``/dev/zero`` or a pipe nobody writes to cannot hold the program up. Text is UTF-8 and nothing is guessed: a byte that
is not UTF-8 is reported with its place instead of being replaced. A line is what an editor shows: it ends at LF, CR LF
or CR, and at no other character (``str.splitlines`` would also split at U+2028 and at form feeds, inside a text).
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from components.errors import MAX_SHOWN, DataError, shown

LISTED = 10
"""How many line numbers or column names a sentence lists before it says how many more there are."""


@dataclass(frozen=True)
class ReadLimits:
    """What a file may hold at the most; whatever is beyond is refused, never cut.

    Attributes:
        max_file_bytes: size of the file.
        max_texts: lines or rows, blank ones included.
        max_text_chars: characters (code points) of one text.
        max_decoded_bytes: size of the columns read from a parquet file, which may be far larger than the file.

    Raises:
        DataError: a limit is not a positive whole number.
    """

    max_file_bytes: int = 50_000_000
    max_texts: int = 100_000
    max_text_chars: int = 100_000
    max_decoded_bytes: int = 200_000_000

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if type(value) is not int or value < 1:
                raise DataError(f.name, "must be a whole number from 1", shown(value), "give a positive number")


DEFAULT_LIMITS = ReadLimits()


def shown_path(path: str | Path) -> str:
    """The path in quotes on one line; of a long one the end, where the file's name is."""
    text = repr(str(path))
    return text if len(text) <= MAX_SHOWN else "…" + text[1 - MAX_SHOWN:]


def listed(items: Sequence[object]) -> str:
    """``4, 9, 17``, or the first ten and how many more there are."""
    head = ", ".join(str(item) for item in items[:LISTED])
    return head if len(items) <= LISTED else f"{head} and {len(items) - LISTED:,} more"


def plural(n: int, noun: str) -> str:
    """``1 line``, ``2,000 lines``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def read_file(path: Path, argument: str, limits: ReadLimits, way_out: str) -> bytes:
    """All bytes of a regular file that is small enough.

    Args:
        path: the file.
        argument: how sentences call it.
        limits: of which ``max_file_bytes`` counts here.
        way_out: what to do when nothing is at the path.

    Raises:
        DataError: the path is missing, a folder, a pipe or device, unreadable, or larger than ``max_file_bytes``.
    """
    try:
        _check_regular(os.stat(path).st_mode, argument)
        # Not blocking, and asked again once it is open: the path may have been replaced by a pipe since.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _check_regular(status.st_mode, argument)
            check_size(status.st_size, argument, limits)
            data = file.read(limits.max_file_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(argument, "must exist", "nothing at that path", way_out) from None
    except (OSError, ValueError) as error:
        raise _unreadable(argument, error) from error
    check_size(len(data), argument, limits)
    return data


def check_size(size: int, argument: str, limits: ReadLimits) -> None:
    """Raises DataError when ``size`` bytes are more than ``max_file_bytes``."""
    if size > limits.max_file_bytes:
        raise DataError(argument, f"must have at most {limits.max_file_bytes:,} bytes", f"{size:,}",
                        "split it, or keep a sample of its rows")


def check_rows(n: int, noun: str, argument: str, limits: ReadLimits) -> None:
    """Raises DataError when ``n`` lines or rows are more than ``max_texts``."""
    if n > limits.max_texts:
        raise DataError(argument, f"must have at most {plural(limits.max_texts, noun)}", f"{n:,}",
                        f"keep {limits.max_texts:,} of them or fewer")


def _check_regular(mode: int, argument: str) -> None:
    if stat.S_ISDIR(mode):
        raise DataError(argument, "must be a file", "a folder", "name a file in it")
    if not stat.S_ISREG(mode):
        raise DataError(argument, "must be a regular file", "a pipe, socket or device", "save its content to a file")


def _unreadable(argument: str, error: Exception) -> DataError:
    if isinstance(error, PermissionError):
        return DataError(argument, "must be readable", "no permission to read it", "change its permissions or copy it")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return DataError(argument, "must lead to a file", "a symbolic link that leads back to itself",
                         "name the file itself")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(argument, "must be readable", f"the error {reason!r}", "check the path and the disk")


def count_breaks(text: str) -> int:
    """Line ends in the text: LF, CR LF and CR."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def count_lines(text: str) -> int:
    """How many lines ``split_lines`` would give."""
    return count_breaks(text) + (not text.endswith(("\n", "\r")))


def split_lines(text: str) -> list[str]:
    """The lines without their ends; a line end at the very end of the text starts no further line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def decode(data: bytes, argument: str) -> str:
    """UTF-8 text, without the byte-order mark that some editors put in front.

    Raises:
        DataError: UTF-16 or UTF-32; a byte that is not UTF-8, with its offset (from 0, as hex viewers count) and its
            line (from 1); a NUL character, with its line.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        raise DataError(argument, "must be UTF-8 text", f"the byte-order mark {data[:2].hex(' ')} of UTF-16 or UTF-32",
                        "save it as UTF-8")
    skipped = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        text = data[skipped:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start + skipped
        line = count_breaks(data[skipped:at].decode("utf-8")) + 1
        raise DataError(argument, "must be UTF-8 text", f"byte 0x{data[at]:02x} at offset {at:,} in line {line}",
                        "save it as UTF-8") from None
    nul = text.find("\0")
    if nul >= 0:
        line = count_breaks(text[:nul]) + 1
        raise DataError(f"line {line} of {argument}", "must hold text", "a NUL character",
                        "remove it, or save the file as UTF-8 text if it is in another format")
    return text
