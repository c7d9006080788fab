"""``python -m tests.benchmarks.encode``: all layers' token states beside sentence-transformers' own encode, in turns."""

from __future__ import annotations

import statistics
import time

from components.corpora import load_corpus
from components.encoders import load_encoder
from components.models import resolve_model

ROUNDS = 5


def main() -> None:
    from sentence_transformers import SentenceTransformer

    ref = resolve_model("all-MiniLM-L6-v2")
    ours, theirs = load_encoder(ref, device="cpu"), SentenceTransformer(str(ref.folder), device="cpu")
    texts = sorted(load_corpus("encyclopedia").texts, key=len)
    ratios, seconds = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        theirs.encode(texts, batch_size=32)
        middle = time.perf_counter()
        ours.token_states(texts, ours.layers, batch_size=32)
        end = time.perf_counter()
        seconds.append((middle - start, end - middle))
        ratios.append((end - middle) / (middle - start))
    print(f"{len(texts):,} sentences, sorted, batches of 32: sentence-transformers "
          f"{statistics.median(s for s, _ in seconds):.2f} s, ours with all {len(ours.layers)} layers "
          f"{statistics.median(s for _, s in seconds):.2f} s; ratio {statistics.median(ratios):.2f} "
          f"[{min(ratios):.2f}, {max(ratios):.2f}] over {ROUNDS} rounds")


if __name__ == "__main__":
    main()
