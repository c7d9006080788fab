"""Which dim to cut to, by a rule that fits into one sentence, what that saves, and how to write it down.

The rule: the smallest dim at which the interval of the loss against the full float32 vector, on the same queries, ends at or
below x points (a point is 0.01 of the metric). An interval that reaches beyond x does not qualify however small the loss
itself: then the queries asked cannot rule out that more is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from components.charts.style import caption_number, interval_text
from components.embedding_config import EmbeddingConfig
from components.pooling_result import METRIC_WORDS, SPEARMAN
from components.retrieval import PRIMARY
from components.truncation_result import DTYPES, FLOAT32, MILLION, OVERLAP, TruncationResult, bytes_per_vector
from components.types import Interval

WORDS: Mapping[str, str] = METRIC_WORDS | {SPEARMAN: "Spearman's ρ with grades", OVERLAP: "Neighbours shared with the full vector"}


@dataclass(frozen=True)
class Recommendation:
    """The smallest dim that the rule allows.

    Attributes:
        metric, points, dtype: what the rule was asked.
        dim: None where nothing can be said, for the reason that ``why`` gives.
        loss: at that dim.
        full: the model's own dim.
        skipped: larger dims that do not qualify themselves (a loss that rises and falls is a warning).
        why: empty, or a sentence.
    """

    metric: str
    points: float
    dtype: str
    dim: int | None
    loss: Interval | None
    full: int
    skipped: tuple[int, ...]
    why: str = ""

    @property
    def bytes(self) -> int | None:
        """Bytes of one vector so cut and kept."""
        return None if self.dim is None else bytes_per_vector(self.dim, self.dtype)

    @property
    def saved(self) -> float | None:
        """Share of the full float32 vector's bytes that is saved."""
        return None if self.bytes is None else 1 - self.bytes / bytes_per_vector(self.full, FLOAT32)

    def as_dict(self) -> dict[str, Any]:
        out = {**asdict(self), "bytes_per_vector": self.bytes, "saved": self.saved}
        return out | {"skipped": list(self.skipped), "loss": None if self.loss is None else dict(self.loss.as_dict())}


def within(loss: Interval, points: float) -> bool:
    """Whether the interval of a loss ends at or below so many points; a loss of exactly 0 on every query counts as its own end."""
    if loss.value == 0 and loss.high is None and loss.n >= 6:
        return True
    return loss.high is not None and loss.high <= points / 100


def recommend(result: TruncationResult, metric: str = PRIMARY, points: float = 2.0, dtype: str = FLOAT32) -> Recommendation:
    """The rule above, for one metric and one way of keeping numbers.

    Args:
        points: more than 0.
        dtype: of the cut vectors; the full vector they are held against is float32.
    """
    def of(dim: int | None, loss: Interval | None, skipped: tuple[int, ...] = (), why: str = "") -> Recommendation:
        return Recommendation(metric, points, dtype, dim, loss, result.full, skipped, why)

    if np.isnan(result.value(metric, result.full).value):
        return of(None, None, why=f"{WORDS[metric]} is not defined for these vectors, so no dim can be told from another.")
    if result.meta["constant"]:
        return of(None, None, why="Every document has the same vector, so no dim can be told from another.")
    if result.n(metric) < 6:
        return of(None, None, why=f"{result.n(metric):,} {result.value(metric, result.full).of} are too few for an interval.")
    passing = [dim for dim in result.dims
               if (dim == result.full and dtype == FLOAT32) or within(result.loss(metric, dim, dtype), points)]
    if not passing:
        return of(None, None, why=f"As {dtype} no dim stays within {points:g} points of the full float32 vector.")
    best = passing[0]
    return of(best, result.loss(metric, best, dtype), tuple(dim for dim in result.dims if dim > best and dim not in passing))


def smallest(result: TruncationResult, metric: str = PRIMARY, points: float = 2.0) -> Recommendation:
    """Of the recommendations for every dtype, the one of fewest bytes a vector; of equals the first of ``DTYPES``."""
    found = [recommend(result, metric, points, dtype) for dtype in DTYPES]
    known = [one for one in found if one.bytes is not None]
    return min(known, key=lambda one: (one.bytes or 0, DTYPES.index(one.dtype))) if known else found[0]


