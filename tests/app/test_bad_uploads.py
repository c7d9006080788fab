"""Every kind of bad upload: one sentence with its place, and the session as it was before."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app import private
from app.settings import settings
from tests.app.pages import open_page
from tests.app.test_data_page import add, errors, npz, upload

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("POOLSCOPE_MAX_FILE_MB", "1")
    settings.cache_clear()
    yield tmp_path / "store"
    settings.cache_clear()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a.txt", "x")
    return out.getvalue()


def parquet(columns, **how) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **how)
    return out.getvalue()


MANY = ",".join(f"c{k}" for k in range(10_001))
TEXTS = {
    "a zip called csv": ("a.csv", zipped(), ""),
    "an xlsx's first bytes": ("a.tsv", b"PK\x03\x04\x14\x00\x06\x00text\n\xd0\x00", ""),
    "no extension": ("a", b"text\nx\ny\n", "must be one of .txt"),
    "an executable": ("a.exe", b"MZ", "must be one of .txt"),
    "an empty file": ("a.csv", b"", "an empty file"),
    "a header alone": ("a.csv", b"text\n", "a header and no rows"),
    "one text": ("a.csv", b"text\nonly\n", "at least two texts"),
    "blank rows only": ("a.txt", b"\n  \n\n", "blank lines only"),
    "an embedded NUL": ("a.csv", b"text\none\ntw\0o\n", "line 3 of file 'a.csv' must hold text; found a NUL character"),
    "ragged rows": ("a.csv", b"text,kind\none,a\ntwo\n", "line 3 of file 'a.csv' must have 2 cells"),
    "a quote that stays open": ("a.csv", b'text\n"one\ntwo\n', "line 2"),
    "UTF-16": ("a.csv", "text\none\ntwo\n".encode("utf-16"), "must be UTF-8 text"),
    "latin-1": ("a.txt", "one\ncafé\n".encode("latin-1"), "in line 2"),
    "10,001 columns": ("a.csv", f"{MANY}\n{MANY}\n".encode(), "at most 10,000 cells"),
    "10,001 columns of JSON": ("a.jsonl", ("{" + ",".join(f'"c{k}": "x"' for k in range(10_001)) + "}\n").encode() * 2,
                               "at most 10,000 columns"),
    "columns of one name": ("a.csv", b"text,text\na,b\nc,d\n", "must have distinct column names"),
    "more than the cap": ("a.txt", b"word\n" * 250_000, "at most 1,000,000 bytes"),
    "a text too long": ("a.txt", b"x" * 100_001 + b"\ny\n", "line 1 of file 'a.txt' must be at most 100,000 characters"),
    "JSON that is a list": ("a.jsonl", b'["a"]\n["b"]\n', "line 1 of file 'a.jsonl' must be a JSON object"),
    "JSON cut short": ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2"),
    "a thousand brackets": ("a.jsonl", b'{"text": "a"}\n' + b"[" * 100_000 + b"\n", "line 2"),
    "numbers as texts": ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', "line 2 of file 'a.jsonl' must hold a text in 'text'"),
    "half a character": ("a.jsonl", b'{"text": "\\ud800"}\n{"text": "b"}\n', "half of a surrogate pair"),
    "a parquet that is none": ("a.parquet", b"PAR1 nothing PAR1", "must be a parquet file"),
    "a parquet that unpacks to 1 GB": ("a.parquet", parquet({"text": pa.DictionaryArray.from_arrays(
        pa.array([0] * 12_000, pa.int32()), pa.array(["x" * 90_000]))}), "must unpack to at most 200,000,000 bytes"),
    "a parquet of lists": ("a.parquet", parquet({"text": [["a"], ["b"]]}), "must hold one value a row"),
}


def state_of(page) -> tuple:
    session = page.session_state["_own"]
    return dict(session.own), dict(session.choices), page.session_state["_upload_form"]


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name, own_store):
    page = add(upload(open_page("data", {}), "good.txt", b"one\ntwo\n"))
    before = state_of(page)
    file, data, said = TEXTS[name]
    upload(page, file, data)
    assert len(errors(page)) == 1 and said in errors(page)[0] and "Traceback" not in errors(page)[0], errors(page)
    assert errors(page)[0].endswith(".") and state_of(page) == before and not own_store.exists()
    assert not [button for button in page.button if button.label == "Use them in this session"]


PAIRS = {
    "a .txt": ("a.txt", b"one\ntwo\n", "must be a table with two columns"),
    "one column": ("a.csv", b"text_a\nx\n", "must differ"),
    "no whole pair": ("a.csv", b"text_a,text_b\nx,\n,y\n", "at least one pair"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    page = open_page("data", {"kind": "Pairs of texts"})
    before = state_of(page)
    file, data, said = PAIRS[name]
    upload(page, file, data)
    assert len(errors(page)) == 1 and said in errors(page)[0] and state_of(page) == before


QUERIES, DOCUMENTS = b"query_id,text\nq1,who\nq2,what\n", b"document_id,text\nd1,me\nd2,you\n"
QRELS = b"query_id,document_id,relevance\nq1,d1,1\n"
SETS = {
    "duplicate ids": (QUERIES, b"document_id,text\nd1,me\nd1,you\n", QRELS, "line 3 of documents file"),
    "a document that is not there": (QUERIES, DOCUMENTS, b"query_id,document_id,relevance\nq1,d9,1\n", "'d9', which is none"),
    "a twin in another Unicode form": (QUERIES, "document_id,text\né,me\nd2,you\n".encode(),
                                       "query_id,document_id,relevance\nq1,e\u0301,1\n".encode(), "must name one of the documents"),
    "half an answer": (QUERIES, DOCUMENTS, b"query_id,document_id,relevance\nq1,d1,0.5\n", "must have a whole number from 0"),
    "two opinions": (QUERIES, DOCUMENTS, QRELS + b"q1,d1,0\n", "must not contradict"),
    "nothing relevant": (QUERIES, DOCUMENTS, b"query_id,document_id,relevance\nq1,d1,0\n", "no relevance above 0"),
}


@pytest.mark.parametrize("name", SETS)
def test_retrieval_sets(name):
    page = open_page("data", {"kind": "Queries and documents"})
    before = state_of(page)
    for at, (file, data) in enumerate(zip(("queries.csv", "documents.csv", "qrels.csv"), SETS[name], strict=False)):
        upload(page, file, data, at)
    assert len(errors(page)) == 1 and SETS[name][3] in errors(page)[0] and state_of(page) == before


def test_token_states_say_what_the_reader_says():
    page = open_page("data", {"kind": "Token states"})
    before = state_of(page)
    for data, said in ((npz(states=np.ones((4, 2))), "must hold an array 'offsets'"),
                       (npz(states=np.ones((4, 2), object), offsets=np.array([0, 1, 4])), "no pickled objects"),
                       (npz(states=np.ones((4, 2)), offsets=np.array([0, 9, 4])), "9 at [1]")):
        upload(page, "mine.npz", data)
        assert len(errors(page)) == 1 and said in errors(page)[0] and state_of(page) == before


def test_the_session_has_a_cap_and_says_so(monkeypatch):
    monkeypatch.setenv("POOLSCOPE_MAX_UPLOAD_MB", "0.01")
    settings.cache_clear()
    page = add(upload(open_page("data", {}), "a.txt", b"word word\n" * 800))
    before = state_of(page)
    upload(page, "b.txt", b"word word\n" * 320)
    next(button for button in page.button if button.label == "Use them in this session").click().run()
    assert "must have at most 10,000 bytes in one session; found 10,080 with this" in errors(page)[0] and state_of(page) == before
    upload(page, "b.txt", b"word word\n" * 200)
    add(page)
    next(button for button in page.button if button.label == "Remove").click().run()
    assert list(page.session_state["_own"].own) == ["b.txt"]
    assert isinstance(page.session_state["_own"], private.Session)
