"""The Audit page in a real browser: files uploaded, a job in the worker, a verdict; names with HTML in them are text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from components.corpora import load_corpus
from components.encoders import load_encoder
from components.models import resolve_model

TEXTS = load_corpus("encyclopedia").texts[:24]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Vectors of CLS pooling under the embedded model, and their texts."""
    folder = tmp_path_factory.mktemp("audit")
    encoder = load_encoder(resolve_model("all-MiniLM-L6-v2"), device="cpu")
    states = encoder.token_states(TEXTS, ["final"]).states["final"]
    first = np.array([states[k][0] for k in range(len(TEXTS))])
    np.save(folder / "<b>cls<b>.npy", first / np.linalg.norm(first, axis=1, keepdims=True))
    mean = np.array([states[k].mean(axis=0) for k in range(len(TEXTS))])
    (folder / "right.jsonl").write_text("\n".join(json.dumps((row / np.linalg.norm(row)).tolist()) for row in mean.astype(np.float64)))
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return folder


def upload(page, label: str, file) -> None:
    page.page.locator("[data-testid=stFileUploader]").filter(has_text=label).locator("input[type=file]").first.set_input_files(str(file))
    page.settle()


def audited(page, vectors, texts) -> str:
    page.open("/audit")
    upload(page, "Vectors", vectors)
    upload(page, "Their texts", texts)
    page.page.get_by_role("button", name=f"Audit {len(TEXTS)} vectors").click()
    page.page.get_by_text("How far each setting is").wait_for(timeout=120_000)
    page.settle()
    return page.page.locator("[data-testid=stMain]").inner_text()


def test_an_upload_is_audited_and_says_what_to_change(visit, files):
    page = visit()
    said = audited(page, files / "<b>cls<b>.npy", files / "texts.txt")
    assert "Departs" in said and "Change the pooling to mean" in said and "CLS pooling" in said
    assert "<b>cls<b>.npy" in said, "a file's name is text"
    page.page.wait_for_selector(".js-plotly-plot .main-svg")
    with page.page.expect_download() as saved:
        page.page.get_by_role("button", name="embedding.yaml by the model's files").click()
    text = saved.value.path().read_text()
    assert "pooling: mean" in text and "normalize: true" in text
    page.page.reload()
    page.settle()
    assert "Departs" not in page.page.locator("[data-testid=stMain]").inner_text(), "uploads go with the session"


def test_right_vectors_are_clean_on_a_dark_phone(visit, files):
    page = visit(color_scheme="dark", viewport={"width": 390, "height": 844})
    page.open("/audit")
    page.page.get_by_test_id("stExpandSidebarButton").click()
    upload(page, "Vectors", files / "right.jsonl")
    upload(page, "Their texts", files / "texts.txt")
    page.page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click(force=True)
    page.page.get_by_role("button", name=f"Audit {len(TEXTS)} vectors").click()
    page.page.get_by_text("How far each setting is").wait_for(timeout=120_000)
    page.settle()
    assert "Clean" in page.page.locator("[data-testid=stMain]").inner_text()
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    page.page.screenshot(path=str(files / "phone.png"))
