"""The computed sentence is right on corpora whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from components.findings import map_finding
from components.moments import text_moments
from components.pair_map import PairMap, PairOptions
from components.pipeline import scan_moments
from components.references import references
from components.types import TokenStates
from tests.components.definitions import ragged


def finding(states: TokenStates) -> str:
    moments = text_moments(states, dtype=torch.float64)
    arrays, meta = scan_moments(moments, PairOptions(float64=True), 1, (), lambda *_: None, None)
    arrays |= {"n_tokens": moments.n_tokens, "spread": moments.spread, "norms": moments.norms}
    meta |= {"references": references(states, moments.norms).as_dict()}
    return map_finding(PairMap.from_stored(arrays, meta))


def centred(rng: np.random.Generator, n: int, scale) -> np.ndarray:
    x = rng.standard_normal((n, 12)) * scale
    return x - x.mean(axis=0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_all_texts_identical(rng):
    x = rng.standard_normal((24, 12)) + 2
    assert finding(ragged(*[x] * 20)).startswith("All pairs coincide")


def test_equal_means_with_different_covariances(rng):
    mean = np.full(12, 1.0)
    texts = []
    for k in range(24):
        stretch = np.ones(12) * 0.1
        stretch[k % 12] = 4
        texts.append(mean + centred(rng, 24, stretch))
    sentence = finding(ragged(*texts))
    assert sentence.startswith("The means are equal and only the covariances differ: mean pooling cannot tell")


def test_different_means_with_equal_covariances(rng):
    cloud = centred(rng, 24, 0.5)
    texts = [cloud + 5 * m / np.linalg.norm(m) for m in rng.standard_normal((20, 12))]
    sentence = finding(ragged(*texts))
    assert sentence.startswith("The covariances are equal and only the means differ")
    assert "loses nothing" in sentence


def test_long_against_short(rng):
    """Half the texts have 4 tokens, half 60, round directions of their own: size is the lesser part of the distance."""
    texts = [m + rng.standard_normal((n, 12)) for n, m in zip([4, 60] * 15, 3 * rng.standard_normal((30, 12)), strict=True)]
    sentence = finding(ragged(*texts))
    assert "closer than cosine 0.5" in sentence
    assert "lose nothing" not in sentence and "loses nothing" not in sentence and "coincide" not in sentence


def test_spread_alone_is_called_size(rng):
    cloud = centred(rng, 24, 1.0)
    texts = [cloud * s + 3 for s in np.linspace(0.05, 3, 24)]
    sentence = finding(ragged(*texts))
    assert sentence.startswith("The means are equal and only the covariances differ")


def test_one_token_each(rng):
    assert finding(ragged(*(rng.standard_normal((1, 12)) + 1 for _ in range(20)))).startswith("No text spreads round its mean")
