"""Hosted mode: limits, places in line, what is kept off the screen, and what hostile links and fields do (nothing)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st

from app import hosted, presence, resources, results
from app.jobs import JobRegistry
from app.settings import HOSTED, settings
from components.errors import DataError, StoreError
from components.layer_curves import LayerOptions
from components.pair_map import PairOptions
from components.token_pipeline import one_pair
from tests.app.pages import open_page
from tests.app.worker_tasks import ENV, key_of

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)> [a](javascript:alert(3)) =HYPERLINK(1)"
FORGED = ({"model": "../../../etc/passwd"}, {"model": "/root/.ssh"}, {"corpus": "/etc/passwd"}, {"corpus": "file:///etc/passwd"},
          {"model": "evil/model-with-code"}, {"layer": "1e999"}, {"a": "1e999", "b": "-5"}, {"box": "nan,inf,1,2"}, {"tokens": "9,1,5"},
          {"with": ["/etc/passwd", "nano-cls", "nano-cls", "x" * 9_000]}, {"without": SCRIPT}, {"measure": "__class__"},
          {"from": "Typed", "text_a": SCRIPT * 200, "text_b": SCRIPT}, {"pins": "a@b,c@d," * 500}, {"without_a": "-1,99999,zz"},
          {"item": "9" * 50}, {"model": "a\0b"}, {"export_open": "true", "plane": "Points\r\nSet-Cookie: x"})


@pytest.fixture(autouse=True)
def own_server(tmp_path, monkeypatch, fresh_caches):
    monkeypatch.setenv("POOLSCOPE_HOSTED", "1")
    monkeypatch.setenv("POOLSCOPE_STORE", str(tmp_path / "store"))
    settings.cache_clear()
    yield
    resources.jobs().shutdown()
    settings.cache_clear()


def shown(page) -> str:
    """Every word of the page that is not a control's own value."""
    kinds = ("title", "subheader", "caption", "markdown", "text", "info", "error", "warning")
    return " ".join(str(element.value) for kind in kinds for element in page.get(kind))


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_one_setting_makes_the_limits_small(monkeypatch):
    assert {name: getattr(settings(), name) for name in HOSTED} == HOSTED
    assert (settings().limits.max_file_bytes, settings().limits.max_texts) == (5_000_000, 2_000)
    monkeypatch.setenv("POOLSCOPE_TIME_LIMIT", "7")
    settings.cache_clear()
    assert settings().time_limit == 7, "the owner's own word counts"
    monkeypatch.setenv("POOLSCOPE_HOSTED", "0")
    settings.cache_clear()
    assert not settings().hosted and settings().max_texts == 100_000


@pytest.mark.parametrize("view", ["home", "map", "layers", "models", "pooling", "connection"])
def test_every_page_says_what_is_limited_and_how_to_run_it_oneself(view):
    page = open_page(view, {})
    assert any(expander.label.startswith("This is a demo server") for expander in page.expander)
    words = shown(page)
    assert "2,000 texts" in words.replace("\\", "") and "120 s" in words and hosted.RUN_IT in [code.value for code in page.code]


@pytest.mark.parametrize("query", FORGED, ids=lambda query: ",".join(query))
@pytest.mark.parametrize("view", ["map", "layers", "models", "pair", "pooling"])
def test_forged_links_give_a_working_page_and_nothing_of_theirs(view, query, tmp_path):
    page = open_page(view, query)
    words = shown(page)
    assert not page.exception and page.title and "Traceback" not in words
    assert "root:" not in words and "/etc/passwd" not in words.replace("\\", "") and str(tmp_path) not in words
    assert resources.jobs().watchers() == set(), "no link starts a computation"
    for kind in ("corpus", "model"):
        there = (*resources.corpus_files(), *resources.model_names())
        assert not [box for box in page.selectbox if box.key == kind and box.value not in there]


def test_script_typed_into_fields_stays_text():
    page = open_page("pair", {"from": "Typed"})
    page.text_area(key="typed_a").set_value(SCRIPT).run()
    page.text_area(key="typed_b").set_value("=1+1").run()
    assert not page.exception and SCRIPT in [text.value for text in page.text]
    assert "<script>" not in " ".join(m.value for m in page.markdown)
    page = open_page("models", {})
    page.text_input(key="score_source").set_value(SCRIPT)
    page.button[-1].click().run()
    assert not page.exception and "<script>" not in " ".join(m.value for m in (*page.markdown, *page.caption))


def test_a_text_over_the_limit_is_refused_before_it_waits(monkeypatch):
    monkeypatch.setenv("POOLSCOPE_MAX_TEXT_CHARS", "10")
    settings.cache_clear()
    request = results.tokens_request(one_pair("a text that is too long", "short"), "all-MiniLM-L6-v2")
    with pytest.raises(DataError, match=r"text A must have at most 10 characters on this server; found 23"):
        results.start(request, "me")
    assert resources.jobs().get(request.key.digest) is None


