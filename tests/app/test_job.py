"""A job's estimate of the time left."""

from __future__ import annotations

import threading
import time

from app.job import Job


def test_seconds_left_follows_the_rate_of_the_stage() -> None:
    job = Job("i", "k", "t", {}, threading.Lock(), time.monotonic(), {"me"})
    job.begin("")
    assert job.seconds_left is None
    job.advance(0, 100, "a")
    assert job.seconds_left is None, "no rate yet"
    time.sleep(0.05)
    job.advance(10, 100, "a")
    left = job.seconds_left
    assert left is not None and 0.3 < left < 30
    job.advance(0, 100, "b")
    assert job.seconds_left is None, "another stage has another rate"
    job.advance(5, 0, "c")
    assert job.seconds_left is None, "no end in sight"
    job.end("done", "", "", None)
    assert job.snapshot().seconds_left is None and job.snapshot().seconds > 0
