"""The Map page in a browser."""

from __future__ import annotations

import psutil

WIDE, NARROW = ".st-key-wide .js-plotly-plot", ".st-key-narrow .js-plotly-plot"


def loaded_libraries(pid: int) -> str:
    maps = [p for p in psutil.Process(pid).memory_maps()]
    return " ".join(m.path for m in maps)


def test_a_fresh_result_arrives_and_the_server_has_loaded_no_torch(server, visit, computed):
    page = visit()
    page.open(computed)
    page.page.wait_for_selector(WIDE)
    assert "torch" not in loaded_libraries(server.process.pid)
    # The compute process is the one that has it, which also shows that the check can fail.
    children = psutil.Process(server.process.pid).children(recursive=True)
    assert any("libtorch" in loaded_libraries(child.pid) for child in children)


def test_opened_by_link_the_figure_and_the_four_numbers_are_there(visit, computed):
    page = visit()
    page.open(computed)
    figure = page.page.locator(WIDE)
    figure.wait_for()
    assert figure.locator(".heatmaplayer image").count() == 1
    assert page.page.locator("[data-testid=stMetricValue]").count() == 4
    assert "60 texts, all 1,770 pairs drawn" in page.page.inner_text("[data-testid=stMain]")
    box = figure.bounding_box()
    assert box["width"] > 800 and box["y"] + 200 < 900
    assert not page.page.locator(NARROW).is_visible()


def test_narrow_shows_the_narrow_figure_and_nothing_wider_than_the_screen(visit, computed):
    page = visit(viewport={"width": 390, "height": 844})
    page.open(computed)
    page.page.locator(NARROW).wait_for()
    assert not page.page.locator(WIDE).is_visible()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


def test_dark_ground_is_dark_in_page_and_figure(visit, computed):
    page = visit(color_scheme="dark")
    page.open(computed)
    page.page.wait_for_selector(WIDE)
    page.page.wait_for_timeout(500)
    assert page.page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor") \
        == "rgb(15, 19, 24)"
    assert page.page.evaluate("document.querySelector('.st-key-wide .js-plotly-plot').layout.template.layout"
                              ".paper_bgcolor") == "#0F1318"


def test_text_is_text(visit, computed):
    page = visit()
    page.open(computed)
    page.page.wait_for_selector(WIDE)
    page.page.get_by_text("Pairs of largest SOCM").click()
    page.settle()
    assert page.page.evaluate("window.hacked") is None


def test_a_hostile_link_shows_the_default_page(visit, computed):
    page = visit()
    page.open("/map?corpus=%3Cscript%3Ewindow.hacked%3D1%3C/script%3E&model=../../etc/passwd&layer=99")
    assert page.page.get_by_role("button", name="Compute 499,500 pairs").is_visible()
    assert page.page.evaluate("window.hacked") is None


def test_two_visitors_share_one_job_and_a_reload_finds_it(visit, computed):
    first, second = visit(), visit()
    for page in (first, second):
        page.open("/map?corpus=sixty.txt&layer=1")
    first.page.get_by_role("button", name="Compute").click()
    first.page.get_by_role("button", name="Cancel").wait_for()
    second.open("/map?corpus=sixty.txt&layer=1")
    for page in (first, second):
        page.page.wait_for_selector(WIDE, timeout=120_000)


def test_a_control_changes_the_address_and_back_returns(visit, computed):
    page = visit()
    page.open(computed)
    page.page.wait_for_selector(WIDE)
    page.page.get_by_text("Special tokens", exact=True).click()
    page.page.wait_for_url("**special=false**")
    page.settle()
    assert page.page.get_by_role("button", name="Compute 1,770 pairs").is_visible()
