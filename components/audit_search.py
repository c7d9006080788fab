"""Finds the setting under which a model gives the vectors of a file, or says that none does and how far the nearest is.

Explanations are tried from the simplest on: one setting for all rows; one setting with rows in another order; an unmasked mean,
whose vectors depend on their batch; rows of several settings. The first that accounts for every row is taken. A setting counts as
reproducing a row when ``audit_match`` says so. Settings that give the same vectors on these texts are all kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from components.audit_match import UNSEEN, Compared, View, views_of
from components.audit_order import Order, match_rows
from components.audit_padding import Padding, find_padding
from components.audit_setting import Setting
from components.audit_states import Candidates
from components.pooling import UNMASKED
from components.types import FloatArray, IntArray

ONE, PADDED, SHUFFLED, MIXED, PARTLY, NONE = "one", "unmasked", "shuffled", "mixed", "partly", "none"
SHOWN = 12
LIMITS = (32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192)
"""Lengths at which pipelines cut, tried beside the model's own and the configured one."""
MOST_SETTINGS = 4
FEWEST_ROWS, LEAST_SHARE = 2, 0.02
"""Of a setting that is named for a part of the rows."""


@dataclass(frozen=True)
class Tried:
    """One candidate: its setting, and how far each compared row lies from it."""

    setting: Setting
    error: FloatArray
    ok: Any
    precision: Any

    @property
    def rank(self) -> tuple[float, float]:
        # To one digit: a mean and a mean by the root of the length differ by rounding only, and the plainer comes first.
        return -float(self.ok.mean()), float(f"{np.median(self.error):.0e}")


@dataclass(frozen=True)
class Part:
    """Rows that follow one setting: numbers from 0 in the file of vectors."""

    setting: Setting
    rows: IntArray


@dataclass(frozen=True)
class Found:
    """What explains the vectors.

    Attributes:
        outcome: "one", "unmasked", "shuffled", "mixed", "partly" or "none".
        parts: settings with their rows; of "one" a single part with all rows.
        alike: settings that give the same vectors on these texts.
        order: where rows were found instead, when shuffled.
        padding: of an unmasked mean.
        tried: the nearest candidates, nearest first.
        rows: compared rows.
        unexplained: rows that follow no setting.
        longest: tokens of the longest compared text under the first part's prompt.
    """

    outcome: str
    parts: tuple[Part, ...]
    alike: tuple[Setting, ...]
    tried: tuple[Tried, ...]
    rows: IntArray
    unexplained: IntArray
    longest: int
    order: Order | None = None
    padding: Padding | None = None
    notes: tuple[str, ...] = field(default=())


def search(values: FloatArray, candidates: Candidates, prompts: Mapping[str, str], limit: int, limits: Sequence[int],
           full_dim: int, expected: Setting | None = None) -> Found:
    """Looks for what explains the vectors.

    Args:
        values: (n_texts, dim) given vectors, one for each of the candidates' texts.
        prompts: name -> text, the likeliest first, none as "".
        limit: tokens after which texts are cut unless a pipeline is set otherwise.
        limits: others to try.
        full_dim: of the model's vectors before any cut.
        expected: of several settings that give the same vectors, the one nearest to this is named.
    """
    rows = candidates.rows
    views = views_of(values, full_dim)
    searches = [_Search(view, candidates, prompts, limit, sorted({*limits, limit}), full_dim, expected) for view in views]
    for attempt in ("one", "shuffled", "padded", "mixed"):
        for one in searches:
            if (found := getattr(one, attempt)()) is not None:
                return found
    nothing = np.array([], dtype=np.int64)
    best = min((s for s in searches), key=lambda s: s.nearest[0].rank[1] if s.nearest else np.inf, default=None)
    return Found(NONE, (), (), best.nearest[:SHOWN] if best else (), rows, rows if len(rows) else nothing, best.longest("") if best
        else 0)


