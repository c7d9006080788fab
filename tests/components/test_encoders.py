"""Token states: equal to other libraries', and independent of padding, batches and order."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from components.encoders import Encoder, choose_device, load_encoder
from components.errors import Cancelled, DataError, ModelError
from components.models import resolve_model
from tests.components import tiny_models

TEXTS = ["the cat sat on the mat .", "a dog", "rain", "the dog ran far , far home in the rain .", "cats running"]


@pytest.fixture(scope="module")
def sentence_model(embedded):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(embedded.ref.folder), device="cpu")


REAL = ["Iceland straddles two plates.", "A short one.", "", "مرحبا بالعالم", "汉字和 emoji 🙂 mixed", "x " * 400]


def test_token_states_equal_those_of_sentence_transformers(embedded, sentence_model):
    found = embedded.token_states(REAL, ["final"]).states["final"]
    theirs = sentence_model.encode(REAL, output_value="token_embeddings")
    vectors = sentence_model.encode(REAL, normalize_embeddings=True)
    for k, their in enumerate(theirs):
        assert np.allclose(found[k], their.numpy(), atol=1e-5)
        mean = found[k].mean(axis=0)
        assert np.allclose(mean / np.linalg.norm(mean), vectors[k], atol=1e-5)


def test_results_do_not_depend_on_padding_side_batch_or_order(embedded):
    texts = REAL[:5]
    base = embedded.token_states(texts, [0, 3, "final"])
    for options in ({"padding_side": "left"}, {"batch_size": 1}, {"batch_size": 3}):
        other = embedded.token_states(texts, [0, 3, "final"], **options)
        for layer in (0, 3, "final"):
            assert np.allclose(base.states[layer].states, other.states[layer].states, atol=1e-5)
    turned = embedded.token_states(texts[::-1], ["final"]).states["final"]
    for k in range(5):
        assert np.allclose(turned[4 - k], base.states["final"][k], atol=1e-5)


def test_layers_special_tokens_and_prompt(embedded):
    whole = embedded.token_states(["A cat sat."], [0, 6, "final"])
    assert np.array_equal(whole.states[6].states, whole.states["final"].states)
    bare = embedded.token_states(["A cat sat."], [0, 6, "final"], special_tokens=False)
    assert np.array_equal(bare.states[6].states, whole.states[6].states[1:-1])
    prompted = embedded.token_states(["A cat sat."], ["final"], prompt="query: ")
    assert len(prompted.states["final"].states) == len(whole.states["final"].states) + 2
    with pytest.raises(DataError, match=r"layer must lie in 0..6 or be 'final' for all-MiniLM-L6-v2; found 7"):
        embedded.token_states(["a"], [7])
    with pytest.raises(DataError, match="found -1"):
        embedded.token_states(["a"], [-1])


def test_cut_texts_are_counted_and_unknown_tokens_too(embedded):
    found = embedded.token_states(["short", "word " * 20_000, "x" * 100_000], ["final"])
    assert found.tokenised.cut.tolist() == [1]
    assert found.states["final"].lengths.tolist()[1] == 256
    assert found.tokenised.full_lengths[1] == 20_002
    korean = embedded.tokenise(["몰디브는 인도양에 있는 섬나라이다.", "ᚠᚢᚦ ᚨᚱᚲ ꙮ"])
    assert korean.unknown_share > 0.05
    assert embedded.tokenise(["Plain English."]).unknown_share == 0


def test_cancel(embedded):
    event = threading.Event()
    event.set()
    with pytest.raises(Cancelled):
        embedded.token_states(["a"], ["final"], cancelled=event)


@pytest.mark.parametrize("family", ["fnet", "convbert", "nystromformer", "yoso"])
def test_where_padding_reaches_real_tokens_a_text_still_does_not_depend_on_its_batch(family, tmp_path):
    encoder = load_encoder(resolve_model(str(tiny_models.save(family, tmp_path / family))), device="cpu")
    assert encoder.mixes_padding
    texts = [*TEXTS, TEXTS[0], TEXTS[2]]
    together = encoder.token_states(texts, [1, "final"], batch_size=8)
    assert [note for note in together.notes if "mixes padding into real tokens" in note]
    for layer in (1, "final"):
        for k, text in enumerate(texts):
            alone = encoder.token_states([text], [layer]).states[layer][0]
            assert np.abs(together.states[layer][k] - alone).max() <= 1e-5 * np.abs(alone).max(), (family, layer, text)
    assert encoder.token_states([TEXTS[0]] * 3, ["final"]).notes == (), "nothing was padded, nothing to say"


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "gpt2", "longformer", "modernbert"])
def test_other_families_are_padded_as_ever(family, tmp_path):
    encoder = load_encoder(resolve_model(str(tiny_models.save(family, tmp_path / family))), device="cpu")
    assert not encoder.mixes_padding and encoder.token_states(TEXTS, ["final"]).notes == ()


def test_out_of_memory_halves_the_batch_and_gives_the_same(embedded, monkeypatch):
    base = embedded.token_states(REAL[:5] * 4, ["final"]).states["final"].states
    whole, sizes = Encoder._encode_batch, []

    def tight(self, batch, *rest):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("out of memory")
        return whole(self, batch, *rest)

    monkeypatch.setattr(Encoder, "_encode_batch", tight)
    found = embedded.token_states(REAL[:5] * 4, ["final"]).states["final"].states
    assert max(sizes) == 20 and min(sizes) <= 3
    assert np.allclose(found, base, atol=1e-5)


def test_another_runtime_error_is_not_taken_for_memory(embedded, monkeypatch):
    def broken(self, *rest):
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(Encoder, "_encode_batch", broken)
    with pytest.raises(RuntimeError, match="shapes differ"):
        embedded.token_states(["a", "b"], ["final"])


FAMILIES = ("bert", "roberta", "xlm-roberta", "distilbert", "mpnet", "electra", "modernbert", "qwen3", "gpt2")


@pytest.mark.parametrize("family", FAMILIES)
def test_families_agree_with_an_unpadded_forward_pass(family, tmp_path):
    from transformers import AutoModel

    encoder = load_encoder(resolve_model(str(tiny_models.save(family, tmp_path))), device="cpu")
    theirs = AutoModel.from_pretrained(tmp_path).eval()
    assert encoder.layers == (0, 1, 2, "final")
    found = encoder.token_states(TEXTS, encoder.layers)
    left = encoder.token_states(TEXTS, ["final"], padding_side="left").states["final"].states
    assert np.allclose(left, found.states["final"].states, atol=1e-5)
    for k, ids in enumerate(found.tokenised.ids):
        with torch.inference_mode():
            alone = theirs(input_ids=torch.from_numpy(ids)[None], output_hidden_states=True)
        assert np.allclose(found.states["final"][k], alone.last_hidden_state[0].numpy(), atol=1e-5)
        for layer in (0, 1):
            assert np.allclose(found.states[layer][k], alone.hidden_states[layer][0].numpy(), atol=1e-5)


@pytest.mark.parametrize(("family", "differs"), [("bert", False), ("modernbert", True), ("qwen3", True), ("gpt2", True)])
def test_the_last_layer_is_taken_before_a_final_norm(family, differs, tmp_path):
    encoder = load_encoder(resolve_model(str(tiny_models.save(family, tmp_path))), device="cpu")
    found = encoder.token_states(TEXTS, [2, "final"])
    assert (not np.allclose(found.states[2].states, found.states["final"].states, atol=1e-4)) == differs
    raw: list[torch.Tensor] = []
    last_block = next(m for m in encoder.model.modules() if isinstance(m, torch.nn.ModuleList))[-1]
    hook = last_block.register_forward_hook(lambda _m, _i, out: raw.append(out[0] if isinstance(out, tuple) else out))
    encoder.token_states(TEXTS[:1], ["final"])
    hook.remove()
    assert np.allclose(found.states[2][0], raw[0][0].numpy(), atol=1e-5)


def test_a_model_without_a_pad_token(tmp_path):
    encoder = load_encoder(resolve_model(str(tiny_models.save("gpt2", tmp_path, pad=False))), device="cpu")
    assert encoder.tokenizer.pad_token_id is None
    together, alone = (encoder.token_states(TEXTS, ["final"], batch_size=n).states["final"].states for n in (5, 1))
    assert np.allclose(together, alone, atol=1e-5)


def test_code_of_a_model_does_not_run(tmp_path):
    folder = tiny_models.save("bert", tmp_path / "own")
    marker = tmp_path / "ran"
    (folder / "own_code.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    _edit(folder / "config.json", model_type="own-kind",
          auto_map={"AutoConfig": "own_code.OwnConfig", "AutoModel": "own_code.Own"})
    with pytest.raises(ModelError, match="POOLSCOPE_ALLOW_REMOTE_CODE"):
        load_encoder(resolve_model(str(folder)), device="cpu")
    assert not marker.exists()


def test_code_of_a_model_runs_where_its_owner_allowed_it(tmp_path, monkeypatch):
    import transformers.dynamic_module_utils

    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    folder = tiny_models.save("bert", tmp_path / "own")
    marker = tmp_path / "ran"
    (folder / "own_code.py").write_text(
        f"open({str(marker)!r}, 'w').close()\nfrom transformers import BertConfig, BertModel\n"
        "class OwnConfig(BertConfig): pass\nclass Own(BertModel):\n    config_class = OwnConfig\n")
    _edit(folder / "config.json", auto_map={"AutoConfig": "own_code.OwnConfig", "AutoModel": "own_code.Own"})
    # A configuration that transformers knows needs no code, so none runs.
    load_encoder(resolve_model(str(folder)), device="cpu")
    assert not marker.exists()
    load_encoder(resolve_model(str(folder)), device="cpu", allow_remote_code=("own",))
    assert marker.exists()


def _edit(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(("family", "places"), [("roberta", 78), ("xlm-roberta", 78), ("mpnet", 78), ("bert", 80),
                                                ("gpt2", 80), ("distilbert", 80)])
@pytest.mark.parametrize("declared", [None, 512])
def test_no_text_is_longer_than_the_models_positions(family, places, declared, tmp_path):
    """Neither a tokeniser without a limit nor a declared one beyond the table may end in an index error."""
    folder = tiny_models.save(family, tmp_path)
    _edit(folder / "tokenizer_config.json", model_max_length=10**30)
    if declared:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": declared}))
    encoder = load_encoder(resolve_model(str(folder)), device="cpu")
    found = encoder.token_states(["the cat " * 100, "a"], ["final"])
    assert encoder.max_length == places
    assert found.states["final"].lengths.tolist() == [places, 3]
    assert found.tokenised.cut.tolist() == [0]


def test_longformer_pads_inside_and_its_padding_is_left_out(tmp_path):
    encoder = load_encoder(resolve_model(str(tiny_models.save("longformer", tmp_path))), device="cpu")
    found = encoder.token_states(TEXTS, [2, "final"])
    left = encoder.token_states(TEXTS, ["final"], padding_side="left")
    assert np.allclose(found.states[2].states, found.states["final"].states, atol=1e-5)
    assert np.allclose(left.states["final"].states, found.states["final"].states, atol=1e-5)


@pytest.mark.parametrize("name", ["encoder.layer.1.attention.self.query.weight", "embeddings.LayerNorm.bias"])
def test_missing_weights_are_not_made_up(name, tmp_path):
    """transformers fills them with random numbers."""
    folder = tiny_models.save("bert", tmp_path)
    _without(folder / "model.safetensors", name)
    with pytest.raises(ModelError, match=f"must have all its weights; found none for '{name}"):
        load_encoder(resolve_model(str(folder)), device="cpu")


def test_a_missing_pooler_is_not_needed(tmp_path):
    folder = tiny_models.save("bert", tmp_path)
    before = load_encoder(resolve_model(str(folder)), device="cpu").token_states(TEXTS, ["final"])
    _without(folder / "model.safetensors", "pooler.dense.weight", "pooler.dense.bias")
    after = load_encoder(resolve_model(str(folder)), device="cpu").token_states(TEXTS, ["final"])
    assert np.array_equal(before.states["final"].states, after.states["final"].states)


def _without(file: Path, *names: str) -> None:
    from safetensors.torch import load, save_file

    weights = load(file.read_bytes())
    for name in names:
        del weights[name]
    save_file(weights, file, metadata={"format": "pt"})


@pytest.mark.parametrize(("file", "content"), [
    ("model.safetensors", b""), ("model.safetensors", b"x" * 5000), ("tokenizer.json", b"{}"), ("config.json", b"{}"),
    ("config.json", b'{"model_type": "no-such-kind"}'), ("config.json", b"\xff\xfe"),
])
def test_damaged_files_are_a_sentence(file, content, tmp_path):
    folder = tiny_models.save("bert", tmp_path)
    (folder / file).write_bytes(content)
    with pytest.raises(ModelError, match=r"must (load with transformers|run without code)"):
        load_encoder(resolve_model(str(folder)), device="cpu")


def test_texts_without_a_token_have_no_states(tmp_path):
    folder = tiny_models.save("gpt2", tmp_path)
    _edit(folder / "tokenizer.json", post_processor=None)
    encoder = load_encoder(resolve_model(str(folder)), device="cpu")
    assert encoder.token_states(["", " "], ["final"]).states["final"].lengths.tolist() == [0, 0]
    found = encoder.token_states(["", "a cat", "rain"], ["final"], batch_size=2).states["final"]
    assert found.lengths.tolist() == [0, 2, 1]
    assert np.allclose(found[2], encoder.token_states(["rain"], ["final"]).states["final"][0], atol=1e-5)


def test_half_a_character_in_a_prompt_is_refused(embedded):
    with pytest.raises(DataError, match="prompt must be whole characters"):
        embedded.token_states(["a cat"], ["final"], prompt="\udcff")


def test_an_unknown_device_is_refused():
    with pytest.raises(ModelError, match="device must be auto or one of cpu"):
        choose_device("tpu")
