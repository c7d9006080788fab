"""A real server, a real browser: Debian's chromium through Playwright. A missing browser fails, it does not skip."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from components.corpora import DATA_DIR, load_corpus
from tests.app.retrieval_files import small_set

ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Server:
    """A running ``poolscope serve`` with a store and a small corpus of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        texts = [*load_corpus("encyclopedia").texts[:58], "<script>window.hacked = 1</script> is <b>text</b>.",
                 "![x](https://example.com/x.png) [link](javascript:alert(1)) $d_\\mu$ :material/delete:"]
        file = folder / "sixty.txt"
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        small_set(folder / "small")
        recipe = folder / "tiny.yaml"
        recipe.write_text(f"model: nano-backbone\npairs: {DATA_DIR / 'pairs.csv'}\ntext_a: text_a\ntext_b: text_b\nsteps: 4000\n"
                          "batch: 4\nmax_length: 32\nprobe: {every: 5, texts: encyclopedia, n_texts: 8, held_out: 8}\n")
        self.environment = os.environ | {"POOLSCOPE_STORE": str(folder / "store"), "POOLSCOPE_TEXTS": str(file),
                                         "POOLSCOPE_RETRIEVAL_SETS": str(folder / "small"), "POOLSCOPE_RECIPES": str(recipe),
                                         "HF_HUB_OFFLINE": "1"}
        self.log = (folder / "server.log").open("wb")
        self.start()

    def start(self) -> None:
        """Starts it (again) and waits until it answers."""
        self.process = subprocess.Popen([sys.executable, "-m", "app.cli.run", "serve", "--port", str(self.port)],
                                        cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log)
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1):
                    return
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium")
    assert path, "the browser tests need chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


class Watched:
    """A page and everything wrong that it reports: console errors, page errors, requests to other machines."""

    def __init__(self, browser, server: Server, **options) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        self.page = self.context.new_page()
        self.server, self.problems = server, []
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on("console", self._console)
        self.page.on("request", self._request)

    def _console(self, message) -> None:
        # Streamlit's own client looks for its server below a page's address first ("/map/_stcore/health") and takes
        # the 404 as its answer; nothing a page does can prevent that.
        probe = "/_stcore/" in (message.location or {}).get("url", "")
        if message.type == "error" and not probe:
            self.problems.append(f"console: {message.text} {message.location}")

    def _request(self, request) -> None:
        if not request.url.startswith((self.server.url, self.server.url.replace("http", "ws"), "data:", "blob:")):
            self.problems.append(f"request: {request.url}")

    def open(self, path: str) -> float:
        start = time.perf_counter()
        self.page.goto(self.server.url + path)
        self.settle()
        return time.perf_counter() - start

    def compute(self, label: str) -> None:
        """Presses a button that starts a computation, and waits for its end."""
        button = self.page.get_by_role("button", name=label)
        button.wait_for(timeout=60_000)
        self.settle()
        button.click()
        button.wait_for(state="detached", timeout=60_000)
        self.page.get_by_role("button", name="Cancel").wait_for(state="detached", timeout=240_000)
        self.settle()

    def save(self, label: str) -> Path:
        """Presses a button that saves a file; gives the file, under its own ending."""
        with self.page.expect_download(timeout=60_000) as saving:
            self.page.get_by_role("button", name=label, exact=True).click()
        download = saving.value
        path = Path(download.path()).with_suffix("." + download.suggested_filename.rsplit(".", 1)[1])
        download.save_as(path)
        return path

    def settle(self) -> None:
        ready = "[data-testid=stApp][data-test-script-state=notRunning]"
        self.page.wait_for_selector(ready, timeout=60_000)
        self.page.wait_for_timeout(300)
        self.page.wait_for_selector(ready, timeout=60_000)


@pytest.fixture
def visit(browser, server):
    """Makes watched pages and checks at the end that none reported a problem."""
    pages: list[Watched] = []

    def make(**options) -> Watched:
        pages.append(Watched(browser, server, **options))
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()
    assert [problem for page in pages for problem in page.problems] == []


@pytest.fixture(scope="session")
def computed(browser, server):
    """The small corpus's map, computed once by clicking the button in a page."""
    page = Watched(browser, server)
    page.open("/map?corpus=sixty.txt")
    page.page.get_by_role("button", name="Compute 1,770 pairs").click()
    page.page.wait_for_selector(".st-key-wide .js-plotly-plot", timeout=120_000)
    page.settle()
    page.context.close()
    return "/map?corpus=sixty.txt"
