"""WordNet's format read by hand-worked lines, a split that stays as it is, and nothing held out in what training sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.errors import DataError
from components.nano_text import (
    Synset,
    parse_synset,
    read_python_doc,
    read_wordnet,
    same_text,
    share_of,
    split_gloss,
    split_synsets,
    training_lines,
)
from tests.components import tiny_wordnet

GOLDEN = ["n00000000", "n00000044", "n00000060", "n00000084", "n00000090", "n00000097", "n00000099"]
GOLDEN_SHARE = 0.101186


def test_synsets_are_read_as_they_stand(tmp_path):
    synsets = {synset.id: synset for synset in read_wordnet(tiny_wordnet.write(tmp_path))}
    assert list(synsets) == ["n00001740", "n00001930", "n00004475", "n02084071", "n07157273", "n10153155", "n10624540",
                             "n10906048", "v00001740", "a00056002", "a00056003", "r00001981"]
    assert synsets["n02084071"] == Synset("n02084071", ("dog", "domestic dog", "Canis familiaris"), "a tame animal that barks",
                                          ("the dog barked all night", "a domestic dog needs walks"), ("n00004475",))
    assert synsets["n10153155"].usages == ("n07157273",) and synsets["n07157273"].usages == ()
    assert synsets["n10624540"].lemmas == ("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b1", "b2", "b3")
    assert synsets["n10906048"].hypernyms == ("n00004475",)
    assert synsets["n10906048"].examples == ("no one is safe", "a `modern' one")
    assert synsets["v00001740"].examples == ("I can breathe better when the air is clean",)
    assert synsets["a00056002"] == Synset("a00056002", ("galore", "abounding"), "existing in abundance", ("whisky galore",))
    assert synsets["a00056003"] == Synset("a00056003", ("aplenty",), "(usually after a noun) in great supply")


@pytest.mark.parametrize(("text", "gloss", "examples"), [
    ("draw air in", "draw air in", ()),
    ('draw  air in; "a b"; "c d"', "draw air in", ("a b", "c d")),
    ('draw air in, "a b"', "draw air in", ("a b",)),
    ('one; two; "a b"- Shakespeare', "one; two", ("a b",)),
    ('"a b"', "", ("a b",)),
    ('to be (in or at); "a b;"; "a b"', "to be (in or at)", ("a b",)),
    ('six feet 2" long', 'six feet 2" long', ()),
    ('half a quotation; "open', "half a quotation", ()),
])
def test_a_gloss_ends_where_its_examples_start(text, gloss, examples):
    assert split_gloss(text) == (gloss, examples)


@pytest.mark.parametrize("line", [
    "00001740 03 n 01 entity 0 000 that which is",
    "1740 03 n 01 entity 0 000 | that which is",
    "00001740 03 n zz entity 0 000 | that which is",
    "00001740 03 n 01 entity 0 002 @ 00001740 n 0000 | that which is",
    "00001740 03 n | that which is",
    " | ",
])
def test_a_line_of_another_format_is_refused_with_its_place(line, tmp_path):
    with pytest.raises((ValueError, IndexError)):
        parse_synset(line, "n")
    folder = tiny_wordnet.write(tmp_path)
    (folder / "data.verb").write_text(f"{tiny_wordnet.HEADER}{line.strip()}\n", "utf-8")
    with pytest.raises(DataError, match=r"WordNet file data.verb, line 3 must be a synset"):
        read_wordnet(folder)


def test_a_missing_folder_names_the_package(tmp_path):
    with pytest.raises(DataError, match=r"found no such folder: install the Debian package wordnet-base, or name"):
        read_wordnet(tmp_path / "none")
    (tiny_wordnet.write(tmp_path / "some") / "data.adj").unlink()
    with pytest.raises(DataError, match=r"found no data.adj: install"):
        read_wordnet(tmp_path / "some")
    with pytest.raises(DataError, match=r"found no such folder: install the Debian package python3-doc, or name"):
        read_python_doc(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"must hold HTML pages; found none"):
        read_python_doc(tmp_path / "empty")
    (tmp_path / "some" / "data.noun").write_bytes(b"\xff\xfe")
    (tmp_path / "some" / "data.adj").write_text("", "utf-8")
    with pytest.raises(DataError, match=r"data.noun must be readable as UTF-8"):
        read_wordnet(tmp_path / "some")


def test_the_split_is_golden():
    """Held out once, held out for ever: models trained earlier must not have seen what is measured later."""
    held = [synset.id for synset in split_synsets(tiny_wordnet.many(100)).held_out]
    assert held == GOLDEN
    assert [synset.id for synset in split_synsets(reversed(tiny_wordnet.many(100))).held_out] == held[::-1]
    assert round(share_of("n00001740", "held-out"), 6) == GOLDEN_SHARE


def test_the_share_is_what_was_asked_for():
    split = split_synsets(tiny_wordnet.many(20_000))
    assert abs(split.chosen / 20_000 - 0.04) < 0.005
    assert split.chosen == len(split.held_out) == 20_000 - len(split.training)


def test_what_training_has_word_for_word_is_dropped():
    held = next(k for k in range(100) if share_of(f"n{k:08d}", "held-out") < 0.04)
    free = [k for k in range(100) if share_of(f"n{k:08d}", "held-out") >= 0.04]
    other = Synset(f"n{free[0]:08d}", ("a",), "an  Example, in another case.", ("said twice",))
    split = split_synsets([other, Synset(f"n{held:08d}", ("b",), "a gloss of its own", ("Said twice!", "said once",
                                                                                    "an example, in another case"))])
    assert [synset.examples for synset in split.held_out] == [("said once",)]
    assert (split.chosen, split.dropped_glosses, split.dropped_examples) == (1, 0, 2)
    split = split_synsets([other, Synset(f"n{held:08d}", ("b",), "said twice", ("said once",))])
    assert split.held_out == () and (split.chosen, split.dropped_glosses, split.dropped_examples) == (1, 1, 0)


texts = st.text("ab A.", min_size=1, max_size=4)


@given(st.lists(st.builds(lambda k, gloss, examples: Synset(f"n{k:08d}", ("w",), gloss, tuple(examples)),
                          st.integers(0, 10**6), texts, st.lists(texts, max_size=3)),
                max_size=20, unique_by=lambda synset: synset.id), st.floats(0, 1))
def test_nothing_held_out_is_in_training(synsets, share):
    split = split_synsets(synsets, share)
    seen = {same_text(text) for synset in split.training for text in (synset.gloss, *synset.examples)}
    assert not seen & {same_text(text) for synset in split.held_out for text in (synset.gloss, *synset.examples)}
    lines = set(training_lines(split.training))
    assert not lines & {text for synset in split.held_out for text in (synset.gloss, *synset.examples)}
    assert {synset.id for synset in split.training}.isdisjoint(synset.id for synset in split.held_out)
    assert len(split.training) + split.chosen == len(synsets)
    assert split.chosen == len(split.held_out) + split.dropped_glosses


def test_lines_hold_each_text_once():
    dog = Synset("n1", ("dog", "domestic dog"), "a tame animal", ("the dog barked", "a tame animal"))
    assert training_lines([dog, dog], ["the dog barked", "a paragraph"]) == [
        "a tame animal", "dog, domestic dog: a tame animal", "the dog barked", "a paragraph"]


PAGE = """<!DOCTYPE html><html><head><title>not this one of four</title><style>p { not: this }</style></head><body>
<div class="related" role="navigation"><ul><li>not this list of links either</li></ul></div>
<div class="body" role="main"><h1>A heading of four words<a class="headerlink" href="#x">¶</a></h1>
<p>The <code>open()</code> function &amp; its<br>friends &lt;read&gt; files.</p><p>Too short.</p>
<div class="highlight"><pre>not = this + code * here</pre></div>
<dl><dt>os.walk(top, topdown=True, followlinks=False)</dt><dd><p>Walks over a tree of files.</p></dd></dl>
<p>The <code>open()</code> function &amp; its friends &lt;read&gt; files.</p></div>
<div class="sphinxsidebar"><p>not this part of the page</p></div></body></html>"""


def test_a_page_gives_the_prose_of_its_main_part(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "os.html").write_text(PAGE, "utf-8")
    (tmp_path / "genindex-A.html").write_text(PAGE.replace("tree", "index"), "utf-8")
    assert read_python_doc(tmp_path) == (
        "A heading of four words", "The open() function & its friends <read> files.", "Walks over a tree of files.")
    assert read_python_doc(tmp_path, min_words=3)[2] == "os.walk(top, topdown=True, followlinks=False)"
