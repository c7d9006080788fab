"""``python -m tests.benchmarks.encode``: all layers' token states beside sentence-transformers' own encode, in turns.

Both take the same 1,000 sentences sorted by length in batches of 32, in one process. They alternate every four batches,
and so does who begins, so that a machine's drift hits both alike. Quote the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from components.corpora import load_corpus
from components.encoders import load_encoder
from components.models import resolve_model

ROUNDS, GOAL, BATCH, TURN = 3, 1.15, 32, 128


def seconds_of(work: Callable[[list[str]], object], texts: list[str]) -> float:
    start = time.perf_counter()
    work(texts)
    return time.perf_counter() - start


def main() -> None:
    from sentence_transformers import SentenceTransformer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    ref = resolve_model("all-MiniLM-L6-v2")
    encoder, peer = load_encoder(ref, device="cpu"), SentenceTransformer(str(ref.folder), device="cpu")
    texts = sorted(load_corpus("encyclopedia").texts, key=len)

    def ours(some: list[str]) -> object:
        return encoder.token_states(some, encoder.layers, batch_size=BATCH)

    def theirs(some: list[str]) -> object:
        return peer.encode(some, batch_size=BATCH)

    for work in (theirs, ours):  # memory and threads are there from the first round on
        work(texts[-TURN:])
    taken: dict[Callable[[list[str]], object], list[float]] = {ours: [0.0] * rounds, theirs: [0.0] * rounds}
    for k in range(rounds):
        for turn, start in enumerate(range(0, len(texts), TURN)):
            for work in (theirs, ours) if (k + turn) % 2 == 0 else (ours, theirs):
                taken[work][k] += seconds_of(work, texts[start:start + TURN])
    ratios = [own / their for own, their in zip(taken[ours], taken[theirs], strict=True)]
    print(f"{len(texts):,} sentences, sorted, batches of 32: sentence-transformers "
          f"{statistics.median(taken[theirs]):.2f} s, ours with all {len(encoder.layers)} layers "
          f"{statistics.median(taken[ours]):.2f} s; ratio {statistics.median(ratios):.2f} "
          f"[{min(ratios):.2f}, {max(ratios):.2f}] over {rounds} rounds (goal: at most {GOAL})")


if __name__ == "__main__":
    main()
