"""The one compute process, run as ``python -m app.worker``: it owns torch, the models, UMAP and the GPU.

The server never imports those. A process can be killed on a time limit or a cancel, a crash in native code costs a job
and not every visitor, and memory is given back. It is a subprocess speaking lines of JSON rather than
``multiprocessing``, because that would import the server's ``__main__``, a Streamlit page, again.

Requests, on standard input:

- ``{"id": str, "task": str, "args": {...scalars}, "store": {"root": str, "max_bytes": int}}``; one at a time, in order
- the same with ``"inline": {...}``: texts that lie in no file, of tens of megabytes at the most (``components.inline_texts``)
- ``{"cancel": id}``
- end of input: the server is gone, and so is the worker, at once and in the middle of anything

Answers, on what was standard output when it started:

- ``{"event": "ready", "pid": int}``
- ``{"id", "event": "progress", "done", "total", "stage"}``, ten a second at the most, the last one always
- ``{"id", "event": "done", "key": digest}``: the result lies in the store; arrays never travel here
- ``{"id", "event": "failed", "kind": "data"|"model"|"store"|"cancelled"|"internal", "sentence": str}``

Tests may name a dictionary of further tasks in the environment: ``POOLSCOPE_WORKER_TASKS="module:attribute"``. It is
for tests only.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from components.errors import Cancelled, DataError, ModelError, PoolscopeError, StoreError
from components.store import ResultStore

Task = Callable[..., str]
"""Called as ``task(args, store=ResultStore, progress=Progress, cancelled=CancelEvent)``; returns the key's digest."""

TASKS: dict[str, str | Task] = {"pair_map": "components.pipeline:run_pair_map",
                               "pair_list": "components.pipeline:run_pair_list",
                               "layers": "components.layer_pipeline:run_layers",
                               "pooling": "components.pooling_pipeline:run_pooling",
                               "company": "components.fault_pipeline:run_company",
                               "chunks": "components.fault_pipeline:run_chunks",
                               "pooled_umap": "components.pooled_umap_pipeline:run_pooled_umap",
                               "truncation": "components.truncation_pipeline:run_truncation",
                               "pair_tokens": "components.token_pipeline:run_tokens",
                               "pair_subset": "components.subset_pipeline:run_subset",
                               "length_halves": "components.length_pipeline:run_length_halves",
                               "audit": "components.audit_pipeline:run_audit",
                               "fetch_model": "components.model_fetch:run_fetch",
                               "states_map": "components.states_pipeline:run_states_map",
                               "states_pair": "components.states_pipeline:run_states_pair",
                               "states_subset": "components.states_pipeline:run_states_subset"}
"""Task name -> ``"module:attribute"``, imported at the first request, since that may take seconds and a gigabyte."""

TEST_TASKS_VARIABLE = "POOLSCOPE_WORKER_TASKS"
PROGRESS_SECONDS = 0.1

_KINDS: tuple[tuple[type[PoolscopeError], str], ...] = ((DataError, "data"), (ModelError, "model"),
                                                        (StoreError, "store"))


class Answers:
    """The protocol's output stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()  # guards the stream: one whole line at a time, from whichever thread

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode("ascii") + b"\n"
        with self._lock:
            try:
                self._stream.write(line)
                self._stream.flush()
            except OSError:  # nobody listens any more
                os._exit(0)


class ThrottledProgress:
    """The progress callable of one request: at most one message per ``PROGRESS_SECONDS``, and the latest one always.

    What is held back is sent by a timer when its turn comes, so that a stage that was announced just after another
    one shows up even if the task then says nothing for a minute.
    """

    def __init__(self, answers: Answers, request_id: str) -> None:
        self._answers, self._id = answers, request_id
        self._lock = threading.Lock()  # guards the four below; held while sending, so that messages keep their order
        self._held: dict[str, Any] | None = None
        self._sent_at = float("-inf")
        self._timer: threading.Timer | None = None
        self._closed = False

    def __call__(self, done: int, total: int, message: str) -> None:
        with self._lock:
            self._held = {"id": self._id, "event": "progress", "done": int(done), "total": int(total),
                          "stage": str(message)}
            wait = self._sent_at + PROGRESS_SECONDS - time.monotonic()
            if wait <= 0:
                self._send_held()
            elif self._timer is None and not self._closed:
                self._timer = threading.Timer(wait, self._on_timer)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Send what is held back; nothing after this (the end of the request follows)."""
        with self._lock:
            if not self._closed:
                self._send_held()
            self._closed = True

    def _on_timer(self) -> None:
        with self._lock:
            self._timer = None
            self._send_held()

    def _send_held(self) -> None:
        if self._held is not None and not self._closed:
            self._answers.send(self._held)
            self._held = None
            self._sent_at = time.monotonic()


