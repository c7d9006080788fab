"""From texts to a stored result, and back, with a tiny real model."""

from __future__ import annotations

import dataclasses
import threading
import warnings

import numpy as np
import pytest

import components.pipeline as pipeline
from components.errors import Cancelled, DataError
from components.models import resolve_model
from components.pair_map import PairMap, PairOptions
from components.pipeline import compute_pair_list, compute_pair_map, pair_map_key, run_pair_map
from components.store import ResultStore
from components.types import Corpus, PairList
from tests.components import tiny_models

SUBJECTS, VERBS, ENDS = ("the cat", "a dog", "the rain", "a cat", "the dogs"), ("sat on", "ran in", "ran on"), \
    ("the mat .", "rain")


@pytest.fixture(scope="module")
def ref(tmp_path_factory):
    return resolve_model(str(tiny_models.save("bert", tmp_path_factory.mktemp("tiny") / "bert")))


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "store")


@pytest.fixture(scope="module")
def corpus():
    return Corpus("tiny", tuple(f"{s} {v} {e} {extra}".strip() for s in SUBJECTS for v in VERBS for e in ENDS
                                for extra in ("", "far , far home")))


def computed(corpus, ref, store, **options) -> PairMap:
    found = compute_pair_map(corpus, ref, PairOptions(**options), store=store, device="cpu")
    return PairMap.from_stored(found.arrays, found.meta)


def test_a_second_call_reads_the_store_and_loads_no_model(corpus, ref, store, monkeypatch):
    first = computed(corpus, ref, store)
    monkeypatch.setattr(pipeline, "_encoder", lambda *_: pytest.fail("the model was loaded again"))
    second = computed(corpus, ref, store)
    assert set(first.arrays) == set(second.arrays)
    for name, array in first.arrays.items():
        assert np.array_equal(array, second.arrays[name]), name
        assert not second.arrays[name].flags.writeable
    assert first.means == second.means and first.references == second.references
    assert first.method == "all" and first.n_pairs == 60 * 59 // 2


def test_keys_differ_where_numbers_do(corpus, ref):
    base = pair_map_key(corpus, ref, PairOptions())
    others = [pair_map_key(corpus, ref, PairOptions(**options)) for options in (
        {"layer": 0}, {"layer": 2}, {"special_tokens": False}, {"prompt": "a "}, {"float64": True},
        {"numerics": "as_published"}, {"sample": 300}, {"seed": 1})]
    others.append(pair_map_key(Corpus("tiny", (*corpus.texts[:-1], "rain")), ref, PairOptions()))
    others.append(pair_map_key(Corpus("tiny", corpus.texts[::-1]), ref, PairOptions()))
    others.append(pair_map_key(corpus, dataclasses.replace(ref, revision="sha256:other"), PairOptions()))
    others.append(pair_map_key(corpus, dataclasses.replace(ref, model_id="other"), PairOptions()))
    assert len({key.digest for key in (base, *others)}) == len(others) + 1
    # The same numbers under another name are found again.
    assert pair_map_key(Corpus("renamed", corpus.texts), ref, PairOptions()).digest == base.digest
    assert pair_map_key(corpus, ref, PairOptions(all_pairs=True)).digest == base.digest


def test_as_published_is_lower_and_never_mixed(corpus, ref, store):
    exact, published = computed(corpus, ref, store), computed(corpus, ref, store, numerics="as_published")
    gap = exact.arrays["d_sigma"] - published.arrays["d_sigma"]
    assert gap.min() > 0
    # 1e-9 inside each root adds sqrt(1e-9) for every direction that a pair's product lacks.
    rank = np.minimum(exact.n_tokens[exact.pairs[0]], exact.n_tokens[exact.pairs[1]]) - 1
    assert np.allclose(gap, 0.5 * 1e-9**0.5 * (32 - rank), rtol=0.02)
    assert published.meta["options"]["numerics"] == "as_published"
    assert len(store.entries()) == 2
    assert np.array_equal(computed(corpus, ref, store).arrays["d_sigma"], exact.arrays["d_sigma"])


def test_float64_agrees_with_the_default(corpus, ref, store):
    one, two = computed(corpus, ref, store), computed(corpus, ref, store, float64=True)
    assert np.allclose(one.arrays["d_sigma"], two.arrays["d_sigma"], atol=1e-6 * max(1, one.spread.max()))
    assert not np.array_equal(one.arrays["d_sigma"], two.arrays["d_sigma"])


