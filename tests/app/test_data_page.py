"""The page Your data and what it puts onto the other pages, run by Streamlit's own test harness."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app import resources, results
from app.settings import settings
from components.charts.style import caption_number
from components.corpora import load_corpus
from components.models import resolve_model
from components.moments import text_moments
from components.pair_map import PairOptions
from components.pipeline import compute_pair_map
from components.pooling_pipeline import compute_pooling
from components.pooling_result import PoolingOptions, PoolingResult
from components.retrieval_sets import load_retrieval_set
from components.socm import pairwise_statistics
from components.store import ResultStore
from components.token_files import read_token_states
from components.token_pair import pair_numbers
from tests.app.pages import metrics, open_page
from tests.app.retrieval_files import small_set

pytestmark = pytest.mark.usefixtures("fresh_caches", "own_store")
TEXTS = load_corpus("encyclopedia").texts[:12]


def csv(texts=TEXTS, header="text,kind", label="a") -> bytes:
    return "\n".join([header, *(f'"{text.replace(chr(34), chr(34) * 2)}",{label}' for text in texts)]).encode()


def upload(page: AppTest, name: str, data: bytes, at: int = 0) -> AppTest:
    page.file_uploader[at].set_value((name, data, "")).run()
    assert not page.exception
    return page


def add(page: AppTest) -> AppTest:
    next(button for button in page.button if button.label == "Use them in this session").click().run()
    assert not page.exception
    return page


def errors(page: AppTest) -> list[str]:
    return [error.value.replace("\\", "") for error in page.error]


def go(page: AppTest, view: str) -> AppTest:
    page.switch_page(f"views/{view}.py").run()
    assert not page.exception
    return page


def test_uploaded_texts_are_on_the_map(own_store):
    page = add(upload(open_page("data", {}), "mine.csv", csv()))
    assert any("mine" in element.value for element in page.success)
    go(page, "map")
    assert page.selectbox[0].value == "encyclopedia"
    page.selectbox[0].set_value("mine.csv").run()
    assert page.button[0].label.startswith("Compute 66 pairs")
    assert "mine" not in str(dict(page.query_params))


def compute(page: AppTest, label: str, seconds: float = 120) -> AppTest:
    """Presses the button of a computation and waits for its end."""
    next(button for button in page.button if button.label.startswith(label)).click().run()
    registry = resources.jobs()
    end = time.monotonic() + seconds
    while any(job.snapshot().active for job in registry._jobs.values()):
        assert time.monotonic() < end
        time.sleep(0.1)
    page.run()
    assert not page.exception and not page.error, errors(page)
    return page


def test_uploaded_texts_go_through_every_page(own_store):
    page = add(upload(open_page("data", {}), "mine.csv", csv(label="=1+1")))
    go(page, "map").selectbox[0].set_value("mine.csv").run()
    compute(page, "Compute 66 pairs")
    expected = compute_pair_map(load_corpus(write(own_store, "x.csv", csv())), resolve_model("all-MiniLM-L6-v2"), PairOptions(),
                                store=ResultStore(own_store.parent / "other"))
    assert metrics(page)["Mean SOCM"] == f"{expected.meta['means']['socm']['value']:.3f}"
    assert "mine.csv" in " ".join(element.value.replace("\\", "") for element in page.caption)
    go(page, "layers")
    assert page.selectbox[0].value == "mine.csv", "the choice goes along"
    page.multiselect(key="with").set_value([]).run()
    compute(page, "Measure 8 layers")
    assert page.get("plotly_chart")
    go(page, "pair")
    assert page.selectbox[0].value == "mine.csv"
    compute(page, "Look at their tokens")
    assert len(page.metric) >= 4 and "mine" not in str(dict(page.query_params))
    kinds = [entry.key.kind for entry in settings().open_store().entries()]
    assert sorted(kinds) == ["layers", "pair_map"], "tokens are texts: the store has none"
    held = b"".join(file.read_bytes() for file in own_store.rglob("*") if file.is_file())
    assert b"mine" not in held and not any(text.encode() in held for text in TEXTS)


def test_twins_blank_rows_and_repeats_are_noted_with_their_lines():
    page = upload(open_page("data", {}), "t.csv", "text\ncaf\u00e9\n\ncafe\u0301\n  \ncaf\u00e9\nplain\n".encode())
    said = " ".join(caption.value.replace("\\", "") for caption in page.caption)
    assert "Unicode composition), and was kept: line 4." in said and "blank 'text'" not in said
    assert "lines 3, 5" in said and "repeats an earlier one and was kept: line 6." in said and not page.error


def write(folder, name: str, data: bytes):
    folder.mkdir(exist_ok=True)
    file = folder.parent / name
    file.write_bytes(data)
    return file


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def some_states(n=9, dim=8, seed=0, **more) -> bytes:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(3, 9, n))])
    return npz(states=rng.normal(1, 1, (offsets[-1], dim)).astype(np.float32), offsets=offsets, **more)


def test_token_states_are_on_map_and_pair_and_nowhere_else(own_store):
    page = add(upload(open_page("data", {"kind": "Token states"}), "mine.npz", some_states()))
    go(page, "map").selectbox[0].set_value("mine.npz").run()
    assert [box.label for box in page.selectbox] == ["Texts"], "no model to choose"
    compute(page, "Compute 36 pairs")
    own = read_token_states("mine.npz", some_states())
    moments = text_moments(own.states)
    i, j = np.triu_indices(9, 1)
    expected = pairwise_statistics(moments, i, j)
    assert metrics(page)["Mean SOCM"] == caption_number(float(((1 - expected.d_mu) * expected.d_sigma).mean()))
    go(page, "pair")
    assert page.selectbox[0].value == "mine.npz"
    compute(page, "Look at their tokens")
    numbers = pair_numbers(own.states[0], own.states[1])
    assert list(metrics(page).values())[:2] == [caption_number(numbers.socm), caption_number(numbers.d_mu)]
    page.multiselect(key="without_a").set_value([page.multiselect(key="without_a").options[0]])
    page.session_state["matrices_open"] = page.session_state["numbers_open"] = page.session_state["pair_export_open"] = True
    compute(page.run(), "Move the tokens that are left")
    assert len(page.get("plotly_chart")) == 3, "plane, cosines and plan"
    fewer = pair_numbers(own.states[0][1:], own.states[1])
    assert list(metrics(page).values())[:2] == [caption_number(fewer.socm), caption_number(fewer.d_mu)]
    go(page, "layers")
    assert page.selectbox[0].value == "encyclopedia" and not page.error


def test_a_link_within_the_session_opens_own_texts_and_says_nothing_to_others():
    page = add(upload(open_page("data", {}), "mine.csv", csv()))
    for key, value in {"own": "0", "a": "3", "b": "5"}.items():
        page.query_params[key] = value
    go(page, "pair")
    assert page.selectbox[0].value == "mine.csv" and "own" not in page.query_params
    assert [field.value for field in page.number_input] == [3, 5]
    for value in ("0", "7", "-1", "x", "<script>"):
        other = open_page("map", {"own": value, "corpus": "mine.csv"})
        assert other.selectbox[0].value == "encyclopedia" and not other.error
        assert any("The link names texts that this server does not have" in info.value for info in other.info)


def test_pairs_lie_over_the_map_and_open_in_pair():
    rows = "\n".join(f'"{a}","{b}",k{i % 2}' for i, (a, b) in enumerate(zip(TEXTS[:6], TEXTS[6:], strict=True)))
    page = upload(open_page("data", {"kind": "Pairs of texts"}), "own pairs.csv", f"left,right,label\n{rows}\n".encode())
    assert [box.label for box in page.selectbox] == ["Column of first texts", "Column of second texts", "Column of labels"]
    page.selectbox[2].set_value(2).run()
    add(page)
    go(page, "map")
    page.toggle(key="labelled").set_value(True).run()
    assert page.selectbox(key="over_map").value == "own pairs.csv"
    compute(page, "Compute 6 labelled pairs")
    assert "k1" in page.get("plotly_chart")[0].proto.spec
    go(page, "pair")
    page.radio(key="from").set_value("Labelled pairs").run()
    assert page.selectbox(key="list").value == "own pairs.csv" and TEXTS[0] in [text.value for text in page.text]


def test_a_retrieval_set_of_odd_columns_is_offered_to_the_pages_that_take_one(monkeypatch):
    page = open_page("data", {"kind": "Queries and documents"})
    for at, (name, data) in enumerate({"q.csv": b"key,question\n1,who\n2,what\n", "d.csv": b"key,body\na,me\nb,you\n",
                                       "r.csv": b"q,d,rel\n1,a,1\n2,b,2\n"}.items()):
        upload(page, name, data, at)
    chosen = {"queries": (0, 1), "documents": (0, 1), "qrels": (0, 1, 2)}
    for box, column in zip(page.selectbox, [k for part in chosen.values() for k in part], strict=True):
        box.set_value(column)
    add(page.run())
    own = page.session_state["_own"].own["d.csv"].data
    assert own.queries == ("who", "what") and own.documents == ("me", "you") and own.judged.tolist() == [[0, 0, 1], [1, 1, 2]]
    monkeypatch.setattr("app.private.session", lambda: page.session_state["_own"])
    assert resources.retrieval_set("d.csv") is own and resources.retrieval_sets()[-1] == "d.csv"
    assert results.texts_of("d.csv", "set")[1]["inline"] and results.texts_of("passages", "set") == ({"set": "passages"}, {})


def with_own_set(folder) -> AppTest:
    page = open_page("data", {"kind": "Queries and documents"})
    for at, name in enumerate(("queries.csv", "documents.csv", "qrels.csv")):
        upload(page, name, (folder / name).read_bytes(), at)
    add(page)
    page.query_params["own"], page.query_params["model"] = "0", "nano-cls"
    return page


def test_an_uploaded_retrieval_set_opens_on_pooling_and_truncation(tmp_path):
    page = with_own_set(small_set(tmp_path / "set", 10, 30))
    assert [link.proto.label for link in page.get("page_link")] == ["Pooling", "Truncation"]
    go(page, "pooling")
    assert page.selectbox(key="set").value == "documents.csv" and "own" not in page.query_params
    assert any(button.label.startswith("Measure the poolings of nano-cls") for button in page.button)
    go(page, "truncation")
    assert page.selectbox(key="set").value == "documents.csv", "the choice goes along"
    assert any(button.label.startswith("Cut ") for button in page.button) and not page.error
    assert "documents" not in str(dict(page.query_params))


def test_an_uploaded_retrieval_set_gives_the_numbers_of_the_same_files_in_a_folder(own_store, tmp_path):
    folder = small_set(tmp_path / "set", 10, 30)
    page = go(with_own_set(folder), "pooling")
    compute(page, "Measure the poolings of nano-cls", 600)
    of, ref = load_retrieval_set(folder), resolve_model("nano-cls")
    expected = compute_pooling(of, ref, PoolingOptions(), store=ResultStore(tmp_path / "other"))
    value = PoolingResult.from_stored(expected.arrays, expected.meta).row("cls", "ndcg@10").value.value
    assert metrics(page)["nDCG@10, cls"] == f"{value:.3f}"
    held = b"".join(file.read_bytes() for file in own_store.rglob("*") if file.is_file())
    assert b"documents.csv" not in held and not any(text.encode() in held for text in (*of.queries, *of.documents))
