"""A small encoder trained from nothing: what the tuned models of the nano family start from.

A WordPiece vocabulary is cut out of the text, and a BERT of four layers learns to fill in masked tokens. Nothing asks it
for a good vector of a whole text, which is why it is the backbone: what tuning changes shows against it. It declares no
pooling, since none was trained.

What is random depends on the seed and the number of the step alone: the order of batches, the masks, the first weights.
A run that was killed therefore goes on from its last checkpoint as if nothing had happened, and the same text, recipe,
machine and number of threads give the same weights. (Sums in another order, on other hardware, differ in their last
bits, and thousands of steps make that visible in the third digit.)
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from components.errors import Cancelled, DataError, ModelError, shown
from components.nano_tokens import PAD, Sequences, batches, masked_batch, to_sequences, train_tokenizer
from components.types import CancelEvent, FloatArray, Progress, no_progress, texts_digest

_CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class BackboneRecipe:
    """Sizes of the model and how it is trained.

    Attributes:
        vocabulary: tokens, special ones included.
        layers, dim, heads, feed_forward: of the transformer.
        positions: tokens of a text at the most, special ones included; longer lines are trained in pieces.
        steps: of the optimiser.
        batch_tokens: texts times their width, padding included, in one step at the most.
        masked: share of tokens to be guessed; 80% of them are hidden, 10% exchanged, 10% left as they are.
        learning_rate: the highest, reached after ``warm_up`` steps, kept until ``flat`` of all, then falling to 0.
        weight_decay: of matrices; biases and norms have none.
        clip: longest gradient.
        bfloat16: multiply matrices in bfloat16 (weights and optimiser stay in float32).
        seed: of everything random.
        checkpoint_every: steps between two checkpoints.
    """

    vocabulary: int = 8192
    layers: int = 4
    dim: int = 192
    heads: int = 4
    feed_forward: int = 768
    positions: int = 64
    steps: int = 4085
    batch_tokens: int = 4096
    masked: float = 0.2
    learning_rate: float = 1.5e-3
    warm_up: int = 150
    flat: float = 0.3
    weight_decay: float = 0.01
    clip: float = 1.0
    bfloat16: bool = True
    seed: int = 0
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        for name in ("layers", "dim", "heads", "feed_forward", "steps", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise DataError(name, "must be at least 1", shown(getattr(self, name)), "give a positive whole number")
        if self.dim % self.heads:
            raise DataError("dim", "must be a multiple of heads", f"{self.dim} for {self.heads} heads", "change one of them")
        if self.positions < 4 or self.batch_tokens < self.positions:
            raise DataError("positions", "must lie in 4..batch_tokens", f"{self.positions} of {self.batch_tokens}",
                            "give shorter texts or larger batches")
        if not 0 < self.masked < 1:
            raise DataError("masked", "must lie between 0 and 1", shown(self.masked), "give a share such as 0.2")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        flat = max(self.warm_up, int(self.flat * self.steps))
        rising = min(1.0, (step + 1) / max(1, self.warm_up))
        falling = 1.0 if step < flat else (self.steps - step) / max(1, self.steps - flat)
        return self.learning_rate * rising * falling


@dataclass(frozen=True)
class BackboneRun:
    """A finished training.

    Attributes:
        folder: the model's.
        sequences: lines, or pieces of them.
        tokens: of all sequences, special ones included.
        losses: (steps,) float32, mean negative log likelihood of a masked token, in nats.
        seconds: of the steps done in this process.
    """

    folder: Path
    sequences: int
    tokens: int
    losses: FloatArray
    seconds: float


def train_backbone(lines: Sequence[str], folder: Path, recipe: BackboneRecipe | None = None, *,
                   progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> BackboneRun:
    """Trains tokenizer and model and saves them as a folder that ``resolve_model`` and sentence-transformers take.

    A checkpoint lies in ``folder`` with ".partial" at its end, every ``checkpoint_every`` steps and when cancelled; a
    run with the same text and recipe goes on from there, any other starts anew.

    Args:
        lines: training text, one text a line.
        folder: must not exist yet, or be empty.
        recipe: the defaults when None.
        progress: called after each step; the stage names the mean loss of the last 50.
        cancelled: asked after each step.

    Returns:
        The run; the folder holds config.json, model.safetensors (float16, without the head that guesses tokens),
        tokenizer.json, tokenizer_config.json, backbone.json (recipe and digest of the text) and training_log.csv.

    Raises:
        DataError: the folder is in use, or there is no text.
        ModelError: the loss is no number any more.
        Cancelled: the event was set; the checkpoint stays.
    """
    recipe = recipe or BackboneRecipe()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"folder {shown(str(folder))}", "must not exist yet, or be empty", "files in it" if folder.is_dir()
                        else "a file", "choose another, or remove it")
    progress(0, recipe.steps, "Learning the vocabulary")
    tokenizer = train_tokenizer(lines, recipe.vocabulary)
    sequences = to_sequences(tokenizer, lines, recipe.positions)
    model = _new_model(recipe, tokenizer.get_vocab_size())
    facts = {"recipe": asdict(recipe), "text": f"sha256:{texts_digest(lines)}", "vocabulary": tokenizer.get_vocab_size(),
             "sequences": len(sequences.lengths), "tokens": len(sequences.ids)}
    partial = folder.with_name(folder.name + ".partial")
    try:
        partial.mkdir(parents=True, exist_ok=True)
        losses, seconds = _fit(model, sequences, recipe, partial / _CHECKPOINT, json.dumps(facts, sort_keys=True), progress,
                               cancelled)
        made = partial / "model"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        _save(model, tokenizer, recipe, made)
        (made / "backbone.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
        with open(made / "training_log.csv", "w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerows([("step", "learning_rate", "loss"), *(
                (k + 1, f"{recipe.rate(k):.3g}", f"{loss:.4f}") for k, loss in enumerate(losses))])
        made.replace(folder)
        shutil.rmtree(partial)
    except (OSError, SafetensorError) as error:  # safetensors has an error of its own for a full disk
        raise DataError(f"folder {shown(str(folder))}", "must be writable, with room for model and checkpoint",
                        shown(str(error)), "make room, or choose another; a checkpoint that is there is used again") from error
    return BackboneRun(folder, len(sequences.lengths), len(sequences.ids), losses, seconds)


def _new_model(recipe: BackboneRecipe, vocabulary: int) -> Any:
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(recipe.seed)
    # Dropout only slows down a model that sees each text three times; those who tune it find the usual 0.1 in its config.
    config = BertConfig(vocab_size=vocabulary, hidden_size=recipe.dim, num_hidden_layers=recipe.layers,
                        num_attention_heads=recipe.heads, intermediate_size=recipe.feed_forward,
                        max_position_embeddings=recipe.positions, pad_token_id=PAD, hidden_dropout_prob=0.0,
                        attention_probs_dropout_prob=0.0)
    return BertForMaskedLM(config).train()


def _fit(model: Any, sequences: Sequences, recipe: BackboneRecipe, checkpoint: Path, run: str, progress: Progress,
         cancelled: CancelEvent | None) -> tuple[FloatArray, float]:
    named = dict(model.named_parameters())
    optimiser = torch.optim.AdamW([
        {"params": [p for p in named.values() if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in named.values() if p.ndim < 2], "weight_decay": 0.0}],
        lr=recipe.learning_rate, betas=(0.9, 0.98), eps=1e-6, fused=True)
    losses = torch.zeros(recipe.steps)
    first = _resume(checkpoint, run, named, optimiser, losses)
    vocabulary = model.config.vocab_size
    started = time.monotonic()
    plan = batches(sequences.lengths, recipe.batch_tokens, recipe.seed, skip=first)
    for step, rows in zip(range(first, recipe.steps), plan, strict=False):
        ids, real, where, right = masked_batch(sequences, rows, recipe.masked, vocabulary,
                                               np.random.default_rng([recipe.seed, 1, step]))
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate(step)
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe.bfloat16):
            # All scores of all tokens would cost more than the model itself: only those to be guessed go on.
            states = model.bert(input_ids=ids, attention_mask=real.long()).last_hidden_state
            scores = model.cls(states.flatten(0, 1)[where])
        loss = torch.nn.functional.cross_entropy(scores.float(), right)
        if not torch.isfinite(loss):
            raise ModelError("training of the backbone", "must have a finite loss", f"{loss.item()} at step {step + 1}",
                             "lower the learning rate")
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(named.values(), recipe.clip)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        losses[step] = loss.detach()
        done = step + 1
        stop = cancelled is not None and cancelled.is_set()
        if stop or (done % recipe.checkpoint_every == 0 and done < recipe.steps):
            _keep(checkpoint, run, done, named, optimiser, losses)
        if stop:
            raise Cancelled
        progress(done, recipe.steps, f"Training the backbone, loss {float(losses[max(0, done - 50):done].mean()):.3f}")
    return losses.numpy(), time.monotonic() - started


def _keep(path: Path, run: str, done: int, named: dict[str, torch.nn.Parameter], optimiser: torch.optim.Optimizer,
          losses: torch.Tensor) -> None:
    tensors = {"losses": losses}
    for name, parameter in named.items():
        state = optimiser.state[parameter]
        tensors |= {f"weight.{name}": parameter.detach().contiguous(), f"mean.{name}": state["exp_avg"],
                    f"square.{name}": state["exp_avg_sq"]}
    new = path.with_suffix(".new")
    save_file(tensors, new, {"run": run, "done": str(done)})
    os.replace(new, path)


def _resume(path: Path, run: str, named: dict[str, torch.nn.Parameter], optimiser: torch.optim.Optimizer,
            losses: torch.Tensor) -> int:
    """Steps done by an earlier run of the same text and recipe, whose state is put in place; 0 if there is none."""
    if not path.is_file():
        return 0
    try:
        with safe_open(path, "pt") as kept:
            facts = kept.metadata() or {}
            if facts.get("run") != run:
                return 0
            # All is read before any of it is put in place: half a checkpoint would be a start of its own.
            found = {name: [kept.get_tensor(f"{part}.{name}") for part in ("weight", "mean", "square")] for name in named}
            earlier, done = kept.get_tensor("losses"), int(facts["done"])
    except (SafetensorError, OSError):
        return 0
    with torch.no_grad():
        losses.copy_(earlier)
        for name, parameter in named.items():
            weight, mean, square = found[name]
            parameter.copy_(weight)
            optimiser.state[parameter] = {"step": torch.tensor(float(done)), "exp_avg": mean, "exp_avg_sq": square}
    return done


def _save(model: Any, tokenizer: Any, recipe: BackboneRecipe, folder: Path) -> None:
    from transformers import PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    encoder = model.bert.half()
    encoder.save_pretrained(folder)
    # The weights are stored in float16, but no CPU is quick at it: whoever loads the model should compute in float32.
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config |= {"dtype": "float32", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=recipe.positions, pad_token="[PAD]",
                            unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                            mask_token="[MASK]").save_pretrained(folder)
