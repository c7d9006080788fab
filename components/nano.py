"""The nano family: one small backbone of our own and four tuned versions of it, measured alike.

``build_family`` goes from Debian's texts to five model folders. Settings are compared on the development half of the
held-out synsets (``nano_settings``), and what is reported is measured on the test half.
"""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from components.corpora import load_corpus, load_pairs
from components.models import declared, resolve_model
from components.nano_settings import CHOSEN, KINDS, Setting
from components.recipes import MicTerms, Probe, Recipe
from components.training_pipeline import run_training
from components.types import CancelEvent, Progress, no_progress

DIMS = (16, 32, 64, 192)
STEPS, BATCH = 400, 128
N_SOCM = 300
FIGURES = "figures.json"
"""Of a model, below its folder's training/."""


@dataclass(frozen=True)
class NanoText:
    """Files that the family is made from and measured with.

    Attributes:
        lines: training text, one text a line.
        pairs: CSV with text_a, text_b, kind.
        socm: CSV with the held-out glosses for SOCM.
        development, test: CSVs with text_a (gloss) and text_b (example) of the two halves.
    """

    lines: Path
    pairs: Path
    socm: Path
    development: Path
    test: Path


def write_text(folder: Path, *, wordnet: Path | None = None, python_doc: Path | None = None, n_pairs: int | None = None,
               seed: int = 0) -> NanoText:
    """Reads Debian's texts and writes what the family needs into a folder.

    Raises:
        DataError: a text is missing; the sentence names its Debian package.
    """
    from components.nano_pairs import N_PAIRS, retrieval, socm_texts, training_pairs
    from components.nano_shown import fit_to_show, marked_usages
    from components.nano_text import PYTHON_DOC, WORDNET, read_python_doc, read_wordnet, split_synsets, training_lines

    synsets = read_wordnet(wordnet or WORDNET)
    split, marks = split_synsets(synsets), marked_usages(synsets)
    training, held_out = fit_to_show(split.training, marks), fit_to_show(split.held_out, marks)
    folder.mkdir(parents=True, exist_ok=True)
    found = NanoText(*(folder / name for name in ("lines.txt", "pairs.csv", "socm.csv", "development.csv", "test.csv")))
    found.lines.write_text("\n".join(training_lines(split.training, read_python_doc(python_doc or PYTHON_DOC))), "utf-8")
    pairs = training_pairs(training.kept, n_pairs or N_PAIRS, seed)
    _write(found.pairs, ("text_a", "text_b", "kind"), zip(pairs.text_a, pairs.text_b, pairs.kind, strict=True))
    ids, texts = socm_texts(held_out.kept, N_SOCM)
    _write(found.socm, ("id", "text"), zip(ids, texts, strict=True))
    for half, file in (("development", found.development), ("test", found.test)):
        asked = retrieval(held_out.kept, half)
        _write(file, ("id", "text_a", "text_b"), zip(asked.ids, asked.glosses, asked.examples, strict=True))
    return found


def recipe_of(kind: str, backbone: Path, text: NanoText, *, seed: int = 0, steps: int = STEPS, batch: int = BATCH,
              every: int = 100, setting: Setting | None = None) -> Recipe:
    """How one of ``KINDS`` is tuned: alike but for what its name says and the setting chosen for it."""
    chosen = setting or CHOSEN[kind]
    plain: dict[str, Any] = {
        "model": str(backbone), "pairs": str(text.pairs), "text_a": "text_a", "text_b": "text_b", "steps": steps,
        "batch": batch, "lr": chosen.lr, "temperature": chosen.temperature, "seed": seed, "half": True, "bf16": True,
        "max_length": 64, "pooling": "cls" if kind == "cls" else "mean", "dims": DIMS if kind in ("mrl", "mic") else (),
        "mic": MicTerms(gamma=chosen.gamma) if kind == "mic" else None,
        "probe": Probe(every=every, texts=str(text.socm), n_texts=100, retrieval=str(text.development))}
    return Recipe(**plain)


def build_family(out: Path, text: NanoText, *, seed: int = 0, kinds: Sequence[str] = KINDS, steps: int = STEPS, batch: int = BATCH,
                 backbone: Path | None = None, progress: Progress = no_progress,
                 cancelled: CancelEvent | None = None) -> Iterator[tuple[str, Path, float]]:
    """Makes the models one after the other below a folder; what is there and finished is kept.

    Args:
        out: folder of ``nano-backbone``, ``nano-contrastive`` ...
        text: from ``write_text``.
        backbone: a finished backbone to start from, instead of training one.

    Yields:
        (name, folder, seconds) of each model; 0 seconds for one that was there.

    Raises:
        DataError, ModelError: with a sentence. Cancelled: the same call goes on from there.
    """
    from components.nano_backbone import BackboneRecipe, train_backbone

    start = out / "nano-backbone"
    began = time.perf_counter()
    if backbone is not None and not start.exists():
        shutil.copytree(backbone, start)
    elif not start.exists():
        train_backbone(text.lines.read_text("utf-8").split("\n"), start, BackboneRecipe(seed=seed), progress=progress,
                       cancelled=cancelled)
    yield "nano-backbone", start, time.perf_counter() - began
    for kind in kinds:
        folder, began = out / f"nano-{kind}", time.perf_counter()
        if not (folder / "training" / "evaluation.json").is_file():
            recipe = recipe_of(kind, start, text, seed=seed, steps=steps, batch=batch)
            run_training(recipe, folder, progress=progress, cancelled=cancelled)
        yield folder.name, folder, time.perf_counter() - began


