"""One model's cuts from texts to store: at full dim they are what the Pooling page has, and stored numbers are found again."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from components.corpora import Corpus
from components.errors import Cancelled, DataError
from components.models import resolve_model
from components.pooling_pipeline import compute_pooling
from components.pooling_result import HELD_OUT, PROBE, SPEARMAN, PoolingOptions, PoolingResult
from components.retrieval import METRICS
from components.retrieval_sets import load_retrieval_set
from components.store import ResultStore
from components.truncation_pipeline import compute_truncation, run_truncation, truncation_key
from components.truncation_result import PLAIN, SPECIAL, TruncationOptions, TruncationResult
from components.types import Interval
from tests.components import tiny_models

FEW = TruncationOptions(draws=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ResultStore(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def long_documents():
    return load_retrieval_set("long-documents")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return resolve_model(str(tiny_models.save("bert", tmp_path_factory.mktemp("model") / "tiny", shaken=0.3)))


@pytest.fixture(scope="module")
def result(store, tiny, long_documents):
    found = compute_truncation(long_documents, tiny, FEW, store=store, device="cpu")
    return TruncationResult.from_stored(found.arrays, found.meta)


def same(one: Interval, other: Interval) -> None:
    """Mean, both ends, n: equal up to the order in which they were summed."""
    assert (one.n, one.of) == (other.n, other.of)
    assert [one.value, one.low, one.high] == pytest.approx([other.value, other.low, other.high], abs=1e-12)


def test_at_full_dim_every_number_is_the_pooling_page_s(store, tiny, long_documents, result):
    found = compute_pooling(long_documents, tiny, PoolingOptions(), store=store, device="cpu")
    pooling = PoolingResult.from_stored(found.arrays, found.meta)
    declared = pooling.declared
    assert result.full == found.meta["dim"] == 32 and result.dims == (8, 16, 32)
    for metric in METRICS:
        assert np.array_equal(result.each(metric, 32), pooling.per_query(declared, metric)), metric
        same(result.value(metric, 32), pooling.row(declared, metric).value)
    assert np.array_equal(result.each(SPEARMAN, 32), pooling.graded[declared])
    same(result.value(SPEARMAN, 32), pooling.row(declared, SPEARMAN).value)
    for metric in (PROBE, HELD_OUT):
        assert np.array_equal(result.each(metric, 32).astype(bool), pooling.probes[metric][pooling.at(declared)].astype(bool)), metric
        same(result.value(metric, 32), pooling.row(declared, metric).value)
    shape = found.meta["geometry"][declared]
    for name in ("mean_cosine", "uniformity", "alignment", "effective_dims", "effective_axes"):
        assert result.geometry(name, 32) == shape[name], name


def test_it_is_found_again_and_tokens_were_measured(store, tiny, long_documents, result):
    again = store.get(truncation_key(long_documents, tiny, FEW))
    assert again is not None and again.meta["n"] == {"queries": 48, "all_queries": 48, "documents": 12, "pairs": 200, "texts": 1000,
                                                      "others": 1000}
    assert result.has_tokens and again.meta["n_correlated"] == [12, 12]
    blocks, rows, columns = result.map(8, SPECIAL)
    assert blocks.shape == (len(rows) - 1, len(columns) - 1) and rows[-1] == columns[0] == 8 and columns[-1] == 32
    shares = [result.share_above(16, tau, SPECIAL) for tau in (0.0, 0.02, 0.1, 0.5)]
    assert shares == sorted(shares, reverse=True) and shares[0] == 1
    assert result.correlation_loss(32, 0.02, PLAIN) == 0 and np.isnan(result.share_above(32, 0.02, PLAIN))
    assert result.sigma(SPECIAL) < result.sigma(PLAIN), "fewer tokens, wider floor"
    assert len(result.arrays["variance"]) == 32 and len(result.arrays["spectrum"]) == 11
    assert result.arrays["variance"].sum() == pytest.approx(result.arrays["spectrum"].sum())


def test_dims_above_the_model_s_are_refused_before_it_is_loaded(store, tiny, long_documents, monkeypatch):
    monkeypatch.setattr("components.truncation_pipeline.timed_encoder", lambda *_: pytest.fail("loaded"))
    with pytest.raises(DataError, match="dims must lie in 1 to 32, the dim of tiny; found 64"):
        compute_truncation(long_documents, tiny, TruncationOptions(dims=(8, 64)), store=store)


def test_a_cancel_stops_it_and_nothing_is_stored(store, tiny, long_documents):
    stop, options = threading.Event(), TruncationOptions(dims=(4,), draws=50)

    def progress(done, total, stage):
        if stage == "Measuring cuts":
            stop.set()

    with pytest.raises(Cancelled):
        compute_truncation(long_documents, tiny, options, store=store, progress=progress, cancelled=stop, device="cpu")
    assert store.get(truncation_key(long_documents, tiny, options)) is None


def test_the_worker_s_task_refuses_what_changed(store, tiny):
    args = {"set": "long-documents", "model": str(tiny.folder), "options": {"dims": [], "draws": 2}, "digest": "0" * 64}
    with pytest.raises(DataError, match="must stay as they are"):
        run_truncation(args, store=store, progress=lambda *_: None, cancelled=threading.Event())


def test_queries_that_nothing_answers_are_left_out(tmp_path, store, tiny):
    texts = Corpus("x", tuple(f"the cat sat {'far ' * i}home" for i in range(8))).texts
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "documents.csv").write_text("document_id,text\n" + "".join(f"d{i},{text}\n" for i, text in enumerate(texts)))
    (folder / "queries.csv").write_text("query_id,text\n" + "".join(f"q{i},a dog ran {'in ' * i}\n" for i in range(9)))
    (folder / "qrels.csv").write_text("query_id,document_id,relevance\n" + "".join(f"q{i},d{i - 1},1\n" for i in range(1, 9)))
    of = load_retrieval_set(folder)
    found = compute_truncation(of, tiny, FEW, store=store, device="cpu")
    result = TruncationResult.from_stored(found.arrays, found.meta)
    assert result.n("ndcg@10") == 8 and found.meta["n"]["all_queries"] == 9 and np.isfinite(result.value("ndcg@10", 8).value)
    assert any("1 of 9 queries" in note for note in found.meta["notes"])
