"""What is measured of one model's poolings: texts encoded once, every pooling from the same token states.

Documents come in chunks, so that token states of a large collection are never all in memory; only the second-order scores need
them all, and are left out, with a note, where they would not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from components.errors import DataError
from components.pooling import POOLINGS, UNMASKED, UnmaskedMeans, pool, unit
from components.pooling_result import default_reference
from components.types import FINAL, CancelEvent, FloatArray, IntArray, Progress, TokenStates, no_progress

if TYPE_CHECKING:
    from components.encoders import Encoder
    from components.model_modules import AfterPooling

TEXTS_AT_ONCE = 4_096
STATES_BYTES = 500_000_000
"""Token states that are kept for the second-order scores; above, these are not computed."""
NEAREST = 10
PROBE_PENALTY = 1_000.0
"""Of the probe, on standardised features, for every model and pooling alike: of 1 to 10,000, within 0.02 of the best accuracy
for mean and cls of the embedded and of a small model."""
RANDOM_PAIRS = 1_000_000
"""Pairs of documents that mean cosine and uniformity are taken over at the most."""


@dataclass
class Pooled:
    """Vectors of some texts under every pooling.

    Attributes:
        vectors: pooling -> (n_texts, dim) float32.
        states: token states of all texts, or None where they were too many to keep.
        n_tokens, widths: (n_texts,) tokens, and positions of the padded batch that each text came in.
        n_cut: texts that were cut; full_tokens: (n_texts,) tokens before.
        unknown_share: unknown tokens among those that are not special.
        notes: of the encoder.
    """

    vectors: dict[str, FloatArray]
    states: TokenStates | None
    n_tokens: IntArray
    widths: IntArray
    full_tokens: IntArray
    unknown_share: float
    notes: tuple[str, ...] = field(default=())

    @property
    def n_cut(self) -> int:
        return int((self.full_tokens > self.n_tokens).sum())


def pooled_vectors(encoder: Encoder, texts: Sequence[str], poolings: Sequence[str], after: AfterPooling | None = None, *,
                   prompt: str = "", keep_states: bool = False, progress: Progress = no_progress,
                   cancelled: CancelEvent | None = None) -> Pooled:
    """Encodes texts once and pools them in every way asked for.

    Args:
        encoder: loaded.
        texts: at least one.
        poolings: of ``POOLINGS``, several joined by "+" (concatenated), or ``mean_unmasked``: over batches of 32 texts in order
            of length, as encoders run them.
        after: modules applied to each pooled vector; it says too whether the prompt's tokens are pooled.
        prompt: put in front of every text.
        keep_states: keep all token states too, where they fit into ``STATES_BYTES``.
    """
    vectors: dict[str, list[FloatArray]] = {name: [] for name in poolings}
    kept: list[TokenStates] | None = [] if keep_states else None
    lengths, widths, full = [], [], []
    notes: tuple[str, ...] = ()
    unknown = plain = size = 0
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        part = texts[start:start + TEXTS_AT_ONCE]
        seen = UnmaskedMeans(len(part), encoder.dim)
        encoded = encoder.token_states(part, [FINAL], prompt=prompt, seen=seen, cancelled=cancelled,
                                       progress=_after(progress, start, len(texts)))
        states = encoded.states[FINAL]
        shown = states if after is None or after.pools_prompt or not prompt else without_prompt(encoder, states, prompt)
        for name in poolings:
            made = seen.vectors if name == UNMASKED else \
                np.concatenate([pool(shown, one) for one in name.split("+")], axis=1)
            vectors[name].append(made if after is None else after.apply(made))
        size += states.states.nbytes
        kept = None if kept is None or size > STATES_BYTES else [*kept, states]
        lengths.append(states.lengths)
        widths.append(seen.widths)
        full.append(encoded.tokenised.full_lengths)
        notes = encoded.notes
        unknown += int(encoded.tokenised.unknown.sum())
        plain += sum(int((~mask).sum()) for mask in encoded.tokenised.special)
    return Pooled({name: np.concatenate(parts) for name, parts in vectors.items()}, None if kept is None else joined(kept),
                  np.concatenate(lengths), np.concatenate(widths), np.concatenate(full), unknown / plain if plain else 0.0, notes)


def without_prompt(encoder: Encoder, states: TokenStates, prompt: str) -> TokenStates:
    """The states without the prompt's tokens, which some models leave out of pooling; a first special token goes with them."""
    ids = encoder.tokenizer(prompt, verbose=False)["input_ids"]
    skipped = len(ids) - int(bool(ids) and ids[-1] in encoder.tokenizer.all_special_ids)
    kept = np.arange(len(states.states)) - np.repeat(states.offsets[:-1], states.lengths) >= skipped
    return TokenStates(states.states[kept], np.concatenate([[0], np.cumsum(np.maximum(states.lengths - skipped, 0))]).astype(np.int64))


def _after(progress: Progress, before: int, total: int) -> Progress:
    """A part's progress as that of the whole."""
    return lambda done, _, stage: progress(before + done, total, stage)


