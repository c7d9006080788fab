"""Jobs: what a page asks the compute process for, and the line they wait in.

There is one job per result key whoever asks: a second viewer joins, a reload finds it again by the key, and the work
stops only when the last watcher has left. Pages poll ``Job.snapshot()``; nothing here calls back, knows Streamlit or
touches an array.

A dispatcher thread owns the worker process. It sends one request at a time and waits in one place, its inbox, for
answers, cancels, the clock and the shutdown.
"""

from __future__ import annotations

import atexit
import json
import logging
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app import line
from app.job import ACTIVE, Job
from app.worker_client import WORKER_COMMAND, StoreSpec, WorkerClient
from components.errors import DataError

__all__ = ["Job", "JobRegistry"]

MAX_FINISHED = 200
MAX_INLINE_BYTES = 500_000_000
TRIES = 2
RESTARTED = "The compute process ended unexpectedly and was restarted"
CANCELLED = "The computation was cancelled."

log = logging.getLogger(__name__)


class JobRegistry:
    """The jobs of one server.

    Args:
        store_spec: where the worker puts results.
        command: what to run as the worker.
        time_limit_s: how long one try of a job may run.
        max_queue: how many jobs may wait, the running one not counted.
        max_own: how many that wait or run one watcher may have asked for.
        env: variables added to the worker's environment.
        cancel_grace_s: how long a cancelled job may take to stop by itself before its process is killed.
    """

    def __init__(self, store_spec: StoreSpec, *, command: Sequence[str] = WORKER_COMMAND, time_limit_s: float = 900.0,
                 max_queue: int = 20, max_own: int | None = None, env: Mapping[str, str] | None = None,
                 cancel_grace_s: float = 5.0) -> None:
        # Absolute, since the worker has a working folder of its own.
        self._store = StoreSpec(root=str(Path(store_spec["root"]).absolute()), max_bytes=int(store_spec["max_bytes"]))
        self._command, self._env = tuple(command), env
        self._time_limit, self._max_queue, self._grace = time_limit_s, max_queue, cancel_grace_s
        self._max_own = max_own
        # Guards every field of every Job, and _jobs, _waiting, _running, _finished, _dispatcher and closed. Never
        # held while waiting for the worker, so that a page's poll is instant.
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._running: Job | None = None
        self._finished: deque[Job] = deque()
        self._dispatcher: threading.Thread | None = None
        self.closed = False
        # (worker, its answer), (worker, None) at its end, or (None, None) to make the dispatcher look around.
        self._inbox: queue.SimpleQueue[tuple[WorkerClient | None, Any]] = queue.SimpleQueue()
        self._worker: WorkerClient | None = None  # this and the next belong to the dispatcher thread alone
        self._ended_how = ""
        atexit.register(self.shutdown)

    def submit(self, task: str, args: Mapping[str, Any], key_digest: str, watcher: str, *, expected_s: float | None = None,
               inline: Callable[[], bytes] | None = None, store: StoreSpec | None = None) -> Job:
        """Ask for a result; joins the job of that key if one waits or runs, else starts a new try.

        Args:
            task: a name in ``app.worker.TASKS``.
            args: what the task needs, as JSON.
            key_digest: ``ResultKey.digest`` of the result.
            watcher: who asks (a session); the same one may ask again.
            expected_s: how long it was guessed to take, for those who wait behind it.
            inline: makes the texts that travel with the request, as one JSON object in UTF-8 of at most
                ``MAX_INLINE_BYTES``; called when the request's turn has come, and forgotten with the job's end.
            store: where the result goes, if not into the registry's own store.

        Raises:
            DataError: too many jobs wait, too many of them this watcher's, or the server is shutting down.
        """
        plain = json.loads(json.dumps(dict(args), allow_nan=False))
        with self._lock:
            if self.closed:
                raise DataError("the line of computations", "must be open", "it closed", "start the server again")
            known = self._jobs.get(key_digest)
            if known is not None and known.state in ACTIVE and not known.cancelling:
                known.watchers.add(watcher)
                return known
            line.check_room(self._active(), len(self._waiting), watcher, self._max_own, self._max_queue)
            job = Job(id=uuid.uuid4().hex, key_digest=key_digest, task=task, args=plain, lock=self._lock,
                      submitted=time.monotonic(), watchers={watcher}, owner=watcher, expected=expected_s, inline=inline, store=store)
            self._jobs[key_digest] = job
            self._waiting.append(job)
            if self._dispatcher is None:
                self._dispatcher = threading.Thread(target=self._dispatch, name="jobs", daemon=True)
                self._dispatcher.start()
        self._inbox.put((None, None))
        return job

    def get(self, key_digest: str) -> Job | None:
        """The latest job of a key, as long as it is remembered."""
        with self._lock:
            return self._jobs.get(key_digest)

    def place(self, job: Job) -> int | None:
        """Place in line: 0 runs, 1 is next; None once it has ended."""
        with self._lock:
            if job is self._running:
                return 0
            return next((place for place, waiting in enumerate(self._waiting, 1) if waiting is job), None)

    def wait_seconds(self, job: Job) -> float | None:
        """About how long until a waiting job begins; None where it does not wait, or nobody guessed."""
        with self._lock:
            return line.wait_seconds(self._active(), job) if job in self._waiting else None

    def join(self, key_digest: str, watcher: str) -> None:
        """A session looks on (after a reload, say): the job lasts as long as anybody does."""
        with self._lock:
            job = self._jobs.get(key_digest)
            if job is not None and job.state in ACTIVE and not job.cancelling:
                job.watchers.add(watcher)

    def watchers(self) -> set[str]:
        """Everybody who waits for something."""
        with self._lock:
            return {watcher for job in self._active() for watcher in job.watchers}

    def _active(self) -> list[Job]:
        # The caller holds the lock.
        return [*([self._running] if self._running and self._running.state in ACTIVE else []), *self._waiting]

    def cancel(self, key_digest: str, watcher: str) -> bool:
        """A watcher leaves; the job is stopped if nobody watches it any more. Returns whether it is stopped."""
        with self._lock:
            job = self._jobs.get(key_digest)
            if job is None or job.state not in ACTIVE or watcher not in job.watchers:
                return False
            job.watchers.discard(watcher)
            if job.watchers:
                return False
            job.cancelling = True
            if job.state == "queued" and job is not self._running:  # else the dispatcher has just taken it
                self._waiting.remove(job)
                self._finish(job, "cancelled", "cancelled", CANCELLED)
        self._inbox.put((None, None))
        return True

    def leave(self, watcher: str) -> None:
        """A session is gone: it leaves everything that it watches."""
        with self._lock:
            watched = [key for key, job in self._jobs.items() if watcher in job.watchers and job.state in ACTIVE]
        for key in watched:
            self.cancel(key, watcher)

    def shutdown(self) -> None:
        """End the worker and every job; harmless when repeated. Called at the interpreter's exit."""
        atexit.unregister(self.shutdown)
        with self._lock:
            self.closed = True
            for job in self._waiting:
                self._finish(job, "cancelled", "cancelled", "The server was shut down before this computation began.")
            self._waiting.clear()
            dispatcher = self._dispatcher
        self._inbox.put((None, None))
        if dispatcher is not None and dispatcher is not threading.current_thread():
            dispatcher.join(15.0)

    def _finish(self, job: Job, state: str, kind: str = "", sentence: str = "", result: str | None = None) -> None:
        # The caller holds the lock.
        job.end(state, kind, sentence, result)
        self._finished.append(job)
        while len(self._finished) > MAX_FINISHED:
            old = self._finished.popleft()
            if self._jobs.get(old.key_digest) is old:
                del self._jobs[old.key_digest]

    def _dispatch(self) -> None:
        try:
            while not self.closed:
                with self._lock:
                    job = self._running = self._waiting.popleft() if self._waiting else None
                if job is None:
                    self._idle()
                    continue
                try:
                    self._run(job)
                except Exception as error:  # a fault of ours must not leave every later job waiting for ever
                    log.exception("job %s of task %s", job.id, job.task)
                    self._drop_worker()
                    with self._lock:
                        self._finish(job, "failed", "internal", "The computation could not be handed on "
                                     f"({type(error).__name__}); the server's log has the details.")
                with self._lock:
                    self._running = None
        finally:
            self._drop_worker()

    def _idle(self) -> None:
        worker, message = self._inbox.get()
        if worker is not None and worker is self._worker and message is None:
            log.warning("the idle compute process ended (%s); the next job starts another", worker.how_it_ended())
            self._drop_worker()

    def _run(self, job: Job) -> None:
        """One job to its end, in a second worker if the first one dies."""
        for attempt in range(1, TRIES + 1):
            with self._lock:
                if job.cancelling:
                    self._finish(job, "cancelled", "cancelled", CANCELLED)
                    return
                job.begin(RESTARTED if attempt > 1 else "Starting the compute process" if not self._worker else "")
            try:
                worker = self._warm_worker()
            except OSError as error:
                with self._lock:
                    self._finish(job, "failed", "internal",
                                 f"The compute process cannot be started ({error.strerror}): mend the installation.")
                return
            inline = job.inline() if job.inline else b""
            if len(inline) > MAX_INLINE_BYTES:
                with self._lock:
                    self._finish(job, "failed", "data", f"The texts of one computation must have at most {MAX_INLINE_BYTES:,} "
                                 f"bytes on their way; found {len(inline):,}: use fewer texts.")
                return
            worker.send({"id": job.id, "task": job.task, "args": job.args, "store": job.store or self._store}, inline)
            del inline
            if self._follow(worker, job):
                return
            log.warning("the compute process ended unexpectedly (%s) in task %s, try %d", self._ended_how, job.task,
                        attempt)
        with self._lock:
            self._finish(job, "failed", "internal",
                         f"The compute process ended unexpectedly {TRIES} times ({self._ended_how}), often for want of "
                         "memory: use fewer texts or a smaller model, or look into the server's log.")

    def _follow(self, worker: WorkerClient, job: Job) -> bool:
        """Take the worker's answers until the job has ended (True) or the worker has died unasked (False)."""
        limit_at = time.monotonic() + self._time_limit
        kill_at: float | None = None
        while True:
            with self._lock:
                cancelling = job.cancelling
            if cancelling and kill_at is None:
                worker.send({"cancel": job.id})
                kill_at = time.monotonic() + self._grace
            stop_at = limit_at if kill_at is None else min(limit_at, kill_at)
            try:
                source, message = self._inbox.get(timeout=max(0.0, stop_at - time.monotonic()))
            except queue.Empty:
                self._drop_worker()
                with self._lock:
                    if kill_at is not None:
                        self._finish(job, "cancelled", "cancelled", CANCELLED)
                    else:
                        self._finish(job, "failed", "data", self._over_limit())
                return True
            if self.closed:
                with self._lock:
                    self._finish(job, "cancelled", "cancelled", "The server was shut down.")
                return True
            if source is not worker:  # a word to look around, or the last of a worker that is gone
                continue
            if message is None:
                self._ended_how = self._drop_worker()
                with self._lock:
                    if job.cancelling:
                        self._finish(job, "cancelled", "cancelled", CANCELLED)
                    return job.state not in ACTIVE
            if message.get("id") == job.id and self._take(job, message):
                return True

    def _take(self, job: Job, message: Mapping[str, Any]) -> bool:
        """Note an answer in its job; True if it was the last."""
        with self._lock:
            event = message.get("event")
            if event == "progress":
                job.advance(int(message["done"]), int(message["total"]), str(message["stage"]))
            elif event == "done":
                self._finish(job, "done", result=str(message["key"]))
            elif event == "failed":
                kind = str(message["kind"])
                self._finish(job, "cancelled" if kind == "cancelled" else "failed", kind, str(message["sentence"]))
            return job.state not in ACTIVE

    def _over_limit(self) -> str:
        return (f"The computation must end within {self._time_limit:g} seconds and was stopped: use fewer texts or a "
                "smaller model, or raise POOLSCOPE_TIME_LIMIT.")

    def _warm_worker(self) -> WorkerClient:
        if self._worker is not None and not self._worker.alive:
            self._drop_worker()
        if self._worker is None:
            self._worker = WorkerClient(self._command, self._inbox, self._env)
        return self._worker

    def _drop_worker(self) -> str:
        """Kill and forget the worker; returns how it ended."""
        worker, self._worker = self._worker, None
        if worker is None:
            return ""
        worker.kill()
        return worker.how_it_ended()
