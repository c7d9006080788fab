"""Pairs in their shares and of their kinds, evaluation sets without a doubtful row, and nothing vulgar to be shown."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.errors import DataError
from components.nano_pairs import HALVES, SHARES, half_of, retrieval, socm_texts, training_pairs, without_words
from components.nano_shown import fit_to_show, has_bad_word, marked_usages
from components.nano_text import Synset, read_wordnet, same_text, split_synsets
from tests.components import tiny_wordnet


@pytest.fixture(scope="module")
def split():
    return split_synsets(tiny_wordnet.many(3000), 0.2)


def test_each_kind_has_its_share(split):
    assert sum(SHARES.values()) == pytest.approx(1)
    pairs = training_pairs(split.training, 1000)
    assert Counter(pairs.kind) == {"gloss-example": 350, "gloss-hypernym": 250, "synonym": 170, "word-drop": 150,
                                   "two-examples": 80}
    assert len(set(zip(pairs.text_a, pairs.text_b, strict=True))) == 1000
    assert len(set(pairs.kind[:100])) == 5, "kinds are mixed"
    assert sum(Counter(training_pairs(split.training, 997).kind).values()) == 997


def test_a_pair_is_what_its_kind_says(split):
    by_gloss = {synset.gloss: synset for synset in split.training}
    pairs = training_pairs(split.training, 1000)
    in_front = 0
    for a, b, kind in zip(pairs.text_a, pairs.text_b, pairs.kind, strict=True):
        if kind == "gloss-example":
            lemma, colon, gloss = a.rpartition(": ")
            assert b in by_gloss[gloss].examples and (not colon or lemma == by_gloss[gloss].lemmas[0])
            in_front += bool(colon)
        elif kind == "gloss-hypernym":
            assert by_gloss[b].id in by_gloss[a].hypernyms
        elif kind == "synonym":
            assert b == a.replace("alpha", "beta") != a
        elif kind == "word-drop":
            assert 0 < len(b.split()) < len(a.split()) and set(b.split()) < set(a.split())
        else:
            assert sorted((a, b)) in [sorted(synset.examples) for synset in split.training]
    assert abs(in_front / 350 - 0.5) < 0.1


def test_no_pair_tells_a_held_out_text(split):
    """A hypernym may be held out; its gloss is then no pair's second text."""
    hidden = {same_text(text) for synset in split.held_out for text in (synset.gloss, *synset.examples)}
    training = {synset.id for synset in split.training}
    assert any(kind not in training for synset in split.training for kind in synset.hypernyms)
    pairs = training_pairs(split.training, 2000)
    assert not hidden & {same_text(text) for text in (*pairs.text_a, *pairs.text_b)}


def test_the_seed_decides(split):
    assert training_pairs(split.training, 200, 3) == training_pairs(split.training, 200, 3)
    assert training_pairs(split.training, 200, 3) != training_pairs(split.training, 200, 4)


def test_too_many_pairs_and_none_are_refused(split):
    with pytest.raises(DataError, match=r"of the kind gloss-hypernym; found 25,000 wanted, [\d,]+ there: ask for fewer"):
        training_pairs(tiny_wordnet.many(18_000), 100_000)
    with pytest.raises(DataError, match="pairs must be at least 1; found 0"):
        training_pairs(split.training, 0)


def test_whole_words_alone_are_exchanged():
    words = Synset("n1", ("cat", "true cat"), "a purring pet of ours", ("Cat lovers catch a cat", "the concatenation of texts",
                                                                        "a cat-like thing of theirs"))
    from components.nano_pairs import _synonym
    assert _synonym([words]) == [("Cat lovers catch a cat", "true cat lovers catch a true cat")]


@given(st.lists(st.sampled_from(["one", "two", "three"]), min_size=2, max_size=12), st.integers(0, 1000))
def test_some_words_stay_and_some_go(words, seed):
    left = without_words(" ".join(words), np.random.default_rng(seed)).split()
    assert 0 < len(left) < len(words)
    rest = iter(words)
    assert all(word in rest for word in left), "in their order"


