"""The Pair page run by Streamlit's own test harness: rows, labelled pairs, typed texts, tokens switched off."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.charts.style import caption_number
from components.corpora import load_corpus, load_pairs
from components.length_pipeline import LengthOptions, compute_length_halves
from components.models import resolve_model
from components.subset_pipeline import SubsetOptions, compute_subset
from components.token_halves import halves_of
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


def sides(found, layer="final"):
    n, both = found.meta["n_a"], found.arrays[f"layer_{layer}"]
    return both[:n], both[n:]


def expected(found, layer="final", kept_a=slice(None), kept_b=slice(None)) -> list[str]:
    x, y = sides(found, layer)
    numbers = pair_numbers(x[kept_a], y[kept_b])
    return [caption_number(v) for v in (numbers.socm, numbers.d_mu, numbers.d_sigma, numbers.align)]


def test_two_rows_with_tokens_show_numbers_plane_strips_and_layers(stored):
    page = open_pair(a="316", b="687")
    assert metrics(page) == expected(stored["rows"]) and len(page.get("plotly_chart")) == 2
    captions = " ".join(element.value for element in page.caption)
    assert "21 of 21 tokens" in captions and "revision" in captions
    from app import map_data
    from components.pair_map import PairOptions

    pairs = map_data.load("encyclopedia", "all-MiniLM-L6-v2", PairOptions()).pairs
    alike = [min(a, b) >= 17 and max(a, b) <= 26 for a, b in zip(pairs.n_tokens_i, pairs.n_tokens_j, strict=True)]
    assert f"below all of {sum(alike):,} pairs of like length" in captions, "a fifth below, a quarter above 21 tokens"
    assert pairs.socm[alike].min() > pair_numbers(*sides(stored["rows"])).socm
    strips = [json.loads(one.proto.json) for one in page.get("bidi_component") if "tokens" in one.proto.json]
    assert [len(one["tokens"]) for one in strips] == [21, 21] and "ireland" in [token["word"] for token in strips[0]["tokens"]]


def test_what_it_shows_and_halves_of_these_texts_and_of_the_corpus(stored):
    page = open_pair(a="316", b="687")
    said = next(element.value for element in page.markdown if "What this shows" in element.value)
    halves = halves_of(*sides(stored["rows"]))
    numbers = [metric.value for metric in page.metric][4:8]
    assert numbers == [caption_number(v) for v in (halves.within_a, halves.within_b, halves.between, halves.ratio)]
    assert "no more than few tokens of one text give" in said and "without “destroyed” of text B" in said
    assert any("Measure halves of texts of 20 to 26 tokens" in button.label for button in page.button)
    corpus = load_corpus("encyclopedia")
    options = LengthOptions.for_pair(21, 21, "final", True)
    found = compute_length_halves(corpus, resolve_model("all-MiniLM-L6-v2"), options, store=settings().open_store())
    captions = " ".join(element.value for element in open_pair(a="316", b="687").caption)
    assert f"{caption_number(found.meta['ratio']['value'])} [" in captions
    assert f"200 of {found.meta['eligible']} texts of 20 to 26 tokens" in captions


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
    for link in ("2", f"2 {words[2]}"):  # links once held the word too
        page = open_pair(a="316", b="687", without_a=link)
        assert metrics(page) == expected(found, kept_a=without) and page.query_params["without_a"] in ("2", ["2"])
    page.multiselect(key="without_a").unselect(f"2 {words[2]}").run()
    assert metrics(page) == expected(found) and "without_a" not in page.query_params


def test_words_of_typed_texts_are_in_no_link_when_a_token_is_switched_off(stored):
    page = open_pair(**{"from": "Typed"})
    page.text_area(key="typed_a").input(TYPED[0])
    page.text_area(key="typed_b").input(TYPED[1]).run()
    word = stored["typed"].meta["tokens"][2]
    page.multiselect(key="without_a").select(f"2 {word}").run()
    assert page.query_params["without_a"] in ("2", ["2"]) and word not in str(dict(page.query_params))


def test_a_clicked_token_is_marked_everywhere_and_can_be_left_out(stored):
    words = stored["rows"].meta["tokens"]
    page = open_pair(a="316", b="687", token="a3")
    assert '"name":"marked"' in page.get("plotly_chart")[0].proto.spec.replace(" ", "")
    strips = [json.loads(one.proto.json)["tokens"] for one in page.get("bidi_component") if "tokens" in one.proto.json]
    assert [token["marked"] for token in strips[0]].index(True) == 3 and not any(token["marked"] for token in strips[1])
    x, y = sides(stored["rows"])
    effect = pair_numbers(x, y).socm - pair_numbers(np.delete(x, 3, axis=0), y).socm
    said = next(element.value for element in page.markdown if "token 3 of text A" in element.value)
    assert f"effect on SOCM {caption_number(effect)}" in said
    page.button(key="switch_token").click().run()
    assert metrics(page) == expected(stored["rows"], kept_a=[i for i in range(len(x)) if i != 3])
    assert page.multiselect(key="without_a").value == [f"3 {words[3]}"] and "takes no part" in str([e.value for e in page.markdown])
    page.button(key="switch_token").click().run()
    assert metrics(page) == expected(stored["rows"])


@pytest.mark.parametrize("token", ["a999", "c1", "a", "<b>", "b-1", "a1e9"])
def test_a_token_that_is_none_is_not_marked(token):
    page = open_pair(a="316", b="687", token=token)
    assert "marked" not in page.get("plotly_chart")[0].proto.spec and not page.error


def test_umap_is_a_job_and_the_other_planes_are_there_at_once():
    page = open_pair(a="316", b="687", projection="UMAP")
    assert any("Arrange their tokens by UMAP" in button.label for button in page.button) and len(page.get("plotly_chart")) == 1
    assert len(open_pair(a="316", b="687", projection="Means and covariances").get("plotly_chart")) == 2


def test_the_transport_plan_follows_the_switches(stored):
    page = open_pair(a="316", b="687", punctuation="false")
    page.session_state["matrices_open"] = True
    page.run()
    assert any("Move the tokens that are left" in button.label for button in page.button)
    words, n = stored["rows"].meta["tokens"], stored["rows"].meta["n_a"]
    kept = [tuple(i for i, word in enumerate(side) if word not in (",", ".")) for side in (words[:n], words[n:])]
    pair = one_pair(*(load_corpus("encyclopedia").texts[k] for k in (316, 687)))
    compute_subset(pair, resolve_model("all-MiniLM-L6-v2"), SubsetOptions("plan", "final", *kept), store=settings().open_store())
    page.run()
    assert len(page.get("plotly_chart")) == 4 and not any("Move the tokens" in button.label for button in page.button)


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
    page = open_pair(a="316", b="687", pins="nano-backbone@4")
    assert any("Look at their tokens" in button.label for button in page.button)
    compute_tokens(one_pair(*(load_corpus("encyclopedia").texts[k] for k in (316, 687))), resolve_model("nano-backbone"),
                   TokenOptions(), store=settings().open_store())
    page = open_pair(a="316", b="687", pins="nano-backbone@4")
    assert "nano-backbone" in page.get("plotly_chart")[1].proto.spec
    assert not any("Look at their tokens" in button.label for button in page.button)
    assert metrics(page) == expected(stored["rows"]), "the headline is the page's own model's"


def test_four_settings_side_by_side_without_a_common_layer(stored):
    theirs = compute_tokens(one_pair(*(load_corpus("encyclopedia").texts[k] for k in (316, 687))), resolve_model("nano-cls"),
                            TokenOptions(), store=settings().open_store())
    pins = ["nano-cls@4", "nano-cls@1", "all-MiniLM-L6-v2@2"]
    page = open_pair(a="316", b="687", pins=pins)
    table = page.dataframe[0].value
    assert (table["Model"] + "@" + table["Layer"]).tolist() == ["all-MiniLM-L6-v2@final", *pins]
    for k, (found, layer) in enumerate([(stored["rows"], "final"), (theirs, 4), (theirs, 1), (stored["rows"], 2)]):
        numbers = pair_numbers(*sides(found, layer))
        assert table["SOCM"][k] == pytest.approx(numbers.socm) and table["align"][k] == pytest.approx(numbers.align)
        assert table["halves ratio"][k] == pytest.approx(halves_of(*sides(found, layer)).ratio)
    assert len(page.get("plotly_chart")) == 6
    captions = " ".join(element.value for element in page.caption).replace("\\", "")
    assert "These models differ in depth (all-MiniLM-L6-v2: 6 layers, nano-cls: 4 layers)" in captions


def test_a_setting_is_pinned_and_the_link_names_it(stored):
    page = open_pair(a="316", b="687", layer="3")
    button = next(one for one in page.button if one.label == "Pin this setting")
    button.click().run()
    assert page.query_params["pins"] in ("all-MiniLM-L6-v2@3", ["all-MiniLM-L6-v2@3"])
    assert len(page.get("plotly_chart")) == 2, "beside itself nothing is shown"
    page.select_slider(key="layer").set_value("5").run()
    assert page.dataframe[0].value["Layer"].tolist() == ["5", "3"]


@pytest.mark.parametrize("pins", [["nobody@3"], ["nano-cls@77"], ["all-MiniLM-L6-v2"], ["@@"], ["nano-cls@1"] * 9,
                                  [f"nano-cls@{k}" for k in range(5)]])
def test_pins_of_models_and_layers_that_are_not_here_show_a_page(stored, pins):
    page = open_pair(a="316", b="687", pins=pins)
    assert metrics(page) == expected(stored["rows"]) and not page.error and len(page.multiselect(key="pins").value) <= 3
    # A word joiner keeps Streamlit from making a link of what follows an @.
    said = [element.value.replace("\\", "").replace("\u2060", "") for element in page.sidebar.caption
            if "No model and layer" in element.value]
    assert said == ([] if pins[0] in ("nano-cls@1", "nano-cls@0") else [f"No model and layer of this server, so left out: {pins[0]}."])


def open_edit(stored) -> AppTest:
    page = open_pair(**{"from": "Typed", "text_a": TYPED[0], "text_b": TYPED[1]})
    page.session_state["edit_open"] = True
    return page.run()


def boxes(page: AppTest):
    return [box for box in page.text_area if "changed" in box.label]


def submit(page: AppTest) -> AppTest:
    next(button for button in page.button if "Compare with the original" in button.label).click().run()
    return page


def test_a_change_of_a_word_shows_before_and_after(stored):
    changed = "the potato blight of 1846"
    ref = resolve_model("all-MiniLM-L6-v2")
    after = compute_tokens(one_pair(changed, TYPED[1]), ref, TokenOptions(), store=settings().open_store())
    page = open_edit(stored)
    boxes(page)[0].input(changed)
    submit(page)
    assert [metric.value for metric in page.metric][-4:] == expected(after) and metrics(page) == expected(stored["typed"])
    assert "1846" not in str(dict(page.query_params)), "what is changed is in no link"


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_edit_is_one_sentence_and_the_page_stays(stored, text):
    page = open_edit(stored)
    boxes(page)[0].input(text)
    submit(page)
    assert any("text A must not be empty" in element.value.replace("\\", "") for element in page.error)
    assert metrics(page) == expected(stored["typed"])


def test_a_text_in_a_link_over_the_limit_is_one_sentence(stored):
    page = open_pair(**{"from": "Typed", "text_a": "x" * 20_001, "text_b": TYPED[1]})
    assert any("must be at most 20,000 characters" in element.value.replace("\\", "") for element in page.error)


def test_identical_texts_and_texts_of_one_token_have_numbers(stored):
    for a, b in ((TYPED[0], TYPED[0]), ("potato", "potato"), ("potato", "crop")):
        compute_tokens(one_pair(a, b), resolve_model("all-MiniLM-L6-v2"), TokenOptions(), store=settings().open_store())
        for special in ("true", "false"):
            page = open_pair(**{"from": "Typed", "text_a": a, "text_b": b, "special": special})
            assert not page.error and (metrics(page)[0] == "0") == (a == b or special == "false")
            said = next(element.value for element in page.markdown if "What this shows" in element.value)
            assert ("equal means and equal covariances" in said) == (a == b)
    assert any("Halves need four tokens" in element.value for element in page.info) and metrics(page)[3] == "–"


def test_a_row_of_another_corpus_says_so():
    page = open_pair(a="5000", b="687")
    assert any("Row 5000 is none of these texts" in element.value.replace("\\", "") for element in page.sidebar.caption)


def test_every_number_and_every_export(stored):
    page = open_pair(a="316", b="687")
    page.session_state["numbers_open"] = page.session_state["pair_export_open"] = True
    page.run()
    table = page.dataframe[0].value.set_index("Number")
    numbers = pair_numbers(*sides(stored["rows"]))
    assert table.loc["W₂²/4 of the Gaussians, dμ + dΣ", "Value"] == pytest.approx(numbers.distance)
    assert table.loc["Cosine, mean pooling", "Value"] == pytest.approx(1 - 2 * numbers.d_mu)
    assert table.loc["SOCM", "Below it, like length"] == 0
    labels = {button.label for button in page.get("download_button")}
    assert labels == {"This view as one HTML file"} | {f"{what} as {kind}" for what in ("Tokens", "Numbers", "By layer", "Settings")
                                                       for kind in ("CSV", "Parquet")}
    figures = [json.loads(one.proto.json) for one in page.get("bidi_component") if '"formats"' in one.proto.json]
    assert [one["label"] for one in figures] == ["Plane", "Layers", "Cosines", "Transport"]
    drawn = json.loads(figures[0]["figure"])
    assert "21 of 21 and 21 of 21 tokens" in drawn["layout"]["title"]["subtitle"]["text"].replace("<br>", " ")
    assert drawn["layout"]["meta"]["revision"] and "potato" in drawn["layout"]["meta"]["text A"]


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