def test_streamed_equals_kept(corpus, ref, store, tmp_path, monkeypatch):
    kept = computed(corpus, ref, store)
    monkeypatch.setattr(pipeline, "ARRAY_LIMIT", 100)
    monkeypatch.setattr(pipeline, "STREAM_SAMPLE", 200)
    streamed = computed(corpus, ref, ResultStore(tmp_path / "other"))
    assert streamed.method == "streamed"
    for name, mean in kept.means.items():
        assert streamed.means[name].value == pytest.approx(mean.value, abs=1e-12)
        assert streamed.means[name].low == pytest.approx(mean.low, abs=1e-9)
    assert np.array_equal(streamed.top[0], kept.top[0]) and np.array_equal(streamed.top[3], kept.top[3])
    assert len(streamed.pairs[0]) == 200
    at = {(a, b): k for k, (a, b) in enumerate(zip(*map(np.ndarray.tolist, kept.pairs[:2]), strict=True))}
    for i, j, _, d_sigma in zip(*streamed.pairs, strict=True):
        assert d_sigma == kept.arrays["d_sigma"][at[int(i), int(j)]]
    counts, mu_edges, sigma_edges = (streamed.arrays[name] for name in ("counts", "mu_edges", "sigma_edges"))
    assert np.array_equal(counts, np.histogram2d(*kept.pairs[2:], bins=(mu_edges, sigma_edges))[0])
    assert streamed.meta["lowest"] == kept.meta["lowest"] and streamed.meta["highest"] == kept.meta["highest"]
    for result in (streamed, kept):
        counts, mu_edges, sigma_edges = result.plane_counts(30, 25)
        assert counts.sum() == kept.n_pairs
        low_mu, high_mu, low_sigma, high_sigma = result.ranges()
        assert mu_edges[0] <= low_mu and high_mu <= mu_edges[-1]
        assert sigma_edges[0] <= low_sigma and high_sigma <= sigma_edges[-1]


def test_an_estimate_says_so_and_holds_the_true_mean(corpus, ref, store):
    exact, estimate = computed(corpus, ref, store), computed(corpus, ref, store, sample=600)
    assert estimate.method == "cycles" and estimate.n_pairs == 600 and estimate.meta["all_pairs"] == 1770
    inside = estimate.meta["means_of_this_corpus"]["socm"]
    assert inside["low"] <= exact.means["socm"].value <= inside["high"]
    assert inside["of"] == "cycles" and estimate.means["socm"].of == "texts"
    texts = estimate.means["socm"]
    assert texts.low is not None and texts.high is not None
    assert texts.high - texts.low > inside["high"] - inside["low"]
    assert estimate.plane_counts(10, 10)[0].sum() == 600


def test_a_sample_of_all_pairs_is_all_pairs(corpus, ref, store):
    assert computed(corpus, ref, store, sample=10**6).method == "all"


def test_too_large_a_sample_of_few_texts_is_refused(ref, store):
    with pytest.raises(DataError, match="--sample must leave at least ten cycles"):
        computed(Corpus("few", ("a cat", "a dog", "rain", "the mat", "far")), ref, store, sample=5)


def test_two_texts_and_equal_texts(ref, store):
    two = computed(Corpus("two", ("a cat", "the dog ran")), ref, store)
    assert two.n_pairs == 1 and two.means["socm"].low is None
    same = computed(Corpus("same", ("a cat ran",) * 7), ref, store)
    assert same.means["d_sigma"].value == pytest.approx(0, abs=1e-6)
    assert same.plane_counts()[0].sum() == 21
    twice = computed(Corpus("twice", ("a cat ran", "rain in the home", "a cat ran")), ref, store)
    assert twice.arrays["d_sigma"][1] == pytest.approx(0, abs=1e-6)
    assert twice.arrays["d_sigma"][0] > 1e-3
    assert twice.arrays["d_sigma"][0] == pytest.approx(twice.arrays["d_sigma"][2], abs=1e-12)
    with pytest.raises(DataError, match="two or more"):
        computed(Corpus("one", ("a cat",)), ref, store)


def test_one_token_texts_have_no_alignment_and_no_nan(ref, store):
    found = computed(Corpus("words", ("cat", "dog", "rain", "mat")), ref, store, special_tokens=False)
    assert found.means["d_sigma"].value == 0
    assert "align" not in found.means and found.meta["undefined_align"] == 6
    assert np.isfinite(found.arrays["d_sigma"]).all()


def test_a_text_without_tokens_is_named(ref, store):
    with pytest.raises(DataError, match=r"text 1 \(row numbers start at 0\) '' must have at least one token"):
        computed(Corpus("empty", ("cat", "")), ref, store, special_tokens=False)


def test_a_layer_the_model_does_not_have(corpus, ref, store):
    with pytest.raises(DataError, match=r"layer must lie in 0..2 or be 'final'"):
        computed(corpus, ref, store, layer=3)
    assert store.entries() == []


