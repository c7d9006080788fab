"""``poolscope audit`` and ``poolscope config``: exit codes for CI, files made by real models, and refusals that change nothing."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from tests.app.command import call, contents, refused
from tests.components import tiny_models

LINES = ["the cat sat on the mat .", "a dog ran far", "rain in the home", "the dogs ran home , far in the rain .", "a cat",
    "the cat ran",
         "dog on the mat", "far , far home", "rain", "a mat in the rain .", "the rain ran far home", "a dog sat"]


def save(folder, modules: list[tuple[str, str]], pooling: dict, prompts: dict | None = None, length: int | None = None) -> str:
    """Adds sentence-transformers' files to a folder with a tiny model."""
    (folder / "modules.json").write_text(json.dumps([{"idx": k, "name": str(k), "path": path,
    "type": f"sentence_transformers.models.{kind}"}
                                                     for k, (kind, path) in enumerate(modules)]))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **pooling}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts or {}}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length or 40}))
    return str(folder)


WHOLE = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]


@pytest.fixture
def own(model, tmp_path):
    """A model folder of one's own, mean pooled and normalised."""
    return shutil.copytree(model, tmp_path / "own")


@pytest.fixture
def here(place):
    (place / "texts.txt").write_text("\n".join(LINES) + "\n")
    return place


def encoded(folder: str, texts=LINES, **how) -> np.ndarray:
    """What sentence-transformers makes of the texts."""
    from sentence_transformers import SentenceTransformer

    return np.asarray(SentenceTransformer(folder, device="cpu").encode(list(texts), show_progress_bar=False, **how))


def run(*arguments: str) -> tuple[int, dict]:
    result = call("audit", *arguments, "--json")
    assert "Traceback" not in result.err, result.err
    report = json.loads(result.out)
    assert report["exit_code"] == result.code
    return result.code, report


