"""The Pooling page in a real browser: measured by a click, a wrong pooling chosen, a document looked at, a link, a phone."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from tests.browser.conftest import Watched

ROWS = ".st-key-poolings .js-plotly-plot .main-svg"
LINK = "/pooling?set=small&model=nano-cls"


def metrics(page) -> list[str]:
    return page.page.locator("[data-testid=stMetricValue]").all_inner_texts()


@pytest.fixture(scope="module")
def measured(browser, server):
    """The small set's poolings under the model trained with CLS, computed by clicking the buttons in a page."""
    page = Watched(browser, server)
    page.open(LINK)
    for label in ("Measure the poolings", "Encode 60 documents", "Compare truncation"):
        if label.startswith("Encode"):
            page.page.get_by_role("radio", name="Faults").or_(page.page.get_by_role("button", name="Faults")).first.click()
            page.page.wait_for_url("**part=Faults**")
        page.compute(label)
    page.page.wait_for_selector(ROWS, timeout=60_000)
    assert not page.problems
    page.context.close()
    return LINK


def test_the_wrong_pooling_rings_the_alarm_and_its_link_opens_the_same(visit, measured):
    page = visit()
    page.open(measured)
    page.page.wait_for_selector(ROWS)
    assert page.page.get_by_text("is not what this model declares").count() == 0
    page.page.get_by_role("combobox", name=re.compile("Pooling in use")).click()
    page.page.get_by_role("option", name="mean", exact=True).click()
    page.page.wait_for_url("**pooling=mean**")
    page.page.get_by_text("mean is not what this model declares").wait_for()
    page.settle()
    fresh = visit()
    fresh.open(measured + "&pooling=mean")
    fresh.page.wait_for_selector(ROWS)
    assert metrics(fresh) == metrics(page) and int(metrics(page)[3]) >= 0


def test_a_document_chosen_is_looked_at_and_marked_in_every_plane(visit, measured):
    page = visit()
    page.open(measured + "&part=Faults")
    page.page.wait_for_selector(ROWS)
    field = page.page.get_by_role("combobox", name="Document", exact=True)
    field.click()
    field.fill("appliances-007")
    field.press("Enter")
    page.page.wait_for_url("**doc=appliances-007**")
    page.settle()
    assert page.page.get_by_text("document appliances-007").count() >= 1
    page.open(measured + "&part=Geometry&doc=appliances-007")
    page.page.wait_for_selector(".js-plotly-plot >> nth=2")
    marked = page.page.evaluate("""() => [...document.querySelectorAll('.js-plotly-plot')].map(
        plot => plot.data.filter(trace => trace.name === 'marked').length).filter(n => n)""")
    assert marked == [7]


@pytest.mark.parametrize("part", ["Faults", "Geometry"])
@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["dark", "390 px"])
def test_other_grounds_and_widths_show_all_of_it(visit, measured, options, part):
    page = visit(**options)
    page.open(f"{measured}&part={part}")
    page.page.wait_for_selector(ROWS)
    page.settle()
    page.page.wait_for_selector(".js-plotly-plot >> nth=2")
    assert page.page.locator(".js-plotly-plot").count() == 3
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert "cls" in page.page.get_by_role("figure").first.get_attribute("aria-label")


def test_exports_open_again(visit, measured):
    page = visit()
    page.open(measured + "&pooling=max")
    page.page.wait_for_selector(ROWS)
    page.page.get_by_text("Export", exact=True).click()
    page.page.get_by_role("button", name="All metrics as CSV").wait_for()
    page.settle()
    table = pd.read_csv(page.save("All metrics as CSV"))
    assert {"pooling", "metric", "value", "p (Holm)"} <= set(table.columns) and set(table["about: model"]) == {"nano-cls"}
