"""How long a changed word takes on the Pair page, from the click to the new numbers: ``python -m tests.benchmarks.pair_edit``.

A real server, its worker with the embedded model loaded, a real browser: a word is changed in one of two sentences, the button pressed,
and the clock stopped when the numbers of the changed text stand on the page. Every change is a text that was never computed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.benchmarks.warm_page import ROOT, serve
from tests.browser.conftest import FLAGS

NUMBER = ".st-key-edited"
"""All four numbers with their changes: one alone may stay the same to three digits."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=12)
    edits = parser.parse_args().edits
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        run = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app" / "server.py")]
        server, url = serve(run, ROOT, str(Path(name) / "store"))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{url}/pair?a=316&b=687")
            page.get_by_role("button", name="Look at their tokens").click()
            page.get_by_text("Tokens tinted by").wait_for(timeout=120_000)
            page.get_by_text("Change a word", exact=True).click()
            box = page.get_by_label("Text A, changed")
            text = box.input_value()
            times = []
            for k in range(edits + 1):
                shown = page.locator(NUMBER).first.inner_text() if page.locator(NUMBER).count() else ""
                box.fill(text.replace("1845", f"{1700 + 17 * k}") + " indeed" * k)
                page.wait_for_timeout(300)
                start = time.perf_counter()
                page.get_by_role("button", name="Compare with the original").click()
                page.wait_for_function("([query, before]) => { const found = document.querySelector(query);"
                                       " return found && found.innerText !== before; }", arg=[NUMBER, shown], timeout=60_000)
                times.append(time.perf_counter() - start)
                page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            print(f"from the click to the new numbers: median {statistics.median(times[1:]):.2f} s, least {min(times[1:]):.2f} s, most "
                  f"{max(times[1:]):.2f} s over {edits} edits; the first, with the panel's first drawing, {times[0]:.2f} s "
                  f"(load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")
        finally:
            browser.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
