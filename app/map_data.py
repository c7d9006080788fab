"""What the Map page shows, put together from stored results: filtered pairs, their means, the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app import resources, results
from app.results import Request
from components.pair_map import PairMap, PairOptions
from components.pair_selection import (
    Filter,
    Pairs,
    by_length,
    cell_sums,
    counts_of,
    difference,
    filter_mask,
    length_matched,
    paired_difference,
    same_label,
    strata_of,
)
from components.states_pipeline import GIVEN
from components.types import FINAL, Corpus, FloatArray, IntArray, Interval

MOST_DRAWN = 2000
"""Labelled pairs over a map; each carries two texts to the browser."""
EVERYTHING = Filter()
COMPARED = ("socm", "d_mu", "d_sigma", "size", "shape", "align")


def share_words(share: float) -> str:
    """A share to a tenth of a per cent; 0.0% and 100.0% only where they are true."""
    if 0 < share < 0.0005:
        return "less than 0.1%"
    return "more than 99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


@dataclass(frozen=True)
class OnePair:
    """One pair among the pairs of its map."""

    pairs: Pairs
    at: int

    def __getitem__(self, name: str) -> float | None:
        value = float(self.pairs.quantity(name)[self.at])
        return None if np.isnan(value) else value

    def below(self, name: str) -> str:
        """How many of the map's pairs have a smaller value, as a share in words."""
        value, values = self[name], self.pairs.quantity(name)
        if value is None:
            return "0/0: a text without spread"
        return f"above {share_words(float((values < value).mean()))} of the pairs"


