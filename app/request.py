"""What a page asks the worker for, and how it is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app import hosted, presence, private, resources
from app.job import Job
from app.worker_client import StoreSpec
from components.store import ResultKey


@dataclass(frozen=True)
class Request:
    """A result that a page wants: its key, the worker's task with its arguments, and a word on what it costs."""

    key: ResultKey
    task: str
    args: Mapping[str, Any]
    action: str
    seconds: float  # 0 where it cannot be told
    inline: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)
    """Makes the texts that travel with it, where they lie in a session and in no file."""
    owner: str = ""
    """The session whose own store takes the result, where the server's may not have it."""

    @property
    def job_key(self) -> str:
        """What its job is found by: the result's key, and the session where the result is its own."""
        return self.key.digest + (f"-{self.owner}" if self.owner else "")


def start(request: Request, watcher: str) -> Job:
    """Queues the request's computation, or joins it where somebody has asked already.

    Raises:
        DataError: a hosted server's limits, a full line, or too many of this session's own.
    """
    hosted.check(request.args)
    presence.note(watcher)
    registry = resources.jobs()
    for gone in private.left():
        registry.leave(gone)
    own = StoreSpec(root=str(private.session().store().root), max_bytes=private.STORE_BYTES) if request.owner else None
    return registry.submit(request.task, request.args, request.job_key, watcher, expected_s=request.seconds or None,
                           inline=request.inline, store=own)


def start_and_wait(request: Request, watcher: str, seconds: float) -> Job:
    """The same, and gives it a moment: what takes a tenth of a second then needs no second look.

    Only for what a visitor has just asked for, and for less time than a click may take.
    """
    job = start(request, watcher)
    until = time.monotonic() + seconds
    while job.snapshot().active and time.monotonic() < until:
        time.sleep(0.02)
    return job
