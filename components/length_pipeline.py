"""Halves of one text against halves of two, for texts of given lengths of a corpus: what a pair's own halves are read against."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.errors import DataError
from components.models import ModelRef
from components.pipeline import run_task, timed_encoder
from components.store import ResultKey, ResultStore, StoredResult
from components.types import FINAL, CancelEvent, Corpus, Layer, Progress, no_progress

SCHEMA = 1
MOST_TEXTS = 200
"""Drawn at random where more are of the lengths."""
LEAST_TEXTS = 6
REACH = 0.8, 1.25
"""How far below and above a text's token count another one is of like length."""


def like(n_tokens: int) -> tuple[int, int]:
    """Smallest and largest token count of texts of like length."""
    return int(np.ceil(REACH[0] * n_tokens)), int(np.floor(REACH[1] * n_tokens))


@dataclass(frozen=True)
class LengthOptions:
    """Which texts, which layer; every field is part of the result's key.

    Attributes:
        half: tokens of a half.
        low, high: token counts of the texts that take part.
        layer, special_tokens, prompt: as for pairs.
        seed: of halves, partners, and of the texts drawn.
    """

    half: int
    low: int
    high: int
    layer: Layer = FINAL
    special_tokens: bool = True
    prompt: str = ""
    seed: int = 0

    @classmethod
    def for_pair(cls, n_a: int, n_b: int, layer: Layer, special_tokens: bool) -> LengthOptions:
        """Halves of half the shorter text, from texts as long as either or between the two."""
        half = min(n_a, n_b) // 2
        return cls(half, max(2 * half, like(min(n_a, n_b))[0]), like(max(n_a, n_b))[1], layer, special_tokens)


def length_key(corpus: Corpus, ref: ModelRef, options: LengthOptions) -> ResultKey:
    """The key under which it is stored."""
    return ResultKey("length_halves", corpus.digest, ref.model_id, ref.revision, dict(vars(options)), SCHEMA)


def compute_length_halves(corpus: Corpus, ref: ModelRef, options: LengthOptions, *, store: ResultStore, device: str = "auto",
                          allow_remote_code: Sequence[str] = (), progress: Progress = no_progress,
                          cancelled: CancelEvent | None = None) -> StoredResult:
    """Mean d_sigma between halves of one text and of two, from the store or computed and stored.

    Arrays: rows (n,) of the texts that took part, n_tokens (n,). meta: within, between, ratio (intervals over texts), eligible (texts
    of these lengths in the corpus).

    Raises:
        DataError: too few such texts; ModelError, StoreError: with a sentence.
    """
    key = length_key(corpus, ref, options)
    found = store.get(key)
    if found is not None:
        return found
    if options.half < 2:
        raise DataError("tokens of the shorter text", "must be 4 or more for halves", str(2 * options.half), "choose longer texts")

    from components.references import finite_samples

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    start = time.perf_counter()
    progress(0, 0, "Counting tokens")
    tokenised = encoder.tokenise(corpus.texts, options.prompt)
    lengths = np.array([len(flags) if options.special_tokens else int((~flags).sum()) for flags in tokenised.special])
    rows = np.flatnonzero((lengths >= max(options.low, 2 * options.half)) & (lengths <= options.high))
    eligible = len(rows)
    if eligible < LEAST_TEXTS:
        raise DataError(f"texts of {options.low} to {options.high} tokens", f"must be {LEAST_TEXTS} or more for a reference",
                        f"{eligible} in {corpus.name}", "choose texts of other lengths, or another corpus")
    if eligible > MOST_TEXTS:
        rows = np.sort(np.random.default_rng(options.seed).choice(rows, MOST_TEXTS, replace=False))
    layer = encoder.check_layer(options.layer)
    states = encoder.token_states([corpus.texts[k] for k in rows], [layer], special_tokens=options.special_tokens,
                                  prompt=options.prompt, progress=progress, cancelled=cancelled).states[layer]
    within, between, ratio, _ = finite_samples(states, np.arange(len(rows)), seed=options.seed, half=options.half)
    seconds["halves"] = time.perf_counter() - start
    meta = {"within": within.as_dict(), "between": between.as_dict(), "ratio": ratio.as_dict(), "eligible": eligible}
    return store.put(key, {"rows": rows.astype(np.int64), "n_tokens": states.lengths.astype(np.int64)}, meta, seconds)


def run_length_halves(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task; ``args`` as for ``run_pair_map``."""
    from components.inline_texts import corpus_of

    return run_task(args, corpus_of(args), LengthOptions(**args["options"]), length_key,
                    compute_length_halves, store=store, progress=progress, cancelled=cancelled)
