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
    ({"pooling_mode": "cls"}, "cls"), ({"pooling_mode": "lasttoken"}, "last_token"), ({"pooling_mode": ["mean", "max"]}, "mean+max"),
    ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
    ({"pooling_mode_lasttoken": True}, "last_token"), ({"pooling_mode_weightedmean_tokens": True}, "weighted_mean"),
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
    os.utime(own / "config.json", (1, 1))
    assert folder_digest(own) == before
    weights = own / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    assert folder_digest(own) != before
    (own / "model.safetensors").rename(own / "other.safetensors")
    assert folder_digest(own) != before


def test_a_folder_is_named_by_its_last_part(own):
    assert resolve_model(str(own)).model_id == "own"


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


def test_damaged_json_is_a_sentence(own):
    (own / "modules.json").write_text("{")
    with pytest.raises(ModelError, match=r"model file modules.json must be JSON"):
        resolve_model(str(own))


def test_modules_that_point_outside_are_refused(own):
    (own / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": "../../elsewhere"}]))
    with pytest.raises(ModelError, match="inside the model"):
        resolve_model(str(own))


@pytest.mark.parametrize(("name", "words"), [
    ("no/such-model", "not in the local cache, and downloads are off"), ("../../no-such-place", "no such folder"),
    ("", "must be a name"), ("a/b/c", "id like owner/name"), ("a..b/c", "id like owner/name"), ("x\x00y", "must be a name"),
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
