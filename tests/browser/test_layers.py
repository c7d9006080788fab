"""The Layers page in a real browser: computed once, a point clicked, on to Pair and back, opened from a link, on a phone."""

from __future__ import annotations

import json

import plotly.io
import pytest

from components.corpora import load_corpus
from tests.browser.conftest import Watched

CURVES = ".st-key-curves .js-plotly-plot .main-svg"
LINK = "/layers?corpus=sixty.txt&with=nano-backbone"


def metrics(page) -> list[str]:
    return page.page.locator("[data-testid=stMetricValue]").all_inner_texts()


@pytest.fixture(scope="module")
def measured(browser, server, computed):
    """The small corpus's layers under both models, computed by clicking the buttons in a page; Pair needs the map too."""
    page = Watched(browser, server)
    page.open(LINK)
    for label in ("Measure 8 layers", "Measure 6 layers"):
        page.compute(label)
    page.page.wait_for_selector(CURVES, timeout=60_000)
    assert not page.problems
    page.context.close()
    return LINK


def test_a_point_clicked_sets_the_layer_of_this_page_and_the_next(visit, measured):
    page = visit()
    page.open(measured)
    page.page.wait_for_selector(CURVES)
    before = metrics(page)
    # The fourth panel is normalised spread; its third point lies at layer 2 of the page's own model.
    points = page.page.locator(".st-key-curves .subplot.x4y4 .trace").filter(has=page.page.locator(".points path"))
    at = points.nth(0).locator(".points path").nth(2).bounding_box()
    page.page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.page.wait_for_url("**layer=2**")
    page.settle()
    assert metrics(page)[:3] != before[:3]
    fresh = visit()
    fresh.open(measured + "&layer=2")
    fresh.page.wait_for_selector(CURVES)
    assert metrics(fresh) == metrics(page)
    page.page.get_by_role("link", name="Map of pairs").click()
    page.page.get_by_text("How much of what the covariances say").wait_for()
    page.settle()
    assert page.page.get_by_role("slider", name="Layer").get_attribute("aria-valuetext") == "2"


def test_an_extreme_text_opens_in_pair_and_back_returns(server, visit, measured):
    page = visit()
    page.open(measured)
    page.page.wait_for_selector(CURVES)
    numbers, texts = metrics(page), load_corpus(server.folder / "sixty.txt").texts
    table = page.page.locator("[data-testid=stDataFrame]").first
    table.scroll_into_view_if_needed()
    page.page.wait_for_timeout(500)
    at = table.bounding_box()
    page.page.mouse.click(at["x"] + 18, at["y"] + 54)
    link = page.page.get_by_role("link", name="Open this text in Pair")
    link.wait_for()
    page.settle()
    chosen = next(text for text in page.page.locator("[data-testid=stMain] [data-testid=stText]").all_inner_texts() if text in texts)
    link.click()
    page.page.wait_for_url("**/pair?**")
    page.page.get_by_text("How far apart do these two texts lie?").wait_for()
    page.settle()
    assert chosen in page.page.locator("[data-testid=stMain] [data-testid=stText]").all_inner_texts()
    page.page.go_back()
    page.page.wait_for_url("**/layers?**")
    page.page.wait_for_selector(CURVES)
    page.settle()
    assert metrics(page) == numbers


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["dark", "390 px"])
def test_other_grounds_and_widths_show_all_of_it(visit, measured, options):
    page = visit(**options)
    page.open(measured)
    page.page.wait_for_selector(CURVES)
    page.settle()
    assert page.page.locator(".js-plotly-plot").count() == 3
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    alt = page.page.get_by_role("figure").first.get_attribute("aria-label")
    assert "all-MiniLM-L6-v2 from" in alt and "nano-backbone from" in alt


def test_exports_open_again(server, visit, measured):
    page = visit()
    page.open(measured)
    page.page.wait_for_selector(CURVES)
    page.page.get_by_text("Export", exact=True).click()
    page.page.get_by_role("button", name="Curves as JSON").wait_for()
    page.settle()
    about = plotly.io.read_json(page.save("Curves as JSON")).layout.meta
    assert about["models"] == "all-MiniLM-L6-v2, nano-backbone" and about["corpus"] == "sixty.txt" and json.loads(about["versions"])
    head = page.save("Per text as CSV").read_text("utf-8").splitlines()
    assert head[0].startswith("model,text,layer,head,quantity,value,about: models") and len(head) > 60 * 80
