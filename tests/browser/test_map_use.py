"""The Map page as people use it: by keyboard, back and forth, in two tabs, from a link, and from a bad link."""

from __future__ import annotations

import hashlib
import time
from urllib.parse import quote

import pytest

from components.corpora import load_corpus

WIDE = ".st-key-wide .js-plotly-plot .main-svg"
FOCUSED = """(() => { let e = document.activeElement;
  while (e.shadowRoot && e.shadowRoot.activeElement) e = e.shadowRoot.activeElement;
  const labels = e.labels && e.labels.length ? e.labels[0].innerText : '';
  const box = (e.matches('input[type=radio],input[type=checkbox],input[type=range]')
    ? e.closest('label') ?? e.closest('[data-testid=stSlider]') ?? e : e).getBoundingClientRect();
  return { name: (e.getAttribute('aria-label') || labels || e.innerText || e.textContent || e.tagName).trim(), tag: e.tagName,
           ring: e.matches('button:focus-visible') && parseFloat(getComputedStyle(e).outlineWidth) >= 2
             && getComputedStyle(e).outlineStyle === 'solid',
           box: [box.x, box.y, box.width, box.height] }; })()"""
SETTINGS = ("plane", "quantity", "labelled", "tokens", "layer", "special", "box")


def metrics(page) -> list[str]:
    return page.page.locator("[data-testid=stMetricValue]").all_inner_texts()


def main_text(page) -> str:
    return page.page.inner_text("[data-testid=stMain]")


def test_two_tabs_that_start_one_result_compute_it_once(server, visit, computed):
    pages = [visit(), visit()]
    for page in pages:
        page.open("/map?corpus=sixty.txt&layer=2")
        page.page.get_by_role("button", name="Compute 1,770 pairs").wait_for()
    before = written(server)
    for page in pages:
        page.page.get_by_role("button", name="Compute 1,770 pairs").click(no_wait_after=True)
    seen = set()
    for _ in range(600):
        seen |= written(server) - before
        if all(page.page.locator(WIDE).count() for page in pages):
            break
        time.sleep(0.1)
    pages[0].page.wait_for_timeout(2_000)
    seen |= written(server) - before
    # A second run would write a file of another name, and the same name anew.
    assert len(seen) == 1, seen
    assert metrics(pages[0]) == metrics(pages[1]) and len(metrics(pages[0])) == 4


def written(server) -> set[tuple[str, int]]:
    """Arrays in the store, each with the moment it was written."""
    return {(path.name, path.stat().st_mtime_ns) for path in (server.folder / "store" / "pair_map").glob("*.npz")}


def test_keyboard_reaches_every_control_and_shows_where_it_is(visit, computed):
    page = visit()
    page.open("/map")
    page.page.wait_for_selector(WIDE)
    page.page.get_by_text("Export", exact=True).click()
    page.page.get_by_role("button", name="Plane as PNG").wait_for()
    page.settle()
    page.page.evaluate("document.activeElement.blur()")
    names, unseen = [], []
    for _ in range(140):
        page.page.keyboard.press("Tab")
        page.page.wait_for_timeout(80)  # what the page scrolls to lies elsewhere then
        at = page.page.evaluate(FOCUSED)
        if at["name"] in names and at["name"] == "Skip to main content":
            break
        names.append(at["name"])
        # A button with an outline of its own shows it; of anything else the picture is compared.
        if at["tag"] not in ("BODY", "MAIN") and not at["ring"] and not shown(page, at["box"]):
            unseen.append(at["name"])
    for name in ("Poolscope", "Map of pairs", "Pair", "Texts", "Model", "Layer", "Special tokens", "Compare", "Density",
                 "Labelled pairs", "Tokens in each text — start", "Tokens in each text — end", "Subject", "Pairs",
                 "Box Select", "Box by numbers", "SOCM against length", "What these numbers rest on", "Export",
                 "Plane as PNG", "Plane as SVG", "Plane as JSON", "Pairs as CSV", "Pairs as Parquet"):
        assert any(found.removeprefix("keyboard_arrow_right").removeprefix("keyboard_arrow_down").strip().startswith(name)
                   for found in names), (name, names)
    assert any("Covariance distance dΣ" in name for name in names), "the table"
    assert not unseen, "focus without a sign of it"
    # What the figure shows, for those who do not see it.
    assert "499,500 pairs" in (page.page.get_by_role("figure").first.get_attribute("aria-label") or "")


def shown(page, box) -> bool:
    """Whether what has the focus looks otherwise than without it."""
    x, y, width, height = box
    clip = {"x": max(0, x - 6), "y": max(0, y - 6), "width": width + 12, "height": height + 12}
    page.page.wait_for_timeout(350)
    focused = hashlib.sha256(page.page.screenshot(clip=clip)).digest()
    # The browser goes on from the element that has lost the focus.
    page.page.evaluate("(() => { let e = document.activeElement; while (e.shadowRoot?.activeElement) "
                       "e = e.shadowRoot.activeElement; e.blur(); })()")
    page.page.wait_for_timeout(350)
    return focused != hashlib.sha256(page.page.screenshot(clip=clip)).digest()