def test_halves_share_nothing_and_each_gloss_has_one_example(split):
    found = {half: retrieval(split.held_out, half) for half in HALVES}
    assert set(found["development"].ids).isdisjoint(found["test"].ids)
    assert sum(len(one.ids) for one in found.values()) == len(split.held_out)
    assert abs(len(found["test"].ids) / len(split.held_out) - 0.5) < 0.1
    by_id = {synset.id: synset for synset in split.held_out}
    for one in found.values():
        for key, gloss, example in zip(one.ids, one.glosses, one.examples, strict=True):
            assert gloss == by_id[key].gloss and example == by_id[key].examples[0]
    assert found["test"] == retrieval(split.held_out[::-1], "test"), "whatever the order they come in"


def test_doubtful_rows_are_dropped_and_counted(split):
    test = [synset for synset in split.held_out if half_of(synset) == "test"]
    one, other, third, fourth, *rest = test
    doubtful = [Synset(one.id, one.lemmas, one.gloss, ("Said by two of them.",)),
                Synset(other.id, other.lemmas, other.gloss, ("said by two of them",)),
                Synset(third.id, third.lemmas, third.gloss, ("too short",)), Synset(fourth.id, fourth.lemmas, fourth.gloss)]
    found = retrieval([*doubtful, *rest], "test")
    assert found.dropped == 2 and len(found.ids) == len(rest)
    with pytest.raises(DataError, match="must have at least two with a gloss and an example; found 0"):
        retrieval(doubtful[:2], "test")
    with pytest.raises(DataError, match=r"half must be one of development, test; found 'both': choose"):
        retrieval(split.held_out, "both")


def test_socm_texts_come_from_the_test_half(split):
    ids, texts = socm_texts(split.held_out, 50)
    assert len(set(texts)) == len(ids) == 50 and {half_of(s) for s in split.held_out if s.id in ids} == {"test"}
    assert socm_texts(split.held_out, 40) == (ids[:40], texts[:40])
    with pytest.raises(DataError, match=r"must be no more than the test half has; found 5,000 of \d+"):
        socm_texts(split.held_out, 5000)


def test_marked_usages_are_found_by_their_words(tmp_path):
    synsets = read_wordnet(tiny_wordnet.write(tmp_path))
    marks = marked_usages(synsets)
    assert marks == {"n07157273"}
    shown = fit_to_show(synsets, marks)
    assert {synset.id for synset in synsets} - {synset.id for synset in shown.kept} == {"n07157273", "n10153155"}
    assert (shown.by_usage, shown.by_gloss, shown.by_word, shown.dropped) == (2, 0, 0, 2)


def test_each_net_is_counted_once():
    plain = Synset("n1", ("dog",), "a tame animal that barks", ("the dog barked",))
    by_gloss = [Synset("n2", ("x",), gloss) for gloss in (
        "(ethnic slur) someone", "an offensive term for someone", "a Derogatory name", "British slang for a hat")]
    by_word = [Synset("n3", ("crap",), "something of no worth"), Synset("n4", ("x",), "a thing", ("what crap that is",)),
               Synset("n5", ("x",), "the act of murdering someone"), Synset("n6", ("sexual act",), "an act of two")]
    shown = fit_to_show([plain, *by_gloss, *by_word, Synset("n7", ("x",), "a slang word", (), (), ("n9",))], frozenset({"n9"}))
    assert shown.kept == (plain,) and (shown.by_usage, shown.by_gloss, shown.by_word) == (1, 4, 4)


@pytest.mark.parametrize(("text", "bad"), [
    ("crappy weather", True), ("CRAP!", True), ("a scrap of paper", False), ("scrapped", False), ("the class passed", False),
    ("Essex and Sussex", False), ("analysis", False), ("she slit the envelope", True), ("grapes", False), ("", False)])
def test_words_are_met_as_words(text, bad):
    assert has_bad_word(text) is bad
