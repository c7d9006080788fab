"""The page Your data and what it puts onto the other pages, run by Streamlit's own test harness."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from app.settings import settings
from components.corpora import load_corpus
from tests.app.pages import metrics, open_page

pytestmark = pytest.mark.usefixtures("fresh_caches")
TEXTS = load_corpus("encyclopedia").texts[:12]


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    settings.cache_clear()
    yield tmp_path / "store"
    settings.cache_clear()


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
    assert [button.label for button in page.button][0].startswith("Compute 66 pairs")
    assert "mine" not in str(dict(page.query_params))
