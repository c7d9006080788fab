"""One computation asked for: its state, its progress, and how long it may still take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ACTIVE = ("queued", "running")


@dataclass(frozen=True)
class JobSnapshot:
    """A job at one moment, for drawing. Times are ``time.monotonic()`` of the server.

    Attributes:
        id: this try's id.
        key_digest: the result's key.
        task: what runs.
        state: "queued", "running", "done", "failed" or "cancelled".
        stage: what it is doing, in words.
        done, total: progress within the stage; total 0 where the end is not known.
        submitted, started, finished: when; None where it has not happened. ``started`` is the latest try's.
        seconds_left: estimate for the current stage, or None.
        seconds: how long it has run, or ran.
        kind: why it failed: "data", "model", "store", "cancelled", "internal"; empty otherwise.
        sentence: the same for the user.
        result: the digest under which the worker stored the result.
        notes: what else the user should know (a restart).
        watchers: how many watch.
    """

    id: str
    key_digest: str
    task: str
    state: str
    stage: str
    done: int
    total: int
    submitted: float
    started: float | None
    finished: float | None
    seconds_left: float | None
    seconds: float
    kind: str
    sentence: str
    result: str | None
    notes: tuple[str, ...]
    watchers: int

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


@dataclass(eq=False)
class Job:
    """A job as the registry keeps it. Pages read ``snapshot()``; only the registry, holding ``lock``, changes it."""

    id: str
    key_digest: str
    task: str
    args: dict[str, Any]
    lock: threading.Lock = field(repr=False)  # the registry's; guards every field below
    submitted: float
    watchers: set[str]
    inline: Callable[[], bytes] | None = field(default=None, repr=False)  # makes the texts that travel; gone at the end
    store: Mapping[str, Any] | None = None  # where the result goes, if not into the shared store
    state: str = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    started: float | None = None
    finished: float | None = None
    kind: str = ""
    sentence: str = ""
    result: str | None = None
    notes: list[str] = field(default_factory=list)
    cancelling: bool = False
    owner: str = ""  # who asked first; limits count against this session
    expected: float | None = None  # how many seconds it was guessed to take
    _stage_from: tuple[float, int] = (0.0, 0)
    _seen_at: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """What is left of the current stage at the rate it has had so far; None while that cannot be told."""
        since, first = self._stage_from
        if self.state != "running" or self.total <= 0 or self.done <= first or self._seen_at <= since:
            return None
        per_unit = (self._seen_at - since) / (self.done - first)
        return max(0.0, (self.total - self.done) * per_unit - (time.monotonic() - self._seen_at))

    @property
    def expected_left(self) -> float | None:
        """What is left of the whole job, as far as it was guessed; the registry's lock is held."""
        if self.expected is None or self.state != "running" or self.started is None:
            return self.expected
        return max(self.expected - (time.monotonic() - self.started), self.seconds_left or 0.0, 1.0)

    def snapshot(self) -> JobSnapshot:
        """The job as it is now; never waits for the worker."""
        with self.lock:
            until = self.finished if self.finished is not None else time.monotonic()
            return JobSnapshot(
                id=self.id, key_digest=self.key_digest, task=self.task, state=self.state, stage=self.stage,
                done=self.done, total=self.total, submitted=self.submitted, started=self.started,
                finished=self.finished, seconds_left=self.seconds_left,
                seconds=0.0 if self.started is None else until - self.started, kind=self.kind,
                sentence=self.sentence, result=self.result, notes=tuple(self.notes), watchers=len(self.watchers))

    def begin(self, note: str) -> None:
        """A try begins; ``note`` is the stage until the worker reports one, and kept if it tells of a restart."""
        if self.started is not None:
            self.notes.append(f"{note}.")
        self.state, self.stage, self.done, self.total = "running", note, 0, 0
        self.started = time.monotonic()
        self._stage_from, self._seen_at = (self.started, 0), self.started

    def advance(self, done: int, total: int, stage: str) -> None:
        """Note progress; a new stage, or one that starts over, has a rate of its own."""
        now = time.monotonic()
        if stage != self.stage or done < self.done or total != self.total:
            self._stage_from = (now, done)
        self.stage, self.done, self.total, self._seen_at = stage, done, total, now

    def end(self, state: str, kind: str, sentence: str, result: str | None) -> None:
        """The last state; ``started`` stays None for a job that never ran."""
        self.state, self.kind, self.sentence, self.result = state, kind, sentence, result
        self.finished = time.monotonic()
        self.inline = None
        self.args = {}  # typed texts are among them; a job that has ended is remembered, what it was given is not
