"""Training on a GPU against the CPU: ``python -m tests.gpu.training`` (under two minutes; needs CUDA)."""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path

import torch

from components.corpora import load_corpus
from components.recipes import Recipe
from components.training_pipeline import run_training


def main() -> int:
    if not torch.cuda.is_available():
        print("no CUDA device: nothing was checked")
        return 2
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    assert not torch.backends.cuda.matmul.allow_tf32 and not torch.backends.cudnn.allow_tf32
    texts = load_corpus("encyclopedia").texts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "pairs.csv").open("w", newline="", encoding="utf-8") as handle:
            rows = [(text, " ".join(text.split()[::2])) for text in texts[:400]]
            csv.writer(handle).writerows([("text_a", "text_b"), *rows])
        found = {}
        for device in ("cpu", "cuda"):
            # Dropout draws other numbers on another device, so only a run without it can be compared.
            recipe = Recipe(model="all-MiniLM-L6-v2", pairs=str(folder / "pairs.csv"), dims=(16, 64, 384), mic={"gamma": 3},
                            steps=12, batch=16, device=device, lr=1e-5, probe={"every": 12, "n_texts": 60, "held_out": 60})
            found[device] = run_training(recipe, folder / device)
            print(device, json.dumps({key: found[device][key] for key in ("seconds_per_step", "final_loss")}))
    before = [found[device]["before"]["loss"]["total"] for device in ("cpu", "cuda")]
    socm = [found[device]["before"]["socm"]["value"] for device in ("cpu", "cuda")]
    print("probe loss before", before, "SOCM before", socm, "SOCM after",
          [found[device]["after"]["socm"]["value"] for device in ("cpu", "cuda")])
    assert abs(before[0] - before[1]) < 1e-3 and abs(socm[0] - socm[1]) < 1e-4
    assert abs(found["cpu"]["after"]["socm"]["value"] - found["cuda"]["after"]["socm"]["value"]) < 0.02
    print(f"a step on {torch.cuda.get_device_name()}: {found['cpu']['seconds_per_step'] / found['cuda']['seconds_per_step']:.1f} "
          "times as fast as on the CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
