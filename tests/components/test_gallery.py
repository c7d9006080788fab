"""The results that come along are found under today's keys, and a part of them, recomputed, agrees."""

from __future__ import annotations

import numpy as np
import torch

from components.corpora import load_corpus, load_pairs
from components.gallery import GALLERY_DIR, gallery_models
from components.models import resolve_model
from components.moments import text_moments
from components.pair_map import PairMap, PairOptions
from components.pair_scan import condensed_index
from components.pipeline import pair_list_key, pair_map_key
from components.socm import pairwise_statistics
from components.store import ResultStore


def test_every_bundled_result_is_there_and_small():
    gallery = ResultStore(GALLERY_DIR)
    for name in gallery_models():
        ref = resolve_model(name)
        assert gallery.get(pair_map_key(load_corpus("encyclopedia"), ref, PairOptions())) is not None
        for listed in ("pairs", "graded"):
            assert gallery.get(pair_list_key(load_pairs(listed), ref, PairOptions())) is not None
    assert sum(f.stat().st_size for f in GALLERY_DIR.rglob("*")) < 6_000_000 * len(gallery_models())


def test_a_part_recomputed_agrees(embedded):
    corpus = load_corpus("encyclopedia")
    found = ResultStore(GALLERY_DIR).get(pair_map_key(corpus, embedded.ref, PairOptions()))
    result = PairMap.from_stored(found.arrays, found.meta)
    some = np.sort(np.random.default_rng(7).choice(len(corpus.texts), 40, replace=False))
    states = embedded.token_states([corpus.texts[k] for k in some], ["final"]).states["final"]
    moments = text_moments(states, dtype=torch.float64)
    i, j = np.triu_indices(40, 1)
    now = pairwise_statistics(moments, i, j, direct=True)
    at = condensed_index(some[i], some[j], len(corpus.texts))
    # Encoding in other batches moves a state by some 1e-6, and a sum over a text's tokens accordingly.
    assert np.allclose(now.d_sigma, result.arrays["d_sigma"][at], atol=2e-5)
    assert np.allclose(now.d_mu, result.arrays["d_mu"][at], atol=1e-6)
    assert (moments.n_tokens == result.n_tokens[some]).all()
    socm = (1 - result.arrays["d_mu"]) * result.arrays["d_sigma"]
    assert abs(socm.mean() - result.means["socm"].value) < 1e-7
