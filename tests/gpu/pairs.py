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
from components.pair_scan import scan_pairs
from components.sinks import ArraySink
from components.types import TokenStates
from tests.benchmarks.pairs import synthetic_states


def compared(states: TokenStates) -> dict[str, float]:
    """Seconds of 499,500 pairs on the GPU, and the largest difference from the CPU relative to the tolerance."""
    seconds = []
    for _ in range(2):  # the first run also starts the device's libraries
        start = time.perf_counter()
        moments = text_moments(states, dtype=torch.float32, device="cuda")
        gpu = ArraySink(len(states))
        scan_pairs(moments, [gpu])
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    assert not torch.backends.cuda.matmul.allow_tf32, "TF32 must be off"
    small = TokenStates(states.states[:int(states.offsets[120])], states.offsets[:121])
    sinks = []
    for device in ("cpu", "cuda"):
        moments = text_moments(small, dtype=torch.float32, device=device)
        sinks.append(ArraySink(120))
        scan_pairs(moments, [sinks[-1]])
    scale = max(1.0, float(moments.spread.max()))
    worst = float(np.abs(sinks[0].d_sigma - sinks[1].d_sigma).max())
    assert worst <= 1e-6 * scale, f"d_sigma differs by {worst:.2e} between CPU and GPU"
    assert float(np.abs(sinks[0].d_mu - sinks[1].d_mu).max()) <= 1e-9
    return {"seconds_first": seconds[0], "seconds": seconds[1], "worst": worst, "scale": scale}


def main() -> int:
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was checked", file=sys.stderr)
        return 3
    texts = load_corpus("encyclopedia").texts
    report: dict[str, object] = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__}
    ref = resolve_model("all-MiniLM-L6-v2")
    encoder, slow = load_encoder(ref, device="cuda"), load_encoder(ref, device="cpu")
    encoder.token_states(texts[:64], ["final"])
    start = time.perf_counter()
    encoded = encoder.token_states(texts, encoder.layers)
    torch.cuda.synchronize()
    report["encode_seconds_all_layers"] = time.perf_counter() - start
    theirs = slow.token_states(texts[:64], ["final"]).states["final"].states
    ours = encoded.states["final"].states[:len(theirs)]
    report["encode_worst"] = float(np.abs(ours - theirs).max())
    assert report["encode_worst"] < 1e-3, "token states differ between CPU and GPU"
    report["dim_384"] = compared(encoded.states["final"])
    report["dim_768"] = compared(synthetic_states(encoded.states["final"].lengths, 768))
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
