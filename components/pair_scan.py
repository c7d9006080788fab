"""All pairs of a corpus, exactly, in tiles: each tile is one matrix product and many small nuclear norms.

1. Texts are sorted by the rank of their covariance factor and cut into groups of equal rank of at most ``GROUP_ROWS``
   factor rows, so that nothing is ever padded.
2. A pair of groups is one product; reshaped, it is a stack of (rank_a x rank_b) matrices, one a pair.
3. Their nuclear norms give d_sigma (``socm``), the product of the means gives d_mu.
4. A tile's pairs go to sinks (arrays, histogram, top-k, sample, moments) and are forgotten, so that memory does not
   grow with the number of pairs unless an array sink is asked for.

torch's batched linear algebra is serial on a CPU but releases the interpreter lock: tiles run in a thread pool with one
torch thread each. Sinks are fed in the order of the tiles, so that a repeated scan gives the same bits.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from components.errors import Cancelled
from components.moments import TextMoments
from components.pair_parts import PairColumns, n_pairs_of
from components.socm import GRAM_LIMIT, bures_quarter, root_traces
from components.types import CancelEvent, FloatArray, IntArray, Progress, no_progress

GROUP_ROWS = 768
"""Factor rows per group: a tile's product stays within a core's cache. GPUs want larger groups."""
GPU_GROUP_ROWS = 4096


@dataclass(frozen=True)
class PairTile(PairColumns):
    """Some pairs of a corpus.

    ``rows_of`` names the few texts the tile is made of and ``sides`` each pair's two places in it, so that sums over
    texts cost as much as the tile has texts, not as the corpus has.
    """

    rows_of: IntArray
    sides: tuple[IntArray, IntArray]

    def add_to_rows(self, values: FloatArray | None, row_sums: FloatArray, kept: NDArray[np.bool_] | None = None) -> None:
        """Adds each pair's value (None: 1) to the sums of both its texts, pairs not kept left out."""
        for side in self.sides:
            at = side if kept is None else side[kept]
            row_sums[self.rows_of] += np.bincount(at, values, len(self.rows_of))

    @cached_property
    def ceiling(self) -> FloatArray:
        """What d_sigma is at most: (t_i + t_j) / 4 (Theorem 2 made usable)."""
        return (self.spread_i + self.spread_j) / 4


class Sink(Protocol):
    """What takes a scan's pairs, tile by tile, in one thread."""

    def add(self, tile: PairTile) -> None: ...


def condensed_index(i: IntArray, j: IntArray, n_texts: int) -> IntArray:
    """Place of pair (i, j), i < j, in the order of ``numpy.triu_indices(n, 1)``."""
    i64, j64 = i.astype(np.int64), j.astype(np.int64)
    return i64 * n_texts - i64 * (i64 + 1) // 2 + (j64 - i64 - 1)


def pair_of_index(index: IntArray, n_texts: int) -> tuple[IntArray, IntArray]:
    """The inverse of ``condensed_index``: text numbers (i, j) of places in the condensed order."""
    starts = np.arange(n_texts, dtype=np.int64)
    starts = starts * n_texts - starts * (starts + 1) // 2
    i = np.searchsorted(starts, index, side="right") - 1
    return i, index - starts[i] + i + 1


