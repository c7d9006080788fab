"""``python -m tests.benchmarks.pairs``: ours beside the dim x dim computation and POT, in one process, in turns.

Peers are timed on a subsample (stated), since all pairs would take hours; rounds alternate, so that a machine's drift
hits all alike. Quote the ratios. ``--large`` adds 10,000 texts, streamed (minutes); ``--quick`` is one round, up to
1,000 texts.

Where other work shares the cores, threads of the peers wait for each other in a spin and their wall times rise up to
fortyfold, which would flatter us: then quote CPU time under ``--threads 1``, and look at the range of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from components.corpora import load_corpus
from components.moments import TextMoments, text_moments
from components.pair_scan import Sink, n_pairs_of, pair_of_index, scan_pairs
from components.sinks import ArraySink, HistogramSink, MomentSink, TopSink
from components.types import TokenStates

EIGEN_BATCH, POT_PAIRS, ROUNDS = 64, 6, 3


def real_states() -> TokenStates:
    """The embedded model's final layer on the 1,000 encyclopedia sentences, dim 384."""
    from components.encoders import load_encoder
    from components.models import resolve_model

    encoder = load_encoder(resolve_model("all-MiniLM-L6-v2"), device="cpu")
    return encoder.token_states(load_corpus("encyclopedia").texts, ["final"]).states["final"]


def synthetic_states(lengths: np.ndarray, dim: int) -> TokenStates:
    """Gaussian tokens round a mean, as many as the real texts have."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    states = rng.standard_normal((int(offsets[-1]), dim), dtype=np.float32)
    return TokenStates(states + 0.7 * rng.standard_normal(dim, dtype=np.float32), offsets)


def covariances(states: TokenStates, texts: np.ndarray) -> torch.Tensor:
    """(n, dim, dim) float32 covariances after unit-mean scaling."""
    out = []
    for k in texts:
        x = torch.from_numpy(np.array(states[k]))
        x = x / x.mean(0).norm()
        x = x - x.mean(0)
        out.append(x.T @ x / len(x))
    return torch.stack(out)


def eigen_pairs(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """d_sigma as the authors compute it: two batched eigendecompositions, float32, 1e-9 on each diagonal."""
    eye = 1e-9 * torch.eye(one.shape[1])

    def root(matrix: torch.Tensor) -> torch.Tensor:
        values, vectors = torch.linalg.eigh(matrix + eye)
        return (vectors * values.clamp_min(0).sqrt().unsqueeze(1)) @ vectors.transpose(1, 2)

    half = root(one)
    trace = torch.diagonal(root(half @ two @ half), dim1=1, dim2=2).sum(1)
    return (one.diagonal(dim1=1, dim2=2).sum(1) + two.diagonal(dim1=1, dim2=2).sum(1) - 2 * trace) / 4


def pot_pairs(one: np.ndarray, two: np.ndarray) -> None:
    import ot  # type: ignore[import-untyped]

    zero = np.zeros(one.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in zip(one, two, strict=True):
            # NaN on singular covariances: its time counts all the same.
            with contextlib.suppress(np.linalg.LinAlgError):
                ot.gaussian.bures_wasserstein_distance(zero, zero, a, b)


def timed(work: Callable[[], object], pairs: int) -> tuple[float, float]:
    """Microseconds a pair: wall time, and CPU time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) / pairs * 1e6, (time.process_time() - cpu) / pairs * 1e6