def joined(parts: Sequence[TokenStates]) -> TokenStates:
    """Texts of several token states, one after the other."""
    lengths = np.concatenate([part.lengths for part in parts])
    return TokenStates(np.concatenate([part.states for part in parts]), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def poolings_for(declared: str | None) -> tuple[str, ...]:
    """Every pooling, with the model's own where that joins several, and the fault last."""
    own = (declared,) if declared and "+" in declared and set(declared.split("+")) <= set(POOLINGS) else ()
    return (*POOLINGS, *own, UNMASKED)


def reference_for(declared: str | None, model_id: str) -> str:
    """The pooling that others are compared with: the model's own, or the mean where it declares none.

    Raises:
        DataError: it declares one that is not known here.
    """
    names, reference = poolings_for(declared), default_reference(declared)
    if reference not in names:
        raise DataError(f"model {model_id}", f"must declare a pooling among {', '.join(names)}", reference, "choose another model")
    return reference


def overlap_at(vectors: Mapping[str, FloatArray], k: int = NEAREST) -> FloatArray:
    """(n_poolings, n_poolings) mean share of each document's k nearest other documents, by cosine, that two poolings share."""
    nearest = []
    for array in vectors.values():
        rows = []
        u = unit(array.astype(np.float64))
        for start in range(0, len(u), 512):
            cosine = u[start:start + 512] @ u.T
            cosine[np.arange(len(cosine)), start + np.arange(len(cosine))] = -np.inf
            rows.append(np.argpartition(-cosine, min(k, len(u) - 1) - 1, axis=1)[:, :k])
        nearest.append(np.sort(np.concatenate(rows), axis=1))
    out = np.ones((len(nearest), len(nearest)))
    for a in range(len(nearest)):
        for b in range(a):
            both = np.concatenate([nearest[a], nearest[b]], axis=1)
            both.sort(axis=1)
            out[a, b] = out[b, a] = float((both[:, 1:] == both[:, :-1]).sum(axis=1).mean()) / nearest[a].shape[1]
    return out


def geometry(queries: FloatArray, documents: FloatArray, judged: IntArray, seed: int = 0) -> dict[str, float]:
    """How the vectors of one pooling lie, all at length 1.

    Args:
        queries, documents: (n, dim).
        judged: (n_pairs, 2) numbers of a query and of a document that answers it.

    Returns:
        mean_cosine: of two different documents. uniformity: log mean exp(-2 |x - y|^2) over the same pairs; alignment: mean
        |q - d|^2 of a query and its answer (Wang and Isola 2020). effective_dims, effective_axes: participation ratios of the
        documents' variances by coordinate and by principal axis. n_pairs: pairs of documents these rest on.
    """
    from components.spread import effective_dims

    q, d = unit(queries.astype(np.float64)), unit(documents.astype(np.float64))
    n = len(d)
    if n * (n - 1) // 2 <= RANDOM_PAIRS:
        i, j = np.triu_indices(n, 1)
        cosine = (d @ d.T)[i, j]
    else:
        rng = np.random.default_rng(seed)
        i = rng.integers(n, size=RANDOM_PAIRS)
        j = (i + rng.integers(1, n, size=RANDOM_PAIRS)) % n
        cosine = np.concatenate([np.einsum("ij,ij->i", d[i[s:s + 50_000]], d[j[s:s + 50_000]]) for s in range(0, len(i), 50_000)])
    by_coordinate, by_axis = effective_dims(d)
    gap = q[judged[:, 0]] - d[judged[:, 1]]
    return {"mean_cosine": float(cosine.mean()), "uniformity": float(np.log(np.exp(-4 * (1 - cosine)).mean())),
            "alignment": float(np.square(gap).sum(axis=1).mean()), "effective_dims": by_coordinate, "effective_axes": by_axis,
            "n_pairs": float(len(cosine))}


def plane(vectors: FloatArray) -> tuple[FloatArray, list[float]]:
    """(n, 2) float32 coordinates of the vectors, at length 1, on their first two principal axes, and each axis' share of variance."""
    from sklearn.decomposition import PCA

    fitted = PCA(2, svd_solver="full").fit(unit(vectors.astype(np.float64)))
    return fitted.transform(unit(vectors.astype(np.float64))).astype(np.float32), \
        [float(x) if np.isfinite(x) else 0.0 for x in fitted.explained_variance_ratio_]


def probe_right(vectors: FloatArray, labels: Sequence[str], groups: Sequence[str] | None = None, folds: int = 5,
                seed: int = 0) -> FloatArray:
    """(n_texts,) bool: whether a linear probe that has not seen a text names its label.

    Args:
        vectors: (n_texts, dim); standardised within each fold's training part.
        labels: (n_texts,).
        groups: texts of one group are never split between training and test; None splits text by text.

    Ridge regression on the labels' indicators (scikit-learn's RidgeClassifier, penalty ``PROBE_PENALTY``): linear, with one
    answer, and a hundredth of logistic regression's time.
    """
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    splits = StratifiedKFold(folds, shuffle=True, random_state=seed) if groups is None else \
        StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    probe = make_pipeline(StandardScaler(), RidgeClassifier(alpha=PROBE_PENALTY))
    known = np.asarray(labels)
    with threadpool_limits(1):  # small matrices: several threads wait for each other, up to fifty times as long
        return np.asarray(cross_val_predict(probe, vectors.astype(np.float64), known, groups=groups, cv=splits) == known)
