"""Contrastive training by a recipe, through sentence-transformers' trainer, measured as it goes.

What is ours: the recipe's checks, the losses' assembly, a probe before the first step and every k steps, a stop before a
gradient that is not finite spoils the weights, and a folder that a killed run goes on from.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from components.encoders import Encoder
from components.errors import Cancelled, DataError, ModelError, shown
from components.models import ModelRef, declared
from components.probe import ProbeSet, measure
from components.recipes import Recipe
from components.training_folder import CHECKPOINTS, RunFolder
from components.types import CancelEvent, PairList, Progress

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OnProbe = Callable[[int, Mapping[str, Any], float], None]
"""Called with step, the log's line and the seconds the probe took."""


@dataclass(frozen=True)
class Prepared:
    """A recipe with everything it names found and checked, nothing loaded yet."""

    recipe: Recipe
    ref: ModelRef
    device: str
    pairs: PairList
    train: tuple[int, ...]
    probe: ProbeSet
    dims: tuple[int, ...]

    @property
    def pooling(self) -> str:
        """"mean" or "cls": how the probe's vectors are made."""
        return (declared(self.ref.folder).pooling or "mean") if self.recipe.pooling == "declared" else self.recipe.pooling


class NotFinite(Exception):
    """A loss or gradient was not finite; the weights are those before that step."""

    def __init__(self, step: int, what: str) -> None:
        self.step, self.what = step, what
        super().__init__(f"{what} at step {step}")


