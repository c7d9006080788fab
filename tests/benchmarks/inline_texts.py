"""How long the server's other threads wait while 50 MB of texts travel to the worker: ``python -m tests.benchmarks.inline_texts``."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from app.jobs import JobRegistry
from components.inline_texts import inline_texts
from components.types import Corpus
from tests.app.worker_tasks import ENV, key_of

SIZE = 50_000_000


def main() -> None:
    text = "0123456789abcd\u00e9 \" " * 250
    corpus = Corpus("big", (text,) * (SIZE // len(text.encode())))
    with tempfile.TemporaryDirectory() as name:
        registry = JobRegistry({"root": str(Path(name) / "store"), "max_bytes": 10**9}, env=ENV)
        ticks, stop = [time.perf_counter()], threading.Event()

        def look() -> None:  # a page that polls its own job all the while
            while not stop.is_set():
                registry.get("other")
                ticks.append(time.perf_counter())
                time.sleep(0.002)

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            start = time.perf_counter()
            job = registry.submit("travelled", {"name": "big"}, key_of("big").digest, "me", inline=lambda: inline_texts(corpus))
            while job.snapshot().active:
                time.sleep(0.05)
            seconds = time.perf_counter() - start
        finally:
            stop.set()
            watcher.join()
            registry.shutdown()
    assert job.state == "done", job.sentence
    waits = np.diff(ticks)
    print(f"{SIZE / 1e6:.0f} MB of texts taken in {seconds:.1f} s; a thread that looks every 2 ms waited {waits.max() * 1000:.0f} ms "
          f"at most, {np.percentile(waits, 99) * 1000:.1f} ms in 99 of 100 looks (load of the machine: {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} cores)")


if __name__ == "__main__":
    main()