def test_a_hundred_jobs_of_one_session_take_two_places_and_others_still_get_theirs(tmp_path):
    registry = JobRegistry({"root": str(tmp_path / "store"), "max_bytes": 10**9}, env=ENV, max_queue=settings().max_queue,
                           max_own=settings().max_own_jobs)
    try:
        taken, refused = [], []
        for k in range(100):
            try:
                taken.append(registry.submit("wait", {"name": str(k)}, key_of(str(k)).digest, "greedy"))
            except DataError as error:
                refused.append(str(error))
        assert len(taken) == 2 and len(refused) == 98
        assert set(refused) == {"computations of one session must be at most 2 at a time; found 2: wait for one of yours, or "
                                "cancel it."}
        other = registry.submit("wait", {"name": "other"}, key_of("other").digest, "patient", expected_s=4)
        until(lambda: registry.place(taken[0]) == 0)
        assert registry.place(other) == 2 and registry.submit("wait", {"name": "1"}, key_of("1").digest, "greedy") is taken[1]
        registry.leave("greedy")
        until(lambda: registry.place(other) == 0)
        assert taken[1].snapshot().state == "cancelled"
    finally:
        registry.shutdown()


def test_how_long_until_ones_turn(tmp_path):
    registry = JobRegistry({"root": str(tmp_path / "store"), "max_bytes": 10**9}, env=ENV)
    try:
        jobs = [registry.submit("wait", {"name": name}, key_of(name).digest, name, expected_s=seconds)
                for name, seconds in (("a", 100.0), ("b", 30.0), ("c", None), ("d", 1.0))]
        assert registry.wait_seconds(jobs[1]) == pytest.approx(100, abs=15)
        assert registry.wait_seconds(jobs[2]) == pytest.approx(130, abs=15)
        assert registry.wait_seconds(jobs[3]) is None, "nobody guessed how long the third takes"
        assert registry.cancel(jobs[1].key_digest, "b") and registry.wait_seconds(jobs[1]) is None
    finally:
        registry.shutdown()


def test_who_looks_on_keeps_a_job_and_who_is_gone_frees_it(tmp_path, monkeypatch):
    here = {"asker": True, "onlooker": True}
    monkeypatch.setattr(presence, "is_here", lambda watcher: here[watcher])
    registry = JobRegistry({"root": str(tmp_path / "store"), "max_bytes": 10**9}, env=ENV)
    try:
        job = registry.submit("wait", {"name": "a"}, key_of("a").digest, "asker")
        registry.join(job.key_digest, "onlooker")
        clock = itertools.count(0, presence.GRACE_SECONDS / 2)
        missed = presence.leave_absent(registry, {}, next(clock))
        here["asker"] = False
        for _ in range(2):
            missed = presence.leave_absent(registry, missed, next(clock))
        assert registry.watchers() == {"asker", "onlooker"}, "a short absence is no leaving"
        missed = presence.leave_absent(registry, missed, next(clock))
        assert registry.watchers() == {"onlooker"} and job.snapshot().active
        here["onlooker"] = False
        for _ in range(4):
            missed = presence.leave_absent(registry, missed, next(clock))
        assert job.cancelling and registry.watchers() in (set(), {"onlooker"})
    finally:
        registry.shutdown()


@pytest.mark.parametrize(("sentence", "kept"), [
    ("the store /srv/data/store/layers/abc.json is torn", "the store …/abc.json is torn"),
    ("'/home/someone/models/x' (Permission denied)", "'…/x' (Permission denied)"),
    (r"C:\Users\me\file.txt is missing", "…/file.txt is missing"),
    ("size and/or shape, 3/4 of https://example.com/page", "size and/or shape, 3/4 of https://example.com/page"),
    ("sentence-transformers/all-MiniLM-L6-v2 at layer 3", "sentence-transformers/all-MiniLM-L6-v2 at layer 3")])
def test_no_path_of_the_machine_is_said(sentence, kept, monkeypatch):
    assert hosted.without_paths(sentence) == kept
    monkeypatch.setenv("POOLSCOPE_HOSTED", "0")
    settings.cache_clear()
    assert hosted.without_paths(sentence) == sentence


def test_an_error_with_a_path_reaches_the_page_without_it(monkeypatch):
    def broken(*_: object) -> None:
        raise StoreError("the store", "must be writable", "'/srv/secret/place/store' (Read-only file system)", "free it")

    monkeypatch.setattr(results, "pair_map", broken)
    page = open_page("map", {})
    assert page.error and "secret" not in shown(page) and "Read" in page.error[0].value


def test_an_internal_error_shows_no_traceback():
    config = (Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8")
    assert 'showErrorDetails = "none"' in config and st.get_option("client.showErrorDetails") == "none"


def test_nothing_of_the_menus_can_be_added_by_a_visitor():
    assert set(resources.model_names()) == {"all-MiniLM-L6-v2", "nano-backbone", "nano-contrastive", "nano-cls", "nano-mrl", "nano-mic"}
    with pytest.raises(KeyError):
        results.pair_map_request("/etc/passwd", "all-MiniLM-L6-v2", PairOptions())
    with pytest.raises(KeyError):
        results.layers_request("encyclopedia", "/tmp/model", LayerOptions())