class TrainingRun:
    """One run, or the rest of one.

    Args:
        prepared: what the recipe names.
        folder: held by the caller.
        on_probe: told of each probe.
    """

    def __init__(self, prepared: Prepared, folder: RunFolder, *, on_probe: OnProbe, progress: Progress,
                 cancelled: CancelEvent | None) -> None:
        self.prepared, self.folder, self.on_probe = prepared, folder, on_probe
        self.progress, self.cancelled = progress, cancelled
        self.recipe = prepared.recipe
        self.losses: list[float] = []
        self.probing = 0.0
        self.since = 0.0
        self.unmeasured: int | None = None

    def go(self, step: int) -> dict[str, Any]:
        """Trains from a step on (0, or that of the last checkpoint) and returns the evaluation."""
        self.progress(0, 0, "Loading the model")
        torch.manual_seed(self.recipe.seed)
        self.model = build_model(self.prepared)
        self.loss = build_loss(self.prepared, self.model)
        if self.recipe.bf16:
            from components.batch_order import in_bfloat16

            network = self.model[0].auto_model
            network.forward = in_bfloat16(network.forward, network, self.prepared.device)
        if step == 0:
            self.probe(0)
        elif step not in {line.get("step") for line in self.folder.log()} and step % self.recipe.probe.every == 0:
            self.unmeasured = step  # the run was stopped in the middle of this step's probe
        trainer = self._trainer()
        start = time.perf_counter()
        try:
            trainer.train(resume_from_checkpoint=str(self.folder.checkpoint(step)) if step else None)
        except NotFinite as error:
            save_model(self.model, self.folder.path, half=False)
            self.folder.append({"step": error.step, "stopped": f"{error.what} is not finite"})
            raise DataError("training", "must keep loss and gradients finite", f"{error.what} at step {error.step}",
                            f"lower lr; the weights before that step lie in {self.folder.path.name}") from error
        if self.cancelled is not None and self.cancelled.is_set():
            raise Cancelled
        seconds = time.perf_counter() - start - self.probing
        save_model(self.model, self.folder.path, half=self.recipe.half)
        probes = [line for line in self.folder.log() if "socm" in line]
        steps = self.recipe.steps - step
        evaluation = {"model": self.prepared.ref.model_id, "revision": self.prepared.ref.revision,
                      "recipe": self.recipe.digest, "steps": self.recipe.steps, "device": self.prepared.device,
                      "n_pairs": len(self.prepared.train), "resumed_at": step, "seconds": seconds,
                      "seconds_per_step": seconds / steps if steps else None,
                      "final_loss": self.losses[-1] if self.losses else None,
                      "before": probes[0] if probes else None, "after": probes[-1] if probes else None}
        self.folder.finish(evaluation)
        return evaluation

    def probe(self, step: int) -> None:
        """Measures the probe set and writes the figures to the log and to the store."""
        start = time.perf_counter()
        self.progress(step, self.recipe.steps, "Measuring the probe")
        self.model.eval()
        transformer = self.model[0]
        encoder = Encoder(self.prepared.ref, transformer.auto_model, transformer.tokenizer, self.prepared.device)
        encoder.max_length = int(self.model.max_seq_length or 0) or encoder.max_length
        views: dict[str, Any] = {}
        found = measure(encoder, self.prepared.probe, self.prepared.pooling, self.prepared.dims, views=views,
                        cancelled=self.cancelled)
        found["loss"] = self._probe_loss()
        self.model.train()
        line = {"step": step, "train_loss": float(np.mean(self.losses[-self.recipe.probe.every:])) if self.losses else None,
                **_without_nan(found), "seconds": time.perf_counter() - start}
        self.folder.keep_views(step, views["arrays"], views["words"])  # first, so that a line's views are always there
        self.folder.append(line)
        self.on_probe(step, line, time.perf_counter() - start)
        self.probing += time.perf_counter() - start if step else 0.0
        self.since = time.perf_counter()

    def _probe_loss(self) -> dict[str, float]:
        """The loss and MIC's terms on the first probe pairs, without a gradient; the terms are measured for every loss."""
        from components.losses import MICLoss

        n = min(len(self.prepared.probe.queries), self.recipe.batch)
        if n < 2:
            return {}
        features = [self.model.preprocess(list(side[:n])) for side in (self.prepared.probe.queries, self.prepared.probe.answers)]
        features = [{name: value.to(self.prepared.device) if hasattr(value, "to") else value for name, value in column.items()}
                    for column in features]
        # At gamma 0 the terms are measured and the value is that of Matryoshka alone.
        meter = self.loss if isinstance(self.loss, MICLoss) else \
            MICLoss(self.model, base_loss(self.recipe, self.model), self.recipe.dims or self.prepared.dims, gamma=0)
        with torch.no_grad():
            meter([dict(column) for column in features], None)
            terms = meter.last_values()
            if not self.recipe.dims:
                del terms["mrl"]
                terms["total"] = float(self.loss(features, None))
        return terms

    def _trainer(self) -> Any:
        from datasets import Dataset
        from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        from transformers import PrinterCallback

        from components.batch_order import LikeLengthBatches

        recipe, pairs, chosen = self.recipe, self.prepared.pairs, self.prepared.train
        data = Dataset.from_dict({"anchor": [pairs.texts_a[i] for i in chosen], "positive": [pairs.texts_b[i] for i in chosen]})
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(self.folder.beside / CHECKPOINTS), max_steps=recipe.steps,
            per_device_train_batch_size=recipe.batch, learning_rate=recipe.lr, warmup_steps=recipe.warmup,
            lr_scheduler_type=recipe.schedule, weight_decay=recipe.weight_decay, seed=recipe.seed, data_seed=recipe.seed,
            # A text that stands twice in a batch would be its own negative; neither of the two allows it.
            batch_sampler=LikeLengthBatches if recipe.group_by_length else "no_duplicates", use_cpu=self.prepared.device == "cpu",
            dataloader_drop_last=True, dataloader_pin_memory=False,
            save_strategy="steps", save_steps=recipe.probe.every, save_total_limit=2, logging_strategy="no",
            report_to="none", disable_tqdm=True, push_to_hub=False)
        run = self

        class Trainer(SentenceTransformerTrainer):  # type: ignore[misc]
            def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
                loss = super().compute_loss(*args, **kwargs)
                value = float((loss[0] if isinstance(loss, tuple) else loss).detach())
                if not math.isfinite(value):
                    raise NotFinite(self.state.global_step + 1, "the loss")
                run.losses.append(value)
                return loss

            def add_model_card_callback(self, *args: Any, **kwargs: Any) -> None:
                """None: the trainer's card would ask a hub about the model; ours is the recipe."""

        trainer = Trainer(model=self.model, args=arguments, train_dataset=data, loss=self.loss, callbacks=[_callback(self)])
        trainer.remove_callback(PrinterCallback)
        return trainer


