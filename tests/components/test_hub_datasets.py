"""Datasets of the hub by name, read by the real library from a folder of the same name; nothing reaches a network."""

from __future__ import annotations

import pytest

from components.corpora import load_corpus
from components.errors import DataError
from components.files import ReadLimits
from components.hub_datasets import HubName, parse
from tests.app.command import refused


@pytest.fixture
def owner(tmp_path, monkeypatch):
    """What the library takes for the dataset owner/set, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    folder = tmp_path / "owner" / "set"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("text,other,n\none text,a,1\n  two ,b,2\n,c,3\nthree,d,4\n")
    return folder


def test_names():
    assert parse("hf:a/b:train:text") == HubName("a/b", None, "train", None, "text")
    assert parse("hf:a/b/c:train[:50]:my: column") == HubName("a/b", "c", "train", 50, "my: column")
    assert parse("hf:a/b:train") == HubName("a/b", None, "train", None, None)


@pytest.mark.parametrize("name", ["hf:", "hf:a", "hf:a/b", "hf:a/b:", "hf:../b:train:x", "hf:/etc:train:x", "hf:a/../b:train:x",
                                  "hf:a/b:tr ain:x", "hf:a/b:train[1:]:x", "hf:a/b:train[:1]:x", "hf:a\0/b:train:x", "hf:a/b:[:5]:x"])
def test_bad_names(name):
    with pytest.raises(DataError, match="must"):
        load_corpus(name)


def test_a_column_of_a_split_is_a_corpus(owner):
    corpus = load_corpus("hf:owner/set:train:text")
    assert corpus.texts == ("one text", "  two ", "three") and "rows skipped" not in corpus.texts
    assert any("row 3" in note for note in corpus.notes) and corpus.source == "Hugging Face dataset owner/set"
    assert load_corpus("hf:owner/set:train:other").texts == ("a", "b", "c", "d")
    assert load_corpus("hf:owner/set:train[:2]").texts == ("one text", "  two ")
    assert load_corpus("hf:owner/set:train:text", column="other").texts[0] == "a"


@pytest.mark.parametrize(("name", "said"), [
    ("hf:owner/set:test:text", "must have that split"), ("hf:owner/set:train:nothing", "choose 'text', 'other', 'n'"),
    ("hf:owner/set:train:n", "must hold a text in 'n'"), ("hf:owner/none:train:text", "requests are off (HF_HUB_OFFLINE)")])
def test_what_is_not_there_is_a_sentence(owner, name, said):
    with pytest.raises(DataError) as error:
        load_corpus(name)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_more_than_the_caps_is_refused_and_not_cut(owner):
    with pytest.raises(DataError, match="at most 3 rows"):
        load_corpus("hf:owner/set:train:other", limits=ReadLimits(max_texts=3))
    with pytest.raises(DataError, match="at most 3 rows"):
        load_corpus("hf:owner/set:train[:4]:other", limits=ReadLimits(max_texts=3))
    assert len(load_corpus("hf:owner/set:train[:3]:other", limits=ReadLimits(max_texts=3)).texts) == 3


def test_the_command_says_one_sentence_without_a_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    said = refused(tmp_path, "pairs", "nano-mrl", "hf:owner/none:train:text", "--out", "x.csv")
    assert "dataset owner/none must be reachable" in said and "give a file of texts" in said
