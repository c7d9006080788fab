"""``python -m tests.benchmarks.pooling``: seven poolings in one pass beside sentence-transformers' evaluator, once per pooling.

Both work on the bundled passages with the embedded model, in one process and in turns; loading the model is in neither time.
Ours is ``compute_pooling`` without the graded pairs, the probe and the second-order scores, into an empty store: six poolings
and the unmasked mean, each under five rankings, with intervals, differences and tests. Theirs encodes queries and documents
and scores them by cosine, for its six poolings, and for a seventh, the six's second mode joined (mean and cls), since it has
no unmasked mean. Quote the ratio of medians and the range of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from sentence_transformers.util import cos_sim

from components.models import resolve_model
from components.pipeline import timed_encoder
from components.pooling_pipeline import compute_pooling
from components.pooling_result import PoolingOptions
from components.retrieval_sets import load_retrieval_set
from components.store import ResultStore
from components.types import RetrievalSet, no_progress

GOAL = 4
THEIRS = ("mean", "cls", "lasttoken", "max", "mean_sqrt_len_tokens", "weightedmean", ("mean", "cls"))


def ours(of: RetrievalSet) -> float:
    ref = resolve_model("all-MiniLM-L6-v2")
    timed_encoder(ref, "auto", (), no_progress)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        compute_pooling(of, ref, PoolingOptions(more=False), store=ResultStore(Path(folder)))
        return time.perf_counter() - start


def theirs(of: RetrievalSet, model: SentenceTransformer) -> float:
    relevant = {q: {of.document_ids[d] for d in of.relevant(k)} for k, q in enumerate(of.query_ids)}
    start = time.perf_counter()
    for pooling in THEIRS:
        evaluator = InformationRetrievalEvaluator(
            dict(zip(of.query_ids, of.queries, strict=True)), dict(zip(of.document_ids, of.documents, strict=True)), relevant,
            mrr_at_k=[10], ndcg_at_k=[10], precision_recall_at_k=[1, 5, 10], map_at_k=[len(of.documents)], accuracy_at_k=[1],
            score_functions={"cosine": cos_sim}, write_csv=False)
        transformer = model[0]
        evaluator(SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling),
                                               Normalize()], device=str(model.device)))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    of = load_retrieval_set("passages")
    model = SentenceTransformer(str(resolve_model("all-MiniLM-L6-v2").folder))
    times = [(ours(of), theirs(of, model)) for _ in range(rounds + 1)][1:]  # the first round warms both up
    ratios = [b / a for a, b in times]
    print(json.dumps({"ours_s": statistics.median(a for a, _ in times), "theirs_s": statistics.median(b for _, b in times),
                      "ratio": statistics.median(ratios), "range": [min(ratios), max(ratios)], "goal": GOAL, "rounds": rounds,
                      "queries": len(of.queries), "documents": len(of.documents)}, indent=1))


if __name__ == "__main__":
    main()
