"""Small tasks for the tests of the worker and the jobs (see ``POOLSCOPE_WORKER_TASKS``)."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from components.errors import Cancelled, ModelError
from components.inline_texts import corpus_of
from components.store import ResultKey, ResultStore
from components.types import CancelEvent, Progress


def key_of(name: str) -> ResultKey:
    return ResultKey("test_task", "0" * 64, "model", "revision", {"name": name}, 1)


def store_one(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Counts its runs in a file, reports progress and stores."""
    if "runs" in args:
        with open(args["runs"], "a") as file:
            file.write(f"{args['name']}\n")
    for i in range(5):
        progress(i, 5, "counting")
    progress(5, 5, "counting")
    key = key_of(args["name"])
    store.put(key, {"x": np.arange(3)}, {"pid": os.getpid()}, {"all": 0.0})
    return key.digest


def wait(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Waits for a file to appear (for ever without one), unless cancelled."""
    step = 0
    while "until" not in args or not Path(args["until"]).exists():
        if cancelled.is_set():
            raise Cancelled
        progress(step, 10**6, "waiting")
        step += 1
        time.sleep(0.01)
    return key_of(args["name"]).digest


def ignore_cancel(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    progress(0, 1, "deaf")
    time.sleep(600)
    return ""


def die(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Kills its own process, ``times`` times; then stores."""
    tries = Path(args["tries"])
    with tries.open("a") as file:
        file.write("x")
    if tries.stat().st_size <= args["times"]:
        os.kill(os.getpid(), 9)
    return store_one({"name": args["name"]}, store=store, progress=progress, cancelled=cancelled)


def garbage(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Prints as native libraries do: through Python, and straight to the file descriptor; reads input, too."""
    print("hello", flush=True)
    os.write(1, b'{"id": "forged", "event": "done"}\n\xff\xfe not a line of ours')
    assert sys.stdin.read() == "" and os.read(0, 10) == b""
    return store_one(args, store=store, progress=progress, cancelled=cancelled)


def many_steps(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Reports far more often than is sent on; ends without waiting."""
    for i in range(args["steps"] + 1):
        progress(i, args["steps"], "many")
    return key_of("many").digest


def held_back(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Announces a stage just after another one and then says nothing."""
    progress(0, 0, "first")
    progress(0, 0, "second")
    if cancelled.wait(20):  # type: ignore[attr-defined]
        raise Cancelled
    raise RuntimeError("the second stage did not arrive, so nobody cancelled")


def fail(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    errors: dict[str, BaseException] = {
        "model": ModelError("--model", "must exist", "nothing", "give another"),
        "internal": ValueError("a secret /path"),
        "memory": MemoryError(),
        "torch": type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory"),
        "allocator": RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        "exit": SystemExit(3),
    }
    raise errors[args["how"]]


def travelled(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """Writes beside the store what came along with the request."""
    own = corpus_of(args)
    store.root.with_name("seen").write_text(json.dumps({"n": len(own.texts), "digest": own.digest}))
    return key_of(args["name"]).digest


def linger(args: dict[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """In place of a real task: notes in a folder that it began, goes on until it is cancelled, and notes that."""
    place = Path(os.environ["POOLSCOPE_TEST_LINGER"]) / args["digest"][:12]
    with place.with_suffix(".began").open("a") as file:
        file.write(f"{os.getpid()}\n")
    step = 0
    while not cancelled.is_set():
        progress(step, 10**6, "lingering")
        step += 1
        time.sleep(0.02)
    place.with_suffix(".cancelled").touch()
    raise Cancelled


LINGERING = {"pair_map": linger}
TASKS = {"travelled": travelled, "store_one": store_one, "wait": "tests.app.worker_tasks:wait", "ignore_cancel": ignore_cancel,
         "die": die, "garbage": garbage, "many_steps": many_steps, "held_back": held_back, "fail": fail,
         "missing": "tests.app.worker_tasks:not_there"}
ENV = {"POOLSCOPE_WORKER_TASKS": "tests.app.worker_tasks:TASKS"}