def test_cancelled_leaves_the_store_as_it_was(corpus, ref, store):
    event = threading.Event()

    def progress(done, total, stage):
        if stage == "Comparing pairs":
            event.set()

    with pytest.raises(Cancelled):
        compute_pair_map(corpus, ref, PairOptions(), store=store, device="cpu", progress=progress, cancelled=event)
    assert store.entries() == [] and store.verify() == []
    computed(Corpus("other", corpus.texts[:5]), ref, store)
    before = {p: p.read_bytes() for p in store.root.rglob("*") if p.is_file()}
    with pytest.raises(Cancelled):
        compute_pair_map(corpus, ref, PairOptions(), store=store, device="cpu", cancelled=event)
    assert {p: p.read_bytes() for p in store.root.rglob("*") if p.is_file()} == before


def test_a_damaged_result_is_computed_again_with_a_warning(corpus, ref, store):
    first = computed(corpus, ref, store)
    file = next((store.root / "pair_map").glob("*.npz"))
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.warns(UserWarning, match=file.name[:20]):
        second = computed(corpus, ref, store)
    assert np.array_equal(first.arrays["d_sigma"], second.arrays["d_sigma"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        computed(corpus, ref, store)
    assert [p for p in store.verify() if not p.removed] == []


def test_the_workers_task_refuses_texts_that_changed(tmp_path, ref, store):
    from components.corpora import load_corpus

    file = tmp_path / "texts.txt"
    file.write_text("a cat\na dog\nrain\n")
    digest = pair_map_key(load_corpus(file), ref, PairOptions(layer=1)).digest
    args = {"corpus": str(file), "model": str(ref.folder), "options": {"layer": 1}, "digest": digest, "device": "cpu"}

    def run() -> str:
        return run_pair_map(args, store=store, progress=lambda *_: None, cancelled=threading.Event())

    file.write_text("a cat\na dog\nfar\n")
    with pytest.raises(DataError, match="must stay as they are while a job waits"):
        run()
    assert store.entries() == []
    file.write_text("a cat\na dog\nrain\n")
    assert run() == digest and store.get_by_digest("pair_map", digest) is not None


def test_the_workers_task_for_pairs_does_so_too(tmp_path, ref, store):
    from components.corpora import load_pairs
    from components.pipeline import pair_list_key, run_pair_list

    file = tmp_path / "pairs.csv"
    file.write_text("text1,text2\na cat,a dog\n")
    digest = pair_list_key(load_pairs(file), ref, PairOptions()).digest
    args = {"pairs": str(file), "model": str(ref.folder), "options": {}, "digest": digest, "device": "cpu"}
    assert run_pair_list(args, store=store, progress=lambda *_: None, cancelled=threading.Event()) == digest
    file.write_text("text1,text2\na cat,rain\n")
    with pytest.raises(DataError, match="must stay as they are while a job waits"):
        run_pair_list(args, store=store, progress=lambda *_: None, cancelled=threading.Event())
    assert len(store.entries()) == 1


def test_changed_weights_never_answer_with_old_numbers(corpus, store, tmp_path):
    folder = tmp_path / "changing"
    first = computed(corpus, resolve_model(str(tiny_models.save("bert", folder))), store)
    second = computed(corpus, resolve_model(str(tiny_models.save("bert", folder, seed=1))), store)
    assert not np.allclose(first.arrays["d_sigma"], second.arrays["d_sigma"], atol=1e-3)
    assert len(store.entries()) == 2


def test_a_list_of_pairs_equals_the_same_pairs_of_a_corpus(corpus, ref, store, monkeypatch):
    whole = computed(corpus, ref, store, float64=True)
    i, j, d_mu, d_sigma = (column[::97] for column in whole.pairs)
    pairs = PairList("some", tuple(corpus.texts[k] for k in i), tuple(corpus.texts[k] for k in j))
    found = compute_pair_list(pairs, ref, PairOptions(float64=True), store=store, device="cpu")
    assert np.allclose(found.arrays["d_sigma"], d_sigma, atol=1e-9)
    assert np.allclose(found.arrays["d_mu"], d_mu, atol=1e-9)
    assert np.array_equal(found.arrays["n_tokens_a"], whole.n_tokens[i])
    monkeypatch.setattr(pipeline, "_encoder", lambda *_: pytest.fail("the model was loaded again"))
    again = compute_pair_list(pairs, ref, PairOptions(float64=True), store=store, device="cpu")
    assert np.array_equal(found.arrays["d_sigma"], again.arrays["d_sigma"])
