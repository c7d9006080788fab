"""Models and Pair in a real browser: a mark clicked, a token switched off, the layer dragged, a link opened fresh."""

from __future__ import annotations

import pandas as pd
import plotly.io
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


def pressed(page) -> list[str]:
    return page.page.locator("p.strip button[aria-pressed=true]").all_inner_texts()


def test_a_token_clicked_on_the_plane_or_in_its_text_is_marked_in_both_and_left_out(visit, tokens):
    page, fresh = visit(), visit()
    page.open(tokens)
    page.page.get_by_text("Tokens tinted by").wait_for()
    first = metrics(page)
    plane = page.page.locator(".st-key-token_plane .js-plotly-plot")
    # The first text's points follow its two ellipses.
    at = plane.locator(".trace .points path").first.bounding_box()
    page.page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.page.wait_for_url("**token=a0**")
    page.settle()
    assert pressed(page) == ["[CLS]"] and plane.locator(".textpoint text").all_text_contents() == ["[CLS]"]
    strip = page.page.locator("p.strip").nth(1).get_by_role("button")
    word = strip.nth(2).inner_text()
    strip.nth(2).click()
    page.page.wait_for_url("**token=b2**")
    page.settle()
    assert pressed(page) == [word] and plane.locator(".textpoint text").all_text_contents() == [word]
    page.page.get_by_role("button", name="Leave it out").click()
    page.page.wait_for_url("**without_b=2**")
    page.settle()
    assert metrics(page)[:4] != first[:4] and "line-through" in strip.nth(2).evaluate("node => getComputedStyle(node).textDecoration")
    fresh.open(page.page.url.removeprefix(page.server.url))
    fresh.page.get_by_text("Tokens tinted by").wait_for()
    fresh.settle()
    assert metrics(fresh) == metrics(page) and pressed(fresh) == [word]


def test_a_setting_pinned_stands_beside_the_next_and_in_the_link(visit, tokens):
    page, fresh = visit(), visit()
    page.open(tokens)
    page.page.get_by_text("Tokens tinted by").wait_for()
    page.page.get_by_role("button", name="Pin this setting").click()
    page.page.wait_for_url("**pins=all-MiniLM-L6-v2%40final**")
    page.settle()
    slider = page.page.get_by_role("slider", name="Layer")
    slider.focus()
    page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_url("**layer=6**")
    page.page.get_by_role("heading", name="Side by side").wait_for()
    page.settle()
    # Streamlit's own address of the same pins, as a link would carry them, with a model of another depth.
    fresh.open(tokens + "&pins=all-MiniLM-L6-v2@3&pins=nano-backbone@2")
    fresh.page.get_by_role("button", name="Look at their tokens").click()
    fresh.page.locator(".st-key-beside_2 .js-plotly-plot").wait_for(timeout=120_000)
    fresh.settle()
    shown = fresh.page.locator("[class*=st-key-beside_] [data-testid=stMarkdownContainer] strong").all_inner_texts()
    assert shown == ["all-MiniLM-L6-v2, final layer", "all-MiniLM-L6-v2, layer 3", "nano-backbone, layer 2"]
    assert fresh.page.get_by_text("These models differ in depth").count() == 1


def test_umap_is_computed_on_request_and_a_changed_word_shows_before_and_after(visit, tokens):
    page = visit()
    page.open(tokens)
    page.page.get_by_text("Tokens tinted by").wait_for()
    page.page.get_by_text("UMAP", exact=True).click()
    page.page.get_by_role("button", name="Arrange their tokens by UMAP").click()
    page.page.get_by_text("trustworthiness").wait_for(timeout=180_000)
    page.settle()
    page.page.get_by_text("Change a word", exact=True).click()
    box = page.page.get_by_label("Text A, changed")
    box.fill(box.input_value().split(" ", 1)[1])
    page.page.get_by_role("button", name="Compare with the original").click()
    page.page.locator(".st-key-edited [data-testid=stMetricValue]").first.wait_for(timeout=60_000)
    page.settle()
    after = page.page.locator(".st-key-edited [data-testid=stMetricValue]").all_inner_texts()
    assert len(after) == 4 and after != metrics(page)[:4]
    box.fill(" ")
    page.page.get_by_role("button", name="Compare with the original").click()
    page.page.get_by_text("text A must not be empty").wait_for()


def test_pair_figures_and_tables_are_saved_and_say_what_they_are(visit, tokens):
    page = visit()
    page.open(tokens)
    page.page.get_by_text("Tokens tinted by").wait_for()
    page.page.get_by_text("Export", exact=True).click()
    page.page.get_by_role("button", name="as JSON").first.wait_for()
    page.settle()

    for label in ("Plane", "Layers", "Cosines", "Transport"):
        figure = plotly.io.read_json(page.save(f"{label} as JSON"))
        assert figure.layout.meta["model"] == "all-MiniLM-L6-v2" and "all-MiniLM-L6-v2, final layer" in figure.layout.title.text
        assert figure.layout.meta["revision"] and figure.layout.meta["text A"] and "numpy" in figure.layout.meta["versions"]
    assert page.save("Plane as PNG").read_bytes().startswith(b"\x89PNG")
    table, csv = pd.read_parquet(page.save("Tokens as Parquet")), pd.read_csv(page.save("Tokens as CSV"))
    assert table.attrs["layer"] == "final" and table.loc[0, "token"] == "[CLS]" and len(csv) == len(table)
    assert table.groupby("text")["Share of the spread"].sum().round(6).tolist() == [1, 1]


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
