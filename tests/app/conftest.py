"""A tiny model and a folder of their own for the tests of the command line, and empty caches for those of pages."""

import pytest
import streamlit as st

from app.settings import settings
from tests.app.command import LINES


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tests.components import tiny_models  # loads torch, which tests of the pages do without

    return str(tiny_models.save("bert", tmp_path_factory.mktemp("cli") / "tiny"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder in which the command runs, with ten texts and a store of its own."""
    here = tmp_path / "place"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("POOLSCOPE_STORE", str(here / "store"))
    (here / "texts.txt").write_text("\n".join(LINES) + "\n")
    return here


@pytest.fixture
def own_store(tmp_path, monkeypatch):
    """A store that only this test has, and settings read anew."""
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    settings.cache_clear()
    yield tmp_path / "store"
    settings.cache_clear()


@pytest.fixture
def fresh_caches():
    """What one page kept in memory is not there for the next."""
    st.cache_data.clear()
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()
