"""``python -m tests.benchmarks.concentration``: ours beside a loop over texts, in one process, in turns; and peak memory.

The loop takes the definitions as they stand, in float32: one text at a time through the same model with its attentions and
hidden states, then head by head the product with P, and layer by layer means, distances and the matrix of cosines. Each
head's sigma_max is left out of its time and counted in ours. "In passes as published" adds the forward passes of the
published scripts: lambda, r and C have one each, text by text, with every layer run twice (by module and by hand, to
compare), spread and cosine one each, in batches. On a CPU the model itself takes most of the time whichever way it is run,
so its token states alone are timed too: nothing that runs it can be faster. The loop that the tests hold the values
against, in float64 and with the always-valid inequality, stands beside ours with that inequality. Quote the ratios; where
other work shares the cores, look at the range of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from components.architectures import Adapter, adapter_of
from components.concentration import head_gains, layer_statistics
from components.corpora import load_corpus
from components.encoders import Encoder, load_encoder
from components.models import resolve_model
from components.types import IntArray
from tests.components.concentration_definitions import PlainModel, by_definition, gains_of

TEXTS, ROUNDS, GOAL, GOAL_GB, LONG = 256, 5, 10, 2.0, 512


class Loop:
    """The definitions, one text at a time."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.model = encoder, encoder.model
        adapter = adapter_of(encoder.model)
        assert adapter is not None
        self.adapter: Adapter = adapter
        self.gains = [head_gains(adapter.heads(layer)).numpy() for layer in range(1, adapter.n_layers + 1)]

    def forward(self, ids: IntArray) -> tuple[Any, list[torch.Tensor]]:
        attended: list[torch.Tensor] = []
        hooks = [block.get_submodule(self.adapter.family.output).register_forward_hook(lambda _m, _i, z: attended.append(z[0]))
                 for block in self.adapter.blocks]
        with torch.inference_mode():
            given = torch.from_numpy(ids)[None].to(self.encoder.device)
            found = self.model(input_ids=given, attention_mask=torch.ones_like(given), output_attentions=True,
                               output_hidden_states=True)
        for hook in hooks:
            hook.remove()
        return found, attended

    def __call__(self, texts: list[str]) -> list[dict[str, Any]]:
        return [self.one(ids) for ids in self.encoder.tokenise(texts).ids]

    def published(self, texts: list[str]) -> None:
        """The same numbers from as many passes as the published scripts take."""
        self(texts)
        for _ in range(5):
            for ids in self.encoder.tokenise(texts).ids:
                self.forward(ids)
        for _ in range(2):
            self.encoder.token_states(texts, self.encoder.layers)

    def one(self, ids: IntArray) -> dict[str, Any]:
        found, attended = self.forward(ids)
        n, layers = len(ids), []
        p = (torch.eye(n) - torch.ones(n, n) / n).to(self.encoder.device)
        for k, z in enumerate(attended):
            h, x, attention = found.hidden_states[k][0], found.hidden_states[k + 1][0], found.attentions[k][0]
            lambdas = [g**2 * float((p @ a).square().sum()) / (n - 1) for g, a in zip(self.gains[k], attention, strict=True)]
            s_h, s_z, s_y, s_x = (self.spread(t) for t in (h, z, h + z, x))
            mu_y, mu_x = self.squared_mean(h + z), self.squared_mean(x)
            r, c = s_h / mu_y, (s_x / mu_x) / (s_y / mu_y)
            layers.append({"lambda_": lambdas, "r": r, "c": c, "attention_gain": s_z / s_h, "residual_gain": s_y / s_h,
                           "scale": (1 + float(np.mean(lambdas)) ** 0.5) ** 2 * r * c})
        states = [self.state(x[0]) for x in (*found.hidden_states, found.last_hidden_state)]
        return {name: [row[name] for row in layers] for name in layers[0]} | {"state": states}

    @staticmethod
    def spread(x: torch.Tensor) -> float:
        return float((x - x.mean(dim=0)).square().sum(dim=1).mean())

    @staticmethod
    def squared_mean(x: torch.Tensor) -> float:
        return float(x.mean(dim=0).square().sum())

    def state(self, x: torch.Tensor) -> tuple[float, float, float]:
        unit = x / x.norm(dim=1, keepdim=True)
        cosines, n = unit @ unit.T, len(x)
        return self.spread(x) / self.squared_mean(x), float(cosines.mean()), float((cosines.sum() - cosines.trace()) / (n * (n - 1)))


