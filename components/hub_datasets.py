"""Texts of a Hugging Face dataset, named as ``hf:owner/name:split:column``; read only when somebody names one.

The only file besides training that imports ``datasets``, an optional extra (``pip install .[hub]``; sentence-transformers'
training brings it along). Rows are streamed, so that a large dataset is not fetched for its first hundred texts; without a
network a copy in the local cache is read. No code of the hub is run: the library no longer can.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from components.columns import TEXT_NAMES
from components.errors import DataError, shown
from components.files import ReadLimits, listed

PREFIX = "hf:"
_NAME = re.compile(r"[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*")
_SPLIT = re.compile(r"([\w.\-]+)(?:\[:(\d{1,9})\])?")
FORM = "hf:owner/name:split:column, or hf:owner/name/configuration:split[:500]:column"


@dataclass(frozen=True)
class HubName:
    """A dataset's column.

    Attributes:
        name: owner/name.
        configuration: or None for the only one.
        split: "train", say.
        first: so many of its rows, or None for all.
        column: or None for the only one called text, sentence or content.
    """

    name: str
    configuration: str | None
    split: str
    first: int | None
    column: str | None


def is_hub_name(text: str) -> bool:
    """Whether a text names a dataset of the hub."""
    return text.startswith(PREFIX)


def parse(text: str) -> HubName:
    """The parts of ``hf:owner/name[/configuration]:split[:column]``.

    Raises:
        DataError: anything else.
    """
    argument = f"dataset {shown(text)}"
    path, _, rest = text.removeprefix(PREFIX).partition(":")
    name = "/".join(path.split("/")[:2])
    configuration = "/".join(path.split("/")[2:])
    found = re.fullmatch(r"((?:[^:\[\]]|\[:\d{0,9}\])+)(?::(.+))?", rest)
    split = _SPLIT.fullmatch(found[1]) if found else None
    if not _NAME.fullmatch(name) or ".." in path or "\0" in text or split is None:
        raise DataError(argument, "must be a dataset, a split and a column", shown(rest or path), f"write {FORM}")
    first = None if split[2] is None else int(split[2])
    if first is not None and first < 2:
        raise DataError(argument, "must keep two rows or more", str(first), "ask for more")
    return HubName(name, configuration or None, split[1], first, found[2] if found else None)


def hub_rows(text: str, column: str | None, limits: ReadLimits) -> tuple[str, list[object], list[str]]:
    """A column's cells in the dataset's order.

    Args:
        text: "hf:...".
        column: overrides the name's own.
        limits: of rows and of bytes; what has more is refused, not cut.

    Returns:
        The column, its cells, and notes.

    Raises:
        DataError: a malformed name; the extra is missing; no such dataset, split or column; not reachable; too large.
    """
    wanted = parse(text)
    argument = f"dataset {wanted.name}"
    try:
        import datasets
    except ImportError:
        raise DataError(argument, "needs the package datasets", "none", "install it with pip install .[hub]") from None
    rows = _opened(datasets, wanted, argument)
    names = list(rows.column_names or _columns_seen(rows, argument))
    chosen = _column(names, column or wanted.column, argument)
    cells: list[object] = []
    size = 0
    most = limits.max_texts if wanted.first is None else min(wanted.first, limits.max_texts)
    for row in _guarded(islice(rows, most + (wanted.first is None)), argument):
        value = row[chosen]
        size += len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 8
        cells.append(value)
        if len(cells) > limits.max_texts or size > limits.max_decoded_bytes:
            raise DataError(argument, f"must have at most {limits.max_texts:,} rows and {limits.max_decoded_bytes:,} bytes", "more",
                            f"keep its first rows, as {PREFIX}{wanted.name}:{wanted.split}[:1000]:{chosen}")
    if wanted.first is not None and wanted.first > limits.max_texts:
        raise DataError(argument, f"must have at most {limits.max_texts:,} rows", f"{wanted.first:,} asked for", "ask for fewer")
    return chosen, cells, [f"The texts are those of column {shown(chosen)} of {wanted.name}, split {wanted.split}"
                           + (f", its first {len(cells):,} rows." if wanted.first else ".")]


def _opened(datasets: Any, wanted: HubName, argument: str) -> Any:
    from huggingface_hub import constants
    from huggingface_hub.utils import logging

    offline = bool(constants.HF_HUB_OFFLINE) or os.environ.get("HF_DATASETS_OFFLINE", "0") not in ("", "0")
    # Its retries are not the user's to read; what comes of them is.
    logging.set_verbosity_error()
    datasets.disable_progress_bars()
    try:
        return datasets.load_dataset(wanted.name, wanted.configuration, split=wanted.split, streaming=not offline)
    except Exception as error:
        raise _refused(error, argument, offline) from error


def _refused(error: Exception, argument: str, offline: bool) -> DataError:
    reason = shown(str(error).strip().split("\n")[0])
    kind = type(error).__name__
    if kind == "OfflineModeIsEnabled" or isinstance(error, ConnectionError | TimeoutError) or "Connect" in kind or "Timeout" in kind:
        return DataError(argument, "must be reachable on the Hugging Face hub or lie in the local cache",
                         "no network" if not offline else "no copy in the cache, and requests are off (HF_HUB_OFFLINE)",
                         "fetch it where there is a network, or give a file of texts")
    if kind in ("DatasetNotFoundError", "DataFilesNotFoundError", "EmptyDatasetError", "RepositoryNotFoundError"):
        return DataError(argument, "must be a public dataset of the Hugging Face hub", reason, "check the spelling")
    if isinstance(error, ValueError):
        return DataError(argument, "must have that split and configuration", reason, "choose one that it has")
    return DataError(argument, "must be readable", f"{kind}: {reason}", "check name and network, or give a file of texts")


def _guarded(rows: Iterator[Mapping[str, Any]], argument: str) -> Iterator[Mapping[str, Any]]:
    """The rows; what breaks on the way is a sentence too."""
    try:
        yield from rows
    except DataError:
        raise
    except Exception as error:
        raise _refused(error, argument, False) from error


def _columns_seen(rows: Any, argument: str) -> list[str]:
    first = next(_guarded(iter(rows), argument), None)
    if first is None:
        raise DataError(argument, "must hold texts", "no row", "choose another split")
    return list(first)


def _column(names: list[str], wanted: str | None, argument: str) -> str:
    if wanted is None:
        usual = [name for name in names if name.strip().casefold() in TEXT_NAMES]
        if len(usual) == 1:
            return usual[0]
    if wanted not in names:
        raise DataError(f"the column of {argument}", "must be one that it has", "none named" if wanted is None else shown(wanted),
                        f"choose {listed([shown(name) for name in names])}")
    return str(wanted)
