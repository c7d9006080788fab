"""What MIC costs beside MRL: ``python -m tests.benchmarks.training``; steps of both in turns, in one process.

The published figure is that MIC trains at about half the speed of MRL; inference is the same model either way.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from components.corpora import load_corpus
from components.models import EMBEDDED
from components.recipes import MicTerms, Recipe
from components.training import Prepared, build_loss, build_model
from components.training_pipeline import prepare


def losses_of(prepared: Prepared, recipes: dict[str, Recipe]) -> dict[str, tuple[torch.nn.Module, torch.nn.Module]]:
    found = {}
    for name, recipe in recipes.items():
        own = Prepared(**{**vars(prepared), "recipe": recipe})
        torch.manual_seed(0)
        model = build_model(own)
        found[name] = (model, build_loss(own, model))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--model", default=EMBEDDED)
    given = parser.parse_args()
    texts = load_corpus("encyclopedia").texts
    plain = Recipe(model=given.model, pairs="graded", dims=(16, 32, 64, 128, 256, 384), batch=given.batch, device="cpu",
                   probe={"held_out": 2, "n_texts": 4})
    recipes = {"MRL": plain, "MIC, last layer": plain.model_copy(update={"mic": MicTerms()}),
               "MIC, six layers": plain.model_copy(update={"mic": MicTerms(layers={k: (d,) for k, d in enumerate(plain.dims, 1)})})}
    made = losses_of(prepare(plain), recipes)
    times: dict[str, list[float]] = {name: [] for name in made}
    for turn in range(given.rounds + 2):
        for name, (model, loss) in made.items():
            at = (turn * given.batch) % (len(texts) - 2 * given.batch)
            columns = [model.preprocess(list(texts[at + k:at + k + given.batch])) for k in (0, given.batch)]
            start = time.perf_counter()
            value = loss(columns, None)
            value.backward()
            took = time.perf_counter() - start
            model.zero_grad()
            if turn >= 2:
                times[name].append(took)
    base = times["MRL"]
    for name, seconds in times.items():
        ratios = sorted(a / b for a, b in zip(seconds, base, strict=True))
        print(f"{name:16s} {statistics.median(seconds):.3f} s a step, {statistics.median(ratios):.2f} times MRL "
              f"(least {ratios[0]:.2f}, most {ratios[-1]:.2f})")
    with torch.no_grad():
        model, _ = made["MRL"]
        other, _ = made["MIC, last layer"]
        asked = list(texts[:64])
        one, two = (m.encode(asked, convert_to_tensor=True) for m in (model, other))
        print("inference: the same modules,", "equal vectors" if torch.equal(one, two) else "other vectors")


if __name__ == "__main__":
    main()
