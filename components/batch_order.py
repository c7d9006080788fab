"""The order of pairs in training: batches of like length in which no text stands twice.

Padding 128 pairs to the longest of them costs three times the tokens of short texts. Batches are therefore cut from runs
of like length, as translation systems do, and shuffled; the negatives of a pair are then about as long as it, so that
length gives no answer away. A text that stood twice in a batch would be its own negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from sentence_transformers.base.sampler import DefaultBatchSampler

RUN = 50
"""Batches that are sorted together; more would save little padding and mix the pairs less."""


def batches_of_like_length(texts_a: Sequence[str], texts_b: Sequence[str], batch: int, generator: torch.Generator) -> list[list[int]]:
    """One pass over the pairs.

    Args:
        texts_a, texts_b: n texts each.
        batch: pairs in a batch.
        generator: of the shuffles.

    Returns:
        At most n // batch lists of ``batch`` pair numbers, none twice; what fills no batch is left out of this pass. One
        batch with what there is, where no batch could be filled.
    """
    order = torch.randperm(len(texts_a), generator=generator).tolist()
    found: list[list[int]] = []
    waiting: list[int] = []  # stood beside an equal text, and go into a later batch
    for start in range(0, len(order), RUN * batch):
        run = sorted(waiting + order[start:start + RUN * batch], key=lambda i: max(len(texts_a[i]), len(texts_b[i])))
        cut, waiting = _cut(run, texts_a, texts_b, batch)
        found += cut
    more, waiting = _cut(waiting, texts_a, texts_b, batch)
    found += more
    if not found and waiting:
        found = [_one_batch(waiting, texts_a, texts_b, batch)[0]]
    return [found[i] for i in torch.randperm(len(found), generator=generator).tolist()]


def _cut(run: list[int], texts_a: Sequence[str], texts_b: Sequence[str], batch: int) -> tuple[list[list[int]], list[int]]:
    found = []
    while len(run) >= batch:
        members, rest = _one_batch(run, texts_a, texts_b, batch)
        if len(members) < batch:
            break
        found.append(members)
        run = rest
    return found, run


def _one_batch(run: list[int], texts_a: Sequence[str], texts_b: Sequence[str], batch: int) -> tuple[list[int], list[int]]:
    """The first ``batch`` of a run that share no text, and the others in their order."""
    members: list[int] = []
    passed: list[int] = []
    seen: set[str] = set()
    for at, i in enumerate(run):
        if len(members) == batch:
            return members, passed + run[at:]
        if texts_a[i] in seen or texts_b[i] in seen:
            passed.append(i)
        else:
            members.append(i)
            seen |= {texts_a[i], texts_b[i]}
    return members, passed


class LikeLengthBatches(DefaultBatchSampler):  # type: ignore[misc]
    """``batches_of_like_length`` for sentence-transformers' trainer; every epoch its own, the same for the same seed."""

    def __init__(self, dataset: Any, batch_size: int, drop_last: bool, valid_label_columns: list[str] | None = None,
                 generator: torch.Generator | None = None, seed: int = 0) -> None:
        super().__init__(dataset, batch_size=batch_size, drop_last=drop_last, valid_label_columns=valid_label_columns,
                         generator=generator, seed=seed)
        self.texts_a, self.texts_b = list(dataset["anchor"]), list(dataset["positive"])
        self.seed = seed

    def __iter__(self) -> Iterator[list[int]]:
        generator, left = torch.Generator().manual_seed(self.seed + self.epoch), len(self)
        # The trainer counts on as many batches as it was told, and would otherwise stop some steps early.
        while left:
            for batch in batches_of_like_length(self.texts_a, self.texts_b, self.batch_size, generator)[:left]:
                left -= 1
                yield batch

    def __len__(self) -> int:
        return max(len(self.texts_a) // self.batch_size, 1)


def in_bfloat16(forward: Callable[..., Any], module: torch.nn.Module, device: str) -> Callable[..., Any]:
    """A model's forward that multiplies in bfloat16 while it trains; weights, results and losses stay float32."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=module.training):
            found = forward(*args, **kwargs)
        if not module.training:
            return found
        for name, value in found.items():
            found[name] = tuple(v.float() for v in value) if isinstance(value, tuple) else value.float()
        return found

    return wrapped