def evaluate(folder: Path, text: NanoText, *, half: str = "test", pooling: str | None = None) -> dict[str, Any]:
    """The family's figures of one model: see ``probe.measure``, Spearman's rho on our graded pairs, and the mean |C|
    between prefix and residual (``mic_terms.cross_correlation``) with special tokens and without.

    The ranks of the answers are among them ("ranks": d -> one of each question), to compare models question by question.

    Args:
        folder: the model's.
        half: "test", or "development" while settings are being chosen.
        pooling: None takes what the model declares, and mean where it declares none.
    """
    from components.encoders import load_encoder
    from components.probe import ProbeSet, measure

    encoder = load_encoder(resolve_model(str(folder)), device="auto")
    way = pooling or declared(folder).pooling or "mean"
    corpus = load_corpus(text.socm, "text")
    asked = load_pairs(text.test if half == "test" else text.development, "text_a", "text_b")
    probe = ProbeSet(f"{len(corpus.texts)} held-out glosses; gloss to example, {half} half", corpus.texts, asked.texts_a,
                     asked.texts_b)
    places: dict[str, Any] = {}
    found = measure(encoder, probe, way, DIMS, keep=places)
    return {**found, "graded": graded_correlation(encoder, way), "correlation": prefix_correlation(encoder, corpus.texts),
            "pooling": way, "ranks": {d: [int(rank) for rank in place] for d, place in places.items()}}


def prefix_correlation(encoder: Any, texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Mean |C| between the first d coordinates and the others in the final layer, d -> {"special_tokens", "without"}.

    The tokens at the ends sit alike in every text, and most of |C| comes of them.
    """
    import torch

    from components.mic_terms import cross_correlation
    from components.types import FINAL

    out: dict[str, dict[str, float]] = {str(d): {} for d in DIMS[:-1]}
    for name, special in (("special_tokens", True), ("without", False)):
        found = encoder.token_states(texts, [FINAL], special_tokens=special).states[FINAL]
        rows = [torch.from_numpy(found[i].astype(np.float64)) for i in range(len(found))]
        states = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(row)) for row in rows], batch_first=True)
        for d in DIMS[:-1]:
            out[str(d)][name] = float(cross_correlation(states, mask, d).abs().mean())
    return out


def graded_correlation(encoder: Any, pooling: str) -> dict[str, Any]:
    """Spearman's rho between cosine and the grade of the bundled graded pairs, with Fisher's interval, per dim."""
    from scipy.stats import norm, spearmanr

    from components.probe import pooled
    from components.types import FINAL

    listed = load_pairs("graded")
    n = len(listed.texts_a)
    states = encoder.token_states([*listed.texts_a, *listed.texts_b], [FINAL])
    vectors = pooled(states.states[FINAL], pooling)
    grades = np.array([float(label) for label in listed.labels])
    out = {}
    for d in DIMS:
        a, b = vectors[:n, :d], vectors[n:, :d]
        cosine = (a * b).sum(axis=1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-300)
        rho = float(spearmanr(cosine, grades).statistic)
        # Bonett and Wright (2000): the standard error of Fisher's z for a rank correlation.
        half = norm.ppf(0.975) * np.sqrt((1 + rho * rho / 2) / (n - 3))
        ends = np.tanh(np.arctanh(rho) + np.array([-half, half]))
        out[str(d)] = {"value": rho, "low": float(ends[0]), "high": float(ends[1]), "n": n, "of": "pairs"}
    return out


def write_card(folder: Path, figures: Mapping[str, Any], seconds: float, origin: str) -> None:
    """README.md of a model: what it is, from what text, how made, and its figures with their intervals."""
    import torch

    name, threads = folder.name, torch.get_num_threads()
    socm, retrieval = figures["socm"], figures["retrieval"]
    lines = [f"# {name}", "", f"A teaching model, made to show what training changes; it is too small for use. {origin}", "",
             "Text: Princeton WordNet 3.0 glosses and examples (WordNet licence) and the Python documentation (PSF licence), "
             "as Debian packages wordnet-base and python3-doc. Weights: float16 safetensors.", "",
             f"Made in {seconds:.0f} s with {threads} thread{'s' * (threads > 1)} of a CPU.", "",
             "| what | value | 95% interval | n |", "|---|---|---|---|",
             f"| mean SOCM | {socm['value']:.3f} | {_ends(socm)} | {figures['n_pairs']:,} pairs of {figures['n_texts']} texts |"]
    lines += [f"| normalised spread, layer {layer} | {value['value']:.2f} | {_ends(value, 2)} | {value['n']} texts |"
              for layer, value in figures["spread"].items()]
    lines += [f"| gloss to example, Recall@10 at {d} dims | {value['recall']['value']:.3f} | {_ends(value['recall'])} | "
              f"{value['recall']['n']} questions |" for d, value in retrieval.items()]
    lines += [f"| graded pairs, Spearman at {d} dims | {value['value']:.3f} | {_ends(value)} | {value['n']} pairs |"
              for d, value in figures["graded"].items()]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "training").mkdir(exist_ok=True)
    (folder / "training" / FIGURES).write_text(json.dumps(figures) + "\n", encoding="utf-8")


def _ends(value: Mapping[str, Any], digits: int = 3) -> str:
    return "none" if value["low"] is None else f"{value['low']:.{digits}f} to {value['high']:.{digits}f}"


def _write(file: Path, head: Sequence[str], rows: Any) -> None:
    with file.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([head, *rows])
