"""Pairs for tuning the nano family, and texts to measure it with, all from WordNet.

A pair is two texts that mean the same, or nearly: a gloss and an example of one synset, a gloss and that of the kind it
belongs to, an example with a word exchanged for a synonym, a text with words left out, two examples of one synset. No
one labelled them; WordNet's structure did. What is measured lies on the other side of the split: finding the example to
a held-out gloss, and the spread of held-out glosses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from components.errors import DataError, shown
from components.nano_text import Synset, same_text, share_of

SHARES: Mapping[str, float] = MappingProxyType({
    "gloss-example": 0.35, "gloss-hypernym": 0.25, "synonym": 0.17, "word-drop": 0.15, "two-examples": 0.08})
"""Kinds of pairs and their shares."""
N_PAIRS = 51_200
"""400 steps of 128."""
DROPPED_WORDS = 0.2
FEWEST_WORDS = 3
"""Shorter texts ("red-eyed") are no sentences to learn or to search."""
LEMMA_IN_FRONT = 0.5
HALVES = ("development", "test")


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs in random order, as columns of equal length.

    Attributes:
        text_a, text_b: the texts.
        kind: the pair's kind, a key of ``SHARES``.
    """

    text_a: tuple[str, ...]
    text_b: tuple[str, ...]
    kind: tuple[str, ...]


@dataclass(frozen=True)
class Retrieval:
    """Held-out glosses, and the example that each has to find among all.

    Attributes:
        ids: the synsets'.
        glosses, examples: row by row of one synset; no text occurs twice.
        dropped: synsets with an example that were left out, since theirs or their gloss is that of another too.
    """

    ids: tuple[str, ...]
    glosses: tuple[str, ...]
    examples: tuple[str, ...]
    dropped: int


def training_pairs(synsets: Sequence[Synset], n: int = N_PAIRS, seed: int = 0) -> TrainingPairs:
    """Pairs of each kind in its share, none twice, the same for the same seed.

    Args:
        synsets: of the training side (those of them that are fit to show, if the pairs are to be shown).
        n: how many pairs.
        seed: of the choice, the order, the words exchanged or left out.

    Raises:
        DataError: the synsets do not give as many pairs of a kind.
    """
    if n < 1:
        raise DataError("pairs", "must be at least 1", shown(n), "ask for more")
    rng = np.random.default_rng([seed, 2])
    rows: list[tuple[str, str, str]] = []
    for (kind, candidates), wanted in zip(_CANDIDATES.items(), _numbers(n), strict=True):
        found = candidates(synsets)
        if len(found) < wanted:
            raise DataError("pairs", f"must be no more than WordNet gives of the kind {kind}",
                            f"{wanted:,} wanted, {len(found):,} there", "ask for fewer")
        for k in rng.permutation(len(found))[:wanted]:
            rows.append((*_pair(kind, found[k], rng), kind))
    text_a, text_b, kinds = zip(*(rows[k] for k in rng.permutation(len(rows))), strict=True)
    return TrainingPairs(text_a, text_b, kinds)


def _numbers(n: int) -> list[int]:
    """Whole numbers of each kind that add up to n."""
    edges = [round(n * part) for part in np.cumsum([0.0, *SHARES.values()])]
    return list(np.diff(edges))


def _long_enough(text: str) -> bool:
    return len(text.split()) >= FEWEST_WORDS