def seconds_of(work: Callable[[list[str]], object], texts: list[str]) -> float:
    start = time.perf_counter()
    work(texts)
    return time.perf_counter() - start


def side_by_side(rounds: int, n_texts: int, device: str) -> None:
    encoder = load_encoder(resolve_model("all-MiniLM-L6-v2"), device=device)
    texts = list(load_corpus("encyclopedia").texts[:n_texts])
    before = encoder.model.config._attn_implementation
    plain = PlainModel(encoder.model)
    gains = gains_of(plain)
    loop = Loop(encoder)

    def eager(work: Callable[[list[str]], object]) -> Callable[[list[str]], object]:
        def run(some: list[str]) -> object:
            encoder.model.set_attn_implementation("eager")
            try:
                return work(some)
            finally:
                encoder.model.set_attn_implementation(before)
        return run

    ways: dict[str, Callable[[list[str]], object]] = {
        "loop of the definitions, one pass": eager(loop), "in passes as published": eager(loop.published),
        "token states of all layers alone": lambda some: encoder.token_states(some, encoder.layers),
        "ours": lambda some: layer_statistics(encoder, some),
        "the tests' loop, float64": lambda some: by_definition(plain, list(encoder.tokenise(some).ids), gains),
        "ours with the inequality": lambda some: layer_statistics(encoder, some, inequality=True)}
    theirs: Any = eager(loop)(texts[:16])
    found = layer_statistics(encoder, texts[:16])
    error = max(float(np.abs(getattr(found, name)[k] / np.array(row[name]) - 1).max())
                for k, row in enumerate(theirs) for name in ("lambda_", "r", "c", "scale"))
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for k in range(rounds):
        for way in (list(ways) if k % 2 == 0 else list(ways)[::-1]):
            taken[way].append(seconds_of(ways[way], texts) / len(texts))
    print(f"{n_texts} sentences, mean {found.n_tokens.mean():.0f} tokens, all-MiniLM-L6-v2, {encoder.device}, threads: "
          f"{torch.get_num_threads()}, {rounds} rounds, load {os.getloadavg()[0]:.1f}; largest relative difference from the loop "
          f"{error:.0e}")
    for way, times in taken.items():
        # The tests' loop computes the inequality too, which takes spectral norms: it is held against ours with it.
        peer = "ours with the inequality" if way in ("the tests' loop, float64", "ours with the inequality") else "ours"
        ratios = [other / own for other, own in zip(times, taken[peer], strict=True)]
        print(f"  {way:36s} {statistics.median(times) * 1000:8.2f} ms a text; {statistics.median(ratios):5.2f} times {peer} "
              f"[{min(ratios):.2f} to {max(ratios):.2f}]")
    print(f"  (goal: at least {GOAL} times)")


CASE = """
import json, sys
from tests.benchmarks import concentration
print(json.dumps(concentration.peak_of(int(sys.argv[1]))))
"""


def peak_of(batch_size: int) -> dict[str, float]:
    """Peak memory in GB of this process before and after one batch of texts as long as the model's positions allow."""
    def peak() -> float:
        # Not ru_maxrss: a started process inherits its parent's peak there.
        status = Path("/proc/self/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024**2

    encoder = load_encoder(resolve_model("all-MiniLM-L6-v2"), device="cpu")
    encoder.max_length = LONG  # its own limit is 256, its positions reach further
    before = peak()
    start = time.perf_counter()
    found = layer_statistics(encoder, ["word and place " * LONG] * batch_size, batch_size=batch_size)
    assert found.available and (found.n_tokens == LONG).all()
    return {"before": before, "after": peak(), "seconds": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--device", default="cpu", help="for the times; memory is measured on the CPU")
    given = parser.parse_args()
    side_by_side(given.rounds, given.texts, given.device)
    for batch_size in (8, 32):
        run = subprocess.run([sys.executable, "-c", CASE, str(batch_size)], capture_output=True, text=True, check=True)
        case = json.loads(run.stdout)
        print(f"a batch of {batch_size} texts of {LONG} tokens: peak {case['after']:.2f} GB ({case['before']:.2f} GB with the model "
              f"loaded), {case['seconds']:.1f} s (goal: under {GOAL_GB:.0f} GB)")


if __name__ == "__main__":
    main()
