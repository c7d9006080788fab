"""Whether given vectors are a candidate's vectors, as far as the precision in which they are stored can tell.

A row counts as reproduced when its relative error ||v - c|| / ||c|| stays within what its own precision explains:

- float32: 1e-4. The same weights on other hardware, or beside other texts in a batch, differ by about 1e-6.
- float16 and bfloat16: half a unit in the last place of each number, 2^-11 and 2^-8 of it, so at most as much of the row; a row
  is of that precision when every number of it lies on that grid.
- decimals: numbers written with k decimals are off by at most half of the last one.
- int8: codes are a scale times the numbers, rounded or cut, or (as in sentence-transformers) a range for each dim in 255 steps;
  what is left beside the best scale is at most about a step, 0.29 steps in the mean square.
- binary: every sign agrees, apart from numbers too close to 0 to have one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.types import FloatArray

TOLERANCE = {"float32": 1e-4, "float16": 2.0**-11 + 1e-4, "bfloat16": 2.0**-8 + 1e-4}
"""Largest relative error of a row; bfloat16 has 8 significant bits and float16 11, both rounded to the nearest."""
MOST_DECIMALS = 6
STEP_RMS, STEP_MAX = 0.42, 1.25
"""Of what an int8 code may be off, in steps: rounding gives 0.29 and 0.5, cutting towards 0 up to 0.34 and 1."""
NO_SIGN = 2e-5
"""Numbers below this share of their row's length have no certain sign."""
DEAD = 1e-6
"""A dim that varies less than this share of the middle one carries nothing."""
FEWEST_FOR_RANGES = 8
"""Rows below which a range for each dim would be fitted to noise."""
NO, YES, BEFORE_CUT, UNSEEN = "no", "yes", "before the cut", "cannot be seen"


@dataclass(frozen=True)
class Compared:
    """Given vectors against one candidate's.

    Attributes:
        normalize: "no", "yes" (unit length as stored), "before the cut", or "cannot be seen".
        precision: of each row, (n_rows,) text.
        error: (n_rows,) relative errors.
        ok: (n_rows,) whether the precision explains them.
    """

    normalize: str
    precision: Any
    error: FloatArray
    ok: Any


class View:
    """One way to read the numbers of a file: as floats, as int8 codes, or as signs.

    Attributes:
        kind: "float", "int8" or "binary".
        dims: of the vectors that the numbers stand for.
        values: (n_rows, dims) float64.
    """

    def __init__(self, kind: str, values: FloatArray, precision: Any = None, tolerance: FloatArray | None = None) -> None:
        self.kind, self.values = kind, np.asarray(values, dtype=np.float64)
        self.dims = self.values.shape[1]
        self.precision = precision if precision is not None else np.full(len(values), kind, dtype=object)
        self.tolerance = tolerance

    def take(self, rows: Any) -> View:
        """The same of some rows."""
        return View(self.kind, self.values[rows], self.precision[rows], None if self.tolerance is None else self.tolerance[rows])

    def compare(self, candidate: FloatArray) -> Iterator[Compared]:
        """Against a candidate's vectors, (n_rows, full dim) with full dim >= ``dims``, cut and normalised in each possible way."""
        full = np.asarray(candidate, dtype=np.float64)
        cut = full[:, :self.dims]
        if self.kind == "binary":
            yield self._signs(cut)
            return
        ways = {YES: _unit(cut), NO: cut} | ({BEFORE_CUT: cut / _lengths(full)} if self.dims < full.shape[1] else {})
        for name, vectors in ways.items():
            if self.kind == "float":
                lengths = np.linalg.norm(vectors, axis=1)
                error = np.linalg.norm(self.values - vectors, axis=1) / np.where(lengths > 0, lengths, 1)
                yield Compared(name, self.precision, error, error <= self._tolerances(lengths))
            else:
                yield from self._codes(name, vectors)

    def compare_directions(self, candidates: FloatArray) -> Iterator[Compared]:
        """As ``compare``, for rows that are all one text: without what is fitted to many texts at once."""
        if self.kind != "int8":
            yield from self.compare(candidates)
            return
        unit = _unit(np.asarray(candidates, dtype=np.float64)[:, :self.dims])
        for offset in (0.0, 0.5):
            codes = self.values + offset * np.sign(self.values)
            scales = (codes * unit).sum(axis=1)
            yield self._left(UNSEEN, "int8, a scale a row", codes - scales[:, None] * unit)

    def _tolerances(self, lengths: FloatArray) -> FloatArray:
        assert self.tolerance is not None
        # Decimals are absolute: half of the last one in each coordinate.
        return np.where(self.tolerance >= 0, self.tolerance, -self.tolerance * np.sqrt(self.dims) / np.maximum(lengths, 1e-30) + 1e-4)

    def _signs(self, cut: FloatArray) -> Compared:
        certain = np.abs(cut) > NO_SIGN * _lengths(cut)
        wrong = ((self.values > 0) != (cut > 0)) & certain
        return Compared(UNSEEN, self.precision, wrong.mean(axis=1), ~wrong.any(axis=1))

    def _codes(self, name: str, vectors: FloatArray) -> Iterator[Compared]:
        for offset in (0.0, 0.5):  # rounded, or cut towards 0
            codes = self.values + offset * np.sign(self.values)
            whole = (codes * vectors).sum() / max((vectors**2).sum(), 1e-30)
            yield self._left(name, "int8, one scale", codes - whole * vectors)
            if name == YES:
                rows = (codes * vectors).sum(axis=1) / np.maximum((vectors**2).sum(axis=1), 1e-30)
                yield self._left(UNSEEN, "int8, a scale a row", codes - rows[:, None] * vectors)
        if len(vectors) >= FEWEST_FOR_RANGES:
            inside = (self.values > self.values.min()) & (self.values < self.values.max())  # the ends may stand for more
            count = np.maximum(inside.sum(axis=0), 1)
            mean_x, mean_q = (vectors * inside).sum(axis=0) / count, (self.values * inside).sum(axis=0) / count
            x, q = (vectors - mean_x) * inside, (self.values - mean_q) * inside
            power = (x**2).sum(axis=0)
            # A model may have dims without any signal (all-MiniLM-L6-v2 has two, at 1e-33): their range is one of rounding.
            alive = power > DEAD**2 * np.median(power)
            slope = (x * q).sum(axis=0) / np.where(alive, power, 1)
            yield self._left(name, "int8, a range a dim", ((self.values - mean_q) - slope * (vectors - mean_x)) * (inside & alive))

    def _left(self, normalize: str, precision: str, left: FloatArray) -> Compared:
        rms = np.sqrt((left**2).mean(axis=1))
        size = np.sqrt((self.values**2).mean(axis=1))
        ok = (rms <= STEP_RMS) & (np.abs(left).max(axis=1) <= STEP_MAX)
        return Compared(normalize, np.full(len(left), precision, dtype=object), rms / np.where(size > 0, size, 1), ok)


