"""From a recipe to a trained model: finds what it names, holds the run's folder, stores each probe.

Like ``pipeline``, this is what a command and the worker call; what trains is imported once all is found in order.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from components.corpora import load_corpus, load_pairs
from components.errors import DataError, shown
from components.models import declared, hidden_size, layer_count, resolve_model
from components.recipes import Recipe
from components.store import ResultKey, ResultStore
from components.training_folder import RunFolder
from components.types import FINAL, CancelEvent, PairList, Progress, no_progress

if TYPE_CHECKING:
    from components.probe import ProbeSet
    from components.training import Prepared

PROBE_DIMS = (8, 16, 32, 64, 128, 256, 512)
"""Dims that a probe looks at where the recipe names none."""
SCHEMA = 1


def training_key(prepared: Prepared, step: int) -> ResultKey:
    """The key under which the probe of a step is stored."""
    return ResultKey("training", prepared.pairs.digest, prepared.ref.model_id, prepared.ref.revision,
                     {"recipe": prepared.recipe.digest, "step": step}, SCHEMA)


def prepare(recipe: Recipe) -> Prepared:
    """Finds and checks what a recipe names.

    Raises:
        DataError, ModelError: with a sentence.
    """
    from components.devices import choose_device
    from components.training import Prepared

    ref = resolve_model(recipe.model, download=True)
    device = choose_device(recipe.device)
    dim, layers = hidden_size(ref), layer_count(ref)
    if recipe.dims and recipe.dims[-1] > dim:
        raise DataError("dims", f"must be at most {dim}, the dim of {ref.model_id}", str(recipe.dims[-1]), "leave it out")
    if recipe.mic is not None:
        for layer in recipe.mic.layers:
            if layer != FINAL and not 0 <= int(layer) <= layers:
                raise DataError("mic.layers", f"must lie in 0..{layers} or be {FINAL!r} for {ref.model_id}", shown(layer),
                                "choose one of these")
    if recipe.pooling == "declared" and declared(ref.folder).pooling not in ("mean", "cls"):
        raise DataError("pooling", "must be mean or cls where a model declares neither",
                        shown(declared(ref.folder).pooling or "nothing declared"), "set pooling: mean in the recipe")
    pairs = load_pairs(recipe.pairs, recipe.text_a, recipe.text_b)
    probe, train = _probe_set(recipe, pairs)
    if len(train) < recipe.batch:
        raise DataError("batch", f"must be at most the {len(train):,} pairs left for training", str(recipe.batch),
                        "make batch smaller, or add pairs")
    dims = recipe.dims or tuple(d for d in PROBE_DIMS if d < dim)
    return Prepared(recipe, ref, device, pairs, train, probe, tuple(sorted({*dims, dim})))


def run_training(recipe: Recipe, out: Path, *, store: ResultStore | None = None, progress: Progress = no_progress,
        cancelled: CancelEvent | None = None) -> dict[str, Any]:
    """Trains by a recipe into a folder, or goes on with a run of the same recipe that was stopped there.

    Args:
        recipe: from ``recipes.read_recipe``.
        out: the folder; new, or of a stopped run of this recipe.
        store: where each probe is put as well, kind "training", so that a page can follow the run.

    Returns:
        The evaluation: model, recipe digest, steps, seconds, the probe before and after.

    Raises:
        DataError, ModelError: nothing was started, or a loss that is not finite stopped the run (the last good weights
            are saved); Cancelled: the run can be resumed.
    """
    prepared = prepare(recipe)
    folder = RunFolder(out)

    def keep(step: int, line: Mapping[str, Any], seconds: float) -> None:
        if store is not None:
            store.put(training_key(prepared, step), {}, {**line, "recipe": recipe.model_dump(mode="json")}, {"probe": seconds})

    with folder.held(recipe) as step, _disk_errors(out):
        from components.training import TrainingRun

        return TrainingRun(prepared, folder, on_probe=keep, progress=progress, cancelled=cancelled).go(step)


def _probe_set(recipe: Recipe, pairs: PairList) -> tuple[ProbeSet, tuple[int, ...]]:
    """The probe, and the numbers of the pairs left for training."""
    from components.probe import ProbeSet

    corpus = load_corpus(recipe.probe.texts)
    n = min(recipe.probe.n_texts, len(corpus.texts))
    texts = tuple(corpus.texts[i] for i in np.linspace(0, len(corpus.texts) - 1, n).round().astype(int))
    every = tuple(range(len(pairs.texts_a)))
    if recipe.probe.retrieval is not None:
        asked = load_pairs(recipe.probe.retrieval, None, None)
        return ProbeSet(f"{n} texts of {corpus.name}; questions of {asked.name}", texts, asked.texts_a, asked.texts_b), every
    if len(every) < 4:
        raise DataError("pairs", "must be 4 or more, since some are held out to measure with", str(len(every)), "add pairs")
    held = np.sort(np.random.default_rng(recipe.seed).permutation(len(every))[:min(recipe.probe.held_out, len(every) // 2)])
    rest = tuple(int(i) for i in np.setdiff1d(np.arange(len(every)), held))
    # A held-out text that is also trained on would be remembered, not found.
    seen = {pairs.texts_a[i] for i in rest} | {pairs.texts_b[i] for i in rest}
    kept = [int(i) for i in held if pairs.texts_b[i] not in seen]
    return ProbeSet(f"{n} texts of {corpus.name}; {len(kept)} held-out pairs of {pairs.name}", texts,
                    tuple(pairs.texts_a[i] for i in kept), tuple(pairs.texts_b[i] for i in kept)), rest


@contextmanager
def _disk_errors(out: Path) -> Iterator[None]:
    """A full disk as a sentence; the last whole checkpoint stays."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        written = "No space left" in str(error) or "File too large" in str(error) or "inline_container" in str(error) \
            or "PytorchStreamWriter" in str(error)
        if not (full or written):
            raise
        raise DataError(f"--out {shown(out.name)}", "must lie where there is room for weights and two checkpoints",
                        "a full disk", "free some space and start again: the run goes on from its last checkpoint") from error
