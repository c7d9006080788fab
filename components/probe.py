"""A fixed set of texts and pairs, and what a model makes of it: the figures that training is followed by.

The same measure serves a run's every k-th step, the finished model and the table of the nano family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from components.errors import DataError
from components.types import FINAL, CancelEvent, FloatArray, IntArray, Interval, TokenStates, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder

AT = 10
"""Recall is counted among this many first answers."""


@dataclass(frozen=True)
class ProbeSet:
    """Texts for the geometry, and questions of which question i has answer i among all answers.

    Attributes:
        name: what it is made of, in words, for captions.
        texts: for SOCM, spread and effective dims.
        queries, answers: of like length; an answer that stands twice counts as right under each of its numbers.
    """

    name: str
    texts: tuple[str, ...]
    queries: tuple[str, ...]
    answers: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.queries) != len(self.answers):
            raise DataError("probe", "must have an answer for each question", f"{len(self.answers)} for {len(self.queries)}",
                            "mend its file")


def pooled(states: TokenStates, pooling: str) -> FloatArray:
    """(n_texts, dim) float64 vectors: the mean of the real tokens, or the first of them ("cls")."""
    if pooling == "cls":
        return states.states[states.offsets[:-1]].astype(np.float64)
    sums = np.add.reduceat(states.states.astype(np.float64), states.offsets[:-1], axis=0)
    return sums / states.lengths[:, None]


def ranks(queries: FloatArray, answers: FloatArray, group: IntArray) -> IntArray:
    """Place of each question's answer among all answers by cosine, 1 the best.

    Args:
        queries: (n, d); question i has answer i.
        answers: (n, d).
        group: (n,) a number for each answer, the same for equal texts: of these the best one counts.

    Returns:
        (n,) ranks. Other answers of equal score stand in front, so that a model that makes all vectors equal finds nothing.
    """
    q = queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-300)
    a = answers / np.maximum(np.linalg.norm(answers, axis=1, keepdims=True), 1e-300)
    scores = q @ a.T
    own = group[:, None] == group[None, :]
    best = np.where(own, scores, -np.inf).max(axis=1)
    return 1 + ((scores >= best[:, None]) & ~own).sum(axis=1)


def retrieval(queries: FloatArray, answers: FloatArray, texts: Sequence[str], dims: Sequence[int],
              keep: dict[str, IntArray] | None = None) -> dict[str, Any]:
    """Recall@10 and mean reciprocal rank of the first d coordinates, for each d, with intervals over questions.

    ``keep`` takes the ranks themselves, d -> (n,), for comparisons question by question.
    """
    from components.statistics import mean_interval, share_interval

    _, group = np.unique(np.array(texts, dtype=object), return_inverse=True)
    out = {}
    for d in dims:
        place = ranks(queries[:, :d], answers[:, :d], group)
        if keep is not None:
            keep[str(d)] = place
        out[str(d)] = {"recall": share_interval(int((place <= AT).sum()), len(place), "questions").as_dict(),
                       "mrr": mean_interval(1 / place, "questions").as_dict()}
    return out


def measure(encoder: Encoder, probe: ProbeSet, pooling: str, dims: Sequence[int], *, batch_size: int = 64,
            max_references: int = 400, keep: dict[str, IntArray] | None = None, views: dict[str, Any] | None = None,
            cancelled: CancelEvent | None = None) -> dict[str, Any]:
    """What a model makes of a probe set.

    Args:
        encoder: the model, as it stands.
        probe: texts and questions.
        pooling: "mean" or "cls", of the vectors that retrieve and whose dims are counted.
        dims: truncation dims, up to the model's.
        max_references: texts up to which the two references of SOCM are measured as well.
        keep: takes the ranks of the questions' answers, d -> (n,).
        views: takes what is drawn of the probe, "arrays" and "words" of ``probe_views.views_of``.

    Returns:
        JSON values: socm, d_mu, d_sigma (intervals over texts), references, spread (layer -> interval over texts, "final"
        included), dims (d -> by coordinates, by axes), retrieval (d -> recall, mrr), n_texts, n_pairs, n_questions, cut.

    Raises:
        DataError: a text's states are not finite; Cancelled.
    """
    from components.moments import text_moments
    from components.pair_parts import n_pairs_of
    from components.pair_scan import scan_pairs
    from components.probe_views import MOST_PAIRS, views_of
    from components.references import references
    from components.sinks import MomentSink, SampleSink
    from components.spread import effective_dims, normalised_spread
    from components.statistics import jackknife_pair_mean, mean_interval

    layers = encoder.layers
    encoded = encoder.token_states(probe.texts, layers, batch_size=batch_size, progress=no_progress, cancelled=cancelled)
    final = encoded.states[FINAL]
    moments = text_moments(final, names=probe.texts)
    sums = MomentSink(len(moments))
    drawn = SampleSink(len(moments), MOST_PAIRS)
    scan_pairs(moments, [sums] if views is None else [sums, drawn], cancelled=cancelled)
    means = {name: jackknife_pair_mean(sums.row_sums[name], total=sums.sums[name]).as_dict()
             for name in ("socm", "d_mu", "d_sigma")}
    spread: dict[str, Interval] = {str(layer): mean_interval(normalised_spread(states), "texts")
                                   for layer, states in encoded.states.items()}
    if views is not None:
        words = [encoder.tokenizer.convert_ids_to_tokens([int(k) for k in ids]) for ids in encoded.tokenised.ids]
        views.update(views_of(probe.texts, words, final, drawn))
    vectors = pooled(final, pooling)
    out: dict[str, Any] = {
        **means, "spread": {layer: value.as_dict() for layer, value in spread.items()},
        "references": references(final, moments.norms).as_dict() if len(probe.texts) <= max_references else None,
        "dims": {str(d): list(effective_dims(vectors[:, :d])) for d in dims},
        "n_texts": len(probe.texts), "n_pairs": n_pairs_of(len(probe.texts)), "n_questions": len(probe.queries),
        "cut": len(encoded.tokenised.cut), "probe": probe.name}
    if probe.queries:
        both = encoder.token_states([*probe.queries, *probe.answers], [FINAL], batch_size=batch_size, cancelled=cancelled)
        found = pooled(both.states[FINAL], pooling)
        n = len(probe.queries)
        out["retrieval"] = retrieval(found[:n], found[n:], probe.answers, dims, keep)
    return out
