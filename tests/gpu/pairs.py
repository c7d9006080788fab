"""``python -m tests.gpu.pairs``: the checks that need a GPU, in one script under five minutes; prints one JSON object.

Exit code 3 where there is no CUDA device; an AssertionError says what does not agree.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch

from components.corpora import load_corpus
from components.encoders import load_encoder
from components.models import resolve_model
from components.moments import text_moments
from components.pair_scan import pair_of_index, scan_pairs
from components.sinks import ArraySink
from components.socm import pairwise_statistics
from components.types import TokenStates
from tests.benchmarks.pairs import synthetic_states

PAIRS = 300
DEVICE = "cuda"


def scanned(states: TokenStates) -> tuple[ArraySink, float]:
    """Every pair on the GPU, and the seconds it took, moments included."""
    start = time.perf_counter()
    sink = ArraySink(len(states))
    scan_pairs(text_moments(states, dtype=torch.float32, device=DEVICE), [sink])
    synchronize()
    return sink, time.perf_counter() - start


def synchronize() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def compared(states: TokenStates) -> dict[str, float]:
    """The GPU's pairs against float64 singular values on the CPU, and its seconds.

    Returns:
        seconds_first (the device's libraries start), seconds, n_pairs, and the largest error of d_sigma divided by
        max(1, tr Sigma) of its pair, for the default and for all-float64 computing.
    """
    _, first = scanned(states)
    sink, seconds = scanned(states)
    n_pairs = len(sink.d_sigma)
    chosen = np.sort(np.random.default_rng(0).choice(n_pairs, PAIRS, replace=False))
    i, j = pair_of_index(chosen, len(states))
    exact = pairwise_statistics(text_moments(states), i, j, direct=True)
    scale = np.maximum(1, np.maximum(exact.spread_a, exact.spread_b))
    worst = float((np.abs(sink.d_sigma[chosen] - exact.d_sigma) / scale).max())
    assert worst <= 1e-6, f"d_sigma differs by {worst:.2e} x max(1, tr Sigma) between GPU and CPU"
    assert float(np.abs(sink.d_mu[chosen] - exact.d_mu).max()) <= 1e-9, "d_mu differs between GPU and CPU"
    double = pairwise_statistics(text_moments(states, device=DEVICE), i, j, direct=True)
    worst_double = float((np.abs(double.d_sigma - exact.d_sigma) / scale).max())
    assert worst_double <= 1e-9, f"in float64 d_sigma differs by {worst_double:.2e} x max(1, tr Sigma)"
    return {"seconds_first": first, "seconds": seconds, "n_pairs": n_pairs, "worst": worst, "worst_float64": worst_double}


def encoded() -> tuple[TokenStates, dict[str, float]]:
    """The embedded model's final states of the 1,000 encyclopedia sentences, and the seconds for all its layers."""
    texts = load_corpus("encyclopedia").texts
    ref = resolve_model("all-MiniLM-L6-v2")
    fast, slow = load_encoder(ref, device=DEVICE), load_encoder(ref, device="cpu")
    fast.token_states(texts[:64], ["final"])  # starts the device's libraries
    start = time.perf_counter()
    found = fast.token_states(texts, fast.layers)
    synchronize()
    seconds = time.perf_counter() - start
    theirs = slow.token_states(texts[:64], ["final"]).states["final"].states
    states = found.states["final"]
    worst = float(np.abs(states.states[:len(theirs)] - theirs).max())
    assert worst < 1e-3, f"token states differ by {worst:.2e} between GPU and CPU"
    return states, {"texts": len(texts), "seconds_all_layers": seconds, "worst": worst}


def main() -> int:
    """Runs every check; 0 when all agree, 3 where there is no GPU."""
    if not torch.cuda.is_available():
        print("There is no CUDA device on this machine; nothing was checked.", file=sys.stderr)
        return 3
    start = time.perf_counter()
    # As a caller might have left it: the scan itself has to switch it off.
    torch.backends.cuda.matmul.allow_tf32 = True
    scanned(synthetic_states(np.full(20, 12), 64))
    assert not torch.backends.cuda.matmul.allow_tf32, "TF32 must be off while pairs are compared"
    states, encoding = encoded()
    report = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "tf32": False, "encode": encoding,
              "dim_384": compared(states), "dim_768": compared(synthetic_states(states.lengths, 768)),
              "peak_gpu_gb": torch.cuda.max_memory_allocated() / 2**30, "seconds": time.perf_counter() - start}
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
