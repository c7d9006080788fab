"""Two toy texts in two dimensions, to show what the mean-covariance plane means before any model is involved.

Each toy text is a Gaussian: a mean of length 1 and a covariance with a spread t (the sum of its variances), an
elongation e (the variances along and across its long axis are t (1 + e) / 2 and t (1 - e) / 2) and a direction of that
axis. Only two angles matter: theta between the means, and phi between the long axes. Then all statistics are closed:

* ``d_mu = (1 - cos theta) / 2 = sin^2(theta / 2)``.
* In two dimensions ``tr (Sigma1^1/2 Sigma2 Sigma1^1/2)^1/2 = sqrt(tr(Sigma1 Sigma2) + 2 sqrt(det Sigma1 det Sigma2))``,
  since the root of a 2 x 2 matrix M has trace ``sqrt(tr M + 2 sqrt(det M))``. With ``tr(Sigma1 Sigma2) =
  t1 t2 (1 + e1 e2 cos 2 phi) / 2`` and ``det Sigma = t^2 (1 - e^2) / 4`` no matrix is left.
* ``align = root / sqrt(t1 t2)``, ``d_sigma = (t1 + t2 - 2 root) / 4`` and ``socm = (1 - d_mu) d_sigma``, as for texts
  (see ``socm``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from components.charts.style import caption_number
from components.errors import DataError, shown
from components.pair_parts import alignment, size_part
from components.types import FloatArray

MAX_SPREAD = 3.0
"""Largest spread of the page's sliders; real texts reach 4 to 6 in middle layers."""
MEANS_AGREE = 0.25
"""d_mu below this is a cosine above 0.5, as on the map."""
COVARIANCES_AGREE = 0.1
NOTHING = 1e-9
ROUNDING = 1e-14
"""An alignment's square so near to 1 is 1, so that equal covariances lie 0 apart, not 5e-17."""


@dataclass(frozen=True)
class ToyPair:
    """Two toy texts.

    Attributes:
        angle: between the means, in degrees, 0..180.
        turn: of text B's long axis against text A's, in degrees, 0..90 (more repeats the same picture mirrored).
        spread_a, spread_b: sums of variances, at least 0.
        long_a, long_b: elongations, 0 (a circle) to 1 (a line).
    """

    angle: float
    turn: float
    spread_a: float
    spread_b: float
    long_a: float
    long_b: float

    def __post_init__(self) -> None:
        for name, high in (("angle", 180.0), ("turn", 90.0), ("spread_a", math.inf), ("spread_b", math.inf),
                           ("long_a", 1.0), ("long_b", 1.0)):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value <= high):
                rule = "must be a finite number of at least 0" if math.isinf(high) else f"must lie in 0..{high:g}"
                raise DataError(name, rule, shown(value), "choose a value in the range")

    @property
    def means(self) -> FloatArray:
        """(2, 2) float64: text A's mean and text B's, left and right of the upward direction, each of length 1."""
        half = math.radians(self.angle) / 2
        return np.array([[-math.sin(half), math.cos(half)], [math.sin(half), math.cos(half)]])

    @property
    def covariances(self) -> FloatArray:
        """(2, 2, 2) float64: text A's covariance, long axis level, and text B's, turned."""
        return np.stack([_covariance(self.spread_a, self.long_a, 0.0),
                         _covariance(self.spread_b, self.long_b, math.radians(self.turn))])


def _covariance(spread: float, long: float, direction: float) -> FloatArray:
    double = 2 * direction
    tilt = np.array([[math.cos(double), math.sin(double)], [math.sin(double), -math.cos(double)]])
    return spread / 2 * (np.eye(2) + long * tilt)


@dataclass(frozen=True)
class ToyStatistics:
    """What the plane shows of a toy pair; ``align`` is None where a spread is 0 (0/0)."""

    d_mu: float
    d_sigma: float
    size: float
    shape: float
    align: float | None
    socm: float

    @property
    def cosine(self) -> float:
        """Of the two means: what mean pooling and cosine similarity make of the pair."""
        return 1 - 2 * self.d_mu