def _different(pairs: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The pairs, those left out that are one text twice or that were there before."""
    return list({(same_text(pair[0]), same_text(pair[1])): pair for pair in reversed(pairs)
                 if same_text(pair[0]) != same_text(pair[1])}.values())[::-1]


def _gloss_example(synsets: Sequence[Synset]) -> list[tuple[str, ...]]:
    return _different([(synset.gloss, example, synset.lemmas[0]) for synset in synsets for example in synset.examples
                       if _long_enough(synset.gloss) and _long_enough(example)])


def _gloss_hypernym(synsets: Sequence[Synset]) -> list[tuple[str, ...]]:
    # What is not among these synsets is held out (or not to be shown), and no pair may tell its gloss.
    by_id = {synset.id: synset for synset in synsets}
    return _different([(synset.gloss, by_id[kind].gloss, synset.lemmas[0]) for synset in synsets for kind in synset.hypernyms
                       if kind in by_id and _long_enough(synset.gloss) and _long_enough(by_id[kind].gloss)])


def _synonym(synsets: Sequence[Synset]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for synset in synsets:
        for example in synset.examples if len(synset.lemmas) > 1 else ():
            for lemma in synset.lemmas:
                whole = re.compile(rf"(?<![\w-]){re.escape(lemma)}(?![\w-])", re.IGNORECASE)
                if _long_enough(example) and whole.search(example):
                    others = [other for other in synset.lemmas if other.casefold() != lemma.casefold()]
                    found += [(example, whole.sub(other.replace("\\", r"\\"), example)) for other in others[:2]]
                    break
    return _different(found)


def _word_drop(synsets: Sequence[Synset]) -> list[tuple[str, ...]]:
    texts = dict.fromkeys(text for synset in synsets for text in (synset.gloss, *synset.examples))
    return [(text, text) for text in texts if len(text.split()) > FEWEST_WORDS]


def _two_examples(synsets: Sequence[Synset]) -> list[tuple[str, ...]]:
    return _different([(one, other) for synset in synsets for one, other in
                       zip(synset.examples, synset.examples[1:], strict=False) if _long_enough(one) and _long_enough(other)])


_CANDIDATES: Mapping[str, Callable[[Sequence[Synset]], list[tuple[str, ...]]]] = MappingProxyType({
    "gloss-example": _gloss_example, "gloss-hypernym": _gloss_hypernym, "synonym": _synonym, "word-drop": _word_drop,
    "two-examples": _two_examples})


def _pair(kind: str, found: tuple[str, ...], rng: np.random.Generator) -> tuple[str, str]:
    if kind == "gloss-example" and rng.random() < LEMMA_IN_FRONT:
        return f"{found[2]}: {found[0]}", found[1]
    if kind == "word-drop":
        return found[0], without_words(found[1], rng)
    return found[0], found[1]


def without_words(text: str, rng: np.random.Generator, share: float = DROPPED_WORDS) -> str:
    """The text with about a share of its words left out: at least one, never all."""
    words = text.split()
    kept = rng.random(len(words)) >= share
    if kept.all() or not kept.any():
        kept[:] = True
        kept[rng.integers(len(words))] = False
    return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)


def half_of(synset: Synset) -> str:
    """"development" (where settings are chosen) or "test" (where they are reported), by a hash of the id."""
    return HALVES[share_of(synset.id, "half") >= 0.5]


def retrieval(held_out: Sequence[Synset], half: str) -> Retrieval:
    """Glosses and first examples of one half of the held-out synsets, in the order of their ids' hashes.

    A gloss or an example that two held-out synsets share has two right answers, so both are left out.

    Args:
        held_out: of ``split_synsets``, those fit to show.
        half: one of ``HALVES``.

    Raises:
        DataError: no such half, or fewer than two synsets with an example in it.
    """
    rows = [(synset, example) for synset in _half(held_out, half) if _long_enough(synset.gloss)
            for example in [one for one in synset.examples if _long_enough(one)][:1]]
    counts: dict[str, int] = {}
    for synset, example in rows:
        for text in {same_text(synset.gloss), same_text(example)}:
            counts[text] = counts.get(text, 0) + 1
    kept = [(synset, example) for synset, example in rows
            if counts[same_text(synset.gloss)] == counts[same_text(example)] == 1 and same_text(synset.gloss) != same_text(example)]
    if len(kept) < 2:
        raise DataError("held-out synsets", "must have at least two with a gloss and an example", str(len(kept)),
                        "hold out more of them")
    return Retrieval(tuple(synset.id for synset, _ in kept), tuple(synset.gloss for synset, _ in kept),
                     tuple(example for _, example in kept), len(rows) - len(kept))


def socm_texts(held_out: Sequence[Synset], n: int = 300, half: str = "test") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids and glosses of n held-out synsets, for SOCM over all n (n - 1) / 2 pairs; chosen by the hash of their ids.

    Raises:
        DataError: no such half, or fewer glosses in it.
    """
    glosses: dict[str, tuple[str, str]] = {}
    for synset in _half(held_out, half):
        if _long_enough(synset.gloss):
            glosses.setdefault(same_text(synset.gloss), (synset.id, synset.gloss))
    if len(glosses) < n:
        raise DataError("texts for SOCM", f"must be no more than the {half} half has", f"{n:,} of {len(glosses):,}",
                        "ask for fewer, or hold out more")
    ids, texts = zip(*list(glosses.values())[:n], strict=True)
    return ids, texts


def _half(held_out: Sequence[Synset], half: str) -> list[Synset]:
    if half not in HALVES:
        raise DataError("half", f"must be one of {', '.join(HALVES)}", shown(half), "choose one of these")
    return sorted((synset for synset in held_out if half_of(synset) == half), key=lambda one: share_of(one.id, "order"))
