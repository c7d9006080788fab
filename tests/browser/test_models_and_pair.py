"""Models and Pair in a real browser: a mark clicked, a token switched off, the layer dragged, a link opened fresh."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Watched

SCATTER = ".st-key-scatter .js-plotly-plot .main-svg"
PAIR = "/pair?corpus=sixty.txt&a=3&b=9"


def metrics(page) -> list[str]:
    return page.page.locator("[data-testid=stMetricValue]").all_inner_texts()


def test_a_mark_clicked_is_left_out_and_the_link_says_so(visit):
    page, fresh = visit(), visit()
    page.open("/models")
    page.page.wait_for_selector(SCATTER)
    before = metrics(page)
    at = page.page.locator(".st-key-scatter .trace .points path").first.bounding_box()  # a circle of BERT's family
    page.page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.page.wait_for_url("**without=**")
    page.settle()
    assert metrics(page)[3] == "11" and metrics(page)[0] != before[0]
    fresh.open(page.page.url.removeprefix(page.server.url))
    fresh.page.wait_for_selector(SCATTER)
    assert metrics(fresh) == metrics(page)


@pytest.fixture(scope="module")
def tokens(browser, server, computed):
    page = Watched(browser, server)
    page.open(PAIR)
    page.page.get_by_role("button", name="Look at their tokens").click()
    page.page.get_by_text("Tokens tinted by").wait_for(timeout=120_000)
    page.settle()
    assert not page.problems
    page.context.close()
    return PAIR


def test_the_layer_dragged_and_a_token_switched_off_move_everything(visit, tokens):
    page, fresh = visit(), visit()
    page.open(tokens)
    page.page.get_by_text("Tokens tinted by").wait_for()
    first = metrics(page)
    slider = page.page.get_by_role("slider", name="Layer")
    slider.focus()
    page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_url("**layer=6**")
    slider.focus()
    page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_url("**layer=5**")
    page.settle()
    second = metrics(page)
    assert second != first
    page.page.get_by_text("Punctuation", exact=True).click()
    page.page.wait_for_url("**punctuation=false**")
    page.settle()
    assert metrics(page) != second
    fresh.open(page.page.url.removeprefix(page.server.url))
    fresh.page.get_by_text("Tokens tinted by").wait_for()
    fresh.settle()
    assert metrics(fresh) == metrics(page)


def test_tokens_with_html_in_them_are_text(server, visit, computed):
    page = visit()
    page.open("/pair?corpus=sixty.txt&a=58&b=59")
    page.page.get_by_role("button", name="Look at their tokens").click()
    page.page.get_by_text("Tokens tinted by").wait_for(timeout=120_000)
    page.settle()
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("[data-testid=stMain] img").count() == 0 and page.page.locator("p.strip").count() == 2
    assert "script" in page.page.locator("p.strip").first.inner_text()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["dark", "390 px"])
@pytest.mark.parametrize("path", ["/models", PAIR])
def test_other_grounds_and_widths(visit, tokens, path, options):
    page = visit(**options)
    page.open(path)
    page.page.wait_for_selector(".js-plotly-plot .main-svg")
    page.settle()
    assert page.page.locator(".js-plotly-plot").count() == 2
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
