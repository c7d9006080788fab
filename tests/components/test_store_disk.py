"""The store on full disks, in wrong places, and between processes that die or write at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from components.errors import StoreError
from components.store import ResultStore
from tests.components.store_samples import make_key, put, visible

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "store")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 1 MB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)],
                                           capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_full_disk(small_disk: Path) -> None:
    store = ResultStore(small_disk / "store")
    put(store, make_key("small"), 1000)
    put(store, make_key("replaced"), 1000)
    before = visible(store.root)
    for name in ("large", "replaced"):
        with pytest.raises(StoreError, match="room for the result; found no space left .*free some space"):
            put(store, make_key(name), 200_000)
        assert visible(store.root) == before
    assert store.get(make_key("replaced")) is not None and store.verify() == []
    put(store, make_key("after"), 1000)
    assert store.get(make_key("after")) is not None


def test_file_size_limit(tmp_path: Path) -> None:
    code = f"""
import resource, numpy as np
from pathlib import Path
from components.errors import StoreError
from components.store import ResultStore
from tests.components.store_samples import make_key, put, visible
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
store = ResultStore(Path({str(tmp_path)!r}) / "store")
put(store, make_key("small"), 100)
try:
    put(store, make_key("large"), 100_000)
except StoreError as error:
    assert "no space left" in str(error), error
    assert len(visible(store.root)) == 2, visible(store.root)
    print("as wanted")
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, check=True).stdout == "as wanted\n"


@pytest.mark.parametrize("step", ["npz", "json"])
def test_a_failing_rename_leaves_the_old_result(store: ResultStore, monkeypatch: pytest.MonkeyPatch,
                                                step: str) -> None:
    put(store, make_key(), 5)
    before, real = visible(store.root), os.replace

    def refuse(source: Path, target: Path) -> None:
        if str(target).endswith(step):
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    for size in (5, 6):  # the same arrays again, and others
        with pytest.raises(StoreError, match="Input/output error"):
            put(store, make_key(), size)
        assert visible(store.root) == before
    got = store.get(make_key())
    assert got is not None and len(got.arrays["x"]) == 5


@pytest.mark.parametrize("below", [False, True])
def test_root_is_a_file(tmp_path: Path, below: bool) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    store = ResultStore(blocker / "store" if below else blocker)
    said = f"the result store {store.root} must be a folder"
    with pytest.raises(StoreError, match=said):
        put(store, make_key())
    with pytest.raises(StoreError, match=said):
        store.get(make_key())
    assert blocker.read_text() == "mine"


WRITER = """
import sys, numpy as np
from pathlib import Path
from components.store import ResultStore
from tests.components.store_samples import make_key, put, visible
store = ResultStore(Path(sys.argv[1]))
rng = np.random.default_rng(int(sys.argv[2]))
print("ready", flush=True)
for i in range(int(sys.argv[3])):
    store.put(make_key("shared"), {"x": rng.standard_normal(int(sys.argv[4]))}, {"writer": sys.argv[2]}, {})
"""


def start_writer(root: Path, seed: int, rounds: int, size: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(seed), str(rounds), str(size)], cwd=ROOT,
                               stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


def test_kill_9_while_writing(tmp_path: Path) -> None:
    """Whenever a writer dies, what is there is whole; what it left is cleared away; and the next put works."""
    store = ResultStore(tmp_path / "store")
    rng = np.random.default_rng(0)
    left = 0
    for attempt in range(12):
        process = start_writer(store.root, attempt, 10**6, 200_000)
        time.sleep(float(rng.uniform(0.02, 0.1)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # never torn: a result that is there can be read
            store.get(make_key("shared"))
        problems = store.verify()
        left += len(problems)
        assert all(problem.removed for problem in problems), problems
        assert store.verify() == []
        put(store, make_key("shared"))
        assert store.get(make_key("shared")) is not None
    assert left > 0, "no writer was hit in the middle of a write; the test tested nothing"
    assert len(visible(store.root)) == 2


def test_two_processes_one_key_and_a_reader(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "store")
    writers = [start_writer(store.root, seed, 60, 20_000) for seed in (1, 2)]
    reads = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # any torn read warns
        while any(writer.poll() is None for writer in writers):
            reads += store.get(make_key("shared")) is not None
            assert store.verify() == [], "a file that a living process writes is no problem"
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    got = store.get(make_key("shared"))
    assert reads > 0 and got is not None and got.meta["writer"] in ("1", "2")
    assert len(visible(store.root)) == 2


def test_eviction_and_reading_at_once(tmp_path: Path) -> None:
    """Two processes with a cap that holds one result: readers see a result or none, never half of one."""
    store = ResultStore(tmp_path / "store", max_bytes=1000)
    writer = start_writer(store.root, 1, 60, 2_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while writer.poll() is None:
            put(store, make_key("mine"), 2_000)
            store.get(make_key("shared"))
    writer.communicate()
    assert writer.returncode == 0 and store.verify() == []