class Requests:
    """The requests in order, and the cancel event of each; a thread reads them while the main thread computes."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards _events, written by the reader and emptied by the main thread
        self._events: dict[str, threading.Event] = {}

    def read(self, stream: BinaryIO) -> None:
        """Read until the end of input, then end the process."""
        for line in stream:
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                print(f"worker: a line that is no request was ignored ({error!r})", file=sys.stderr, flush=True)
        # The server is gone. Only _exit ends a process whose main thread is deep in native code; the store is made
        # for that.
        os._exit(0)

    def _take(self, message: dict[str, Any]) -> None:
        if "cancel" in message:
            with self._lock:
                event = self._events.get(message["cancel"])
            if event is not None:
                event.set()
            return
        request_id = str(message["id"])
        request: dict[str, Any] = {"id": request_id, "task": str(message["task"]), "args": dict(message["args"]),
                   "store": dict(message["store"])}
        if "inline" in message:
            request["args"]["inline"] = dict(message["inline"])
        with self._lock:
            self._events[request_id] = threading.Event()
        self.waiting.put(request)

    def event(self, request_id: str) -> threading.Event:
        with self._lock:
            return self._events[request_id]

    def forget(self, request_id: str) -> None:
        with self._lock:
            self._events.pop(request_id, None)


def find_task(name: str) -> Task:
    """The task's function, imported now.

    Raises:
        KeyError: no such task.
    """
    tasks = dict(TASKS)
    if extra := os.environ.get(TEST_TASKS_VARIABLE):
        tasks.update(_attribute(extra))
    task = tasks[name]
    found: Task = _attribute(task) if isinstance(task, str) else task
    return found


def _attribute(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def failure(error: BaseException) -> dict[str, str]:
    """The kind and the sentence that the user reads; what is not meant for users stays in the log."""
    if isinstance(error, PoolscopeError):
        return {"kind": next((kind for cls, kind in _KINDS if isinstance(error, cls)), "data"), "sentence": str(error)}
    if isinstance(error, Cancelled):
        return {"kind": "cancelled", "sentence": "The computation was cancelled."}
    if _is_out_of_memory(error):
        return {"kind": "data", "sentence": "The computation needs more memory than this machine has free: use fewer "
                                            "or shorter texts, a smaller batch or a smaller model."}
    return {"kind": "internal", "sentence": f"The computation failed on an internal error ({type(error).__name__}); "
                                            "the server's log has the details."}


def _is_out_of_memory(error: BaseException) -> bool:
    # By name, since torch is not imported here: torch.OutOfMemoryError, and the CPU allocator's RuntimeError.
    return (isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
            or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)))


def answer(request: dict[str, Any], cancelled: threading.Event, answers: Answers) -> None:
    """Run one request to its end and say how it ended."""
    progress = ThrottledProgress(answers, request["id"])
    try:
        if cancelled.is_set():  # while it waited
            raise Cancelled
        store = ResultStore(Path(request["store"]["root"]), int(request["store"]["max_bytes"]))
        key = find_task(request["task"])(request["args"], store=store, progress=progress, cancelled=cancelled)
        end = {"event": "done", "key": str(key)}
    except (Exception, SystemExit) as error:
        end = {"event": "failed", **failure(error)}
        if not isinstance(error, (PoolscopeError, Cancelled)):
            traceback.print_exc()
    progress.close()
    answers.send({"id": request["id"], **end})


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's two ends, moved out of reach of libraries that print or read.

    Whatever writes to standard output from now on, C code included, lands in the log on standard error.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return requests, answers


def main() -> None:
    """Serve requests until the end of input; never returns."""
    source, sink = _private_streams()
    # Ctrl-C in the terminal reaches the whole process group; the server decides what becomes of the worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = Requests(), Answers(sink)
    answers.send({"event": "ready", "pid": os.getpid()})
    threading.Thread(target=requests.read, args=(source,), name="requests", daemon=True).start()
    while True:
        request = requests.waiting.get()
        answer(request, requests.event(request["id"]), answers)
        requests.forget(request["id"])


if __name__ == "__main__":
    main()
