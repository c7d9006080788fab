"""What a hosted server limits, says and keeps off the screen. One setting, POOLSCOPE_HOSTED; everything here follows it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.settings import settings
from components.errors import DataError

RUN_IT = 'python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/poolscope serve'
"""How to run Poolscope oneself, as in the README (a test compares)."""
_PATH = re.compile(r"(?<![\w/.:])(?:~|[A-Za-z]:)?(?:[/\\][\w.+@\-]+){2,}")


@lru_cache(maxsize=1)
def can_compute() -> bool:
    """Whether this installation has what computing needs; a server of stored results does without."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))
    except ImportError:
        return False


def limits() -> str:
    """What visitors of this server can and cannot do, in a sentence or two."""
    own = settings()
    if not can_compute():
        return ("This server shows stored results only: the texts and models that come with Poolscope. It cannot compute, since "
                "PyTorch is not installed here.")
    return (f"Models are a fixed list. A text of your own may have {own.max_text_chars:,} characters, a file {own.max_texts:,} texts "
            f"and {own.max_file_mb:g} MB, all that you upload {own.max_upload_mb:g} MB; a session may have {own.max_own_jobs} "
            f"computations waiting or running, {own.max_queue} wait for everyone together, and each is stopped after "
            f"{own.time_limit:g} s.")


def check(args: Mapping[str, Any]) -> None:
    """Refuses a computation on typed texts that pass a hosted server's limit.

    Raises:
        DataError: with the limit and the way out.
    """
    own = settings()
    if not own.hosted:
        return
    for name in ("text_a", "text_b"):
        found = len(str(args.get(name, "")))
        if found > own.max_text_chars:
            raise DataError(f"text {name[-1].upper()}", f"must have at most {own.max_text_chars:,} characters on this server",
                            f"{found:,}", "shorten it, or run Poolscope yourself")


def without_paths(sentence: str) -> str:
    """A sentence for a visitor: of a path of this machine only its last part is left, where the server is hosted."""
    if not settings().hosted:
        return sentence
    return _PATH.sub(lambda found: "…/" + re.split(r"[/\\]", found.group())[-1], sentence)
