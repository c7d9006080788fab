"""The Training page in a real browser: a tiny run is started, grows, loses its process, goes on, is stopped and removed."""

from __future__ import annotations

import re

import psutil
import pytest

from components.training_folder import RunFolder
from components.training_runs import RUNS

LINK = "/training?run=tiny&beside=nothing&seed=1"
CURVES = ".st-key-curves .js-plotly-plot .main-svg"


def trainer(server) -> psutil.Process:
    """The worker that trains: the one of the server's children that steps back behind the others."""
    return next(child for child in psutil.Process(server.process.pid).children(recursive=True)
                if "app.worker" in child.cmdline() and child.nice() == 5)


def test_a_run_grows_is_killed_goes_on_and_stops(visit, server):
    page, folder = visit(), RunFolder(server.folder / "store" / RUNS / "tiny-seed1")
    page.open(LINK)
    page.page.get_by_role("button", name="Train tiny from seed 1").click()
    page.page.wait_for_selector(CURVES, timeout=120_000)
    page.page.get_by_text("tiny: step").wait_for(timeout=60_000)
    page.page.get_by_text(re.compile(r"tiny: step \d+ of 4,000.*; about .* left")).wait_for(timeout=60_000)
    assert page.page.locator("[data-testid=stMetricValue]").count() == 4
    while folder.last_step() < 5:
        page.page.wait_for_timeout(200)
    other = visit()
    assert other.open("/") < 20, "another page is answered meanwhile"
    trainer(server).kill()
    page.page.get_by_text("ended unexpectedly (signal SIGKILL), and what it had saved is kept").wait_for(timeout=30_000)
    resume = page.page.get_by_role("button", name="Resume tiny at step")
    resume.click()
    page.page.get_by_role("button", name="Stop").wait_for(timeout=30_000)
    reached = len(folder.log())
    for _ in range(600):
        if len(folder.log()) > reached:
            break
        page.page.wait_for_timeout(200)
    assert len(folder.log()) > reached, "it went on and measured again"
    page.page.get_by_role("button", name="Stop").click()
    page.page.get_by_text("tiny was stopped.").wait_for(timeout=60_000)
    kept = folder.last_step()
    assert kept >= 5 and kept == folder.steps()[-1]["step"], "stop keeps the step it stopped at"
    page.page.get_by_role("button", name="Remove tiny").click()
    page.page.get_by_role("button", name="Train tiny from seed 1").wait_for()
    assert not folder.path.exists()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["dark", "390 px"])
def test_the_recorded_runs_and_the_slider(visit, options):
    page = visit(**options)
    page.open("/training")
    page.page.wait_for_selector(CURVES)
    page.settle()
    assert page.page.locator(".js-plotly-plot").count() == 6
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    before = page.page.locator("[data-testid=stMetricValue]").all_inner_texts()
    slider = page.page.get_by_role("slider", name="Step")
    slider.focus()
    for _ in range(2):
        page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_url("**step=**")
    page.page.wait_for_function("(before) => { const now = [...document.querySelectorAll('[data-testid=stMetricValue]')]"
                                ".map(one => one.innerText); return now.length === 4 && now.join() !== before; }",
                                arg=",".join(before), timeout=30_000)
