"""The rules of the line of computations: who may enter it, and how long one waits. The caller holds the registry's lock."""

from __future__ import annotations

from collections.abc import Sequence

from app.job import Job
from components.errors import DataError


def check_room(active: Sequence[Job], waiting: int, watcher: str, max_own: int | None, max_queue: int) -> None:
    """Refuses one more job where a session has its share already, or the line is full.

    Limits are per session and never per address: a whole class may sit behind one.

    Raises:
        DataError: with the limit and the way out.
    """
    own = sum(one.owner == watcher for one in active)
    if max_own is not None and own >= max_own:
        raise DataError("computations of one session", f"must be at most {max_own} at a time", str(own),
                        "wait for one of yours, or cancel it")
    if waiting >= max_queue:
        raise DataError("the line of computations", f"must hold at most {max_queue}", f"{waiting} waiting",
                        "try again in a while, or cancel one of yours")


def wait_seconds(active: Sequence[Job], job: Job) -> float | None:
    """About how long until a waiting job begins; None where nobody guessed how long those ahead of it take.

    Args:
        active: the running job and those that wait, in order.
    """
    ahead = [one.expected_left for one in active[:active.index(job)]]
    known = [left for left in ahead if left is not None]
    return sum(known) if len(known) == len(ahead) else None
