"""Reading texts and pairs: every format gives the same texts, and every bad file one sentence with its place in it."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components import corpora
from components.corpora import (
    BUNDLED,
    ReadLimits,
    bundled_names,
    load_corpus,
    load_pairs,
    read_corpus_bytes,
    read_pairs_bytes,
)
from components.errors import DataError
from components.files import listed, shown_path
from components.types import texts_digest

SCRIPTS = ("Ein Satz mit 👩‍👩‍👧 darin.", "שלום עולם, 'שלום'", "你好，世界", "e\u0301 is not \u00e9",
           "a\u2028b\x0cc\x85d", '  kept, "as" is\t', "NA", "null", "nan", "007", "1e3", "\ufefftext")
FORMATS = ("csv", "tsv", "jsonl", "parquet")


def written(rows: list[dict[str, Any]], extension: str) -> bytes:
    """The rows (strings, or None where the format has a null) as a file."""
    if extension == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    if extension == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if extension == "tsv" else ",")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def parquet_of(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def sentence(call: Any, *args: Any, **kwargs: Any) -> str:
    """The sentence of the error that the call must end in; it is one line, and ends in a full stop."""
    with pytest.raises(DataError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".") and "; found " in text
    return text


# What is read

@pytest.mark.parametrize("extension", FORMATS)
def test_every_format_gives_the_same_texts_and_labels(extension: str, tmp_path: Path) -> None:
    rows = [{"n": str(i), "kind": f"k{i % 3}", "text": text} for i, text in enumerate(SCRIPTS)]
    path = tmp_path / f"notes.{extension}"
    path.write_bytes(written(rows, extension))
    corpus = load_corpus(path, label_column="kind")
    assert corpus.texts == SCRIPTS
    assert corpus.labels == tuple(f"k{i % 3}" for i in range(len(SCRIPTS)))
    assert (corpus.name, corpus.label_name, corpus.notes, corpus.source) == (path.name, "kind", (), "")
    assert corpus.digest == texts_digest(SCRIPTS)
    assert read_corpus_bytes(path.name, path.read_bytes(), "text", label_column="kind") == corpus


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last_end", [True, False])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_txt_has_the_same_digest_whatever_its_line_ends(end: str, last_end: bool, bom: bytes) -> None:
    data = bom + (end.join(SCRIPTS) + (end if last_end else "")).encode()
    corpus = read_corpus_bytes("notes.txt", data)
    assert corpus.texts == SCRIPTS and corpus.notes == () and corpus.digest == texts_digest(SCRIPTS)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_mark_of_tables(end: str) -> None:
    data = end.join(["\ufefftext,kind", '"a ""b"", c",x', "d,y"]).encode()
    corpus = read_corpus_bytes("notes.csv", data, label_column="kind")
    assert corpus.texts == ('a "b", c', "d") and corpus.labels == ("x", "y")


texts_strategy = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), min_size=1).filter(str.strip),
    min_size=2, max_size=8)


@settings(max_examples=60, deadline=None)
@given(texts_strategy)
def test_any_texts_come_back_as_they_were(texts: list[str]) -> None:
    for extension in FORMATS:
        corpus = read_corpus_bytes(f"x.{extension}", written([{"text": text} for text in texts], extension))
        assert corpus.texts == tuple(texts)
    if not texts[0].startswith("\ufeff"):
        assert read_corpus_bytes("x.txt", "\n".join(texts).encode()).texts == tuple(texts)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.text(st.sampled_from('a," \t\n\r;é'), max_size=6), min_size=2, max_size=2), max_size=5),
       st.sampled_from([(".csv", ","), (".tsv", "\t")]))
def test_cells_agree_with_the_csv_module(rows: list[list[str]], kind: tuple[str, str]) -> None:
    rows = [["text", "other"], ["first", "1"], ["second", "2"], *rows]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=kind[1]).writerows(rows)
    expected = tuple(text for text, _ in csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=kind[1]))[1:]
    assert read_corpus_bytes("x" + kind[0], out.getvalue().encode()).texts == tuple(t for t in expected if t.strip())


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from('a,"\n\r\t \0é{}:[]'), max_size=30), st.sampled_from(["txt", "csv", "tsv", "jsonl"]))
def test_any_bytes_give_texts_or_a_sentence(text: str, extension: str) -> None:
    try:
        corpus = read_corpus_bytes(f"x.{extension}", text.encode())
    except DataError:
        return
    assert len(corpus.texts) >= 2
    assert all(t.strip() and t.replace('"', "") in text.replace('"', "") for t in corpus.texts)


@pytest.mark.parametrize(("columns", "asked", "chosen"), [
    (["body"], None, "body"), (["id", "text"], None, "text"), (["Sentence", "id"], None, "Sentence"),
    (["title", "CONTENT", "url"], None, "CONTENT"), (["text", "body"], "body", "body"), (["id", " text"], None,
                                                                                         " text"),
])
@pytest.mark.parametrize("extension", FORMATS)
def test_column_choice(columns: list[str], asked: str | None, chosen: str, extension: str) -> None:
    data = written([{name: f"{name}{i}" for name in columns} for i in range(3)], extension)
    assert read_corpus_bytes(f"x.{extension}", data, asked).texts == tuple(f"{chosen}{i}" for i in range(3))


def test_the_only_string_column_is_chosen_where_columns_have_types() -> None:
    rows = [{"id": i, "body": f"b{i}", "score": 0.5, "nothing": None} for i in range(3)]
    for extension in ("jsonl", "parquet"):
        corpus = read_corpus_bytes(f"x.{extension}", written(rows, extension), label_column="score")
        assert corpus.texts == ("b0", "b1", "b2") and corpus.labels == ("0.5",) * 3


def test_the_label_column_is_not_a_candidate_for_the_texts() -> None:
    assert read_corpus_bytes("x.csv", b"subject,body\na,b\nc,d\n", label_column="subject").texts == ("b", "d")
    assert read_corpus_bytes("x.csv", b"text,body\na,b\nc,d\n", label_column="text").texts == ("b", "d")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(),
                                  pa.dictionary(pa.int32(), pa.string())])
def test_parquet_string_types(kind: Any) -> None:
    values = ["a", None, "b", "a"] * 700  # more than one batch
    array = pa.array(values).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(values, kind)
    corpus = read_corpus_bytes("x.parquet", parquet_of(n=pa.array(range(2800)), **{"a.b": array}))
    assert corpus.texts == ("a", "b", "a") * 700
    assert corpus.notes[1].startswith("700 rows were skipped for a null 'a.b': rows 2, 6, 10,")


# Notes: what was left out or is worth knowing

@pytest.mark.parametrize(("name", "data", "notes"), [
    ("x.txt", b"a\n\nb\n \t\n", ["2 blank lines were skipped: lines 2, 4."]),
    ("x.txt", b"a\r\n\r\nb\r\n", ["1 blank line was skipped: line 2."]),
    ("x.txt", b"a\n" * 3 + b"\n" * 12 + b"b",
     ["12 blank lines were skipped: lines 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 2 more.",
      "2 texts repeat an earlier one and were kept: lines 2, 3."]),
    ("x.csv", b"text\na\n\nb\n", ["1 blank line was skipped: line 3."]),
    ("x.csv", b"id,text\n1,a\n2,\n\n3, \n4,b\n", ["1 blank line was skipped: line 4.",
                                                 "2 rows were skipped for a blank 'text': lines 3, 5."]),
    ("x.csv", b'text,n\n"a\n\nb",1\r\nc,2\n"d\re",3\nc,4\n',
     ["2 quoted texts in 'text' span several lines, from lines 2, 6.",
      "1 text repeats an earlier one and was kept: line 8."]),
    ("x.csv", b"kind,body\na,b\nc,d\n", ["The texts are those of column 'body'."]),
    ("x.csv", b"hello\nworld\nmoon\n", ["The first line was read as the name of the column, 'hello'."]),
    ("x.tsv", b"id\ttext\n1\ta\n2\t\n3\tb", ["1 row was skipped for a blank 'text': line 3."]),
    ("x.jsonl", b'{"text": "a"}\n\n{"text": null}\n{"text": " "}\n{"text": "b"}\n',
     ["1 blank line was skipped: line 2.", "1 row was skipped for a blank 'text': line 4.",
      "1 row was skipped for a null 'text': line 3."]),
    ("x.parquet", parquet_of(text=["a", None, "", "b"]), ["1 row was skipped for a blank 'text': row 3.",
                                                          "1 row was skipped for a null 'text': row 2."]),
])
def test_notes(name: str, data: bytes, notes: list[str]) -> None:
    label = "kind" if b"kind" in data else None
    assert list(read_corpus_bytes(name, data, label_column=label).notes) == notes


def test_labels_stay_with_their_texts_when_rows_are_skipped() -> None:
    corpus = read_corpus_bytes("x.csv", b"text,kind\na,1\n,2\nb,\n", label_column="kind")
    assert corpus.texts == ("a", "b") and corpus.labels == ("1", "")


def test_pandas_missing_values_are_nulls() -> None:
    import pandas as pd
    sink = io.BytesIO()
    pd.DataFrame({"text": ["a", float("nan"), None, "b"]}).to_parquet(sink)
    corpus = read_corpus_bytes("x.parquet", sink.getvalue())
    assert corpus.notes == ("2 rows were skipped for a null 'text': rows 2, 3.",)


# Files that are refused; {f} is the file's name in the sentence

SMALL = ReadLimits(max_file_bytes=400, max_texts=3, max_text_chars=20)
BAD_FILES: list[tuple[str, bytes, str]] = [
    ("x.txt", b"", "{f} must hold texts; found an empty file: put texts into it."),
    ("x.csv", b"\xef\xbb\xbf", "{f} must hold texts; found an empty file: put texts into it."),
    ("x.parquet", b"", "{f} must hold texts; found an empty file: put texts into it."),
    ("x.txt", b"\n \n\t", "{f} must hold texts; found blank lines only: put texts into it."),
    ("x.csv", b"\n\n", "{f} must hold texts; found blank lines only: put texts into it."),
    ("x.jsonl", b"\n", "{f} must hold texts; found blank lines only: put texts into it."),
    ("x.csv", b"text\n", "{f} must hold texts; found a header and no rows: put texts into it."),
    ("x.tsv", b"id\ttext\n\n", "{f} must hold texts; found a header and no rows: put texts into it."),
    ("x.parquet", parquet_of(text=pa.array([], pa.string())),
     "{f} must hold texts; found a header and no rows: put texts into it."),
    ("x.txt", b"one", "{f} must hold at least two texts, since one text makes no pair; found 1 text: add texts to it."),
    ("x.csv", b"text,n\na,1\n,2\n",
     "{f} must hold at least two texts, since one text makes no pair; found 1 text and 1 blank: add texts to it."),
    ("x.jsonl", b'{"text": null}\n{"text": null}\n',
     "{f} must hold at least two texts, since one text makes no pair; found 0 texts and 2 blank: add texts to it."),
    ("x.parquet", parquet_of(id=["i", "j"], text=[None, None]),
     "{f} must hold at least two texts, since one text makes no pair; found 0 texts and 2 blank: add texts to it."),
    ("x.jsonl", b'{"id": "i", "text": "a"}\n{"id": "j", "text": 4}\n',
     "line 2 of {f} must hold a text in 'text'; found 4 of type int: write it as a text, or choose another column."),
    ("x.jsonl", b'{"id": "i", "body": "a"}\n{"id": "j", "body": 4}\n',
     ("the column of {f} must be given, unless it is the only one of texts or the only one called text, sentence, "
      "content; found 2 text columns among 'id', 'body': choose 'id', 'body'.")),
    # Bytes
    ("x.txt", b"a\r\nb\rc\nd \x92 e\n",
     "{f} must be UTF-8 text; found byte 0x92 at offset 9 in line 4: save it as UTF-8."),
    ("x.csv", b"\xef\xbb\xbftext\ncaf\xe9\n",
     "{f} must be UTF-8 text; found byte 0xe9 at offset 11 in line 2: save it as UTF-8."),
    ("x.jsonl", b'{"text": "a"}\n\xe2\x82',
     "{f} must be UTF-8 text; found byte 0xe2 at offset 14 in line 2: save it as UTF-8."),
    ("x.txt", "a\nb".encode("utf-16"),
     "{f} must be UTF-8 text; found the byte-order mark ff fe of UTF-16 or UTF-32: save it as UTF-8."),
    ("x.csv", b"\xfe\xff\0t",
     "{f} must be UTF-8 text; found the byte-order mark fe ff of UTF-16 or UTF-32: save it as UTF-8."),
    ("x.txt", b"a\nb\nc\0d\n",
     ("line 3 of {f} must hold text; found a NUL character: remove it, or save the file as UTF-8 text if it is in "
      "another format.")),
    ("x.jsonl", b'{"text": "a"}\n{"text": "b\\u0000"}\n',
     "line 2 of {f} must hold text; found a NUL character: remove it."),
    ("x.parquet", parquet_of(text=["a", "b", "c\0"]), "row 3 of {f} must hold text; found a NUL character: remove it."),
    ("x.jsonl",
     b'{"text": "a"}\n{"text": "\\ud83d\\ude00"}\n{"text": "\\ud83d!"}\n',
     ("line 3 of {f} must hold whole characters; found half of a surrogate pair, '\\ud83d': write the whole character,"
      " or remove the half.")),
    # Sizes
    ("x.txt", b"a\n\nb\nc\n", "{f} must have at most 3 lines; found 4: keep 3 of them or fewer."),
    ("x.csv", b"text\na\nb\nc\nd\ne\n",
     "{f} must have at most 3 rows; found more, on 6 lines: keep 3 of them or fewer."),
    ("x.tsv", b"text\na\n\n\n\n",
     "{f} must have at most 3 rows; found more, on 5 lines: keep 3 of them or fewer."),
    ("x.csv", b"\n" * 9, "{f} must have at most 3 rows; found 4: keep 3 of them or fewer."),
    ("x.jsonl", b'{"text": "a"}\n' * 4, "{f} must have at most 3 lines; found 4: keep 3 of them or fewer."),
    ("x.txt", b"a\n" + b"b" * 21,
     "line 2 of {f} must be at most 20 characters long; found 21: split it into shorter texts."),
    ("x.csv", b'text,n\n"a\nb",1\n"' + b"c" * 30 + b'",2',
     "line 4 of {f} must be at most 20 characters long; found 30: split it into shorter texts."),
    ("x.txt", b"a\n" * 201, "{f} must have at most 400 bytes; found 402: split it, or keep a sample of its rows."),
    # Quotes and cells
    ("x.csv", b'text,n\na,1\n"b,2\nc,3\n',
     ("line 3 of {f} must close the quote that it opens; found no closing quote up to the end of the file: add the "
      'quote, or write "" for a quote within a cell.')),
    ("x.csv", b'text,n\n"a\nb","c\nd,3\n',
     ("line 3 of {f} must close the quote that it opens; found no closing quote up to the end of the file: add the "
      'quote, or write "" for a quote within a cell.')),
    ("x.csv", b'text,n\n"a,1\nb,2\n"c",3\n',
     ("line 2 of {f} opens a quote, which must close at the end of its cell; found 'c' after the closing quote in "
      'line 4: write "" for a quote within a cell, or add the quote that is missing.')),
    ("x.tsv", b'text\tn\n"a" b\t1\n',
     ("line 2 of {f} opens a quote, which must close at the end of its cell; found ' b' after the closing quote in "
      'line 2: write "" for a quote within a cell, or add the quote that is missing.')),
    ("x.csv", b'text,n\n"a\r\nb",1\r\nc, d,2\r\n',
     ("line 4 of {f} must have 2 cells, as the header has; found 3: put quotes around a cell with a comma in it, or "
      "complete the row.")),
    ("x.tsv", b"text\tn\na\t1\nb\n",
     ("line 3 of {f} must have 2 cells, as the header has; found 1: put quotes around a cell with a tab in it, or "
      "complete the row.")),
    ("x.csv", b"hello\na, b\n",
     ("line 2 of {f} must have 1 cell, as the header has; found 2: put quotes around a cell with a comma in it, or "
      "complete the row.")),
    ("x.csv", b"text,n,text\na,1,b\n",
     "{f} must have distinct column names; found more than one 'text': rename one of them."),
    ("x.csv", b"id;text\n1;a\n2;b\n",
     ("{f} must have a comma between cells; found a semicolon in its only column name 'id;text': save it with commas,"
      " or give that column's name if it is one.")),
    ("x.tsv", b"id,text\n1,a\n2,b\n",
     ("{f} must have a tab between cells; found a comma in its only column name 'id,text': save it with tabs, or give"
      " that column's name if it is one.")),
    ("x.csv", b"id,body\n1,a\n2,b\n",
     ("the column of {f} must be given, unless it is the only one of texts or the only one called text, sentence, "
      "content; found 2 text columns among 'id', 'body': choose 'id', 'body'.")),
    ("x.csv", b"Text,content\n1,a\n2,b\n",
     ("the column of {f} must be given, unless it is the only one of texts or the only one called text, sentence, "
      "content; found 2 text columns among 'Text', 'content': choose 'Text', 'content'.")),
    ("x.parquet", parquet_of(a=[1, 2]),
     ("the column of {f} must be given, unless it is the only one of texts or the only one called text, sentence, "
      "content; found 0 text columns among 'a': choose 'a'.")),
    # JSON
    ("x.jsonl", b'{"text": "a"}\n{"text": "b"\n',
     ("line 2 of {f} must be a JSON object; found expecting ',' delimiter at character 13: write one object a line, "
      'as {"text": "..."}.')),
    ("x.jsonl", b'["a", "b"]\n',
     "line 1 of {f} must be a JSON object; found '[\"a\", \"b\"]': write one object a line, as {\"text\": \"...\"}."),
    ("x.jsonl", b'{"text": "a", "text": "b"}\n',
     "line 1 of {f} must have distinct column names; found more than one 'text': rename one of them."),
    ("x.jsonl", b'{"text": "a"}\n{"txt": "b"}\n{"text": "c"}',
     "{f} must have the column 'text' in every row; found none in line 2: add it there, or null for no text."),
    # Parquet
    ("x.parquet", b"PAR1 not really", "{f} must be a parquet file; found "),
    ("x.parquet", b"text\na\nb\n", "{f} must be a parquet file; found "),
]


@pytest.mark.parametrize(("name", "data", "expected"), BAD_FILES)
def test_bad_files(name: str, data: bytes, expected: str, tmp_path: Path) -> None:
    limits = SMALL if " at most " in expected else ReadLimits()
    in_memory = sentence(read_corpus_bytes, name, data, limits=limits)
    expected_here = expected.replace("{f}", f"file '{name}'")
    assert in_memory == expected_here or (expected.endswith("found ") and in_memory.startswith(expected_here))
    path = tmp_path / name
    path.write_bytes(data)
    on_disk = sentence(load_corpus, path, limits=limits)
    assert on_disk.replace(shown_path(path), repr(name)) == in_memory


@pytest.mark.parametrize(("name", "data", "expected"), [
    ("x.jsonl", b'{"t": "a"}\n{"t": 42}\n', "line 2 of file 'x.jsonl' must hold a text in 't'; found 42 of type int: "),
    ("x.jsonl", b'{"t": "a"}\n\n{"t": ["b"]}\n',
     "line 3 of file 'x.jsonl' must hold a text in 't'; found ['b'] of type list"),
    ("x.parquet", parquet_of(t=[None, 1.5]),
     ("row 2 of file 'x.parquet' must hold a text in 't'; found 1.5 of type float: write it as a text, or choose "
      "another column.")),
    ("x.parquet", parquet_of(t=[b"raw", b"b"]),
     "row 1 of file 'x.parquet' must hold a text in 't'; found b'raw' of type bytes"),
    ("x.parquet", parquet_of(t=[["a"], ["b"]]),
     "column 't' of file 'x.parquet' must hold one value a row; found the type list<"),
])
def test_cells_that_are_not_texts(name: str, data: bytes, expected: str) -> None:
    assert sentence(read_corpus_bytes, name, data, "t").startswith(expected)


def test_a_column_or_label_that_is_not_there() -> None:
    data = b"id,body\n1,a\n2,b\n"
    assert sentence(read_corpus_bytes, "x.csv", data, "Body") == (
        "column must be a column of file 'x.csv'; found 'Body': choose 'id', 'body'.")
    assert sentence(read_corpus_bytes, "x.csv", data, "body", label_column="kind") == (
        "label column must be a column of file 'x.csv'; found 'kind': choose 'id', 'body'.")
    assert sentence(read_corpus_bytes, "x.txt", b"a\nb", "text") == (
        "column must be left out for a .txt; found 'text': give no column, or a table with columns.")
    labels = b'{"text": "a", "k": 1}\n{"text": "b", "k": {}}\n'
    assert sentence(read_corpus_bytes, "x.jsonl", labels, label_column="k") == (
        "line 2 of file 'x.jsonl' must hold a label in 'k'; found {} of type dict: write a text or a number.")


def test_json_that_no_parser_should_choke_on() -> None:
    deep = b'{"text": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
    assert "line 1 of file 'x.jsonl' must be a JSON object" in sentence(read_corpus_bytes, "x.jsonl", deep, "text")
    digits = b'{"text": "a", "n": ' + b"9" * 10_000 + b"}\n"
    assert "line 1 of file 'x.jsonl' must be a JSON object" in sentence(read_corpus_bytes, "x.jsonl", digits)


def test_a_row_of_very_many_cells() -> None:
    assert sentence(read_corpus_bytes, "x.csv", b"text" + b"," * 10_000_000) == (
        "line 1 of file 'x.csv' must have at most 10,000 cells; found more: keep the columns that are read.")
    header = ",".join(f"c{i}" for i in range(10_000))
    row = "," * 9_999
    assert read_corpus_bytes("x.csv", f"{header}\na{row}\nb{row}\n".encode(), "c0").texts == ("a", "b")


def test_a_limit_is_inclusive_and_positive() -> None:
    limits = ReadLimits(max_file_bytes=8, max_texts=2, max_text_chars=3)
    assert read_corpus_bytes("x.txt", b"abc\ndef\n", limits=limits).texts == ("abc", "def")
    assert read_corpus_bytes("x.csv", b"t\nab\nc\n", "t", limits=limits).texts == ("ab", "c")
    assert sentence(ReadLimits, max_texts=0) == (
        "max_texts must be a whole number from 1; found 0: give a positive number.")


# Parquet whose few bytes stand for very many

def test_parquet_that_unpacks_to_too_much() -> None:
    long = parquet_of(text=pa.array(["a" * 5_000 + str(i) for i in range(3_000)]))
    limits = ReadLimits(max_decoded_bytes=1_000_000)
    assert len(long) < 2_000_000
    assert "must unpack to at most 1,000,000 bytes a column; found 15,0" in sentence(  # all of it, so before reading
        read_corpus_bytes, "x.parquet", long, limits=limits)
    one_text = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), pa.array(["b" * 90_000]))
    shared = parquet_of(text=one_text)
    assert len(shared) < 20_000
    assert "must unpack to at most 200,000,000 bytes a column" in sentence(read_corpus_bytes, "x.parquet", shared)
    many = parquet_of(text=pa.nulls(100_001, pa.string()))
    assert sentence(read_corpus_bytes, "x.parquet", many) == (
        "file 'x.parquet' must have at most 100,000 rows; found 100,001: keep 100,000 of them or fewer.")


def test_parquet_damage() -> None:
    good = parquet_of(text=[f"text {i}" for i in range(100)])
    for cut in (3, len(good) // 2, len(good) - 1):
        assert "file 'x.parquet' must be a parquet file; found " in sentence(read_corpus_bytes, "x.parquet", good[:cut])
    offsets = pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")])
    assert sentence(read_corpus_bytes, "x.parquet", parquet_of(text=broken)) == (
        "column 'text' of file 'x.parquet' must hold UTF-8 text; found byte 0xff in a cell among rows 1 to 2: "
        "write the column as UTF-8.")
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"]), sink)
    assert "found more than one 'text'" in sentence(read_corpus_bytes, "x.parquet", sink.getvalue())


# Paths

def test_paths_that_lead_to_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.csv").mkdir()
    Path("notes").write_text("a\nb\n")
    Path("notes.md").write_text("a\nb\n")
    Path("loop.txt").symlink_to("loop.txt")
    Path("dangling.txt").symlink_to("nowhere.txt")
    os.mkfifo("pipe.txt")
    way_out = "check the spelling and the folder, or choose a bundled one ('encyclopedia')."
    for path, expected in [
        ("absent.csv", f"file 'absent.csv' must exist; found nothing at that path: {way_out}"),
        ("notes.md/x.txt", f"file 'notes.md/x.txt' must exist; found nothing at that path: {way_out}"),
        ("dangling.txt", f"file 'dangling.txt' must exist; found nothing at that path: {way_out}"),
        ("folder.csv", "file 'folder.csv' must be a file; found a folder: name a file in it."),
        (".", "file '.' must be a file; found a folder: name a file in it."),
        ("loop.txt",
         ("file 'loop.txt' must lead to a file; found a symbolic link that leads back to itself: name the file "
          "itself.")),
        ("pipe.txt",
         "file 'pipe.txt' must be a regular file; found a pipe, socket or device: save its content to a file."),
        ("/dev/zero",
         "file '/dev/zero' must be a regular file; found a pipe, socket or device: save its content to a file."),
        ("notes.md",
         ("file 'notes.md' must be one of .txt, .csv, .tsv, .jsonl, .parquet; found the extension '.md': save it in "
          "one of these formats, or rename it if it is one.")),
        ("notes",
         ("file 'notes' must be one of .txt, .csv, .tsv, .jsonl, .parquet; found no extension: save it in one of "
          "these formats, or rename it if it is one.")),
        ("encylopedia",
         ("'encylopedia' must be a file or the name of a corpus that is bundled; found neither: choose "
          "'encyclopedia', or give the path of a file.")),
        ("",
         ("'' must be a file or the name of a corpus that is bundled; found neither: choose 'encyclopedia', or give "
          "the path of a file.")),
        ("nul\0.txt", "file 'nul\\x00.txt' must be readable; found the error 'embedded null"),
        ("x" * 300 + ".txt", "must be readable; found the error 'File name too long': check the path and the disk."),
    ]:
        assert expected in sentence(load_corpus, path)
    assert sentence(load_pairs, "graded2") == (
        "'graded2' must be a file or the name of a list of pairs that is bundled; found neither: choose 'pairs', "
        "'graded', or give the path of a file.")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a\nb\n")

    def refuse(*args: object, **kwargs: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("components.files.os.open", refuse)  # chmod does not stop root
    assert sentence(load_corpus, path).endswith(
        " must be readable; found no permission to read it: change its permissions or copy it.")


def test_size_is_checked_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with open(path, "wb") as file:
        file.truncate(10**10)  # sparse: ten gigabytes of zeros
    assert "must have at most 50,000,000 bytes; found 10,000,000,000: split it" in sentence(load_corpus, path)


def test_extensions_and_names(tmp_path: Path) -> None:
    path = tmp_path / "UPPER.TXT"
    path.write_text("a\nb\n")
    before = (path.stat().st_mtime_ns, sorted(os.listdir(tmp_path)))
    assert load_corpus(str(path)) == load_corpus(path)
    assert (path.stat().st_mtime_ns, sorted(os.listdir(tmp_path))) == before
    assert read_corpus_bytes("C:\\texts\\mine.txt", b"a\nb").name == "mine.txt"
    assert "found no extension" in sentence(read_corpus_bytes, "", b"a\nb")
    assert shown_path("/" + "f" * 200 + "/notes.csv").endswith("fff/notes.csv'")
    assert len(shown_path("x" * 500)) == 80 and listed(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"


# Pairs

@pytest.mark.parametrize("names", [("text_a", "text_b"), ("Text1", "text2"), ("sentence1", "SENTENCE2")])
@pytest.mark.parametrize("extension", FORMATS)
def test_pairs_of_every_format(names: tuple[str, str], extension: str, tmp_path: Path) -> None:
    rows = [{"score": str(i), names[0]: a, names[1]: b} for i, (a, b) in enumerate(pairwise(SCRIPTS))]
    path = tmp_path / f"pairs.{extension}"
    path.write_bytes(written(rows, extension))
    pairs = load_pairs(path, label="score")
    assert pairs.texts_a == SCRIPTS[:-1] and pairs.texts_b == SCRIPTS[1:]
    assert pairs.labels == tuple(str(i) for i in range(len(rows))) and pairs.notes == ()
    assert (pairs.name, pairs.digest) == (path.name, texts_digest(SCRIPTS[:-1], SCRIPTS[1:]))
    assert load_pairs(path, *names).labels == ()
    assert load_pairs(path, names[1], names[0]).texts_a == SCRIPTS[1:]


def test_one_pair_suffices_and_skipped_rows_are_noted() -> None:
    pairs = read_pairs_bytes("p.csv", b"a,b,k\nx,y,1\n,z,2\nz, ,3\nx,y,4\n", "a", "b", "k")
    assert (pairs.texts_a, pairs.texts_b, pairs.labels) == (("x", "x"), ("y", "y"), ("1", "4"))
    assert pairs.notes == ("1 row was skipped for a blank 'a': line 3.", "1 row was skipped for a blank 'b': line 4.",
                           "1 pair repeats an earlier one and was kept: line 5.")
    assert read_pairs_bytes("p.tsv", b"text1\ttext2\nx\tx\n").texts_b == ("x",)


@pytest.mark.parametrize(("name", "data", "columns", "expected"), [
    ("p.txt", b"a\nb\n", {},
     ("file 'p.txt' must be a table with two columns of texts; found a .txt, which has one text a line: use a .csv, "
      ".tsv, .jsonl or .parquet.")),
    ("p.csv", b"a,b\nx,y\n", {},
     ("the two text columns of file 'p.csv' must be named, unless they are text_a and text_b, text1 and text2, "
      "sentence1 and sentence2; found the columns 'a', 'b': give both columns' names.")),
    ("p.csv", b"text1,text2,text_a,text_b\nx,y,z,w\n", {},
     "found the columns 'text1', 'text2', 'text_a', 'text_b': give both"),
    ("p.csv", b"a,b\nx,y\n", {"text_a": "a"},
     "the two text columns must be given together; found only 'a': choose 'a', 'b'."),
    ("p.csv", b"a,b\nx,y\n", {"text_a": "a", "text_b": "a"},
     "the two text columns must differ; found 'a' twice: choose"),
    ("p.csv", b"a,b\nx,y\n", {"text_a": "a", "text_b": "c"},
     "column of second texts must be a column of file 'p.csv'; found 'c': choose 'a', 'b'."),
    ("p.csv", b"a,b\nx,\n,y\n", {"text_a": "a", "text_b": "b"},
     "file 'p.csv' must hold at least one pair of texts; found none in 2 rows: fill 'a' and 'b' in some row."),
    ("p.csv", b"text1,text2\n", {}, "file 'p.csv' must hold texts; found a header and no rows: put texts into it."),
    ("p.csv", b"text1,text2\nx,y\n", {"label": "k"},
     "label column must be a column of file 'p.csv'; found 'k': choose 'text1'"),
])
def test_bad_pairs(name: str, data: bytes, columns: dict[str, str], expected: str) -> None:
    assert expected in sentence(read_pairs_bytes, name, data, **columns)


# Bundled ones

def test_bundled_names_and_registry() -> None:
    assert bundled_names() == ("encyclopedia",) and bundled_names("pairs") == ("pairs", "graded")
    assert all(name == entry.name and entry.description and entry.source for name, entry in BUNDLED.items())
    with pytest.raises(TypeError):
        BUNDLED["mine"] = BUNDLED["pairs"]  # type: ignore[index]


def test_bundled_files_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "DATA_DIR", tmp_path)
    assert sentence(load_corpus, "encyclopedia").endswith(
        "encyclopedia.csv' must exist; found nothing at that path: restore the data folder from the repository.")
    (tmp_path / "encyclopedia.csv").write_text("subject,text\nsea,a\nsky,b\n")
    (tmp_path / "pairs.csv").write_text("label,language,text_a,text_b\nsame,de,a,b\n")
    (tmp_path / "graded.csv").write_text("score,text_a,text_b\n4.50,a,b\n")
    corpus = load_corpus("encyclopedia")
    assert (corpus.name, corpus.texts, corpus.labels) == ("encyclopedia", ("a", "b"), ("sea", "sky"))
    assert (corpus.label_name, corpus.source, corpus.notes) == ("subject", "Poolscope encyclopedia, CC0", ())
    assert load_corpus("encyclopedia", "subject").texts == ("sea", "sky")
    pairs = load_pairs("pairs")
    assert (pairs.name, pairs.texts_a, pairs.texts_b, pairs.labels) == ("pairs", ("a",), ("b",), ("same",))
    assert load_pairs("pairs", label="language").labels == ("de",)
    assert load_pairs("graded").labels == ("4.50",)
    assert sentence(load_corpus, "pairs") == (
        "bundled name 'pairs' must be that of a corpus; found a list of pairs: choose 'encyclopedia'.")
    assert sentence(load_pairs, "encyclopedia") == (
        "bundled name 'encyclopedia' must be that of a list of pairs; found a corpus: choose 'pairs', 'graded'.")


# Imports

def test_the_import_is_cheap_and_allowed() -> None:
    code = "import sys, components.corpora; print(*{'pandas', 'pyarrow', 'torch', 'streamlit'} & set(sys.modules))"
    root = corpora.DATA_DIR.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == ""
    for module in ("corpora", "columns", "tables", "files"):
        tree = ast.parse((Path(corpora.__file__).parent / f"{module}.py").read_text())
        names = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        names |= {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
        outside = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
        assert outside <= {"components.columns", "components.errors", "components.files", "components.hub_datasets",
                           "components.tables",
                           "components.types", "pyarrow", "pyarrow.parquet"}