def _callback(run: TrainingRun) -> Any:
    from transformers import TrainerCallback

    class Follow(TrainerCallback):  # type: ignore[misc]
        """Reports, probes, and stops where the user or a number asks for it."""

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            norms = [p.grad.norm() for p in run.model.parameters() if p.grad is not None]
            if norms and not bool(torch.isfinite(torch.stack(norms)).all()):
                raise NotFinite(state.global_step + 1, "a gradient")

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if run.unmeasured is not None:
                with torch.random.fork_rng(devices=[]):
                    run.probe(run.unmeasured)
            run.since = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            step = state.global_step
            now = time.perf_counter()
            run.folder.append_step(step, run.losses[-1], now - run.since)
            run.since = now
            run.progress(step, run.recipe.steps, f"Training, loss {run.losses[-1]:.3f}")
            if run.cancelled is not None and run.cancelled.is_set():
                control.should_save = control.should_training_stop = True
            elif step % run.recipe.probe.every == 0 or step == run.recipe.steps:
                # Random numbers drawn by a probe would make a run depend on how often it is looked at.
                try:
                    with torch.random.fork_rng(devices=[]):
                        run.probe(step)
                except Cancelled:  # the step is done and is kept; its probe is made when the run goes on
                    control.should_training_stop = True
                control.should_save = True
            return control

    return Follow()


def build_model(prepared: Prepared) -> SentenceTransformer:
    """The model with the recipe's pooling, from safetensors in float32, no code of its own, on the device."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    stated = declared(prepared.ref.folder)
    length = prepared.recipe.max_length or stated.max_length
    try:
        transformer = Transformer(str(prepared.ref.folder / stated.subfolder), max_seq_length=length,
                                  do_lower_case=stated.lower_case,
                                  model_kwargs={"use_safetensors": True, "dtype": torch.float32, "local_files_only": True},
                                  processor_kwargs={"local_files_only": True}, config_kwargs={"local_files_only": True})
    except Exception as error:
        raise ModelError(f"model {prepared.ref.model_id}", "must load with sentence-transformers",
                         f"{type(error).__name__}: {shown(str(error).splitlines()[0] if str(error) else '')}",
                         "check that the folder holds a whole encoder") from error
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode=prepared.pooling)
    return SentenceTransformer(modules=[transformer, pooling], device=prepared.device)


def base_loss(recipe: Recipe, model: SentenceTransformer) -> torch.nn.Module:
    """The recipe's base loss: InfoNCE over the batch, from one side or from both, averaged."""
    from sentence_transformers.sentence_transformer import losses

    sides = ("query_to_doc", "doc_to_query") if recipe.symmetric else ("query_to_doc",)
    return getattr(losses, recipe.loss)(model, scale=1 / recipe.temperature, directions=sides, partition_mode="per_direction")


def build_loss(prepared: Prepared, model: SentenceTransformer) -> torch.nn.Module:
    """The base loss, made Matryoshka where the recipe has dims, with MIC's terms where it asks for them."""
    from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss

    from components.losses import MICLoss

    recipe, base = prepared.recipe, base_loss(prepared.recipe, model)
    if recipe.mic is not None:
        layers: Any = recipe.mic.layers
        return MICLoss(model, base, recipe.dims, layers=layers, gamma=recipe.mic.gamma, tau=recipe.mic.tau,
                       lambda_var=recipe.mic.lambda_var, special_tokens=recipe.mic.special_tokens)
    return MatryoshkaLoss(model, base, list(recipe.dims)) if recipe.dims else base


def save_model(model: SentenceTransformer, out: Path, *, half: bool) -> None:
    """Writes safetensors weights, configuration, tokenizer and pooling; in float16 when ``half``."""
    if half:
        model.half()
    model.save_pretrained(str(out), create_model_card=False, safe_serialization=True)
    if half:
        model.float()


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: what could not be measured is null."""
    if isinstance(value, Mapping):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


