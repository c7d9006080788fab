"""The container's start command under its user and a read-only root: pages, a computation, uploads' protection, its end."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path

import pytest

from tests.browser.conftest import Watched, free_port
from tests.browser.container import Container, can_contain
from tests.dockerfile import ROOT


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    running = Container(free_port(), tmp_path_factory.mktemp("container"))
    yield running
    running.stop()


def tree() -> set[tuple[str, int]]:
    """The checkout's files with their times, but for what others write there meanwhile; reading a stored result marks its use."""
    return {(str(p), 0 if "gallery" in p.parts else p.stat().st_mtime_ns)
            for folder in ("app", "components", "data", ".streamlit") for p in (ROOT / folder).rglob("*")
            if p.is_file() and "__pycache__" not in p.parts}


def test_it_serves_and_computes_without_writing_outside_tmp(container, browser):
    before = tree()
    container.until("/ready")
    if container.contained:
        uid, capabilities = container.user()
        assert uid == 1000 and capabilities in (0, 1 << 2), "user 1000, at most reading more than its own"
    page = Watched(browser, container)
    page.open("/map")
    page.page.wait_for_selector(".js-plotly-plot .main-svg")
    assert page.page.get_by_text("This is a demo server").count() == 1
    page.open("/pair?a=316&b=687")
    page.page.get_by_role("button", name="Look at their tokens").click()
    page.page.wait_for_selector(".st-key-token_plane .js-plotly-plot", timeout=120_000)
    assert page.problems == []
    page.context.close()
    assert tree() == before and "Read-only" not in container.log.read_text() and "Traceback" not in container.log.read_text()


def test_readiness_names_no_path(container):
    with urllib.request.urlopen(container.url + "/ready") as answer:
        assert json.load(answer)["ready"] is True


def test_it_ends_when_the_host_says_so(container):
    assert container.process.poll() is None and container.contained is can_contain()
    worker = container.children()
    assert container.stop() < 15 and container.process.returncode is not None
    end = time.monotonic() + 15
    while left := [pid for pid in worker if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.1)