def scan_pairs(moments: TextMoments, sinks: Sequence[Sink], *, split: int | None = None, threads: int | None = None,
               direct: bool = False, published: bool = False, progress: Progress = no_progress,
               cancelled: CancelEvent | None = None) -> int:
    """Feeds every pair of texts to the sinks, once.

    Args:
        moments: of the texts; the dtype and device of its factors decide where and how products are made.
        sinks: fed in the caller's thread, in a fixed order.
        split: only pairs of a text before this number with one from it on (queries before documents).
        threads: CPU threads; default all the process may use. On a GPU one thread feeds the device.
        direct: singular values directly rather than through Gram matrices (all-float64 accuracy).
        published: d_sigma with the authors' numerics (see ``socm.published_trace``).
        progress: called with pairs done, pairs in all, and the stage.
        cancelled: asked between tiles.

    Returns:
        The number of pairs.

    Raises:
        Cancelled: the event was set.
    """
    cuda = moments.factors.device.type == "cuda"
    if cuda:
        # TF32 keeps 10 bits of a product: every digit of d_sigma after the third would be noise.
        torch.backends.cuda.matmul.allow_tf32 = False
    rows, n = GPU_GROUP_ROWS if cuda else GROUP_ROWS, len(moments)
    if split is None:
        groups = _groups(moments.ranks, rows)
        jobs = ((a, b) for a in range(len(groups)) for b in range(a, len(groups)))
    else:
        groups = _groups(moments.ranks[:split], rows)
        first = len(groups)
        groups += [members + split for members in _groups(moments.ranks[split:], rows)]
        jobs = ((a, b) for a in range(first) for b in range(first, len(groups)))
    total, done = n_pairs_of(n) if split is None else split * (n - split), 0
    workers = 1 if cuda else max(1, threads or len(os.sched_getaffinity(0)))

    def tile(a: int, b: int) -> PairTile | None:
        return _tile(moments, groups[a], groups[b], a == b, direct, published)

    for result in _in_order(tile, jobs, workers):
        if cancelled is not None and cancelled.is_set():
            raise Cancelled
        if result is None:
            continue
        for sink in sinks:
            sink.add(result)
        done += len(result.i)
        progress(done, total, "Comparing pairs")
    return done


def _groups(ranks: IntArray, rows: int) -> list[IntArray]:
    """Text numbers by equal rank, at most ``rows`` factor rows a group."""
    order = np.argsort(ranks, kind="stable")
    groups: list[IntArray] = []
    for members in np.split(order, np.flatnonzero(np.diff(ranks[order])) + 1):
        size = max(1, rows // max(8, int(ranks[members[0]])))
        groups += [members[start:start + size] for start in range(0, len(members), size)]
    return groups


def _tile(moments: TextMoments, a: IntArray, b: IntArray, same: bool, direct: bool, published: bool) -> PairTile | None:
    """The pairs of two groups; of a group with itself, each pair once. None when there is no pair."""
    if same:
        left, right = np.triu_indices(len(a), 1)
        if len(left) == 0:
            return None
    else:
        left, right = (x.reshape(-1) for x in np.indices((len(a), len(b))))
    with torch.inference_mode():
        rank_a, rank_b = int(moments.ranks[a[0]]), int(moments.ranks[b[0]])
        factor_a, factor_b = _stack(moments, a, rank_a), _stack(moments, b, rank_b)
        if min(rank_a, rank_b) > GRAM_LIMIT:
            factor_a, factor_b = factor_a.to(torch.float64), factor_b.to(torch.float64)
        product = (factor_a @ factor_b.T).reshape(len(a), rank_a, len(b), rank_b).transpose(1, 2)
        product = product[torch.from_numpy(left), torch.from_numpy(right)] if same else product.reshape(len(a) * len(b), rank_a, rank_b)
        trace = root_traces(product, direct=direct, published_dim=moments.dim if published else None).cpu().numpy()
    cosine = moments.means[a] @ moments.means[b].T
    d_mu = np.clip((1 - cosine[left, right]) / 2, 0, 1)
    i, j = a[left], b[right]
    flipped = i > j
    i, j = np.where(flipped, j, i), np.where(flipped, i, j)
    spread_i, spread_j = moments.spread[i], moments.spread[j]
    rows_of, sides = (a, (left, right)) if same else (np.concatenate([a, b]), (left, right + len(a)))
    return PairTile(i, j, d_mu, bures_quarter(spread_i, spread_j, trace, published=published), spread_i, spread_j,
                    rows_of, sides)


def _stack(moments: TextMoments, group: IntArray, rank: int) -> torch.Tensor:
    """A group's factors below each other, (len(group) * rank, dim)."""
    rows = moments.offsets[group][:, None] + np.arange(rank)[None, :]
    return moments.factors[torch.from_numpy(rows.reshape(-1)).to(moments.factors.device)]


def _in_order(work: Callable[[int, int], PairTile | None], jobs: Iterator[tuple[int, int]],
              workers: int) -> Iterator[PairTile | None]:
    """Runs the jobs in a pool and yields their results in order, a few ahead at most."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            window: deque[Future[PairTile | None]] = deque()
            try:
                for job in jobs:
                    window.append(pool.submit(work, *job))
                    if len(window) > 4 * workers:
                        yield window.popleft().result()
                while window:
                    yield window.popleft().result()
            finally:
                for future in window:
                    future.cancel()
    finally:
        torch.set_num_threads(before)
