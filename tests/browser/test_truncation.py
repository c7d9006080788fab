"""The Truncation page in a real browser: opened from a link, on a phone, and saved."""

from __future__ import annotations

import plotly.io
import pytest
import yaml

CURVES = ".st-key-curves .js-plotly-plot .main-svg"
LINK = "/truncation?model=nano-mrl&cut_with=nano-contrastive"


def metrics(page) -> list[str]:
    return page.page.locator("[data-testid=stMetricValue]").all_inner_texts()


@pytest.fixture
def cut():
    """Two small models' cuts that come along: computing them through a page takes a minute, and what computes is tested elsewhere."""
    return LINK


def test_a_link_opens_the_same_view_and_controls_go_into_it(visit, cut):
    page = visit()
    page.open(cut)
    page.page.wait_for_selector(CURVES)
    page.page.get_by_text("binary", exact=True).first.click()
    page.page.wait_for_url("**kept_as=binary**")
    page.settle()
    fresh = visit()
    fresh.open(page.page.url.removeprefix(page.server.url))
    fresh.page.wait_for_selector(CURVES)
    for one in (page, fresh):
        one.page.locator("[data-testid=stMetricValue]").nth(3).wait_for()
        one.settle()
    assert metrics(fresh) == metrics(page) and len(metrics(fresh)) == 4
    assert fresh.page.get_by_text("Numbers kept as").is_visible()


def test_a_point_clicked_is_the_cut_looked_at(visit, cut):
    page = visit()
    page.open(cut)
    page.page.wait_for_selector(CURVES)
    page.page.get_by_text("nano-mrl at 16 dims").wait_for()
    lines = page.page.locator(".st-key-curves .scatterlayer .trace").filter(has=page.page.locator(".points path"))
    at = lines.nth(2).locator(".points path").nth(2).bounding_box()  # after the two baselines: the page's own model, 32 dims
    page.page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.page.wait_for_url("**cut=32**")
    page.page.get_by_text("nano-mrl at 32 dims").wait_for()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["dark", "390 px"])
def test_other_grounds_and_widths_show_all_of_it(visit, cut, options):
    page = visit(**options)
    page.open(cut)
    page.page.wait_for_selector(CURVES)
    page.settle()
    assert page.page.locator(".js-plotly-plot").count() == 3
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    alt = page.page.get_by_role("figure").first.get_attribute("aria-label")
    assert "nano-mrl from" in alt and "nano-contrastive from" in alt


def test_what_is_saved_opens_again(visit, cut):
    page = visit()
    page.open(cut + "&points=10")
    page.page.wait_for_selector(CURVES)
    written = yaml.safe_load(page.save("Save as embedding.yaml").read_text("utf-8"))
    assert written["embedding"]["model"] == "nano-mrl" and written["embedding"]["truncate_dim"] in (8, 16, 32, 64, 128)
    page.page.get_by_text("Export", exact=True).click()
    page.page.get_by_role("button", name="Curves as JSON").wait_for()
    page.settle()
    about = plotly.io.read_json(page.save("Curves as JSON")).layout.meta
    assert about["models"] == "nano-mrl, nano-contrastive" and about["set"] == "passages"
    head = page.save("Every number as CSV").read_text("utf-8").splitlines()
    assert head[0].startswith("model,dim,dtype,metric,value,low,high,about: models") and len(head) > 2 * 6 * 3 * 10