def toy_statistics(pair: ToyPair) -> ToyStatistics:
    """The exact statistics of two toy texts, in float64."""
    a, b = np.array([pair.spread_a]), np.array([pair.spread_b])
    across = math.sqrt((1 - pair.long_a**2) * (1 - pair.long_b**2))
    square = (1 + pair.long_a * pair.long_b * math.cos(2 * math.radians(pair.turn)) + across) / 2
    if square > 1 - ROUNDING:
        square = 1.0
    d_mu = math.sin(math.radians(pair.angle) / 2) ** 2
    # d_sigma from its parts: neither can fall below 0 then, as a difference of spreads and root could by rounding.
    size = float(size_part(a, b)[0])
    shape = math.sqrt(pair.spread_a * pair.spread_b) * (1 - math.sqrt(max(square, 0.0))) / 2
    d_sigma = size + shape
    align = float(alignment(np.array([d_sigma]), a, b)[0])
    return ToyStatistics(d_mu, d_sigma, size, shape, None if math.isnan(align) else align, (1 - d_mu) * d_sigma)


CORNERS: dict[str, ToyPair] = {
    "Only the covariances differ": ToyPair(0, 90, 1.2, 1.2, 0.95, 0.95),
    "Both differ": ToyPair(150, 90, 1.2, 1.2, 0.95, 0.95),
    "Both agree": ToyPair(0, 0, 1.2, 1.2, 0.95, 0.95),
    "Only the means differ": ToyPair(150, 0, 1.2, 1.2, 0.95, 0.95),
}
"""The four corners of the plane, in reading order: upper left, upper right, lower left, lower right."""
START = "Only the covariances differ"
"""The corner that a visitor meets first: the one that mean pooling hides."""


def corner_of(found: ToyStatistics) -> str:
    """Which corner a setting belongs to, by the same two limits that the sentence uses."""
    near, far = ("Only the covariances differ", "Both agree"), ("Both differ", "Only the means differ")
    column = near if found.d_mu < MEANS_AGREE - NOTHING else far
    return column[0] if found.d_sigma >= COVARIANCES_AGREE - NOTHING else column[1]


def toy_finding(pair: ToyPair, found: ToyStatistics) -> str:
    """What this setting shows, in two or three sentences that follow from the numbers alone."""
    socm = f"SOCM {caption_number(found.socm)}"
    if max(pair.spread_a, pair.spread_b) <= NOTHING:
        return f"Neither text spreads round its mean, so mean pooling loses nothing: {socm}."
    apart = f"(cosine {caption_number(found.cosine)})"
    alike = "one and the same vector" if found.d_mu <= NOTHING else \
        f"nearly the same vector {apart}" if found.cosine > 0.9 else f"similar vectors {apart}"
    if (corner := corner_of(found)) == "Both agree":
        if found.d_sigma <= NOTHING and found.d_mu <= NOTHING:
            return f"The two texts are equal in mean and covariance: there is nothing to lose. {socm}."
        return f"Means and covariances agree: mean pooling gives both texts {alike}, and little is lost. {socm}."
    if corner == "Only the means differ":
        covariances = "equal" if found.d_sigma <= NOTHING else "nearly equal"
        return (f"The means differ {apart} and the covariances are {covariances}: what sets the texts apart is in the "
                f"mean, and pooling keeps it. {socm}.")
    if corner == "Both differ":
        return (f"Means and covariances both differ: the mean already tells the texts apart {apart}, so "
                f"{1 - found.d_mu:.0%} of the covariance distance counts as hidden. {socm}. {_kind(found)}")
    return (f"The means agree, the covariances do not: mean pooling would give both texts {alike}. {socm}. "
            f"{_kind(found)}")


def _kind(found: ToyStatistics) -> str:
    share = found.size / found.d_sigma
    if share > 1 - 1e-6:
        return "All of the covariance distance is size: one text spreads further than the other."
    if share < 1e-6:
        return "All of the covariance distance is shape: the texts spread equally far, in different directions."
    larger, what = (share, "size") if share >= 0.5 else (1 - share, "shape")
    return f"{larger:.0%} of the covariance distance is {what}: " + (
        "the texts differ in how far they spread more than in which direction." if what == "size" else
        "the texts differ in which direction they spread more than in how far.")