def _lengths(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > 0, lengths, 1)


def _unit(vectors: FloatArray) -> FloatArray:
    return vectors / _lengths(vectors)


def views_of(values: FloatArray, full_dim: int) -> list[View]:
    """The ways in which a file's numbers can be read for a model of ``full_dim`` dims, the likeliest first."""
    given = np.asarray(values)
    found: list[View] = []
    whole = bool((given == np.round(given)).all()) if given.dtype.kind == "f" else True
    lowest, highest = float(given.min()), float(given.max())
    if whole and lowest >= -128 and highest <= 255 and highest - lowest <= 255:
        if lowest >= -1 and highest <= 1:
            found.append(View("binary", np.where(given > 0, 1.0, -1.0)))
        elif given.shape[1] * 8 <= full_dim:
            packed = (given.astype(np.int64) + (128 if lowest < 0 else 0)).astype(np.uint8)
            found.append(View("binary", np.unpackbits(packed, axis=1) * 2.0 - 1))
        if given.shape[1] <= full_dim and highest - lowest > 2:
            found.append(View("int8", given))
    elif given.shape[1] <= full_dim and (codes := _codes_of(given)) is not None:
        found.append(View("int8", codes))
    if given.shape[1] <= full_dim:
        found.append(View("float", given, *_float_precision(given)))
    return found


def _float_precision(given: FloatArray) -> tuple[Any, FloatArray]:
    """Name and tolerance of each row's precision; a negative tolerance is absolute, for each coordinate."""
    names = np.full(len(given), "float32", dtype=object)
    tolerance = np.full(len(given), TOLERANCE["float32"])
    as32 = given.astype(np.float32)
    with np.errstate(over="ignore"):
        grids = (("float16", (as32.astype(np.float16).astype(np.float32) == as32).all(axis=1)),
                 ("bfloat16", ((as32.view(np.uint32) & 0xFFFF) == 0).all(axis=1)))
    for name, on_grid in grids:
        names[on_grid], tolerance[on_grid] = name, TOLERANCE[name]
    rounded = np.zeros(len(given), bool)
    for decimals in range(2, MOST_DECIMALS + 1):
        scaled = given.astype(np.float64) * 10**decimals
        on_grid = (np.abs(scaled - np.round(scaled)) <= 1e-9 * 10**decimals + 4e-7 * np.abs(scaled)).all(axis=1) & ~rounded
        # float32 numbers close to a decimal grid by chance are not all of a row's: the grid must be coarser than they are.
        on_grid &= np.abs(scaled).max(axis=1) < 1e6
        names[on_grid], tolerance[on_grid] = f"{decimals} decimals", -0.5 * 10.0**-decimals
        rounded |= on_grid
    return names, tolerance


def _codes_of(given: FloatArray) -> FloatArray | None:
    """int8 codes of floats that are multiples of one step, or of a step for each row or dim; None where they are not."""
    values = given.astype(np.float64)
    for axis in (None, 1, 0):
        parts = [values.ravel()] if axis is None else (values if axis == 1 else values.T)
        steps = [_step(part) for part in parts]
        if all(step is not None for step in steps):
            scale = np.array(steps, dtype=np.float64)
            return np.asarray(np.round(values / (scale[0] if axis is None else scale[:, None] if axis == 1 else scale)))
    return None


def _step(part: FloatArray) -> float | None:
    """The step of which all numbers are multiples (up to one common offset) in at most 256 levels, or None."""
    levels = np.unique(part)
    if not 3 <= len(levels) <= 256:
        return None
    span = levels[-1] - levels[0]
    gaps = np.diff(levels)
    least = gaps[gaps > 4e-6 * max(abs(levels[0]), abs(levels[-1]))].min(initial=span)
    for whole in range(1, 9):  # the smallest gap may be several steps
        step = least / whole
        if span / step > 256.5:
            return None
        codes = np.round((levels - levels[0]) / step)
        step = float((codes * (levels - levels[0])).sum() / (codes**2).sum())  # the least gap alone is rounded too coarsely
        if np.abs((levels - levels[0]) / step - codes).max() <= 0.02:
            return step if len(levels) > 8 else None
    return None
