"""Every parameter of the Map and of the Pair page with every kind of nonsense: a working page, and nothing of it run."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.settings import settings

NONSENSE = ("zzz", "<script>alert(1)</script>", "x" * 20_000, "a\0b\r\nc", "../../../etc/passwd", "1e999", "-1", "",
            "true,false", "%00%2e%2e")
MAP = ("corpus", "model", "layer", "special", "plane", "quantity", "labelled", "tokens", "label", "relation", "compare",
       "vs_corpus", "vs_model", "vs_layer", "box", "export_open", "lengths_open", "pairs")
PAIR = ("corpus", "model", "layer", "special", "a", "b")


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    settings.cache_clear()
    st.cache_data.clear()
    yield
    settings.cache_clear()


def opened(view: str, **query: str) -> AppTest:
    page = AppTest.from_file("../../app/main.py", default_timeout=30)
    for name, value in query.items():
        page.query_params[name] = value
    page.switch_page(f"views/{view}.py")
    return page.run()


def works(page: AppTest, query: dict[str, str]) -> None:
    assert not page.exception and not page.error, query
    assert len(page.metric) == 4, query
    assert page.selectbox[0].value == "encyclopedia" and page.selectbox[1].value == "all-MiniLM-L6-v2", query
    shown = " ".join(element.value for kind in ("caption", "markdown", "subheader", "text", "title") for element in page.get(kind)
                     if isinstance(element.value, str))
    assert "<script>" not in shown and "etc/passwd" not in shown, query


@pytest.mark.parametrize("key", MAP)
def test_map(key):
    for value in NONSENSE:
        query = {key: value} | ({"compare": "true"} if key.startswith("vs_") else {})
        works(opened("map", **query), query)


@pytest.mark.parametrize("key", PAIR)
def test_pair(key):
    for value in NONSENSE:
        works(opened("pair", **{key: value}), {key: value})