@pytest.mark.parametrize(("pooling", "name"), [
    *(({"pooling_mode": mode}, mode.removesuffix("_tokens")) for mode in
      ("mean", "cls", "lasttoken", "max", "mean_sqrt_len_tokens", "weightedmean")),
    ({"pooling_mode_cls_token": True}, "cls"), ({"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
    ({"pooling_mode": ["mean", "max"]}, "mean+max")])
def test_every_declared_pooling_is_found_in_the_models_own_vectors(own, here, pooling, name):
    folder = save(own, WHOLE[:2], pooling)
    np.save("v.npy", encoded(folder))
    code, report = run(folder, "--vectors", "v.npy", "--texts", "texts.txt")
    assert code == 0 and report["vectors"]["parts"][0]["setting"]["pooling"] == name, report["says"]
    code, report = run(folder)
    assert code == 0 and report["vectors"] is None


def test_a_dense_module_is_applied_and_its_absence_named(own, here):
    from sentence_transformers.base.modules import Dense

    dense = Dense(32, 16, activation_function=torch.nn.Tanh())
    (own / "2_Dense").mkdir()
    dense.save(str(own / "2_Dense"))
    folder = save(own, [*WHOLE[:2], ("Dense", "2_Dense"), ("Normalize", "3_Normalize")], {"pooling_mode": "mean"})
    np.save("v.npy", encoded(folder))
    code, report = run(folder, "--vectors", "v.npy", "--texts", "texts.txt")
    assert code == 0 and report["vectors"]["dim"] == 16 and report["vectors"]["parts"][0]["setting"]["modules"]
    plain = shutil.copytree(own, own.parent / "plain")
    np.save("w.npy", encoded(save(plain, WHOLE, {"pooling_mode": "mean"}))[:, :16])
    code, report = run(folder, "--vectors", "w.npy", "--texts", "texts.txt")
    assert code == 1 and not report["vectors"]["parts"][0]["setting"]["modules"] and "Dense" in " ".join(report["changes"])
    (own / "2_Dense" / "model.safetensors").rename(own / "2_Dense" / "pytorch_model.bin")
    assert "only pickled weights" in refused(here, "audit", folder, "--vectors", "v.npy", "--texts", "texts.txt", code=2)


def test_prompts_lengths_and_dims(own, here):
    folder = save(own, WHOLE, {"pooling_mode": "mean"}, {"query": "the dog : ", "document": "a mat , "}, 40)
    for prompt in ("query", "document"):
        np.save("v.npy", encoded(folder, prompt_name=prompt))
        code, report = run(folder, "--vectors", "v.npy", "--texts", "texts.txt")
        assert code == 0 and report["vectors"]["parts"][0]["setting"]["prompt"] == prompt
    code, report = run(folder, "--vectors", "v.npy", "--texts", "texts.txt", "--prompt", "query")
    assert code == 1 and "has the prompt 'document'" in " ".join(report["changes"]).replace("have", "has")
    np.save("v.npy", encoded(folder))
    code, report = run(folder, "--vectors", "v.npy", "--texts", "texts.txt")
    assert code == 1 and report["vectors"]["parts"][0]["setting"]["prompt"] == ""
    (here / "long.txt").write_text("\n".join([*LINES, *(" ".join(LINES[k:k + 6]) for k in range(6))]) + "\n")
    long = (here / "long.txt").read_text().splitlines()
    short = save(shutil.copytree(own, own.parent / "short"), WHOLE, {"pooling_mode": "mean"}, length=32)
    np.save("v.npy", encoded(short, long))
    longer = save(own, WHOLE, {"pooling_mode": "mean"}, length=40)
    code, report = run(longer, "--vectors", "v.npy", "--texts", "long.txt")
    assert code == 1 and report["vectors"]["parts"][0]["setting"]["max_seq_len"] == 32
    assert "Cut texts at 40" in " ".join(report["changes"])
    np.save("v.npy", encoded(longer, truncate_dim=8, normalize_embeddings=True))
    code, report = run(longer, "--vectors", "v.npy", "--texts", "texts.txt")
    assert code == 1 and report["vectors"]["parts"][0]["setting"]["truncate_dim"] == 8
    (here / "e.yaml").write_text(f"embedding:\n  model: {longer}\n  truncate_dim: 8\n")
    code, report = run("e.yaml", "--vectors", "v.npy", "--texts", "texts.txt")
    assert code == 0 and "truncate_dim: 8" in report["corrected"]


def test_another_revision_cannot_be_told_and_says_how_far(own, here):
    folder = save(own, WHOLE, {"pooling_mode": "mean"})
    tuned = tiny_models.save("bert", own.parent / "tuned", seed=0, shaken=1e-3)
    np.save("v.npy", encoded(save(tuned, WHOLE, {"pooling_mode": "mean"})))
    code, report = run(folder, "--vectors", "v.npy", "--texts", "texts.txt")
    assert code == 2 and report["vectors"]["outcome"] == "none"
    assert report["vectors"]["tried"][0]["pooling"] in ("mean", "mean_sqrt_len") and "another revision" in " ".join(report["says"])
    assert 1e-4 < report["vectors"]["tried"][0]["median"] < 0.2


def test_a_configuration_that_departs_from_the_files(own, here):
    folder = save(own, WHOLE, {"pooling_mode": "mean"}, {"query": "q: "}, 40)
    assert call("config", folder, "--out", "e.yaml").code == 0
    assert run("e.yaml")[0] == 0
    text = (here / "e.yaml").read_text()
    for old, new, key in (("pooling: mean", "pooling: cls", "pooling"), ("normalize: true", "normalize: false", "normalize"),
                          ("max_seq_len: 40", "max_seq_len: 20", "max_seq_len"), ("'q: '", "'p: '", "prompts"), ("sha256:", "x",
                          "revision")):
        (here / "f.yaml").write_text(text.replace(old, new))
        code, report = run("f.yaml")
        assert code == 1 and [c["key"] for c in report["checks"] if c["status"] == "differs"] == [key]
        assert any(change.startswith(key) for change in report["changes"])
    (own / "1_Pooling" / "config.json").unlink()
    (here / "f.yaml").write_text(f"model: {folder}\npooling: mean\n")
    assert run("f.yaml")[0] == 2, "files that name no pooling cannot confirm one"
    np.save("v.npy", encoded(save(own, WHOLE, {"pooling_mode": "mean"})))
    (own / "1_Pooling" / "config.json").unlink()
    assert run("f.yaml", "--vectors", "v.npy", "--texts", "texts.txt")[0] == 0, "vectors can"


def test_index_against_query(own, here):
    folder = save(own, WHOLE, {"pooling_mode": "mean"})
    index = encoded(folder)
    np.save("index.npy", index)
    np.save("same.npy", index[::2])
    (here / "queries.txt").write_text("\n".join(LINES[::2]) + "\n")
    both = ("--vectors", "index.npy", "--texts", "texts.txt")
    code, report = run(folder, *both, "--against", "same.npy", "--texts2", "queries.txt")
    assert code == 0 and report["between"]["differences"] == [] and report["between"]["costs"] == {
        "n": 6, "of": "texts that both files hold", "dot": 1.0, "cosine": 1.0}
    other = save(shutil.copytree(own, own.parent / "other"), WHOLE[:2], {"pooling_mode": "cls"})
    np.save("cls.npy", encoded(other, LINES[::2]))
    code, report = run(folder, *both, "--against", "cls.npy", "--texts2", "queries.txt")
    assert code == 1 and report["between"]["differences"] == ["pooling", "normalize"] and report["between"]["costs"]["n"] == 6
    near = (index[::2] @ index.T)  # the cost is what a search over these files gives
    assert (near.argmax(axis=1) == np.arange(0, 12, 2)).all()
    found = float(np.mean((np.load("cls.npy") @ index.T).argmax(axis=1) == np.arange(0, 12, 2)))
    assert report["between"]["costs"]["dot"] == found
    np.save("noise.npy", np.random.default_rng(0).normal(size=(6, 32)))
    code, report = run(folder, *both, "--against", "noise.npy", "--texts2", "queries.txt")
    assert code == 1 and report["between"]["differences"] == ["model"]
    (here / "qrels.csv").write_text("query_id,document_id\n0,0\n1,2\n2,5\n")
    code, report = run(folder, *both, "--against", "same.npy", "--texts2", "queries.txt", "--qrels", "qrels.csv")
    assert report["between"]["costs"]["n"] == 3 and report["between"]["costs"]["cosine"] == pytest.approx(2 / 3)


def test_words_for_people_and_rows_that_were_left_out(own, here):
    folder = save(own, WHOLE, {"pooling_mode": "mean"})
    np.save("v.npy", encoded(folder)[::-1])
    result = call("audit", folder, "--vectors", "v.npy", "--texts", "texts.txt", "--rows", "8")
    assert result.code == 1 and "reversed" in result.out and "To change: Put the vectors back" in result.out
    assert "8 of 12 rows" in result.err


BAD = {
    "no vectors": (["own", "--texts", "texts.txt"], "must be given with --vectors"),
    "no texts": (["own", "--vectors", "v.npy"], "must be given with --texts"),
    "against alone": (["own", "--against", "v.npy"], "must be given with --vectors"),
    "no such file": (["own", "--vectors", "x.npy", "--texts", "texts.txt"], "must exist"),
    "a folder": (["own", "--vectors", "store.npy", "--texts", "texts.txt"], "must be a file"),
    "wrong rows": (["own", "--vectors", "few.npy", "--texts", "texts.txt"], "must be as many as the texts"),
    "wrong dim": (["own", "--vectors", "wide.npy", "--texts", "texts.txt"], "must have at most 32 dims"),
    "nan": (["own", "--vectors", "nan.npy", "--texts", "texts.txt"], "must be finite numbers"),
    "prompt": (["own", "--vectors", "v.npy", "--texts", "texts.txt", "--prompt", "x"], "must be the name of a prompt"),
    "precision": (["own", "--precision", "int4"], "must be one of float32"), "rows": (["own", "--rows", "3"], "a whole number from 8"),
    "column": (["own", "--vectors", "v.npy", "--texts", "texts.txt", "--column", "x"], "must be left out for a .txt"),
    "model": (["./nowhere"], "no such folder"), "config": (["nowhere.yaml"], "must exist"), "bad config": (["bad.yaml"], "is no key"),
    "config of a model that is none": (["none.yaml"], "must be"), "html": (["<script>"], "must be a folder or an id"),
    "qrels": (["own", "--vectors", "v.npy", "--texts", "texts.txt", "--against", "v.npy", "--qrels", "q.csv"], "must name a document"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_with_2_and_one_sentence_and_changes_nothing(own, here, name):
    folder = save(own, WHOLE, {"pooling_mode": "mean"})
    np.save("v.npy", np.ones((12, 32), np.float32))
    np.save("few.npy", np.ones((11, 32), np.float32))
    np.save("wide.npy", np.ones((12, 33), np.float32))
    np.save("nan.npy", np.full((12, 32), np.nan))
    (here / "store.npy").mkdir()
    (here / "bad.yaml").write_text("model: own\nnormalise: true\n")
    (here / "none.yaml").write_text("model: ./nowhere\n")
    (here / "q.csv").write_text("query_id,document_id\n0,99\n")
    arguments, part = BAD[name]
    assert part in refused(here, "audit", *(folder if word == "own" else word for word in arguments), code=2)


def test_config_prints_and_refuses_to_replace(own, here):
    folder = save(own, WHOLE, {"pooling_mode": "mean"})
    assert "pooling: mean" in call("config", folder).out
    (here / "e.yaml").write_text("mine")
    before = contents(here)
    assert "must not replace a file" in refused(here, "config", folder, "--out", "e.yaml")
    assert contents(here) == before
