"""What a model's files declare, and models that are refused with one sentence and never opened."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from components.errors import ModelError
from components.models import EMBEDDED, Declared, check_folder, declared, folder_digest, layer_count, resolve_model
from tests.components import tiny_models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_models.save("bert", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def own(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "own")


def test_the_embedded_model_and_what_it_declares():
    ref = resolve_model(EMBEDDED)
    assert (ref.model_id, ref.origin) == (EMBEDDED, "embedded")
    assert resolve_model(f"sentence-transformers/{EMBEDDED}") == ref
    stated = declared(ref.folder)
    assert (stated.pooling, stated.normalize, stated.max_length) == ("mean", True, 256)
    assert stated.pooling_source == "1_Pooling/config.json: pooling_mode_mean_tokens"
    assert layer_count(ref) == 6


@pytest.mark.parametrize(("config", "pooling"), [
    ({"pooling_mode": "cls"}, "cls"), ({"pooling_mode": "lasttoken"}, "lasttoken"),
    ({"pooling_mode": ["mean", "max"]}, "mean+max"),
    ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
    ({"pooling_mode_lasttoken": True}, "lasttoken"), ({"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
    ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, "mean+max"), ({}, None),
])
def test_declared_pooling_in_both_forms(own, config, pooling):
    (own / "1_Pooling").mkdir()
    (own / "1_Pooling" / "config.json").write_text(json.dumps(config))
    assert declared(own).pooling == pooling


def test_declared_prompts_length_and_normalisation(own):
    (own / "config_sentence_transformers.json").write_text(json.dumps(
        {"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "query"}))
    (own / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32, "do_lower_case": True}))
    (own / "modules.json").write_text(json.dumps([
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}]))
    stated = declared(own)
    assert stated.prompts == {"query": "query: ", "passage": "passage: "}
    assert (stated.default_prompt, stated.max_length, stated.lower_case, stated.normalize) == ("query", 32, True, True)


def test_a_bare_transformer_declares_nothing(own):
    assert declared(own) == Declared(prompts={})


def test_the_revision_follows_the_contents_and_not_the_clock(own):
    before = folder_digest(own)
    weights = own / "model.safetensors"
    for file in (own / "config.json", weights):
        os.utime(file, (1, 1))
        assert folder_digest(own) == before
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    os.utime(weights, (1, 1))  # as a copy that keeps times would: same size, same time, other content
    changed = folder_digest(own)
    assert changed != before
    weights.rename(own / "other.safetensors")
    assert folder_digest(own) not in (before, changed)
    (own / "loop").symlink_to(own / "loop")
    assert folder_digest(own).startswith("sha256:")


def test_a_folder_is_named_by_its_last_part(own, tmp_path, monkeypatch):
    ref = resolve_model(str(own))
    assert (ref.model_id, ref.origin) == ("own", "folder")
    monkeypatch.chdir(own)
    assert resolve_model(".").model_id == "own"
    monkeypatch.chdir(tmp_path)
    assert resolve_model("own") == resolve_model("./own") == ref


def test_a_folder_without_a_tokenizer(own):
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (own / name).unlink(missing_ok=True)
    with pytest.raises(ModelError, match="must hold a tokenizer"):
        resolve_model(str(own))


def test_pickled_weights_are_named_and_never_opened(own, tmp_path):
    import pickle

    marker = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return open, (str(marker), "w")

    (own / "model.safetensors").unlink()
    (own / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelError, match=r"only pickled weights \(pytorch_model.bin\)"):
        resolve_model(str(own))
    assert not marker.exists()


def test_without_configuration_or_weights(own):
    (own / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"weights as safetensors; found none"):
        resolve_model(str(own))
    (own / "config.json").unlink()
    with pytest.raises(ModelError, match=r"must hold a config.json"):
        check_folder(own, "own")


@pytest.mark.parametrize(("file", "content", "words"), [
    ("modules.json", b"{", "modules.json must be JSON"), ("modules.json", b"\xff\xfe", "modules.json must be JSON"),
    ("modules.json", b"[" * 100_000, "modules.json must be JSON"), ("modules.json", b"{}", "modules.json must hold a JSON list"),
    ("config_sentence_transformers.json", b"[1]", "must hold a JSON object"),
    ("sentence_bert_config.json", b"[1]", "must hold a JSON object"),
    ("1_Pooling/config.json", b'"mean"', "must hold a JSON object"),
])
def test_damaged_json_is_a_sentence(own, file, content, words):
    (own / file).parent.mkdir(exist_ok=True)
    (own / file).write_bytes(content)
    with pytest.raises(ModelError, match=words):
        resolve_model(str(own))


@pytest.mark.parametrize("length", [0, -5, True, "256", None, 2.5])
def test_a_length_that_is_none_is_not_declared(own, length):
    (own / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length}))
    assert declared(own).max_length is None


def test_prompts_that_are_none_are_not_declared(own):
    (own / "config_sentence_transformers.json").write_text(json.dumps({"prompts": ["query: "]}))
    assert declared(own).prompts == {}


@pytest.mark.parametrize("path", ["../../elsewhere", "/etc", "0_Transformer/../.."])
def test_modules_that_point_outside_are_refused(own, path):
    (own / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": path}]))
    with pytest.raises(ModelError, match="inside the model"):
        resolve_model(str(own))


def test_pooling_is_not_read_from_outside(own, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    for path in ("../elsewhere", str(tmp_path / "elsewhere")):
        (own / "modules.json").write_text(json.dumps([{"type": "x.Pooling", "path": path}]))
        assert declared(own).pooling is None


def test_a_transformer_in_a_subfolder(own, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    own.rename(whole / "0_Transformer")
    (whole / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": "0_Transformer"}]))
    ref = resolve_model(str(whole))
    assert (ref.model_id, layer_count(ref), declared(whole).subfolder) == ("whole", 2, "0_Transformer")


def test_a_hub_id_in_the_local_cache(own, tmp_path, monkeypatch):
    from huggingface_hub import constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    place = tmp_path / "hub" / "models--owner--tiny"
    (place / "snapshots").mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    own.rename(place / "snapshots" / commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    ref = resolve_model("owner/tiny")
    assert (ref.model_id, ref.revision, ref.origin, ref.short_revision) == ("owner/tiny", commit, "hub", commit[:10])
    assert resolve_model("owner/tiny", revision=commit) == ref
    with pytest.raises(ModelError, match="not in the local cache"):
        resolve_model("owner/tiny", revision="f" * 40)
    (place / "snapshots" / commit / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="weights as safetensors; found none"):
        resolve_model("owner/tiny")


@pytest.mark.parametrize(("name", "words"), [
    ("no/such-model", "not in the local cache, and downloads are off"), ("../../no-such-place", "no such folder"),
    ("", "must be a name"), ("a/b/c", "id like owner/name"), ("a..b/c", "id like owner/name"),
    ("x\x00y", "must be a name"), ("../../etc/nowhere", "no such folder"), ("/etc", "must hold a config.json"),
    ("owner/../../etc", "id like owner/name"), ("https://example.org/model", "id like owner/name"),
    ("owner/na me", "id like owner/name"), ("./nowhere", "no such folder"),
])
def test_names_that_lead_nowhere(name, words):
    with pytest.raises(ModelError) as error:
        resolve_model(name)
    assert words in str(error.value)


def test_a_file_and_a_loop_are_no_folders(own, tmp_path):
    with pytest.raises(ModelError, match="a file"):
        resolve_model(str(own / "config.json"))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ModelError, match="no such folder"):
        resolve_model(str(tmp_path / "loop"))


def test_a_revision_belongs_to_a_hub_id(own):
    with pytest.raises(ModelError, match="revision belongs to a Hugging Face id"):
        resolve_model(str(own), revision="main")
