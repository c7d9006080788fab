"""An unmasked mean: padding is averaged in, so that a text's vector depends on the texts that stood beside it in its batch.

To what a text was padded follows from the size and the order of the batches, or from a fixed length. The widths
that fit the shortest texts are found first, all at once; of the usual ways to batch, those that agree are checked on every text.
Where none does, the mean is known to be unmasked, though not in which batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.audit_match import Compared, View
from components.audit_states import Candidates
from components.types import IntArray

SIZES = (2, 4, 8, 16, 32, 64, 100, 128, 256)
ORDERS = ("in the order of the file", "sorted by length in characters", "sorted by length in tokens")
MULTIPLES = (1, 8, 64)
PROBES = 6
WIDEST, MOST = 160, 512
"""Widths that are tried whatever the texts, and at the most."""


@dataclass(frozen=True)
class Padding:
    """What texts were padded to.

    Attributes:
        words: "padded to the longest of each batch of 32, in the order of the file".
        batch_size: None for a fixed length, or where it cannot be told.
        widths: (k,) tokens each checked text was padded to.
        compared: the given vectors against the unmasked means, for the checked rows.
        checked: places among the compared rows that were checked.
        limit: tokens after which texts were cut.
        others: further ways that give the same widths on these texts.
    """

    words: str
    batch_size: int | None
    widths: IntArray
    compared: Compared
    checked: IntArray
    limit: int
    others: tuple[str, ...] = ()


def find_padding(view: View, candidates: Candidates, prompt: str, limit: int, limits: Sequence[int]) -> Padding | None:
    """The way of padding that gives these vectors, or None.

    Args:
        view: the given vectors of the compared rows.
        prompt: text put in front.
        limit: tokens after which texts are cut.
        limits: fixed lengths to try.
    """
    rows, whole = candidates.rows, np.minimum(candidates.lengths(prompt), limit)
    own = whole[rows]
    # Short texts are padded most: they tell an unmasked mean from a masked one, and widths from each other.
    probes = np.argsort(own, kind="stable")[:PROBES]
    widest = min(max(WIDEST, int(whole.max()), *(n for n in (limit, *limits) if n <= MOST)), candidates.room or MOST)
    fits: list[IntArray] = []
    for probe in probes:
        means = candidates.unmasked_by_width(prompt, limit, int(rows[probe]), widest)[own[probe] - 1:]
        alike = view.take(np.full(len(means), probe))
        fitting = np.any([compared.ok for compared in alike.compare_directions(means)], axis=0)
        fits.append(own[probe] + np.flatnonzero(fitting))
        if not len(fits[-1]):
            return None
    if all(own[probe] in fit for probe, fit in zip(probes, fits, strict=True)):
        return None  # nothing was padded, so that this would be an ordinary mean
    by_widths: dict[bytes, list[tuple[str, int | None, IntArray]]] = {}
    for words, size, widths in _ways(whole, candidates.texts, limit, limits, candidates.room):
        if all(widths[rows[probe]] in fit for probe, fit in zip(probes, fits, strict=True)):
            by_widths.setdefault(widths[rows].tobytes(), []).append((words, size, widths[rows]))
    for group in by_widths.values():
        words, size, widths = group[0]
        for compared in view.compare(candidates.unmasked(prompt, limit, rows, widths)):
            if compared.ok.all():
                return Padding(words, size, widths, compared, np.arange(len(rows)), limit, tuple(words for words, _, _ in group[1:]))
    return _unknown(view, candidates, prompt, limit, probes, np.array([fit[0] for fit in fits]))


def _unknown(view: View, candidates: Candidates, prompt: str, limit: int, probes: IntArray, widths: IntArray) -> Padding | None:
    """Padded means all the same, in batches that held other texts than these or in an order that these do not show."""
    vectors = candidates.unmasked(prompt, limit, candidates.rows[probes], widths)
    listed = ", ".join(str(int(width)) for width in sorted(set(widths.tolist())))
    for compared in view.take(probes).compare(vectors):
        if compared.ok.all():
            return Padding(f"padded in batches that these texts do not show (the {len(probes)} shortest were checked, padded to "
                f"{listed} "
                           "tokens)", None, widths, compared, probes, limit)
    return None


def _ways(lengths: IntArray, texts: Sequence[str], limit: int, limits: Sequence[int],
          room: int | None) -> list[tuple[str, int | None, IntArray]]:
    """(words, batch size, width of every text of the file) of each usual way."""
    n = len(lengths)
    found: list[tuple[str, int | None, IntArray]] = []
    # As sentence-transformers sorts: equal lengths in no promised order, so the same call.
    orders = (np.arange(n), np.argsort([-len(text) for text in texts]), np.argsort(-lengths, kind="stable"))
    sizes = [*(size for size in SIZES if size < n), n]
    for size in sizes:
        for order, name in zip(orders, ORDERS, strict=True):
            widths = np.empty(n, dtype=np.int64)
            for start in range(0, n, size):
                widths[order[start:start + size]] = lengths[order[start:start + size]].max()
            for multiple in MULTIPLES:
                padded = -(-widths // multiple) * multiple
                batch = f"padded to the longest of each batch of {size}" if size < n else "padded to the longest of all texts"
                tail = f", {name}" if size < n else ""
                step = f", rounded up to a multiple of {multiple}" if multiple > 1 else ""
                if room is None or padded.max() <= room:
                    found.append((batch + tail + step, size, padded))
    for fixed in dict.fromkeys((limit, *limits)):
        if fixed >= lengths.max() and (room is None or fixed <= room):
            found.append((f"padded to {fixed} tokens", None, np.full(n, fixed, dtype=np.int64)))
    return found