@dataclass(frozen=True)
class MapData:
    """One stored map with a filter over it.

    Attributes:
        request, corpus, result: what was asked for, its texts, and the stored map.
        pairs: the pairs that the filter keeps, of those that the map holds.
        chosen: the filter.
    """

    request: Request
    corpus: Corpus
    result: PairMap
    pairs: Pairs
    chosen: Filter = EVERYTHING

    @property
    def filtered(self) -> bool:
        """Whether the filter may have dropped pairs."""
        return self.chosen.active

    @property
    def pairs_in_words(self) -> str:
        """How many pairs these are, and whether they are all of them."""
        result, n = self.result, len(self.pairs)
        if self.filtered and result.method == "streamed":
            return f"{n:,} pairs of a sample of {len(result.pairs[0]):,} after filtering"
        if self.filtered:
            return f"{n:,} of {result.n_pairs:,} pairs after filtering"
        return {"all": f"all {result.n_pairs:,} pairs", "streamed": f"all {result.n_pairs:,} pairs counted",
                "cycles": f"{result.n_pairs:,} of {result.meta.get('all_pairs', 0):,} pairs, an estimate"}[result.method]

    @property
    def given(self) -> bool:
        """Whether the token states came from a file and no model took part."""
        return bool(self.result.meta["options"]["layer"] == GIVEN)

    @property
    def layer_in_words(self) -> str:
        layer = self.result.meta["options"]["layer"]
        if self.given:
            return "token states as given"
        return "final layer" if layer == FINAL else f"layer {layer}"

    @property
    def special_in_words(self) -> str:
        if self.given:
            return "every token given"
        return "special tokens in" if self.result.meta["options"]["special_tokens"] else "special tokens left out"

    @property
    def revision(self) -> str:
        """The model's revision, or its files' digest, to ten digits."""
        return self.request.key.short_revision

    def signature(self, *more: object) -> str:
        """Names what a figure of this map is drawn from, together with what else it depends on."""
        return repr((self.request.key.digest, self.corpus.name, hash(self.corpus.labels), self.chosen, *more))

    def mean(self, name: str) -> Interval:
        """Mean of a quantity: as stored, or over the filtered pairs."""
        return self.pairs.mean(name) if self.filtered else self.result.means[name]

    @cached_property
    def quantiles(self) -> tuple[float, float]:
        """Median and 95th percentile of SOCM."""
        if not self.filtered:
            stored = self.result.meta["socm_quantiles"]
            return stored["median"], stored["p95"]
        median, p95 = np.quantile(self.pairs.socm, [0.5, 0.95])
        return float(median), float(p95)

    @cached_property
    def counts(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Pairs per cell of the plane, with both edges."""
        return counts_of(self.pairs) if self.filtered else self.result.plane_counts()

    def counts_on(self, mu_edges: FloatArray, sigma_edges: FloatArray) -> IntArray:
        """Pairs per cell of a given grid."""
        return cell_sums(self.pairs, np.zeros(len(self.pairs)), mu_edges, sigma_edges)[1]

    def values(self, name: str) -> FloatArray:
        """A quantity of each pair, for the plane of means."""
        if name == "same_label":
            return same_label(self.pairs, self.corpus.labels).astype(float)
        return self.pairs.quantity(name)

    def largest(self, n: int) -> IntArray:
        """Places of the n pairs of largest SOCM, largest first; equal ones by their text numbers."""
        socm = self.pairs.socm
        some = np.argpartition(-socm, n)[:n] if n < len(socm) else np.arange(len(socm))
        return some[np.lexsort((self.pairs.j[some], self.pairs.i[some], -socm[some]))]

    def one(self, a: int, b: int) -> OnePair | None:
        """The pair of two texts, or None where the map does not hold it."""
        at = np.flatnonzero((self.pairs.i == min(a, b)) & (self.pairs.j == max(a, b)))
        return OnePair(self.pairs, int(at[0])) if len(at) else None

    def words(self) -> IntArray:
        """(n_texts,) words per text, by which texts are matched across tokenisers."""
        return np.array([len(text.split()) for text in self.corpus.texts])


@dataclass(frozen=True)
class Labelled:
    """Labelled pairs under the map's model and layer; ``of`` is how many the list has, of which these may be a sample."""

    name: str
    d_mu: FloatArray
    d_sigma: FloatArray
    labels: tuple[str, ...]
    texts_a: tuple[str, ...]
    texts_b: tuple[str, ...]
    of: int

    @property
    def note(self) -> str:
        """Which of a long list are drawn; empty where all are."""
        return f"{len(self.d_mu):,} of the {self.of:,} pairs of {self.name} are drawn, at random. " if len(self.d_mu) < self.of else ""


def labelled(list_name: str, model_name: str, options: PairOptions) -> Labelled | Request:
    """A list of labelled pairs, or the request to start when it is not stored yet."""
    request = results.pair_list_request(list_name, model_name, options)
    found = results.pair_list(request)
    if found is None:
        return request
    listed, d_mu, d_sigma = results.listed(list_name), found.arrays["d_mu"], found.arrays["d_sigma"]
    labels = listed.labels or (listed.name,) * len(d_mu)
    if len(d_mu) <= MOST_DRAWN:
        return Labelled(list_name, d_mu, d_sigma, labels, listed.texts_a, listed.texts_b, len(d_mu))
    at = np.sort(np.random.default_rng(0).choice(len(d_mu), MOST_DRAWN, replace=False))
    some, texts_a, texts_b = (tuple(column[k] for k in at) for column in (labels, listed.texts_a, listed.texts_b))
    return Labelled(list_name, d_mu[at], d_sigma[at], some, texts_a, texts_b, len(d_mu))


def labelled_of(settings: Sequence[tuple[str, PairOptions]], list_name: str) -> tuple[list[Labelled | None], Request | None]:
    """The labelled pairs under each model and options, and the first request to start where one is not stored yet."""
    found = [labelled(list_name, *setting) for setting in settings]
    return ([one if isinstance(one, Labelled) else None for one in found],
            next((one for one in found if isinstance(one, Request)), None))


def load(corpus_name: str, model_name: str, options: PairOptions) -> MapData | Request:
    """The map with every pair, or the request to start when it is not stored yet."""
    request = results.pair_map_request(corpus_name, model_name, options)
    found = results.pair_map(request)
    if found is None:
        return request
    return MapData(request, resources.corpus(corpus_name), found, results.pairs(request, found))


def apply(data: MapData, chosen: Filter) -> MapData:
    """The same map with the filter over it."""
    if not chosen.active:
        return data
    mask = filter_mask(data.pairs, chosen, data.result.n_tokens, data.corpus.labels)
    return MapData(data.request, data.corpus, data.result, data.pairs.take(mask), chosen)


@dataclass(frozen=True)
class Compared:
    """One quantity of two maps: both means, their difference, and the same for texts of like length."""

    name: str
    one: Interval
    other: Interval
    gap: Interval
    matched_gap: Interval | None


def compare(one: MapData, other: MapData) -> list[Compared]:
    """Differences, other minus one, with intervals: paired over the texts where both maps have the same pairs."""
    words = one.words(), other.words()
    shared = sorted(strata_of(words[0]) & strata_of(words[1]))
    paired = one.corpus.digest == other.corpus.digest and len(one.pairs) == len(other.pairs) \
        and np.array_equal(one.pairs.i, other.pairs.i) and np.array_equal(one.pairs.j, other.pairs.j)
    rows = []
    for name in COMPARED:
        first, second = one.mean(name), other.mean(name)
        gap = paired_difference(one.pairs, other.pairs, name) if paired else difference(first, second)
        # The same texts are of the same lengths: there is nothing to match.
        matched = [None, None] if paired else [length_matched(side.pairs, counts, name, shared)
                                               for side, counts in zip((one, other), words, strict=True)]
        like = difference(matched[0], matched[1]) if matched[0] and matched[1] else None
        rows.append(Compared(name, first, second, gap, like))
    return rows


__all__ = ["Compared", "Labelled", "MapData", "apply", "by_length", "compare", "labelled_of", "load"]