def test_a_box_by_numbers_selects_as_one_that_is_drawn(visit, computed):
    page = visit()
    page.open(computed)
    page.page.wait_for_selector(WIDE)
    page.page.get_by_role("button", name="Box by numbers").focus()
    page.page.keyboard.press("Enter")
    for label, value in (("Mean distance from", "0.5"), ("Mean distance to", "0.2"), ("Covariance distance from", "0.4"),
                         ("Covariance distance to", "0.8")):
        page.page.get_by_role("spinbutton", name=label).fill(value)
    page.page.get_by_role("button", name="List the pairs inside").focus()
    page.page.keyboard.press("Enter")
    page.page.wait_for_url("**box=0.2*")
    page.settle()
    heading = page.page.get_by_text("pairs in the box").inner_text()
    fresh = visit()
    fresh.open(computed + "&box=0.2,0.5,0.4,0.8")
    assert fresh.page.get_by_text("pairs in the box").inner_text() == heading != "0 pairs in the box"


def test_a_row_opens_the_pair_with_both_texts_and_back_returns(server, visit, computed):
    page = visit()
    page.open(computed + "&plane=Points&box=0.2,0.5,0.4,0.9")
    page.page.wait_for_selector(WIDE)
    texts = load_corpus(server.folder / "sixty.txt").texts
    numbers = metrics(page)
    table = page.page.locator("[data-testid=stDataFrame]").first
    table.scroll_into_view_if_needed()
    page.page.wait_for_timeout(500)
    at = table.bounding_box()
    page.page.mouse.click(at["x"] + 18, at["y"] + 54)
    link = page.page.get_by_role("link", name="Open this pair")
    link.wait_for()
    page.settle()
    both = [text for text in page.page.locator("[data-testid=stMain] [data-testid=stText]").all_inner_texts() if text in texts]
    assert len(both) == 2
    link.click()
    page.page.wait_for_url("**/pair?**")
    page.page.get_by_text("How far apart do these two texts lie?").wait_for()
    page.settle()
    assert page.page.locator("[data-testid=stMain] [data-testid=stText]").all_inner_texts() == both
    assert f"a={texts.index(both[0])}" in page.page.url and f"b={texts.index(both[1])}" in page.page.url
    page.page.go_back()
    page.page.wait_for_url("**/map?**")
    page.page.wait_for_selector(WIDE)
    page.settle()
    assert metrics(page) == numbers
    page.page.get_by_text("pairs in the box").wait_for()
    assert page.page.evaluate("document.querySelector('.st-key-wide .js-plotly-plot').data[0].type") == "scattergl"


def test_back_and_forward_after_a_control_show_what_the_address_says(visit, computed):
    page, fresh = visit(), visit()
    page.open("/")
    page.page.get_by_role("link", name="All 499,500 pairs at the final layer").click()
    page.page.wait_for_selector(WIDE)
    page.settle()
    page.page.get_by_text("Points", exact=True).click()
    page.page.wait_for_url("**plane=Points**")
    page.settle()
    for step, there in ((page.page.go_back, "/"), (page.page.go_forward, "plane=Points")):
        step()
        # Streamlit keeps a page's controls in one entry of the history, and some pages in several.
        for _ in range(3):
            page.page.wait_for_timeout(1_500)
            if page.page.url.endswith(there):
                break
            step()
        page.settle()
        fresh.open(page.page.url.removeprefix(page.server.url))
        fresh.page.wait_for_selector(".js-plotly-plot .main-svg", state="attached")
        assert page.page.url.endswith(there)
        assert page.page.locator("h1").all_inner_texts() == fresh.page.locator("h1").all_inner_texts()
        assert metrics(page) == metrics(fresh)
    chosen = page.page.locator("[data-testid=stRadioOption][data-selected=true]").all_inner_texts()
    assert [text.strip() for text in chosen] == ["Points"]


def test_a_link_opened_fresh_shows_the_same_view(visit, computed):
    page = visit()
    page.open("/map")
    page.page.wait_for_selector(WIDE)
    page.page.get_by_text("Mean of a quantity", exact=True).click()
    page.settle()
    page.page.get_by_text("Labelled pairs", exact=True).click()
    page.settle()
    slider = page.page.get_by_role("slider", name="Tokens in each text — end")
    slider.focus()
    for _ in range(20):
        page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_url("**tokens=**")
    page.settle()
    page.page.wait_for_timeout(1_000)
    fresh = visit()
    fresh.open(page.page.url.removeprefix(page.server.url))
    fresh.page.wait_for_selector(WIDE)
    fresh.settle()
    assert "pairs after filtering" in main_text(page)
    assert metrics(fresh) == metrics(page) and main_text(fresh) == main_text(page)
    drawn = "JSON.stringify(document.querySelector('.st-key-wide .js-plotly-plot').data)"
    assert fresh.page.evaluate(drawn) == page.page.evaluate(drawn)


@pytest.mark.parametrize("value", ["zzz", "<img src=x onerror=window.hacked=1>", "x" * 4000, "a\0b", "../../../etc/passwd",
                                   "1e999", "$d_\\mu$ :material/delete: {{7*7}}"])
def test_a_link_whose_every_value_is_hostile_gives_the_default_page(visit, computed, value):
    page = visit()
    keys = ("corpus", "model", "label", "relation", "compare", "vs_corpus", "vs_model", "vs_layer", "export_open", "pairs",
            *SETTINGS)
    # A server may refuse a longer address altogether.
    part = value[:4000 // len(keys)] if len(value) > 1000 else value
    page.open("/map?" + "&".join(f"{key}={quote(part)}" for key in keys))
    page.page.wait_for_selector(WIDE)
    assert "encyclopedia: 1,000 texts, all 499,500 pairs" in main_text(page)
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("[data-testid=stException], [data-testid=stMain] img").count() == 0