def side_by_side(name: str, states: TokenStates, rounds: int, threads: int) -> None:
    n = len(states)
    chosen = np.random.default_rng(1).choice(n_pairs_of(n), EIGEN_BATCH, replace=False)
    i, j = pair_of_index(chosen, n)
    one, two = covariances(states, i), covariances(states, j)
    wide = [c[:POT_PAIRS].double().numpy() for c in (one, two)]
    sink = ArraySink(n)

    def ours() -> None:
        scan_pairs(text_moments(states, dtype=torch.float32), [sink], threads=threads)

    ways = {f"dim x dim eigendecomposition, float32, batch of {EIGEN_BATCH}":
                (lambda: eigen_pairs(one, two), EIGEN_BATCH),
            f"POT, float64, {POT_PAIRS} pairs": (lambda: pot_pairs(*wide), POT_PAIRS),
            "ours, all pairs, moments included": (ours, n_pairs_of(n))}
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    with threadpool_limits(threads):
        torch.set_num_threads(threads)
        for _ in range(rounds):
            for way, (work, pairs) in ways.items():
                times[way].append(timed(work, pairs))
        theirs = eigen_pairs(one, two).numpy()
    print(f"{name}: {n_pairs_of(n):,} pairs, mean {states.lengths.mean():.1f} tokens, threads: {threads}, median "
          f"[range] of {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    middle = {way: [statistics.median(column) for column in zip(*rows, strict=True)] for way, rows in times.items()}
    base = middle["ours, all pairs, moments included"]
    for way, (wall, cpu) in middle.items():
        walls = [row[0] for row in times[way]]
        print(f"  {way:52s} wall {wall:11,.1f} us a pair [{min(walls):,.1f} to {max(walls):,.1f}], "
              f"{wall / base[0]:8,.0f} x; CPU {cpu:11,.1f} us, {cpu / base[1]:8,.0f} x")
    error = float(np.abs(sink.d_sigma[chosen] - theirs).max())
    print(f"  largest difference from the float32 eigendecomposition {error:.1e} (its own error and eps)")


CASE = """
import json, sys
from tests.benchmarks import pairs
print(json.dumps(pairs.one_case(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "stream")))
"""


def one_case(n: int, dim: int, stream: bool) -> dict[str, float]:
    """Seconds and peak memory of a scan in a process of its own."""
    lengths = np.resize(_lengths(), n)
    states = synthetic_states(lengths, dim)
    moments: TextMoments = text_moments(states, dtype=torch.float32)
    del states
    grid = np.linspace(0, 1, 257), np.linspace(0, 8, 2049)
    sinks: list[Sink] = [MomentSink(n), TopSink(200), HistogramSink(*grid)] if stream else [ArraySink(n)]
    start = time.perf_counter()
    scan_pairs(moments, sinks)
    seconds = time.perf_counter() - start
    # Not ru_maxrss: a started process inherits its parent's peak there.
    status = Path("/proc/self/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    return {"seconds": seconds, "peak_gb": peak / 1024**2}


def _lengths() -> np.ndarray:
    """Token counts like the encyclopedia's (words and a quarter, two special tokens)."""
    return np.array([int(len(text.split()) * 1.25) + 3 for text in load_corpus("encyclopedia").texts])


def in_a_process(n: int, dim: int, stream: bool = False) -> dict[str, float]:
    run = subprocess.run([sys.executable, "-c", CASE, str(n), str(dim), "stream" if stream else "keep"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--large", action="store_true", help="10,000 texts, streamed")
    parser.add_argument("--quick", action="store_true", help="one round, 250 to 1,000 texts")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="for all three ways")
    parser.add_argument("--only-ratios", action="store_true", help="leave growth and memory out")
    given = parser.parse_args()
    if given.quick:
        given.rounds = 1
    real = real_states()
    side_by_side("dim 384, all-MiniLM-L6-v2 on the encyclopedia", real, given.rounds, given.threads)
    side_by_side("dim 768, synthetic, the same lengths", synthetic_states(real.lengths, 768), given.rounds,
                 given.threads)
    if given.only_ratios:
        return
    times = {}
    for n in (250, 500, 1000) if given.quick else (250, 500, 1000, 2000):
        case = in_a_process(n, 384)
        times[n] = case["seconds"]
        print(f"{n:6,} texts, {n_pairs_of(n):10,} pairs: {case['seconds']:7.2f} s, "
              f"peak memory {case['peak_gb']:.2f} GB")
    slope = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    print(f"growth with the number of texts: exponent {slope:.2f}")
    case = in_a_process(1000, 768)
    print(f"dim 768, 499,500 pairs: {case['seconds']:.2f} s, peak memory {case['peak_gb']:.2f} GB")
    if given.large:
        case = in_a_process(10_000, 384, stream=True)
        print(f"10,000 texts, {n_pairs_of(10_000):,} pairs streamed: {case['seconds']:.0f} s, "
              f"peak memory {case['peak_gb']:.2f} GB")


if __name__ == "__main__":
    main()
