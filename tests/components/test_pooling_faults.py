"""Company and chunks: the masked mean is its own, chunks hold every word, and scores equal their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from components.models import resolve_model
from components.pipeline import timed_encoder
from components.pooling import MEAN, pool
from components.pooling_faults import LIMIT, chunk_scores, chunk_vectors, chunks_of, drift, in_company
from components.types import FINAL, no_progress

TEXTS = ["Rain.", "The harbour froze over in the winter of that year, and nobody crossed it before March.", "A short one.",
         "Two brothers built the mill by the bridge."]


@pytest.fixture(scope="module")
def encoder():
    return timed_encoder(resolve_model("nano-contrastive"), "cpu", (), no_progress)[0]


def test_a_masked_mean_is_its_own_and_an_unmasked_one_is_not(encoder):
    alone = in_company(encoder, TEXTS, 1)
    for size in (2, 4, LIMIT):
        company = in_company(encoder, TEXTS, size)
        assert drift(company.masked, alone.masked).max() < 1e-8
    assert drift(company.unmasked, alone.unmasked).min() > 1e-3  # all padded to the limit
    assert np.allclose(alone.unmasked, alone.masked, atol=1e-6)
    assert np.allclose(alone.masked, pool(encoder.token_states(TEXTS, [FINAL]).states[FINAL], MEAN), atol=1e-5)


def test_batches_come_in_the_files_order(encoder):
    company = in_company(encoder, TEXTS, 2)
    lengths = [len(ids) for ids in encoder.tokenise(TEXTS).ids]
    assert company.widths.tolist() == [max(lengths[:2])] * 2 + [max(lengths[2:])] * 2
    assert (in_company(encoder, TEXTS, LIMIT).widths == encoder.max_length).all()


def test_drift_is_exact_near_zero():
    x = np.array([[1.0, 0.0]])
    for angle in (1e-6, 1e-3, 1.0):
        assert drift(x, np.array([[np.cos(angle), np.sin(angle)]]))[0] == pytest.approx(2 * np.sin(angle / 2) ** 2, rel=1e-6)


@pytest.mark.parametrize("tokens", [3, 8, 30, 1000])
def test_chunks_hold_every_word_once_and_fit(encoder, tokens):
    text = "The harbour froze over,  in the winter of that year — and nobody crossed it before March. " * 5
    pieces = chunks_of(encoder, text, tokens)
    assert " ".join(pieces).split() == text.split() or tokens == 3  # three tokens may cut inside a word
    assert "".join("".join(pieces).split()) == "".join(text.split())
    if tokens > 3:
        assert max(len(ids) - 2 for ids in encoder.tokenise(pieces).ids) <= tokens
    assert len(pieces) == 1 or tokens < 1000


def test_a_word_longer_than_a_chunk_is_cut_and_lost_nowhere(encoder):
    word = "donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 3
    assert "".join(chunks_of(encoder, word, 4)) == word


def test_scores_of_chunks_equal_their_definitions(encoder):
    rng = np.random.default_rng(0)
    queries, chunks = rng.normal(size=(3, 6)), rng.normal(size=(7, 6))
    owner = np.array([0, 0, 0, 1, 2, 2, 2])
    unit = chunks / np.linalg.norm(chunks, axis=1, keepdims=True)

    def cos(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    for q in range(3):
        for d in range(3):
            own = unit[owner == d]
            assert chunk_scores(queries, chunks, owner, "best")[q, d] == pytest.approx(max(cos(queries[q], c) for c in own))
            assert chunk_scores(queries, chunks, owner, "mean")[q, d] == pytest.approx(cos(queries[q], own.mean(axis=0)))


def test_one_chunk_is_the_document(encoder):
    vectors, owner = chunk_vectors(encoder, TEXTS, 100)
    assert owner.tolist() == [0, 1, 2, 3]
    assert np.allclose(vectors, pool(encoder.token_states(TEXTS, [FINAL]).states[FINAL], MEAN), atol=1e-5)
