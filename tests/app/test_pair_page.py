"""The Pair page run by Streamlit's own test harness: rows, labelled pairs, typed texts, tokens switched off."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.corpora import load_corpus, load_pairs
from components.models import resolve_model
from components.token_pair import pair_numbers
from components.token_pipeline import TokenOptions, compute_tokens, one_pair
from tests.app.pages import open_page

pytestmark = pytest.mark.usefixtures("fresh_caches")

TYPED = ("the potato blight of 1845", "a disease struck the potato crop.")


@pytest.fixture(scope="module", autouse=True)
def stored(tmp_path_factory):
    """Tokens of two rows, of a labelled pair and of typed texts under the embedded model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POOLSCOPE_STORE", str(tmp_path_factory.mktemp("pair") / "store"))
        settings.cache_clear()
        texts, listed, ref = load_corpus("encyclopedia").texts, load_pairs("pairs"), resolve_model("all-MiniLM-L6-v2")
        yield {name: compute_tokens(one_pair(*pair), ref, TokenOptions(), store=settings().open_store()) for name, pair in (
            ("rows", (texts[316], texts[687])), ("labelled", (listed.texts_a[3], listed.texts_b[3])), ("typed", TYPED))}
    settings.cache_clear()


def open_pair(**query: str | list[str]) -> AppTest:
    return open_page("pair", query)


def metrics(page: AppTest) -> list[str]:
    return [metric.value for metric in page.metric][:4]


def expected(found, layer="final", kept_a=slice(None), kept_b=slice(None)) -> list[str]:
    n, both = found.meta["n_a"], found.arrays[f"layer_{layer}"]
    numbers = pair_numbers(both[:n][kept_a], both[n:][kept_b])
    from components.charts.style import caption_number
    return [caption_number(v) for v in (numbers.socm, numbers.d_mu, numbers.d_sigma, numbers.align)]


def test_two_rows_with_tokens_show_numbers_plane_strips_and_layers(stored):
    page = open_pair(a="316", b="687")
    assert metrics(page) == expected(stored["rows"]) and len(page.get("plotly_chart")) == 2
    captions = " ".join(element.value for element in page.caption)
    assert "21 of 21 tokens" in captions and "above less than 0.1% of encyclopedia's pairs" in captions
    assert "Halves of one text of this corpus lie 0.784 apart" in captions
    assert sum("ireland" in element.value for element in page.get("html")) >= 2 or "ireland" in str(page)


def test_before_its_tokens_are_computed_the_map_gives_the_numbers():
    page = open_pair(a="5", b="9")
    assert len(page.metric) == 4 and any("Look at their tokens" in button.label for button in page.button)


def test_everything_follows_layer_special_tokens_punctuation_and_single_tokens(stored):
    found = stored["rows"]
    words, n = found.meta["tokens"], found.meta["n_a"]
    assert metrics(open_pair(a="316", b="687", layer="3")) == expected(found, 3)
    inner = slice(1, -1)
    assert metrics(open_pair(a="316", b="687", special="false")) == expected(found, kept_a=inner, kept_b=inner)
    plain = [[i for i, word in enumerate(side) if word not in (",", ".")] for side in (words[:n], words[n:])]
    assert metrics(open_pair(a="316", b="687", punctuation="false")) == expected(found, kept_a=plain[0], kept_b=plain[1])
    without = [i for i in range(n) if i != 2]
    assert metrics(open_pair(a="316", b="687", without_a=f"2 {words[2]}")) == expected(found, kept_a=without)


def test_a_labelled_pair_and_typed_texts(stored):
    assert metrics(open_pair(**{"from": "Labelled pairs", "item": "3"})) == expected(stored["labelled"])
    page = open_pair(**{"from": "Typed"})
    page.text_area(key="typed_a").input(TYPED[0])
    page.text_area(key="typed_b").input(TYPED[1]).run()
    assert metrics(page) == expected(stored["typed"])
    assert "potato" not in str(dict(page.query_params)), "what is typed is in no link"


def test_typed_texts_enter_a_link_when_asked_and_are_read_from_it(stored):
    page = open_pair(**{"from": "Typed", "text_a": TYPED[0], "text_b": TYPED[1]})
    assert metrics(page) == expected(stored["typed"])
    page.toggle(key="share_typed").set_value(False).run()
    assert "text_a" not in page.query_params
    page.toggle(key="share_typed").set_value(True).run()
    assert page.query_params["text_a"] in (TYPED[0], [TYPED[0]])


def test_other_models_stand_beside_and_are_computed_on_request(stored):
    page = open_pair(a="316", b="687", pair_with="nano-backbone")
    assert any("Look at their tokens" in button.label for button in page.button)
    compute_tokens(one_pair(*(load_corpus("encyclopedia").texts[k] for k in (316, 687))), resolve_model("nano-backbone"),
                   TokenOptions(), store=settings().open_store())
    page = open_pair(a="316", b="687", pair_with="nano-backbone")
    assert "nano-backbone" in page.get("plotly_chart")[1].proto.spec and not page.button
    assert metrics(page) == expected(stored["rows"]), "the headline is the page's own model's"


def test_a_change_of_a_word_shows_before_and_after(stored):
    page = open_pair(**{"from": "Typed"})
    page.text_area(key="typed_a").input(TYPED[0])
    page.text_area(key="typed_b").input(TYPED[1]).run()
    page.session_state["edit_open"] = True
    page.run()
    boxes = [box for box in page.text_area if "changed" in box.label]
    if boxes:  # a harness that cannot open an expander shows none
        boxes[0].input("another text").run()
        assert any("Look at their tokens" in button.label for button in page.button)


@pytest.mark.parametrize("query", [{"a": "316", "b": "316"}, {"from": "Typed"}, {"without_a": ["0 [CLS]"] * 40}, {"tint": "<b>"},
                                   {"projection": "1e9"}, {"item": "-4", "from": "Labelled pairs"}, {"from": "elsewhere"}])
def test_links_with_nonsense_show_a_page(query):
    assert not open_pair(**query).error


def test_without_any_token_there_is_a_sentence(stored):
    words, n = stored["rows"].meta["tokens"], stored["rows"].meta["n_a"]
    page = open_pair(a="316", b="687", without_a=[f"{i} {word}" for i, word in enumerate(words[:n])])
    assert any("text A must have a token" in element.value.replace("\\", "") for element in page.error)


def test_the_numbers_of_the_map_and_of_the_tokens_agree(stored):
    from app import map_data
    from components.pair_map import PairOptions

    one = map_data.load("encyclopedia", "all-MiniLM-L6-v2", PairOptions()).one(316, 687)
    n, both = stored["rows"].meta["n_a"], stored["rows"].arrays["layer_final"]
    numbers = pair_numbers(both[:n], both[n:])
    assert np.allclose([one["d_mu"], one["d_sigma"], one["align"]], [numbers.d_mu, numbers.d_sigma, numbers.align], atol=2e-5)
