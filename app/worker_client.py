"""The server's end of the compute process: start it, write requests to it, hand on what it says, kill it.

One thread per process reads its answers and puts them into a queue, so that the owner waits in one place for answers,
for cancels and for the clock.
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
        threading.Thread(target=self._read, name=f"worker-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: Mapping[str, object]) -> None:
        """Write one line. A dead process is no error here: its end arrives in the inbox."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message, allow_nan=False).encode("ascii") + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass

    def kill(self) -> None:
        """End the process now; returns when it is gone."""
        self._process.kill()
        try:
            self._process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("the compute process %d does not end; it is left behind", self.pid)
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
