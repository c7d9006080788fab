"""The Map page in a browser."""

from __future__ import annotations

import psutil

WIDE, NARROW = ".st-key-wide .js-plotly-plot", ".st-key-narrow .js-plotly-plot"


def loaded_libraries(pid: int) -> str:
    maps = list(psutil.Process(pid).memory_maps())
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
    assert "60 texts, all 1,770 pairs" in page.page.inner_text("[data-testid=stMain]")
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
    page.open(computed + "&box=0,1,0,9")
    page.page.wait_for_selector("[data-testid=stDataFrame]")
    page.open("/pair?corpus=sixty.txt&a=58&b=59")
    assert "<script>window.hacked = 1</script> is <b>text</b>." in page.page.inner_text("[data-testid=stMain]")
    assert "$d_\\mu$ :material/delete:" in page.page.inner_text("[data-testid=stMain]")
    assert page.page.locator("[data-testid=stMain] img").count() == 0
    assert page.page.evaluate("window.hacked") is None


def test_a_hostile_link_shows_the_default_page(visit, computed):
    page = visit()
    page.open("/map?corpus=%3Cscript%3Ewindow.hacked%3D1%3C/script%3E&model=../../etc/passwd&layer=99")
    page.page.wait_for_selector(WIDE)
    assert "encyclopedia: 1,000 texts, all 499,500 pairs" in page.page.inner_text("[data-testid=stMain]")
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
    page.page.get_by_role("button", name="Compute 1,770 pairs").wait_for()


def draw_box(page, left: float, top: float, right: float, bottom: float) -> None:
    """Draws a box with the mouse; places are shares of the plane's width and height from its upper left."""
    area = page.page.locator(".st-key-wide .nsewdrag").first.bounding_box()

    def at(x: float, y: float) -> tuple[float, float]:
        return area["x"] + x * area["width"], area["y"] + y * area["height"]

    page.page.mouse.move(*at(left, top))
    page.page.mouse.down()
    page.page.mouse.move(*at((left + right) / 2, (top + bottom) / 2), steps=4)
    page.page.mouse.move(*at(right, bottom), steps=4)
    page.page.mouse.up()


def test_a_box_goes_into_the_address_and_selects_from_all_pairs(visit, computed):
    page = visit()
    page.open("/map")
    page.page.wait_for_selector(WIDE)
    draw_box(page, 0.3, 0.05, 0.6, 0.5)
    page.page.wait_for_url("**box=**")
    page.settle()
    heading = page.page.get_by_text("pairs in the box").inner_text()
    assert int(heading.split()[0].replace(",", "")) > 1000
    fresh = visit()
    fresh.open(page.page.url.removeprefix(page.server.url))
    assert fresh.page.get_by_text("pairs in the box").inner_text() == heading
    page.page.get_by_role("button", name="Clear the box").click()
    page.page.get_by_text("Pairs of largest SOCM").wait_for()
    assert "box=" not in page.page.url


def test_the_labelled_pairs_lie_over_the_gallery_map(visit, computed):
    page = visit()
    page.open("/map?labelled=true")
    page.page.wait_for_selector(WIDE)
    names = page.page.evaluate("document.querySelector('.st-key-wide .js-plotly-plot').data.map(trace => trace.name)")
    assert page.page.get_by_text("one word against a paragraph").first.is_visible()
    assert {"paraphrase", "negation", "unrelated", "translation ko-en", "translation nl-en"} <= set(names)


def test_first_paint_of_all_pairs_sends_less_than_a_megabyte(visit, computed):
    page, sizes = visit(), []
    page.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sizes.append(len(frame))))
    page.open("/map")
    page.page.wait_for_selector(WIDE)
    assert 50_000 < sum(sizes) < 1_000_000
