"""Settings: every variable by name, and a sentence naming the one that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import Settings, settings
from components.errors import DataError
from components.models import EMBEDDED
from components.store import DEFAULT_MAX_BYTES, default_store_root


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """No variable of ours is set, and nothing read before is kept."""
    for name in [name for name in os.environ if name.upper().startswith("POOLSCOPE_")]:
        monkeypatch.delenv(name)
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_defaults():
    own = settings()
    assert own.store == default_store_root() and own.store_max_bytes == DEFAULT_MAX_BYTES
    assert (own.models, own.texts, own.allow_remote_code, own.device) == ((), (), (), "auto")
    assert own.model_names == (EMBEDDED,)
    assert (own.limits.max_file_bytes, own.limits.max_texts, own.limits.max_text_chars) == (50_000_000, 100_000, 100_000)
    assert not default_store_root().is_relative_to(Path(__file__).parents[2]), "results do not lie in the project"


def test_every_variable_is_read(monkeypatch, tmp_path):
    given = {"STORE": str(tmp_path / "s"), "STORE_MAX_GB": "0.5", "MODELS": f"a/b, ,{EMBEDDED},./c ,", "TEXTS": "x.txt",
             "DEVICE": "cpu", "ALLOW_REMOTE_CODE": "a/b", "TIME_LIMIT": "1.5", "MAX_QUEUE": "2", "MAX_FILE_MB": "0.5",
             "MAX_TEXTS": "7", "MAX_TEXT_CHARS": "9", "MAX_STATES_MB": "2", "MAX_UPLOAD_MB": "3", "HOSTED": "1", "KEEP_TEXTS": "yes",
             "ALLOW_MODELS": "false", "MAX_OWN_JOBS": "3", "RETRIEVAL_SETS": "r"}
    assert {name.upper() for name in Settings.model_fields} == set(given)
    for name, value in given.items():
        monkeypatch.setenv(f"POOLSCOPE_{name}", value)
    own = settings()
    assert own.models == ("a/b", EMBEDDED, "./c") and own.model_names == (EMBEDDED, "a/b", "./c")
    assert (own.texts, own.allow_remote_code, own.device) == (("x.txt",), ("a/b",), "cpu")
    assert (own.time_limit, own.max_queue, own.store_max_bytes, own.max_own_jobs, own.hosted) == (1.5, 2, 2**29, 3, True)
    assert (own.limits.max_file_bytes, own.limits.max_texts, own.limits.max_text_chars) == (500_000, 7, 9)
    store = own.open_store()
    assert (store.root, store.max_bytes) == (tmp_path / "s", 2**29)
    assert not (tmp_path / "s").exists(), "reading the settings writes nothing"


def test_they_are_read_once_and_do_not_change(monkeypatch):
    first = settings()
    monkeypatch.setenv("POOLSCOPE_MAX_TEXTS", "7")
    assert settings() is first
    with pytest.raises(ValidationError):
        first.max_texts = 7  # type: ignore[misc]


@pytest.mark.parametrize(("name", "value"), [
    ("MAX_TEXTS", "many"), ("MAX_TEXTS", "1"), ("MAX_TEXTS", "2.5"), ("STORE_MAX_GB", "0"),
    ("STORE_MAX_GB", "-1"), ("TIME_LIMIT", "0"), ("MAX_QUEUE", "0"), ("MAX_FILE_MB", "0"), ("MAX_FILE_MB", "large"),
    ("MAX_TEXT_CHARS", "0"), ("TIME_LIMIT", "nan"), ("TIME_LIMIT", "inf"), ("STORE_MAX_GB", "inf"), ("MAX_FILE_MB", "inf"),
    ("MAX_FILE_MB", "nan"), ("MAX_FILE_MB", "0.0000001"),
])
def test_a_value_that_cannot_be_used_names_its_variable(monkeypatch, name, value):
    monkeypatch.setenv(f"POOLSCOPE_{name}", value)
    with pytest.raises(DataError) as error:
        settings()
    sentence = str(error.value)
    assert sentence.startswith(f"POOLSCOPE_{name} must be usable; found ") and "\n" not in sentence
    assert repr(value) in sentence and sentence.endswith("mend or unset the variable.")


def test_an_empty_variable_counts_as_unset(monkeypatch):
    for name in ("STORE", "MAX_TEXTS", "MODELS", "DEVICE"):
        monkeypatch.setenv(f"POOLSCOPE_{name}", "")
    own = settings()
    assert own.store == default_store_root(), "not the folder one happens to be in"
    assert (own.max_texts, own.models, own.device) == (100_000, (), "auto")


def test_a_value_that_was_mended_is_read(monkeypatch):
    monkeypatch.setenv("POOLSCOPE_MAX_TEXTS", "many")
    with pytest.raises(DataError):
        settings()
    monkeypatch.setenv("POOLSCOPE_MAX_TEXTS", "7")
    assert settings().max_texts == 7
