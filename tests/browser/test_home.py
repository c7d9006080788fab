"""The Home page in a browser."""

from __future__ import annotations

import pytest

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True,
         "user_agent": "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36"}


def numbers(page) -> list[str]:
    return page.page.locator("[data-testid=stMetricValue]").all_inner_texts()


def drawn(page) -> None:
    page.page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 4")


def test_two_figures_stand_side_by_side_with_numbers_and_sliders(visit):
    page = visit()
    page.open("/")
    drawn(page)
    left, right = (figure.bounding_box() for figure in page.page.locator(".js-plotly-plot").all())
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    assert right["y"] + right["height"] < 900
    assert numbers(page) == ["0.413", "0", "0.413", "0.312"]
    assert page.page.get_by_role("slider").count() == 6
    assert "one and the same vector" in page.page.inner_text("[data-testid=stMain]")


def test_a_slider_moves_the_numbers_by_keyboard_and_back_to_the_start(visit):
    page = visit()
    page.open("/")
    before = numbers(page)
    slider = page.page.get_by_role("slider", name="Angle between the means")
    slider.focus()
    for _ in range(6):
        page.page.keyboard.press("ArrowRight")
    page.page.wait_for_url("**home_angle=30**")
    page.settle()
    after = numbers(page)
    assert after[1] == "0.0670" and after[0] != before[0] and after[2:] == before[2:]
    assert slider.input_value() == "30"
    fresh = visit()
    fresh.open(page.page.url.removeprefix(page.server.url))
    assert numbers(fresh) == after


def test_a_corner_moves_the_point_and_goes_into_the_address(visit):
    page = visit()
    page.open("/")
    drawn(page)
    button = page.page.get_by_role("button", name="Only the means differ")
    button.focus()
    page.page.keyboard.press("Enter")
    page.page.wait_for_url("**home_turn=0**")
    page.settle()
    assert numbers(page) == ["0", "0.933", "0", "1.00"]
    assert "home_angle=150" in page.page.url
    point = page.page.evaluate("""[...document.querySelectorAll('.js-plotly-plot')][1].data
                                  .filter(trace => trace.meta === 'point').map(trace => [trace.x[0], trace.y[0]])[0]""")
    assert point == pytest.approx([0.933, 0], abs=1e-3)


def test_on_a_phone_the_sliders_stand_on_the_page_and_nothing_is_wider(visit):
    page = visit(**PHONE)
    page.open("/?home_angle=60")
    drawn(page)
    left, right = (figure.bounding_box() for figure in page.page.locator(".js-plotly-plot").all())
    slider = page.page.locator("[data-testid=stMain]").get_by_role("slider", name="Angle between the means")
    assert left["y"] < right["y"] < slider.bounding_box()["y"]
    assert page.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert page.page.evaluate("""[...document.querySelectorAll('[data-testid=stPageLink] p')]
                                 .every(label => label.scrollWidth <= label.clientWidth)""")


def test_dark_ground_is_dark_in_both_figures(visit):
    page = visit(color_scheme="dark")
    page.open("/")
    drawn(page)
    page.page.wait_for_timeout(500)
    assert page.page.evaluate("""[...document.querySelectorAll('.js-plotly-plot')]
                                 .map(plot => plot.layout.template.layout.paper_bgcolor)""") == ["#0F1318", "#0F1318"]


def test_links_open_the_pages_with_their_state(visit):
    page = visit()
    page.open("/?home_angle=45")
    page.page.get_by_role("link", name="The same pairs at layer 3 of 6").click()
    page.page.wait_for_url("**/map?**")
    page.page.get_by_role("button", name="Compute 499,500 pairs").wait_for()
    page.settle()
    assert "layer=3" in page.page.url and "home_" not in page.page.url
    page.open("/")
    page.page.get_by_role("link", name="Two sentences with nearly one mean").click()
    page.page.wait_for_url("**/pair?**")
    page.page.get_by_text("The potato blight that struck Ireland").wait_for()
    page.page.get_by_text("a disease called late blight").wait_for()


def test_a_hostile_link_shows_the_start(visit):
    page = visit()
    page.open("/?home_angle=%3Cscript%3Ewindow.hacked%3D1%3C/script%3E&home_spread_a=nan&home_long_b=1e400&home_turn=-7")
    drawn(page)
    assert numbers(page) == ["0.413", "0", "0.413", "0.312"]
    assert page.page.evaluate("window.hacked") is None
