"""``python -m tests.gpu.layers``: the Layers page's numbers on a GPU against float64 definitions; prints one JSON object.

Exit code 3 where there is no CUDA device; an AssertionError says what does not agree.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch

from components.concentration import layer_statistics
from components.corpora import load_corpus
from components.encoders import load_encoder
from components.models import resolve_model
from tests.components.concentration_definitions import PlainModel, by_definition

DEVICE = "cuda"
TEXTS = 24
NAMES = ("lambda_", "r", "c", "attention_gain", "residual_gain", "scale", "normalized_spread", "mean_cosine", "mean_cosine_no_self")


def compared(model: str) -> dict[str, float]:
    """Largest relative difference of each quantity from the tests' float64 loop, and seconds for 1,000 texts."""
    encoder, slow = load_encoder(resolve_model(model), device=DEVICE), load_encoder(resolve_model(model), device="cpu")
    texts = list(load_corpus("encyclopedia").texts)
    found = layer_statistics(encoder, texts[:TEXTS])
    assert found.available, found.reason
    exact = by_definition(PlainModel(slow.model), list(slow.tokenise(texts[:TEXTS]).ids))
    out: dict[str, float] = {}
    for name in NAMES:
        ours, theirs = getattr(found, name), np.array(exact[name], dtype=float)
        scale = np.maximum(np.abs(theirs), 0.1 if "cosine" in name else 1e-3)
        out[name] = float((np.abs(ours - theirs) / scale).max())
        # TF32 would show as 1e-3 and more; float32 on a GPU adds up in another order than on a CPU.
        assert out[name] < 1e-4, f"{name} differs by {out[name]:.1e} between the GPU and the definitions"
    start = time.perf_counter()
    layer_statistics(encoder, texts)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return {**out, "seconds_1000_texts": time.perf_counter() - start}


def main() -> int:
    """Runs every check; 0 when all agree, 3 where there is no GPU."""
    if not torch.cuda.is_available():
        print("There is no CUDA device on this machine; nothing was checked.", file=sys.stderr)
        return 3
    torch.backends.cuda.matmul.allow_tf32 = False
    found = {model: compared(model) for model in ("all-MiniLM-L6-v2", "nano-backbone")}
    print(json.dumps({"device": torch.cuda.get_device_name(0), "torch": torch.__version__, **found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
