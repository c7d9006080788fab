"""Jobs and the line they wait in, with real compute processes: joining, cancelling, limits and deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import app.jobs
from app.jobs import Job, JobRegistry
from components.errors import DataError
from components.store import ResultStore
from tests.app.worker_tasks import ENV, key_of

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
Make = Callable[..., JobRegistry]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[JobRegistry] = []

    def registry(**options: Any) -> JobRegistry:
        made.append(JobRegistry({"root": str(tmp_path / "store"), "max_bytes": 10**9}, **{"env": ENV, **options}))
        return made[-1]

    yield registry
    for one in made:
        one.shutdown()


def until(condition: Callable[[], object], what: str = "it") -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.005)


def ended(job: Job) -> str:
    until(lambda: not job.snapshot().active, f"the end of {job}")
    return job.snapshot().state


def running(job: Job) -> None:
    until(lambda: job.snapshot().stage in ("waiting", "deaf"), f"{job} to run")


def worker_pid(registry: JobRegistry) -> int:
    worker = registry._worker
    assert worker is not None
    return worker.pid


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


def wait(registry: JobRegistry, name: str, watcher: str = "me", **args: Any) -> Job:
    return registry.submit("wait", {"name": name, **args}, key_of(name).digest, watcher)


def store_one(registry: JobRegistry, name: str, watcher: str = "me", **args: Any) -> Job:
    return registry.submit("store_one", {"name": name, **args}, key_of(name).digest, watcher)


def test_a_job_runs_and_its_result_is_in_the_store(make: Make, tmp_path: Path) -> None:
    registry = make()
    job = store_one(registry, "a")
    assert ended(job) == "done"
    shot = job.snapshot()
    assert shot.result == job.key_digest and (shot.done, shot.total, shot.stage) == (5, 5, "counting")
    assert shot.started is not None and shot.finished is not None
    assert shot.submitted <= shot.started <= shot.finished and shot.sentence == "" and shot.notes == ()
    assert ResultStore(tmp_path / "store").get(key_of("a")) is not None
    assert registry.get(job.key_digest) is job and registry.get("unknown") is None and registry.place(job) is None


def test_the_worker_is_kept_warm(make: Make, tmp_path: Path) -> None:
    registry = make()
    assert ended(store_one(registry, "a")) == ended(store_one(registry, "b")) == "done"
    a, b = (ResultStore(tmp_path / "store").get(key_of(name)) for name in "ab")
    assert a is not None and b is not None and a.meta["pid"] == b.meta["pid"]


def test_one_job_per_key_whoever_asks(make: Make, tmp_path: Path) -> None:
    registry = make()
    blocker = wait(registry, "blocker", until=str(tmp_path / "go"))
    runs = tmp_path / "runs"
    found: list[Job] = []
    threads = [threading.Thread(target=lambda i=i: found.append(store_one(registry, "a", f"w{i}", runs=str(runs))))
               for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(job) for job in found}) == 1 and found[0].snapshot().watchers == 8
    running(blocker)
    assert wait(registry, "blocker", "another") is blocker
    (tmp_path / "go").touch()
    assert ended(blocker) == ended(found[0]) == "done" and runs.read_text() == "a\n"


def test_an_ended_job_is_replaced_by_a_new_try(make: Make, tmp_path: Path) -> None:
    registry = make()
    key = key_of("x").digest
    failed = registry.submit("fail", {"how": "model"}, key, "me")
    assert ended(failed) == "failed"
    assert (failed.snapshot().kind, failed.snapshot().sentence) == (
        "model", "--model must exist; found nothing: give another.")
    again = store_one(registry, "x")
    assert again is not failed and ended(again) == "done" and registry.get(key) is again
    assert store_one(registry, "x") is not again


def test_the_line(make: Make, tmp_path: Path) -> None:
    registry = make(max_queue=2)
    first = wait(registry, "0")
    running(first)
    second, third = wait(registry, "1"), wait(registry, "2")
    assert [registry.place(job) for job in (first, second, third)] == [0, 1, 2]
    with pytest.raises(DataError, match="at most 2; found 2 waiting: try again"):
        wait(registry, "3")
    assert registry.get(key_of("3").digest) is None
    assert wait(registry, "2", "another") is third, "joining needs no place"
    assert registry.cancel(second.key_digest, "me") and second.snapshot().state == "cancelled"
    assert second.snapshot().started is None and registry.place(third) == 1
    assert registry.cancel(first.key_digest, "me") and ended(first) == "cancelled"
    until(lambda: registry.place(third) == 0)


def test_work_stops_only_when_the_last_watcher_leaves(make: Make) -> None:
    registry = make()
    job = wait(registry, "a", "one")
    assert wait(registry, "a", "two") is job
    running(job)
    pid = worker_pid(registry)
    assert not registry.cancel(job.key_digest, "a stranger") and not registry.cancel("unknown", "one")
    assert not registry.cancel(job.key_digest, "one") and not registry.cancel(job.key_digest, "one")
    before = job.snapshot()
    until(lambda: job.snapshot().done > before.done, "progress after one has left")
    assert registry.cancel(job.key_digest, "two") and ended(job) == "cancelled"
    assert job.snapshot().sentence and not registry.cancel(job.key_digest, "two")
    assert ended(store_one(registry, "b")) == "done" and worker_pid(registry) == pid, "an obedient worker stays"


def test_a_deaf_job_is_killed_after_its_grace_and_the_next_one_runs(make: Make) -> None:
    registry = make(cancel_grace_s=0.2)
    job = registry.submit("ignore_cancel", {}, "k", "me")
    running(job)
    pid = worker_pid(registry)
    assert registry.cancel("k", "me")
    again = registry.submit("store_one", {"name": "k"}, "k", "me")
    assert again is not job, "what is being cancelled cannot be joined"
    assert ended(job) == "cancelled" and ended(again) == "done" and gone(pid) and again.snapshot().notes == ()


def test_time_limit(make: Make) -> None:
    registry = make(time_limit_s=1.5)
    job = registry.submit("ignore_cancel", {}, "k", "me")
    assert ended(job) == "failed"
    assert job.snapshot().sentence == ("The computation must end within 1.5 seconds and was stopped: use fewer texts "
                                       "or a smaller model, or raise POOLSCOPE_TIME_LIMIT.")
    assert ended(store_one(registry, "a")) == "done"


def test_a_worker_that_dies_once_is_restarted_and_says_so(make: Make, tmp_path: Path) -> None:
    registry = make()
    job = registry.submit("die", {"name": "a", "tries": str(tmp_path / "t"), "times": 1}, key_of("a").digest, "me")
    assert ended(job) == "done"
    assert job.snapshot().notes == ("The compute process ended unexpectedly and was restarted.",)
    assert ResultStore(tmp_path / "store").get(key_of("a")) is not None


def test_a_worker_that_dies_twice_fails_the_job(make: Make, tmp_path: Path) -> None:
    registry = make()
    job = registry.submit("die", {"name": "a", "tries": str(tmp_path / "t"), "times": 9}, "k", "me")
    assert ended(job) == "failed" and (tmp_path / "t").read_text() == "xx"
    assert "ended unexpectedly 2 times (signal SIGKILL)" in job.snapshot().sentence
    assert ended(store_one(registry, "b")) == "done"


def test_killed_from_outside_running_and_idle(make: Make, tmp_path: Path) -> None:
    registry = make()
    job = wait(registry, "a", until=str(tmp_path / "go"))
    running(job)
    os.kill(worker_pid(registry), signal.SIGKILL)
    until(lambda: job.snapshot().notes and job.snapshot().stage == "waiting", "the restart")
    (tmp_path / "go").touch()
    assert ended(job) == "done"
    os.kill(worker_pid(registry), signal.SIGKILL)
    assert ended(store_one(registry, "b")) == "done"


def test_garbage_on_standard_output_is_harmless(make: Make) -> None:
    registry = make()
    job = registry.submit("garbage", {"name": "g"}, key_of("g").digest, "me")
    assert ended(job) == "done" and job.snapshot().notes == ()


@pytest.mark.parametrize(("command", "said"), [
    (["/no/such/program"], "cannot be started (No such file or directory)"),
    ([sys.executable, "-c", "raise SystemExit(7)"], "2 times (exit status 7)"),
    ([sys.executable, "-c", "print('no protocol at all')"], "2 times (exit status 0)")])
def test_a_worker_that_cannot_work(make: Make, command: list[str], said: str) -> None:
    job = store_one(make(command=command), "a")
    assert ended(job) == "failed" and said in job.snapshot().sentence


def test_a_fault_in_an_answer_fails_one_job_only(make: Make) -> None:
    code = ("import sys, json\n"
            "for line in sys.stdin:\n"
            "    asked = json.loads(line)\n"
            "    answer = {'event': 'progress'} if asked['task'] == 'bad' else {'event': 'done', 'key': 'k'}\n"
            "    print(json.dumps({'id': asked['id'], **answer}), flush=True)\n")
    registry = make(command=[sys.executable, "-c", code])
    bad, good = registry.submit("bad", {}, "1", "me"), registry.submit("good", {}, "2", "me")
    assert ended(bad) == "failed" and "KeyError" in bad.snapshot().sentence and ended(good) == "done"


def test_finished_jobs_are_forgotten_at_last(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.jobs, "MAX_FINISHED", 3)
    registry = make()
    jobs = [store_one(registry, str(i)) for i in range(5)]
    assert ended(jobs[-1]) == "done"
    assert [registry.get(job.key_digest) is job for job in jobs] == [False, False, True, True, True]


def test_shutdown_ends_everything(make: Make) -> None:
    registry = make()
    first, second = registry.submit("ignore_cancel", {}, "1", "me"), registry.submit("ignore_cancel", {}, "2", "me")
    running(first)
    pid = worker_pid(registry)
    registry.shutdown()
    registry.shutdown()
    assert gone(pid) and first.snapshot().state == second.snapshot().state == "cancelled"
    with pytest.raises(DataError, match="closed"):
        store_one(registry, "a")


@pytest.mark.parametrize("how", ["exit", "kill -9"])
def test_no_orphan_when_the_server_ends(tmp_path: Path, how: str) -> None:
    code = f"""
