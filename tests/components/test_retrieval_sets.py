"""Queries, documents and judgements: what is bundled, BEIR's layout, and each kind of bad input with its sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from components.errors import DataError
from components.retrieval_sets import BUNDLED_SETS, load_retrieval_set

QUERIES = [("q1", "Where does the river rise?"), ("q2", "Who built the mill?")]
DOCUMENTS = [("d1", "The Arle rises under a beech."), ("d2", "Two brothers built the mill."), ("d3", "The road is closed.")]
QRELS = [("q1", "d1", 1), ("q2", "d2", 1)]


def write(folder: Path, queries=QUERIES, documents=DOCUMENTS, qrels=QRELS) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows, columns in (("queries", queries, ["query_id", "text"]), ("documents", documents, ["document_id", "text"]),
                                ("qrels", qrels, ["query_id", "document_id", "relevance"])):
        pd.DataFrame(rows, columns=columns).to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.mark.parametrize(("name", "queries", "documents"), [("passages", 300, 300), ("long-documents", 48, 12)])
def test_bundled_sets(name, queries, documents):
    of = load_retrieval_set(name)
    assert (len(of.queries), len(of.documents), len(of.answered)) == (queries, documents, queries)
    assert not of.notes and not of.graded and "CC0" in of.source and name in BUNDLED_SETS


def test_a_folder_in_every_format_is_the_same_set(tmp_path):
    folder = write(tmp_path / "csv")
    first = load_retrieval_set(folder)
    assert first.relevant(1).tolist() == [1] and first.name == "csv"
    for extension, save in ((".tsv", lambda t, p: t.to_csv(p, sep="\t", index=False)),
                            (".jsonl", lambda t, p: t.to_json(p, orient="records", lines=True)),
                            (".parquet", lambda t, p: t.to_parquet(p, index=False))):
        other = tmp_path / extension[1:]
        other.mkdir()
        for part in ("queries", "documents", "qrels"):
            save(pd.read_csv(folder / f"{part}.csv"), other / f"{part}{extension}")
        assert load_retrieval_set(other).digest == first.digest, extension


def test_beirs_names_and_layout(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in QUERIES))
    (tmp_path / "corpus.jsonl").write_text("".join(
        json.dumps({"_id": d, "title": "Title" if d != "d3" else "", "text": t}) + "\n" for d, t in DOCUMENTS))
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\n")
    of = load_retrieval_set(tmp_path)
    assert of.documents[0] == "Title The Arle rises under a beech." and of.documents[2] == "The road is closed."
    assert of.graded and of.judged.tolist() == [[0, 0, 2], [1, 1, 1]] and any("BEIR" in note for note in of.notes)


def test_the_digest_depends_on_texts_ids_and_judgements_and_not_on_the_judgements_order(tmp_path):
    digests = [load_retrieval_set(write(tmp_path / str(k), **change)).digest for k, change in enumerate((
        {}, {"qrels": QRELS[::-1]}, {"qrels": [("q1", "d2", 1), QRELS[1]]}, {"queries": [("q1", "Else?"), QUERIES[1]]}))]
    assert digests[0] == digests[1] and len(set(digests)) == 3


def test_what_cannot_be_scored_is_left_out_and_said(tmp_path):
    of = load_retrieval_set(write(tmp_path, queries=[*QUERIES, ("q3", "Nobody knows?"), ("q4", " ")],
                                  qrels=[*QRELS, QRELS[0], ("q4", "d1", 1), ("q3", "d1", 0)]))
    assert len(of.queries) == 3 and of.answered.tolist() == [0, 1]
    said = " ".join(of.notes)
    assert "1 of 3 queries are left out of every metric" in said and "skipped for a blank 'text': line 5" in said
    assert "1 judgement of blank texts left out" in said and "1 judgement stood twice and counts once" in said


BAD = [
    ({"queries": [*QUERIES, ("q1", "Again?")]}, r"line 4 of queries file .* must have an id of its own; found 'q1', as in line 2"),
    ({"documents": [*DOCUMENTS, ("d2", "Again.")]}, r"line 5 of documents file .* must have an id of its own; found 'd2'"),
    ({"qrels": [*QRELS, ("q1", "d9", 1)]}, r"line 4 of qrels file .* must name one of the documents; found 'd9', which is none"),
    ({"qrels": [*QRELS, ("q9", "d1", 1)]}, r"must name one of the queries; found 'q9'"),
    ({"qrels": [("q1", "d1", 0)]}, r"must say of a query which document answers it; found no relevance above 0, with 2 queries"),
    ({"qrels": [("q1", "d1", -1)]}, r"line 2 .* must have a whole number from 0 as its relevance; found '-1'"),
    ({"qrels": [("q1", "d1", "high")]}, r"whole number from 0 as its relevance; found 'high'"),
    ({"qrels": [("q1", "d1", 0.5)]}, r"whole number from 0 as its relevance; found '0.5'"),
    ({"qrels": [*QRELS, ("q1", "d1", 2)]}, r"must not contradict an earlier row; found relevance 2 after 1 for 'q1' and 'd1'"),
    ({"documents": DOCUMENTS[:1], "qrels": QRELS[:1]}, r"must hold two documents or more.*; found 1 document"),
    ({"queries": [("", "A text?"), *QUERIES]}, r"line 2 of queries file .* must name its query id; found nothing"),
    ({"queries": [(" ", "A text?"), *QUERIES]}, r"must name its query id; found ' '"),
    ({"documents": []}, r"documents.csv' must hold texts; found a header and no rows"),
    ({"queries": [("q1", "nul \0 here"), QUERIES[1]]}, r"NUL"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_input_gets_its_sentence(tmp_path, change, sentence):
    with pytest.raises(DataError, match=sentence):
        load_retrieval_set(write(tmp_path, **change))


def test_a_missing_double_or_nameless_file(tmp_path):
    folder = write(tmp_path / "set")
    (folder / "corpus.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"must hold one file of documents; found documents.csv, corpus.jsonl: keep one"):
        load_retrieval_set(folder)
    (folder / "corpus.jsonl").unlink()
    (folder / "qrels.csv").unlink()
    with pytest.raises(DataError, match="must hold one file of qrels; found none: add qrels.csv"):
        load_retrieval_set(folder)
    with pytest.raises(DataError, match="must be a folder with queries, documents and qrels, or the name of a bundled set"):
        load_retrieval_set(tmp_path / "nowhere")
    (folder / "qrels.csv").write_text("query_id,document_id\nq1,d1\n")
    with pytest.raises(DataError, match="must have a column relevance; found the columns 'query_id', 'document_id'"):
        load_retrieval_set(folder)


def test_whole_numbers_may_be_ids_and_floats_relevance(tmp_path):
    tmp_path.joinpath("queries.jsonl").write_text('{"query_id": 7, "text": "Where?"}\n')
    tmp_path.joinpath("documents.jsonl").write_text('{"document_id": 1, "text": "Here."}\n{"document_id": 2, "text": "There."}\n')
    pd.DataFrame({"query_id": [7], "document_id": [2], "relevance": [1.0]}).to_parquet(tmp_path / "qrels.parquet")
    of = load_retrieval_set(tmp_path)
    assert of.query_ids == ("7",) and of.relevant(0).tolist() == [1]


def test_the_bundled_long_documents_answers_stand_where_they_are_said_to():
    of = load_retrieval_set("long-documents")
    answers = pd.read_csv(Path("data/long-documents/answers.csv"))
    assert set(answers["query_id"]) == set(of.query_ids) and (answers["third"] == "last").sum() == 24
    place = {d: i for i, d in enumerate(of.document_ids)}
    for row in answers.itertuples():
        text = of.documents[place[row.document_id]]
        assert text.count(row.answer) == 1
        share = len(text[:text.index(row.answer)].split()) / len(text.split())
        assert row.third == ("first" if share < 1 / 3 else "middle" if share < 2 / 3 else "last")
    words = np.array([len(text.split()) for text in of.documents])
    assert words.min() >= 600 and words.max() <= 1000


def test_the_bundled_passages_are_short_distinct_and_in_eight_domains():
    of = load_retrieval_set("passages")
    assert len(set(of.labels)) == 8 and len(set(of.documents)) == len(set(of.queries)) == 300
    words = np.array([len(text.split()) for text in of.documents])
    assert words.min() >= 35 and words.max() <= 80
    assert [q.removeprefix("q-") for q in of.query_ids] == list(of.document_ids)
    grouped = [g for g in of.groups if g]
    assert len(grouped) > 200 and all(3 <= grouped.count(g) <= 4 for g in set(grouped))
