"""The Audit page in Streamlit's own test harness: configurations at once, bad uploads in one sentence, nothing heavy loaded."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.app.pages import metrics, open_page
from tests.test_import_rules import ROOT

pytestmark = pytest.mark.usefixtures("fresh_caches", "own_store")


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def give(page: AppTest, key: str, name: str, data: bytes) -> AppTest:
    page.file_uploader(key=key).set_value((name, data, "application/octet-stream")).run()
    assert not page.exception
    return page


def errors(page: AppTest) -> str:
    return " ".join(element.value.replace("\\", "") for element in page.error)


def test_without_files_the_models_own_configuration_is_shown():
    page = open_page("audit", {})
    assert metrics(page)["Verdict"] == "Clean"
    assert "pooling: mean" in page.code[0].value and "normalize: true" in page.code[0].value
    table = page.dataframe[0].value
    assert list(table["Key"]) == ["revision", "pooling", "normalize", "max_seq_len"]
    page = open_page("audit", {"model": "nano-backbone"})
    assert metrics(page)["Verdict"] == "Could not tell"


def test_an_uploaded_configuration_that_departs():
    page = give(open_page("audit", {}), "audit_config", "embedding.yaml", b"model: all-MiniLM-L6-v2\npooling: cls\nnormalize: false\n")
    assert metrics(page)["Verdict"] == "Departs" and metrics(page)["Keys that depart"] == "2"
    said = " ".join(element.value.replace("\\", "") for element in page.markdown)
    assert "pooling is cls, but the model's files say mean" in said and "normalize is false" in said
    assert "pooling: mean" in page.code[0].value


@pytest.mark.parametrize(("data", "sentence"), [
    (b"model: ../../etc", "must be one that this server offers"), (b"model: /etc/passwd", "must be one that this server offers"),
    (b"model: &a x\nrevision: *a", "anchor or alias"), (b"model: !!python/name:os.system", "the tag"),
    (b"model: all-MiniLM-L6-v2\npoolings: mean", "did you mean pooling"), (b"\xff\xfe", "must be UTF-8 text"),
    (b"model: a\x00b", "NUL character"), (b"model: <script>alert(1)</script>", "<script>alert(1)</script>")])
def test_a_bad_configuration_is_one_sentence(own_store, data, sentence):
    page = give(open_page("audit", {}), "audit_config", "embedding.yaml", data)
    assert sentence in errors(page) and len(page.error) == 1
    assert not own_store.exists()


@pytest.mark.parametrize(("name", "vectors", "texts", "sentence"), [
    ("v.npy", npy(np.zeros((3, 4), "f4")), b"a\nb\n", "must be as many as the texts"),
    ("v.npy", npy(np.full((2, 4), np.nan)), b"a\nb\n", "must be finite numbers"),
    ("v.csv", b"PK\x03\x04rest", b"a\nb\n", "a zip file under that name"),
    ("v.csv", b"=1+1,2\n3,4\n", b"a\nb\n", "must hold numbers; found '=1+1'"),
    ("v.npy", npy(np.zeros((2, 4), "f4")), b"\n\n", "blank lines only")])
def test_bad_vectors_are_told_at_once_and_start_nothing(own_store, name, vectors, texts, sentence):
    page = give(give(open_page("audit", {}), "audit_vectors", name, vectors), "audit_texts", "t.txt", texts)
    assert sentence in errors(page) and len(page.error) == 1
    assert not page.button and not own_store.exists()


def test_vectors_without_texts_say_what_is_missing_and_whole_ones_offer_the_job():
    page = give(open_page("audit", {}), "audit_vectors", "v.npy", npy(np.ones((2, 384), "f4")))
    assert any("The texts are missing" in element.value for element in page.info)
    give(page, "audit_texts", "t.txt", b"a text\nanother one\n")
    assert any(button.label.startswith("Audit 2 vectors") for button in page.button)


def test_the_server_loads_nothing_heavy_for_it():
    code = ("import sys; from streamlit.testing.v1 import AppTest; page = AppTest.from_file('app/main.py', default_timeout=60);"
            "page.run(); page.switch_page('views/audit.py').run(); assert not page.exception and page.metric;"
            "print({'torch', 'transformers', 'umap'} & set(sys.modules))")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.stdout.strip().endswith("set()"), result.stderr[-2000:]
