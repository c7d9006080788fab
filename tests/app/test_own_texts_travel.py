"""Texts of a session on their way to the worker, and what becomes of their results on a hosted server."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from app import private, resources
from app.jobs import JobRegistry
from app.settings import settings
from components.inline_texts import bytes_of, corpus_of, inline_bytes, inline_texts, pairs_of, set_of
from components.retrieval_sets import load_retrieval_set
from components.types import Corpus, PairList
from tests.app.pages import metrics, open_page
from tests.app.test_data_page import TEXTS, add, compute, csv, go, upload
from tests.app.test_jobs import ended, running, until, wait
from tests.app.worker_tasks import ENV, key_of

ODD = ("plain", '"quoted" \\ back', "line\nbreak\r\n", "\u2028 \u0000 tab\t", "한국어 😀", "", "{}[]", "=1+1")


def travelled(own) -> dict:
    line = inline_texts(own)
    assert b"\n" not in line
    return {"inline": json.loads(line)}


def test_texts_arrive_as_they_left_without_name_and_notes():
    corpus = Corpus("secret name.csv", ODD, tuple("abcdefgh"), "kind", ("a secret note",))
    found = corpus_of(travelled(corpus))
    assert (found.texts, found.labels, found.label_name, found.digest) == (corpus.texts, corpus.labels, "kind", corpus.digest)
    assert b"secret" not in inline_texts(corpus) and found.name == "own texts" and not found.notes
    pairs = PairList("p", ODD, ODD[::-1], tuple("abcdefgh"))
    assert pairs_of(travelled(pairs)).digest == pairs.digest and pairs_of(travelled(pairs)).labels == pairs.labels
    judged = load_retrieval_set("long-documents")
    found_set = set_of(travelled(judged))
    assert found_set.digest == judged.digest and found_set.labels == judged.labels and found_set.groups == judged.groups
    assert bytes_of({"inline": json.loads(inline_bytes(bytes(range(256))))}) == bytes(range(256))


def test_what_a_task_names_is_still_found():
    assert corpus_of({"corpus": "encyclopedia"}).name == "encyclopedia" and pairs_of({"pairs": "pairs"}).name == "pairs"
    assert set_of({"set": "long-documents"}).name == "long-documents"


@pytest.fixture
def registry(tmp_path):
    made = JobRegistry({"root": str(tmp_path / "store"), "max_bytes": 10**9}, env=ENV)
    yield made
    made.shutdown()


def test_fifty_megabytes_arrive_whole(registry, tmp_path):
    """How long the server's other threads wait meanwhile: ``python -m tests.benchmarks.inline_texts``."""
    text = "0123456789abcdé \" " * 250
    corpus = Corpus("big", (text,) * (50_000_000 // len(text.encode())))
    asked = []
    job = registry.submit("travelled", {"name": "big"}, key_of("big").digest, "me",
                          inline=lambda: asked.append(1) or inline_texts(corpus))
    assert ended(job) == "done", job.sentence
    assert asked == [1] and job.inline is None and "inline" not in job.args
    assert json.loads((tmp_path / "store").with_name("seen").read_text()) == {"n": len(corpus.texts), "digest": corpus.digest}


def test_a_worker_that_does_not_read_can_still_be_cancelled(registry):
    """The pipe is full and the process stopped: the dispatcher must see the cancel all the same."""
    first = wait(registry, "first")
    running(first)
    import os
    import signal

    os.kill(registry._worker.pid, signal.SIGSTOP)
    big = registry.submit("travelled", {"name": "stuck"}, key_of("stuck").digest, "me", inline=lambda: inline_texts(
        Corpus("big", ("x" * 1_000_000,) * 20)))
    registry._grace = 0.3
    registry.cancel(first.key_digest, "me")
    assert ended(first) == "cancelled"
    until(lambda: not big.snapshot().active, "the next one, by another process")
    assert big.state == "done"


def test_a_job_dies_and_its_texts_are_sent_again(registry, tmp_path):
    corpus = Corpus("c", ("a", "b"))
    job = registry.submit("die", {"name": "again", "times": 1, "tries": str(tmp_path / "tries")}, key_of("again").digest, "me",
                          inline=lambda: inline_texts(corpus))
    assert ended(job) == "done" and (tmp_path / "tries").stat().st_size == 2


def test_too_much_is_a_sentence(registry, monkeypatch):
    monkeypatch.setattr("app.jobs.MAX_INLINE_BYTES", 10)
    job = registry.submit("travelled", {"name": "x"}, key_of("x").digest, "me", inline=lambda: b'{"texts": ["abc"]}')
    assert ended(job) == "failed" and "at most 10 bytes" in job.snapshot().sentence


def test_a_session_that_goes_leaves_its_jobs(registry):
    job = wait(registry, "left", "gone")
    running(job)
    registry.leave("gone")
    assert ended(job) == "cancelled"


@pytest.fixture
def hosted(tmp_path, monkeypatch, fresh_caches):
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("POOLSCOPE_HOSTED", "1")
    settings.cache_clear()
    yield tmp_path / "store"
    settings.cache_clear()


def test_a_hosted_store_gets_nothing_and_the_session_takes_its_results_along(hosted):
    page = add(upload(open_page("data", {}), "mine.csv", csv()))
    go(page, "map").selectbox[0].set_value("mine.csv").run()
    compute(page, "Compute 66 pairs")
    shown = metrics(page)
    session = page.session_state["_own"]
    folder = private.private_root() / session.id
    assert [file.parent.name for file in folder.rglob("*.json")] == ["pair_map"] and folder.stat().st_mode & 0o077 == 0
    assert not [file for file in hosted.rglob("*") if file.is_file()]
    other = add(upload(open_page("data", {}), "mine.csv", csv()))
    go(other, "map").selectbox[0].set_value("mine.csv").run()
    assert other.button[0].label.startswith("Compute 66 pairs") and not other.metric, "what one computed another does not see"
    assert len(shown) == 4 and not resources.models_allowed()
    del session, page
    gc.collect()
    until(lambda: not folder.exists(), "the session's folder to go with it")


def test_typed_texts_stay_out_of_a_hosted_store(hosted):
    page = open_page("pair", {"from": "Typed"})
    page.text_area(key="typed_a").input(TEXTS[0])
    page.text_area(key="typed_b").input(TEXTS[1]).run()
    compute(page, "Look at their tokens")
    page.multiselect(key="without_a").set_value([page.multiselect(key="without_a").options[1]])
    page.session_state["matrices_open"] = True
    compute(page.run(), "Move the tokens that are left")
    session = page.session_state["_own"]
    assert {entry.key.kind for entry in session.store().entries()} == {"pair_tokens", "pair_plan"}
    assert not [file for file in hosted.rglob("*") if file.is_file()]


def test_what_a_killed_server_left_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, living = tmp_path / f"{private.PREFIX}999999999-x", tmp_path / f"{private.PREFIX}1-y"
    old.mkdir()
    living.mkdir()
    private.private_root.cache_clear()
    try:
        root = private.private_root()
        assert not old.exists() and living.exists() and root.parent == tmp_path and Path(root).stat().st_mode & 0o077 == 0
    finally:
        private.private_root.cache_clear()
