"""How long a warm page takes, beside a page of one word and one of an empty figure: ``python -m tests.benchmarks.warm_page``.

The browser is driven through its debugging protocol with nothing switched on but the page itself. Test drivers watch the
network too, for which the browser records where in a script each request was made: on plotly's 5 MB that alone doubles
the time. Times are taken inside the page, from the start of navigation: the title stands; the figure is in the document
and the script has ended; the frame after it has been painted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

ROOT = Path(__file__).parents[2]
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-port=0")
WATCH = """(() => {
  const seen = window.__seen = {};
  const look = () => {
    if (!seen.title && document.querySelector("h1")) seen.title = performance.now();
    const done = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]") && seen.title;
    const drawn = document.querySelector("SELECTOR");
    if (done && drawn && !seen.ready) {
      seen.ready = performance.now();
      requestAnimationFrame(() => requestAnimationFrame(() => { seen.painted = performance.now(); }));
    }
  };
  new MutationObserver(look).observe(document, {subtree: true, childList: true, attributes: true});
})();"""
PAGES = {"one word": ("/", "h1"), "empty figure": ("/", ".js-plotly-plot .main-svg"),
         "map": ("/map", ".st-key-wide .js-plotly-plot .main-svg"),
         "layers": ("/layers", ".st-key-curves .js-plotly-plot .main-svg"),
         "models": ("/models", ".st-key-scatter .js-plotly-plot .main-svg"),
         "pair": ("/pair", ".st-key-token_plane .js-plotly-plot .main-svg")}
TOKENS = """
from app.settings import settings
from components.corpora import load_corpus
from components.models import EMBEDDED, resolve_model
from components.token_pipeline import TokenOptions, compute_tokens, one_pair
texts = load_corpus("encyclopedia").texts
compute_tokens(one_pair(texts[0], texts[1]), resolve_model(EMBEDDED), TokenOptions(), store=settings().open_store())
"""


class Browser:
    """A headless chromium, spoken to in its own protocol."""

    def __init__(self, folder: str) -> None:
        path = shutil.which("chromium")
        assert path, "the benchmark needs chromium: apt-get install chromium"
        self.process = subprocess.Popen([path, *FLAGS, f"--user-data-dir={folder}", "about:blank"], stderr=subprocess.PIPE,
                                        text=True)
        assert self.process.stderr
        address = next(found[0] for line in self.process.stderr if (found := re.search(r"ws://\S+", line)))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self._manager = connect(address, max_size=None)
        self.socket, self.number = self._manager.__enter__(), itertools.count(1)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self.number)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}
                                    | ({"sessionId": session} if session else {})))
        while True:
            answer = json.loads(self.socket.recv(timeout=60))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def visit(self, url: str, selector: str, fresh: bool) -> dict[str, float]:
        """Milliseconds to title, ready and painted; ``fresh``: a browser that has never been here."""
        context = {"browserContextId": self.call("Target.createBrowserContext")["browserContextId"]} if fresh else {}
        target = self.call("Target.createTarget", url="about:blank", newWindow=True, width=1440, height=900, **context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        self.call("Page.addScriptToEvaluateOnNewDocument", session, source=WATCH.replace("SELECTOR", selector))
        self.call("Page.navigate", session, url=url)
        for _ in range(300):
            time.sleep(0.1)
            value = self.call("Runtime.evaluate", session, expression="JSON.stringify(window.__seen || {})")["result"]
            found = json.loads(value.get("value", "{}"))
            if "painted" in found:
                break
        else:
            raise AssertionError(f"{url} was not ready in 30 s")
        self.call("Target.closeTarget", targetId=target)
        if context:
            self.call("Target.disposeBrowserContext", **context)
        return dict(found)

    def close(self) -> None:
        self._manager.__exit__(None, None, None)
        self.process.kill()


def serve(command: list[str], folder: Path, store: str) -> tuple[subprocess.Popen[bytes], str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([*command, "--server.port", str(port), "--server.headless", "true", "--server.address", "127.0.0.1"],
                               cwd=folder, env=os.environ | {"POOLSCOPE_STORE": store}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
            return process, url
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "word.py").write_text('import streamlit as st\nst.title("one")\n')
        run = [sys.executable, "-m", "streamlit", "run"]
        (folder / "figure.py").write_text("import streamlit as st\nimport plotly.graph_objects as go\nst.title('one')\n"
                                          "st.plotly_chart(go.Figure())\n")
        word, word_url = serve([*run, "word.py"], folder, name)
        figure, figure_url = serve([*run, "figure.py"], folder, name)
        # Maps and layers come along; two texts' tokens do not.
        subprocess.run([sys.executable, "-c", TOKENS], cwd=ROOT, env=os.environ | {"POOLSCOPE_STORE": name}, check=True)
        page, page_url = serve([*run, str(ROOT / "app" / "server.py")], ROOT, name)
        browser = Browser(str(folder / "profile"))
        urls = dict.fromkeys(PAGES, page_url) | {"one word": word_url, "empty figure": figure_url}
        try:
            for fresh in (True, False):
                times: dict[str, list[dict[str, float]]] = {name: [] for name in PAGES}
                for turn in range(rounds + 2):
                    for which, (path, selector) in PAGES.items():
                        found = browser.visit(urls[which] + path, selector, fresh)
                        if turn >= 2:  # the server's first answer loads its modules
                            times[which].append(found)
                print("a browser that was never here" if fresh else "a browser that was here before",
                      f"(load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")
                for which, rows in times.items():
                    parts = [f"{part} {statistics.median(row[part] for row in rows):5.0f} ms (least "
                             f"{min(row[part] for row in rows):.0f})" for part in ("title", "ready", "painted")]
                    print(f"  {which:12s} " + ", ".join(parts))
                ready = {which: statistics.median(row["ready"] for row in rows) for which, rows in times.items()}
                print(f"  map / one word: {ready['map'] / ready['one word']:.2f}, map / empty figure: "
                      f"{ready['map'] / ready['empty figure']:.2f}")
        finally:
            browser.close()
            for process in (word, figure, page):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
