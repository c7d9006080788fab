"""The compute process alone, spoken to as the server does: one real process a test or a few."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.store import ResultStore
from tests.app.worker_tasks import ENV, key_of

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0


class Worker:
    def __init__(self, root: Path, log: Path) -> None:
        self.root = root
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen([sys.executable, "-m", "app.worker"], cwd=ROOT, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **ENV})

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, request_id: str, task: str, **args: Any) -> None:
        self.write(json.dumps({"id": request_id, "task": task, "args": args,
                               "store": {"root": str(self.root), "max_bytes": 10**9}}).encode())

    def cancel(self, request_id: str) -> None:
        self.write(json.dumps({"cancel": request_id}).encode())

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker ended"
        message: dict[str, Any] = json.loads(line)
        return message

    def until_end(self, request_id: str) -> list[dict[str, Any]]:
        """All answers to a request, in order, up to its last."""
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["event"] == "progress":
            message = self.answer()
            assert message["id"] == request_id, message
            seen.append(message)
        return seen

    def ended(self) -> int:
        return self.process.wait(PATIENCE)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    started = Worker(tmp_path / "store", tmp_path / "log")
    assert started.answer() == {"event": "ready", "pid": started.process.pid}
    yield started
    started.process.kill()
    started.process.wait(PATIENCE)
    for stream in (started.process.stdin, started.process.stdout):
        assert stream is not None
        stream.close()


def test_results_go_into_the_store_one_after_the_other(worker: Worker) -> None:
    for name in ("a", "b"):
        worker.ask(name, "store_one", name=name)
    for name in ("a", "b"):
        *progress, last = worker.until_end(name)
        assert last == {"id": name, "event": "done", "key": key_of(name).digest}
        assert progress[-1] == {"id": name, "event": "progress", "done": 5, "total": 5, "stage": "counting"}
        stored = ResultStore(worker.root).get(key_of(name))
        assert stored is not None and stored.meta["pid"] == worker.process.pid


def test_progress_is_throttled_and_its_last_word_always_sent(worker: Worker) -> None:
    start = time.monotonic()
    worker.ask("m", "many_steps", steps=100_000)
    *progress, last = worker.until_end("m")
    seconds = time.monotonic() - start
    assert last["event"] == "done" and progress[-1]["done"] == 100_000
    assert len(progress) <= 3 + 10 * seconds
    assert [message["done"] for message in progress] == sorted(message["done"] for message in progress)


def test_a_stage_held_back_is_sent_though_the_task_says_nothing_more(worker: Worker) -> None:
    worker.ask("h", "held_back")
    assert [worker.answer()["stage"], worker.answer()["stage"]] == ["first", "second"]
    worker.cancel("h")
    assert worker.until_end("h")[-1]["kind"] == "cancelled"


def test_cancel_running_waiting_and_unknown(worker: Worker) -> None:
    worker.ask("running", "wait", name="x")
    worker.ask("waiting", "wait", name="y")
    worker.ask("after", "store_one", name="z")
    for request_id in ("unknown", "waiting", "running"):
        worker.cancel(request_id)
    for request_id in ("running", "waiting"):
        last = worker.until_end(request_id)[-1]
        assert (last["event"], last["kind"]) == ("failed", "cancelled") and last["sentence"]
    assert worker.until_end("after")[-1]["event"] == "done"


def test_failures_have_a_kind_and_a_sentence_and_do_not_end_the_worker(worker: Worker) -> None:
    said = {}
    for how in ("model", "internal", "memory", "torch", "allocator", "exit"):
        worker.ask(how, "fail", how=how)
        (last,) = worker.until_end(how)
        said[how] = (last["kind"], last["sentence"])
    assert said["model"] == ("model", "--model must exist; found nothing: give another.")
    assert said["internal"] == ("internal", ("The computation failed on an internal error (ValueError); the server's "
                                             "log has the details."))
    assert said["memory"] == said["torch"] == said["allocator"] and "more memory" in said["memory"][1]
    assert said["exit"][0] == "internal"
    log = worker.log.read_text()
    assert "a secret /path" in log and "Traceback" in log and "--model must exist" not in log
    for task in ("no such task", "missing"):
        worker.ask(task, task)
        assert worker.until_end(task)[-1]["kind"] == "internal"
    blocked = worker.root.with_name("a file")
    blocked.write_text("")
    worker.root = blocked
    worker.ask("store", "store_one", name="s")
    assert worker.until_end("store")[-1]["kind"] == "store"


def test_prints_and_lines_that_are_no_requests_do_no_harm(worker: Worker) -> None:
    for line in (b"nonsense", b"\xff\xfe", b"[1]", b"{}", b'{"id": "x"}', b'{"cancel": [1]}', b""):
        worker.write(line)
    worker.ask("g", "garbage", name="g")
    assert worker.until_end("g")[-1] == {"id": "g", "event": "done", "key": key_of("g").digest}
    assert b"hello" in worker.log.read_bytes()


def test_end_of_input_ends_it_in_the_middle_of_a_computation(worker: Worker) -> None:
    worker.ask("deaf", "ignore_cancel")
    assert worker.answer()["stage"] == "deaf"
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.ended() == 0


def test_ctrl_c_is_left_to_the_server(worker: Worker) -> None:
    worker.process.send_signal(signal.SIGINT)
    worker.ask("a", "store_one", name="a")
    assert worker.until_end("a")[-1]["event"] == "done"


def test_it_imports_neither_streamlit_nor_torch_on_its_own() -> None:
    code = "import sys, app.worker; print([m for m in ('streamlit', 'torch', 'umap') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, check=True).stdout == "[]\n"
