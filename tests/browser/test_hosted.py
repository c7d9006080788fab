"""Visitors who leave, reload or share a line, and processes that die under them: a real hosted server and real sockets."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from app.presence import GRACE_SECONDS, LOOK_SECONDS
from components.store import ResultStore
from tests.browser.conftest import Server, Watched

GONE = GRACE_SECONDS + 2 * LOOK_SECONDS + 10


class Hosted(Server):
    """A hosted server whose maps linger until they are cancelled."""

    @property
    def linger(self) -> Path:
        return self.folder / "linger"

    def began(self) -> dict[str, list[int]]:
        """Digest of each map that was begun -> the processes that did."""
        return {file.stem: [int(line) for line in file.read_text().split()] for file in self.linger.glob("*.began")}

    def cancelled(self) -> set[str]:
        return {file.stem for file in self.linger.glob("*.cancelled")}


@pytest.fixture
def hosted(tmp_path, monkeypatch):
    (tmp_path / "linger").mkdir()
    for name, value in (("HOSTED", "1"), ("WORKER_TASKS", "tests.app.worker_tasks:LINGERING"),
                        ("TEST_LINGER", str(tmp_path / "linger"))):
        monkeypatch.setenv(f"POOLSCOPE_{name}", value)
    running = Hosted(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def sit(browser, hosted):
    """Opens visitors of the hosted server, each with a browser profile of its own."""
    pages: list[Watched] = []

    def make(path: str) -> Watched:
        pages.append(Watched(browser, hosted))
        pages[-1].open(path)
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()


def until(condition, seconds: float = 60.0, what: str = "it"):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)
    return found


def compute(page: Watched) -> None:
    page.page.get_by_role("button", name="Compute 499,500 pairs").click()


def test_a_visitor_who_leaves_frees_the_place_and_one_who_reloads_keeps_it(hosted, sit):
    first, second = sit("/map?layer=1"), sit("/map?layer=2")
    compute(first)
    begun = until(hosted.began, what="the first")
    compute(second)
    second.page.get_by_text("Waiting: number 1 in line, about").wait_for()
    first.page.reload()
    first.settle()
    first.page.get_by_text("lingering").first.wait_for()
    time.sleep(GONE)
    assert hosted.cancelled() == set(), "a reload is no leaving"
    second.page.get_by_text("Waiting: number 1 in line").wait_for()
    first.context.close()  # the socket closes in the middle of the job
    until(lambda: hosted.cancelled() == set(begun), GONE + 10, "the end of what nobody waits for")
    until(lambda: len(hosted.began()) == 2, what="the second's turn")
    second.page.get_by_role("button", name="Cancel").click()
    second.page.get_by_text("Cancelled; nothing was stored.").wait_for()


def test_a_worker_killed_twice_is_a_sentence_and_a_server_killed_starts_again(hosted, sit):
    page = sit("/map?layer=1")
    compute(page)
    (begun,) = until(hosted.began).values()
    os.kill(begun[0], signal.SIGKILL)
    page.page.get_by_text("was restarted").first.wait_for()
    begun = until(lambda: len(next(iter(hosted.began().values()))) == 2 and next(iter(hosted.began().values())), what="the second try")
    os.kill(begun[1], signal.SIGKILL)
    said = page.page.get_by_text("ended unexpectedly 2 times")
    said.wait_for()
    assert "Traceback" not in page.page.content() and str(hosted.folder) not in page.page.content()
    page.page.get_by_role("button", name="Try again").click()
    begun = until(lambda: len(next(iter(hosted.began().values()))) == 3 and next(iter(hosted.began().values())), what="a new try")

    os.kill(hosted.process.pid, signal.SIGKILL)
    hosted.process.wait(20)
    until(lambda: not Path(f"/proc/{begun[2]}").exists(), 20, "the worker's end after its server's")
    assert ResultStore(hosted.folder / "store").verify() == []
    hosted.start()
    # The browser's own client finds the server again; the page asks anew, since nothing was stored.
    page.page.get_by_role("button", name="Compute 499,500 pairs").wait_for(timeout=60_000)
    compute(page)
    until(lambda: len(next(iter(hosted.began().values()))) == 4, what="a computation on the new server")


def test_copy_link_opens_the_same_view_for_somebody_else(hosted, browser, sit):
    one = Watched(browser, hosted, permissions=["clipboard-read", "clipboard-write"])
    one.open("/map?model=nano-mic&plane=Points&box=0.2,0.4,0.3,0.9&tokens=10&tokens=40")
    one.page.get_by_role("button", name="Copy link").click()
    one.page.get_by_text("Copied.").wait_for()
    address = one.page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(hosted.url + "/map?")
    other = sit(address.removeprefix(hosted.url))
    for text in ("[data-testid=stMetricValue]", "[data-testid=stHeading] h3"):
        assert other.page.locator(text).all_inner_texts() == one.page.locator(text).all_inner_texts() != []
    assert one.problems == other.problems == []
    one.context.close()


def test_the_connection_page_measures_and_the_plain_one_opens_a_socket(hosted, sit):
    page = sit("/connection")
    page.page.get_by_text("What this shows.").wait_for(timeout=30_000)
    assert page.page.get_by_text("Not fit").count() == 0 and page.problems == []
    page.page.goto(hosted.url + "/check")
    page.page.get_by_text("The socket is open; the first answer took").wait_for()
    assert page.problems == []