def rule(metric: str, points: float) -> str:
    """The rule in plain words."""
    return (f"The smallest dim at which the 95% interval of the loss of {WORDS[metric]} against the full float32 vector, query by "
            f"query, ends at or below {points:g} points (a point is 0.01).").replace(
                "query by query", {"spearman": "pair by pair"}.get(metric, "text by text" if "probe" in metric else
                                                                   "document by document" if "overlap" in metric else "query by query"))


def size_words(n_bytes: float) -> str:
    """Bytes in the unit that reads best (decimal units)."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{caption_number(n_bytes / factor)} {unit}"
    return f"{caption_number(int(n_bytes))} bytes"


def change_words(loss: Interval) -> str:
    """A loss as the change it is: "changes by −1.20 [−2.31, +0.14] points"."""
    if loss.low is None or loss.high is None:
        return f"changes on no {loss.of.removesuffix('s') if loss.of != 'queries' else 'query'}" if loss.value == 0 else \
            f"changes by {_signed(-loss.value)} points"
    return f"changes by {_signed(-loss.value)} {interval_text(-100 * loss.high, -100 * loss.low)} points"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{caption_number(100 * value)}"


def finding(name: str, result: TruncationResult, best: Recommendation) -> str:
    """What the figure shows of one model: the recommended dim, its loss, what it saves, and whether the prefix is a good one."""
    metric, full = best.metric, result.value(best.metric, result.full)
    if best.dim is None:
        return f"{name}: we cannot tell. {best.why}"
    if best.dim == result.full and best.dtype == FLOAT32:
        text = (f"{name}: no shorter prefix is sure to stay within {best.points:g} points of {WORDS[metric]} at full "
                f"{result.full:,} dims ({caption_number(full.value)}).")
    else:
        loss = best.loss
        assert loss is not None and best.bytes is not None and best.saved is not None
        text = (f"{name}: with {best.dim:,} of {result.full:,} dims as {best.dtype}, {WORDS[metric]} {change_words(loss)}; that saves "
                f"{best.saved:.0%} of the bytes, {size_words(best.bytes * MILLION)} instead of "
                f"{size_words(bytes_per_vector(result.full, FLOAT32) * MILLION)} a million vectors.")
    return f"{text}{_luck(result, metric)}"


def _luck(result: TruncationResult, metric: str) -> str:
    """Whether prefixes are better than as many coordinates drawn at random."""
    better, worse, compared = [], [], 0
    for dim in result.dims[:-1]:
        drawn, value = result.random(metric, dim), result.value(metric, dim).value
        if len(drawn):
            compared += 1
            better += [dim] if value > drawn[-1] else []
            worse += [dim] if value < drawn[0] else []
    if not compared:
        return ""
    if not better and not worse:
        return (" At no dim does its prefix stand outside the range of random coordinates of like number: nothing in their order "
                "was trained, or none of it shows here.")
    parts = []
    if better:
        parts.append(f"above every one of {result.meta['draws']} random choices of coordinates at {_dims(better)} dims")
    if worse:
        parts.append(f"below every one of {'them' if better else str(result.meta['draws']) + ' random choices'} at {_dims(worse)}")
    return f" Its prefix stands {' and '.join(parts)}."


def _dims(dims: list[int]) -> str:
    return " and ".join([", ".join(f"{dim:,}" for dim in dims[:-1]), f"{dims[-1]:,}"]) if len(dims) > 1 else f"{dims[0]:,}"


def embedding_yaml(key: Any, result: TruncationResult, best: Recommendation) -> str:
    """The recommendation as the lines of embedding.yaml that it settles.

    Args:
        key: the result's ``ResultKey``, which names model and revision.
    """
    prompts = {name: result.meta[f"{name}_prompt"] for name in ("query", "document") if result.meta[f"{name}_prompt"]}
    cut = best.dim is not None and best.dim < result.full
    return EmbeddingConfig(model=key.model_id, revision=key.model_revision, pooling=result.meta["pooling"], normalize=True,
                           prompts=prompts or None, max_seq_len=result.meta["max_length"] or None,
                           truncate_dim=best.dim if cut else None).as_yaml()