class _Search:
    """One reading of the file's numbers against all candidates; what was encoded is kept."""

    def __init__(self, view: View, candidates: Candidates, prompts: Mapping[str, str], limit: int, limits: Sequence[int],
                 full_dim: int, expected: Setting | None) -> None:
        self.view, self.candidates, self.prompts, self.expected = view, candidates, dict(prompts), expected
        self.limit, self.limits = limit, [n for n in limits if not candidates.room or n <= candidates.room]
        if candidates.room and candidates.room not in self.limits:
            self.limits.append(candidates.room)
        self.rows, self.full_dim = candidates.rows, full_dim
        self.here = view.take(self.rows)
        self._pooled: dict[str, dict[str, FloatArray]] = _shared(candidates)
        self.tried: list[Tried] = []

    @property
    def nearest(self) -> tuple[Tried, ...]:
        best: dict[tuple[Any, ...], Tried] = {}
        for one in sorted(self.tried, key=lambda t: t.rank):
            best.setdefault((one.setting.pooling, one.setting.normalize, one.setting.prompt, one.setting.max_seq_len,
                             one.setting.modules, one.setting.padding), one)
        return tuple(best.values())

    def longest(self, prompt: str) -> int:
        lengths = self.candidates.lengths(self.prompts.get(prompt, prompt))
        return int(lengths[self.rows].max(initial=0))

    def _pooled_at_limit(self, name: str) -> dict[str, FloatArray]:
        text = self.prompts[name]
        key = f"{self.limit}\0{text}"
        if key not in self._pooled:
            self._pooled[key] = self.candidates.pooled(text, self.limit, self.rows)
        return self._pooled[key]

    def _compare(self, name: str, pooled: Mapping[str, FloatArray], view: View, limit: int | None) -> list[Tried]:
        found = []
        for pooling, modules, vectors in self.candidates.finished(pooled):
            if vectors.shape[1] < view.dims:
                continue
            cut = view.dims if view.dims < vectors.shape[1] else None
            for compared in view.compare(vectors):
                found.append(Tried(_setting(pooling, compared, name, limit, cut, modules), compared.error, compared.ok,
                    compared.precision))
        return found

    def one(self) -> Found | None:
        """A single setting for every row, prompt by prompt."""
        for name in self.prompts:
            lengths = self.candidates.lengths(self.prompts[name])[self.rows]
            uncut = self.limit if (lengths > self.limit).any() else None
            tried = self._compare(name, self._pooled_at_limit(name), self.here, uncut)
            self.tried += tried
            whole = [t for t in tried if t.ok.all()] or self._other_limits(name, tried, lengths)
            if whole:
                return self._single(ONE, whole)
        return None

    def _other_limits(self, name: str, tried: Sequence[Tried], lengths: IntArray) -> list[Tried]:
        """Candidates whose short texts agree, with the long ones cut elsewhere."""
        safe = lengths <= min(self.limits)
        alive = [t for t in tried if t.ok[safe].all()] if safe.any() else list(tried)
        if not alive or not (lengths > min(self.limits)).any():
            return []
        base, whole = self._pooled_at_limit(name), []
        alive_at = {(t.setting.pooling, t.setting.modules, t.setting.normalize) for t in alive}
        done = set()
        for limit in self.limits:
            effect = tuple(np.minimum(lengths, limit))
            touched = np.flatnonzero(np.minimum(lengths, limit) != np.minimum(lengths, self.limit))
            if limit == self.limit or effect in done or not len(touched):
                continue
            done.add(effect)
            again = self.candidates.pooled(self.prompts[name], limit, self.rows[touched])
            pooled = {key: vectors.copy() for key, vectors in base.items()}
            for key in pooled:
                pooled[key][touched] = again[key]
            shown = limit if (lengths > limit).any() else None
            found = [t for t in self._compare(name, pooled, self.here, shown)
                     if (t.setting.pooling, t.setting.modules, t.setting.normalize) in alive_at]
            self.tried += found
            whole += [t for t in found if t.ok.all()]
        return whole

    def _single(self, outcome: str, whole: Sequence[Tried], **more: Any) -> Found | None:
        """One setting, the nearest to what is expected among those that give the same vectors."""
        settings = [t.setting for t in whole]
        names = [_precisions(t) for t in whole]
        best = min(range(len(whole)), key=lambda k: (len(self.expected.differences(settings[k])) if self.expected else 0,
                                                     settings[k].normalize == UNSEEN, k))
        if len(names[best]) > 1:
            return None  # rows of several precisions: a mixture
        chosen = settings[best].with_(precision=names[best][0])
        alike = tuple(s.with_(precision=n[0]) for k, (s, n) in enumerate(zip(settings, names, strict=True)) if k != best)
        return Found(outcome, (Part(chosen, self.rows),), tuple(dict.fromkeys(alike)), self.nearest[:SHOWN], self.rows,
                     self.rows[:0], self.longest(chosen.prompt), **more)

    def padded(self) -> Found | None:
        """An unmasked mean with what the texts were padded to."""
        if self.view.dims > self.full_dim:
            return None
        for name in self.prompts:
            found = find_padding(self.here, self.candidates, self.prompts[name], self.limit, self.limits)
            if found is None:
                continue
            cut = self.view.dims if self.view.dims < self.full_dim else None
            lengths = self.candidates.lengths(self.prompts[name])[self.rows]
            limit = found.limit if (lengths > found.limit).any() else None
            setting = _setting(UNMASKED, found.compared, name, limit, cut, True).with_(padding=found.words)
            tried = Tried(setting, found.compared.error, found.compared.ok, found.compared.precision)
            self.tried.insert(0, tried)
            result = self._single(PADDED, [tried], padding=found)
            if result is not None:
                checked = self.rows[found.checked]
                return replace(result, rows=checked, parts=(Part(result.parts[0].setting, checked),))
        return None

    def shuffled(self) -> Found | None:
        """One setting whose vectors stand at other rows."""
        best: tuple[int, Tried, Order] | None = None
        for name in self.prompts:
            lengths = self.candidates.lengths(self.prompts[name])
            for pooling, modules, vectors in self.candidates.finished(self._pooled_at_limit(name)):
                if vectors.shape[1] < self.view.dims:
                    continue
                cut = self.view.dims if self.view.dims < vectors.shape[1] else None
                for order, compared in match_rows(self.view, self.rows, vectors, self.candidates.texts, lengths):
                    tried = Tried(_setting(pooling, compared, name, self.limit if (lengths[self.rows] > self.limit).any() else None,
                        cut,
                                           modules), compared.error, compared.ok, compared.precision)
                    if compared.ok.all() and len(order.moved) and (best is None or len(order.moved) < best[0]):
                        best = (len(order.moved), tried, order)
        return None if best is None else self._single(SHUFFLED, [best[1]], order=best[2])

    def mixed(self) -> Found | None:
        """As few settings as possible that account for most rows together."""
        left = np.ones(len(self.rows), bool)
        parts: list[Part] = []
        masks = [(t.setting.with_(precision=p), t.ok & (t.precision == p)) for t in self.tried for p in _precisions(t)]
        while left.any() and len(parts) < MOST_SETTINGS and masks:
            gains = [int((ok & left).sum()) for _, ok in masks]
            most = max(gains)
            if most < max(FEWEST_ROWS, LEAST_SHARE * len(self.rows)):
                break
            near = [k for k, gain in enumerate(gains) if gain == most]
            k = min(near, key=lambda k: len(self.expected.differences(masks[k][0])) if self.expected else 0)
            setting, ok = masks[k]
            parts.append(Part(setting, self.rows[ok & left]))
            left &= ~ok
        if not parts or left.sum() > len(self.rows) / 2:
            return None
        outcome = MIXED if len(parts) > 1 else PARTLY
        return Found(outcome, tuple(parts), (), self.nearest[:SHOWN], self.rows, self.rows[left], self.longest(parts[0].setting.prompt))


def _shared(candidates: Candidates) -> dict[str, dict[str, FloatArray]]:
    """What was encoded, kept with the candidates so that another reading of the numbers does not encode anew."""
    kept: dict[str, dict[str, FloatArray]] = candidates.__dict__.setdefault("kept", {})
    return kept


def _precisions(tried: Tried) -> list[str]:
    return [str(name) for name in np.unique(tried.precision.astype(str))]


def _setting(pooling: str, compared: Compared, prompt: str, limit: int | None, cut: int | None, modules: bool) -> Setting:
    return Setting(pooling, compared.normalize, prompt, limit, cut, str(compared.precision[0]), modules)
