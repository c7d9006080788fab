"""The Home page run by Streamlit's own test harness: corners, sliders, numbers, links, hostile parameters."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from app.views.home_parts import settings_of
from components.charts.style import caption_number
from components.toy_gaussians import CORNERS, START, ToyPair, corner_of, toy_statistics


def open_home(**query: str) -> AppTest:
    page = AppTest.from_file("../../app/main.py", default_timeout=30)
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def sliders(page: AppTest) -> dict[str, float]:
    return {slider.key: slider.value for slider in page.slider}


def shown_as(page: AppTest, pair: ToyPair) -> None:
    """The page shows these sliders and exactly their numbers, in figures, metrics and sentence."""
    found = toy_statistics(pair)
    assert sliders(page) == pytest.approx(settings_of(pair))
    assert [metric.value for metric in page.metric] == [
        caption_number(value) for value in (found.socm, found.d_mu, found.d_sigma, found.align)]
    plane = json.loads(page.get("plotly_chart")[1].proto.spec)
    point = next(trace for trace in plane["data"] if trace.get("meta") == "point")
    assert (point["x"][0], point["y"][0]) == pytest.approx((found.d_mu, found.d_sigma))
    filled = [button.label for button in page.button if button.proto.type == "primary"]
    assert filled == [corner_of(found)]
    sentence, = (element.value for element in page.markdown if "What this shows" in element.value)
    assert caption_number(found.socm) in sentence.replace("\\", "")


def test_a_first_visit_starts_in_the_corner_that_the_mean_hides():
    page = open_home()
    assert page.title[0].value == "See what pooling throws away"
    shown_as(page, CORNERS[START])
    assert [button.label for button in page.button] == list(CORNERS)
    assert all(len(figure.proto.alt) > 60 for figure in page.get("plotly_chart"))


@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_sets_the_sliders(name):
    page = open_home(home_angle="45", home_spread_b="2.5", home_long_a="20")
    next(button for button in page.button if button.label == name).click().run()
    assert not page.exception
    shown_as(page, CORNERS[name])


def test_a_slider_moves_the_numbers():
    page = open_home()
    page.slider(key="home_angle").set_value(90).run()
    shown_as(page, ToyPair(90, 90, 1.2, 1.2, 0.95, 0.95))


def test_a_link_opens_its_setting():
    page = open_home(home_angle="60", home_turn="30", home_spread_a="0.5", home_spread_b="2.5", home_long_a="10",
                     home_long_b="100")
    shown_as(page, ToyPair(60, 30, 0.5, 2.5, 0.1, 1))


def test_no_spread_has_no_alignment_and_no_traceback():
    page = open_home(home_spread_a="0")
    assert page.metric[3].value == "–"
    assert any("no direction" in caption.value for caption in page.caption)


@pytest.mark.parametrize("value", ["", "abc", "-1", "9999", "nan", "inf", "1e400", "<script>alert(1)</script>", "1,2",
                                   "__import__('os')", "0x10", "\u0663\u0660"])
@pytest.mark.parametrize("key", ["home_angle", "home_spread_a", "home_long_b"])
def test_a_hostile_parameter_falls_back(key, value):
    page = open_home(**{key: value})
    start = settings_of(CORNERS[START])
    found = sliders(page)
    assert {name: found[name] for name in start if name != key} == pytest.approx({k: v for k, v in start.items() if k != key})
    slider = page.slider(key=key)
    assert slider.min <= slider.value <= slider.max
    assert slider.value == pytest.approx(start[key]) or value.isdecimal()
    assert len(page.metric) == 4


def test_links_lead_into_the_pages_with_their_state():
    page = open_home()
    links = {link.proto.label: (link.proto.page, link.proto.query_string) for link in page.get("page_link")}
    assert links["All 499,500 pairs at the final layer"] == ("map", "corpus=encyclopedia&model=all-MiniLM-L6-v2")
    assert links["The same pairs at layer 3 of 6"][1].endswith("layer=3")
    assert links["Paraphrases, negations, translations"][1].endswith("labelled=true")
    assert links["Two sentences with nearly one mean"] == (
        "pair", "corpus=encyclopedia&model=all-MiniLM-L6-v2&a=316&b=687")


def test_symbols_are_set_and_never_written_with_an_underscore():
    page = open_home()
    words = [element.value for kind in (page.markdown, page.caption, page.title, page.subheader) for element in kind]
    words += [metric.label for metric in page.metric]
    words += [element.help for kind in (page.metric, page.slider) for element in kind]
    for text in words:
        assert "_" not in text.replace("$d_\\mu$", "").replace("$d_\\Sigma$", ""), text


def test_every_slider_and_number_is_explained():
    page = open_home()
    assert all(element.help for kind in (page.slider, page.metric, page.button) for element in kind)