import sys
from app.jobs import JobRegistry
from tests.app.test_jobs import *
registry = JobRegistry({{"root": {str(tmp_path / 'store')!r}, "max_bytes": 10**9}}, env=ENV)
running(registry.submit("ignore_cancel", {{}}, "1", "me"))
print(worker_pid(registry), flush=True)
if {how!r} == "kill -9":
    time.sleep(600)
"""
    server = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert server.stdout is not None
    pid = int(server.stdout.readline())
    if how == "kill -9":
        server.kill()
    server.communicate(timeout=PATIENCE)
    until(lambda: gone(pid), "the worker to end")


def test_an_unusual_place_to_start_from(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker finds `app` whatever the server's working folder, and a relative store stays the server's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    registry = JobRegistry({"root": "relative", "max_bytes": 10**9}, env=ENV)
    try:
        assert ended(store_one(registry, "a")) == "done"
        assert ResultStore(tmp_path / "relative").get(key_of("a")) is not None
    finally:
        registry.shutdown()


def test_the_server_side_imports_no_torch() -> None:
    code = "import sys, app.jobs; print([m for m in ('streamlit', 'torch', 'app.worker') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, check=True).stdout == "[]\n"


def test_one_try_only_says_how_the_process_ended(make: Make) -> None:
    registry = make(tries=1, lost="and what it had saved is kept")
    job = wait(registry, "a")
    running(job)
    os.kill(worker_pid(registry), signal.SIGKILL)
    assert ended(job) == "failed"
    assert job.snapshot().sentence == ("The compute process ended unexpectedly (signal SIGKILL), and what it had saved is kept.")
    assert not job.snapshot().notes and ended(store_one(registry, "b")) == "done"


def test_a_job_can_be_stopped_by_whoever_may_not_watch_it(make: Make) -> None:
    registry = make()
    job, waiting = wait(registry, "a", "one"), wait(registry, "b", "two")
    running(job)
    assert registry.stop(key_of("b").digest) and waiting.snapshot().state == "cancelled"
    assert registry.stop(key_of("a").digest) and ended(job) == "cancelled"
    assert not registry.stop(key_of("a").digest) and not registry.stop(key_of("never").digest)


def test_an_idle_process_gives_its_memory_back(make: Make) -> None:
    registry = make(idle_s=0.2)
    assert ended(store_one(registry, "a")) == "done"
    until(lambda: registry._worker is None, "the idle process to end")
    assert ended(store_one(registry, "b")) == "done"
