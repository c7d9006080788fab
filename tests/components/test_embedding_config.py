"""embedding.yaml: read and written without loss, and refused in one sentence where it cannot be used."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.embedding_config import (
    KEYS,
    POOLINGS,
    EmbeddingConfig,
    config_of,
    parse_config,
    pooling_name,
    read_config,
    write_config,
)
from components.errors import DataError
from components.models import resolve_model
from tests.components import tiny_models

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40)
CONFIGS = st.builds(
    EmbeddingConfig, model=TEXT, revision=st.none() | TEXT,
    pooling=st.none() | st.lists(st.sampled_from(POOLINGS), min_size=1, max_size=3, unique=True).map("+".join),
    normalize=st.none() | st.booleans(), prompts=st.none() | st.dictionaries(TEXT, st.just("") | TEXT, max_size=4),
    max_seq_len=st.none() | st.integers(1, 10_000), truncate_dim=st.none() | st.integers(1, 10_000))


@given(CONFIGS)
def test_what_is_written_is_read_again(config):
    text = config.as_yaml()
    assert parse_config(text) == parse_config(text.encode()) == config
    flat = yaml.safe_dump(yaml.safe_load(text)["embedding"])
    assert parse_config(flat) == config, "the flat form says the same"


@pytest.mark.parametrize(("given", "name"), [("mean_tokens", "mean"), ("last_token", "lasttoken"), ("cls_token", "cls"),
                                             ("weighted_mean", "weightedmean"), ("mean_sqrt_len_tokens", "mean_sqrt_len"),
                                             ("mean+Max", "mean+max")])
def test_every_spelling_of_a_pooling(given, name):
    assert pooling_name(given) == name and parse_config(f"model: a\npooling: {given}").pooling == name


BAD = {
    "empty": ("", "must be keys with values"), "text": ("hello", "must be keys with values"), "list": ("- a\n- b", "must be keys"),
    "anchor": ("model: &a x", "anchor or alias 'a'"), "alias": ("a: &a [x]\nb: [*a, *a]", "anchor or alias"),
    "bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nmodel: [*b,*b]", "anchor or alias"),
    "tag": ("model: !!python/object/apply:os.system [ls]", "the tag"), "own tag": ("model: !x y", "the tag '!x'"),
    "merge key": ("<<: {model: a}", "must be plain YAML"), "twice": ("model: a\nmodel: b", "the key 'model' stands twice in line 2"),
    "two documents": ("model: a\n---\nmodel: b", "another document"), "unclosed": ("model: [a", "must be plain YAML"),
    "tab": ("model:\n\t- a", "must be plain YAML"), "unhashable": ("? [a]\n: b", "must be plain YAML"),
    "deep": ("model: " + "[" * 60 + "]" * 60, "must be nested at most 20 deep"),
    "unknown": ("model: a\npoolng: mean", "did you mean pooling"), "number key": ("model: a\n3: 4", "is no key"),
    "beside": ("embedding: {model: a}\npooling: mean", "must stand below the top key"), "null top": ("embedding:", "found nothing"),
    "missing": ("pooling: mean", "model must be given"), "null model": ("model:", "model must be text"),
    "model a number": ("model: 3", "must be text; found 3 of type whole number"), "empty model": ("model: ''", "must not be empty"),
    "pooling": ("model: a\npooling: meen", "nearest: mean"), "pooling twice": ("model: a\npooling: mean+mean", "each pooling once"),
    "pooling a number": ("model: a\npooling: 1", "pooling must be text"), "normalize": ("model: a\nnormalize: 1",
    "must be true or false"),
    "normalize text": ("model: a\nnormalize: 'true'", "must be true or false"),
    "length": ("model: a\nmax_seq_len: 0", "greater than or equal to 1"), "length float": ("model: a\nmax_seq_len: 1.5",
    "whole number"),
    "length nan": ("model: a\nmax_seq_len: .nan", "whole number"), "dim": ("model: a\ntruncate_dim: -3", "greater than or equal"),
    "dim bool": ("model: a\ntruncate_dim: true", "whole number"), "prompts": ("model: a\nprompts: [q]", "must be names with texts"),
    "prompt a number": ("model: a\nprompts: {q: 3}", "prompts.q must be text"),
    "control": ('model: "a\\x07b"', "without NUL and control characters"), "nul escape": ('model: "a\\0b"', "without NUL"),
    "surrogate": ('model: "\\ud800"', "must be"), "date": ("model: a\nrevision: 2020-01-01", "must be text"),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, (text, _) in BAD.items()])
def test_what_cannot_be_used_is_one_sentence(text):
    with pytest.raises(DataError) as caught:
        parse_config(text)
    sentence = str(caught.value)
    assert next(part for given, part in BAD.values() if given == text) in sentence
    assert "\n" not in sentence and len(sentence) < 600 and sentence.startswith(("configuration ", "line "))


@pytest.mark.parametrize(("data", "part"), [(b"\xff\xfem", "UTF-16"), (b"model: \xff", "byte 0xff"), (b"model: a\0", "NUL character"),
                                            (b"# " + b"x" * 100_000, "at most 100,000 bytes")])
def test_bytes_that_are_no_text(tmp_path, data, part):
    file = tmp_path / "embedding.yaml"
    file.write_bytes(data)
    for read in (lambda: parse_config(data), lambda: read_config(file)):
        with pytest.raises(DataError, match=part):
            read()


def test_files_that_are_none(tmp_path):
    for path in (tmp_path, tmp_path / "none.yaml", "/dev/zero"):
        with pytest.raises(DataError, match=r"must (be|exist)"):
            read_config(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_models.save("bert", tmp_path_factory.mktemp("models") / "tiny")


@pytest.mark.parametrize(("config", "pooling"), [
    *(({"pooling_mode": name}, pooling_name(name)) for name in ("mean", "cls", "lasttoken", "max", "mean_sqrt_len_tokens",
    "weightedmean")),
    *(({f"pooling_mode_{name}": True}, pooling_name(name)) for name in
      ("mean_tokens", "cls_token", "lasttoken", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens")),
    ({"pooling_mode": ["mean", "max"]}, "mean+max"), ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "cls+max"),
    ({}, None), ({"pooling_mode": "of tomorrow"}, None)])
def test_a_models_own_files_in_both_spellings(folder, tmp_path, config, pooling):
    own = shutil.copytree(folder, tmp_path / "own")
    (own / "1_Pooling").mkdir()
    (own / "1_Pooling" / "config.json").write_text(json.dumps(config))
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    (own / "modules.json").write_text(json.dumps([{"type": f"sentence_transformers.models.{kind}", "path": path} for kind,
        path in kinds]))
    (own / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "query: ", "document": "passage: "}}))
    (own / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 48}))
    ref = resolve_model(str(own))
    found = config_of(ref)
    assert (found.pooling, found.normalize, found.max_seq_len) == (pooling, True, 48)
    assert found.prompts == {"query": "query: ", "document": "passage: "} and found.revision == ref.revision
    assert parse_config(found.as_yaml()) == found


def test_missing_files_say_nothing(folder):
    found = config_of(resolve_model(str(folder)))
    assert all(getattr(found, key) is None for key in KEYS if key not in ("model", "revision"))


def test_a_file_is_written_whole_and_replaces_none(tmp_path):
    config = EmbeddingConfig(model="a", pooling="mean")
    write_config(config, tmp_path / "e.yaml")
    before = (tmp_path / "e.yaml").read_bytes()
    with pytest.raises(DataError, match="must not replace a file"):
        write_config(EmbeddingConfig(model="b"), tmp_path / "e.yaml")
    assert (tmp_path / "e.yaml").read_bytes() == before and read_config(tmp_path / "e.yaml") == config
    with pytest.raises(DataError, match="folder that can be written"):
        write_config(config, tmp_path / "none" / "e.yaml")
