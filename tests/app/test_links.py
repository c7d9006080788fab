"""What a link names and the server lacks is said, with the nearest; nothing else of a link is repeated."""

from __future__ import annotations

import pytest

from app.links import nearest
from tests.app.pages import open_page

NAMES = ["all-MiniLM-L6-v2", "nano-cls", "nano-mic"]
pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("nano-clss", "nano-cls"),
        ("Nano-MIC", "nano-mic"),
        ("all-MiniLM-L12-v2", NAMES[0]),
        ("zzzz", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_the_nearest_name(asked, found):
    assert nearest(asked, NAMES) == found


@pytest.mark.parametrize(("asked", "found"), [("9", "6"), ("0", "0"), ("99999999999999999999", None)])
def test_the_nearest_layer(asked, found):
    assert nearest(asked, [*map(str, range(7)), "final"]) == found


def test_a_model_that_is_not_there_is_said_and_the_nearest_one_click_away():
    page = open_page("map", {"model": "nano-clss", "layer": "9"})
    said = [info.value for info in page.info]
    assert any(
        "model that this server does not have" in one and "nano\\-clss" in one and "nearest here is nano\\-cls" in one for one in said
    )
    assert any("layer that this model does not have" in one and "nearest here is 6" in one for one in said)
    page.button(key="nearest_model").click().run()
    assert page.selectbox(key="model").value == "nano-cls"
    assert not any("model that this server" in info.value for info in page.info)


def test_a_link_to_what_is_there_says_nothing():
    page = open_page("map", {"model": "nano-cls", "corpus": "encyclopedia"})
    assert not page.info and page.selectbox(key="model").value == "nano-cls"


@pytest.mark.parametrize(
    "value", ["<script>alert(1)</script>", "../../../etc/passwd", "x" * 5_000, "a\0b", "[click](javascript:alert(1))"]
)
def test_what_is_no_name_is_not_repeated(value):
    page = open_page("map", {"model": value})
    said = page.info[0].value
    assert "does not have; shown is all" in said and "script" not in said and "etc" not in said and len(said) < 200


def test_a_further_model_that_is_not_there_is_said():
    page = open_page("layers", {"with": ["nano-cls", "not-there"]})
    assert any("not\\-there" in info.value and "shown without" in info.value for info in page.info)
    assert page.multiselect(key="with").value == ["nano-cls"]
