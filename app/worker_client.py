"""The server's end of the compute process: start it, write requests to it, hand on what it says, kill it.

One thread per process reads its answers and puts them into a queue, so that the owner waits in one place for answers,
for cancels and for the clock. Another writes: a request may carry a reader's own texts, and a pipe takes 64 kB at a time.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

REPOSITORY = Path(__file__).resolve().parents[1]
WORKER_COMMAND = (sys.executable, "-m", "app.worker")
KILL_SECONDS = 10.0

log = logging.getLogger(__name__)


class StoreSpec(TypedDict):
    """Where the worker finds the result store."""

    root: str
    max_bytes: int


class WorkerClient:
    """One running compute process.

    Args:
        command: what to run; it must speak the protocol of ``app.worker``.
        inbox: receives ``(self, message)`` for each answer, and ``(self, None)`` once when the process has ended.
        env: variables added to the server's own.

    Raises:
        OSError: the process cannot be started.
    """

    def __init__(self, command: Sequence[str], inbox: queue.SimpleQueue[tuple[WorkerClient | None, Any]],
                 env: Mapping[str, str] | None = None) -> None:
        self._inbox = inbox
        # Under an editable install `app` is found from the working folder only, and PYTHONSAFEPATH takes that away.
        search = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": search, **(env or {})})  # its errors go where the server's go
        self._outbox: queue.SimpleQueue[tuple[bytes, ...] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name=f"worker-{self.pid}", daemon=True).start()
        threading.Thread(target=self._write, name=f"worker-{self.pid}-requests", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: Mapping[str, object], inline: bytes = b"") -> None:
        """Hand on one line; returns at once. A dead process is no error here: its end arrives in the inbox.

        Args:
            message: of scalars.
            inline: a JSON object that becomes the message's "inline", written as it is.
        """
        line = json.dumps(message, allow_nan=False).encode("ascii")
        self._outbox.put((line[:-1], b', "inline": ', inline, b"}\n") if inline else (line, b"\n"))

    def _write(self) -> None:
        assert self._process.stdin is not None
        while (parts := self._outbox.get()) is not None:
            try:
                for part in parts:
                    self._process.stdin.write(part)
                self._process.stdin.flush()
            except (OSError, ValueError):  # dead, or closed by kill()
                return

    def kill(self) -> None:
        """End the process now; returns when it is gone."""
        self._process.kill()
        try:
            self._process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("the compute process %d does not end; it is left behind", self.pid)
            return  # nor would its pipe close while the other thread writes to it
        self._outbox.put(None)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # an unsent line; nobody is left to read it
            self._process.stdin.close()

    def how_it_ended(self) -> str:
        """"signal SIGKILL" or "exit status 1", for sentences and logs."""
        status = self._process.poll()
        if status is None:
            return "still running"
        if status >= 0:
            return f"exit status {status}"
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                try:
                    message = json.loads(line)
                except ValueError:
                    message = None
                if isinstance(message, dict):
                    self._inbox.put((self, message))
                else:
                    log.warning("a line of the compute process that is no answer was ignored: %r", line[:200])
        self._inbox.put((self, None))
