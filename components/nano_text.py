"""The text that the nano family learns from: WordNet's glosses and examples, and the prose of Python's documentation.

Two permissive texts that Debian packages: wordnet-base (Princeton's licence) and python3-doc (the PSF's). WordNet groups
words that share a meaning into synsets, and gives each a gloss, often a few example sentences, and pointers to others
("is a kind of", "is used as slang"). That makes it a source of honest pairs: a gloss and an example of the same synset
mean the same in other words.

Some synsets are held out for evaluation, chosen by a hash of their id, so that the choice survives any change of order
or of this code's random numbers. WordNet repeats itself, and a held-out text that training has seen word for word would
measure memory: such texts are dropped from the evaluation.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

from components.errors import DataError, shown

WORDNET = Path("/usr/share/wordnet")
PYTHON_DOC = Path("/usr/share/doc/python3/html")
HELD_OUT_SHARE = 0.04

_PARTS = {"data.noun": "n", "data.verb": "v", "data.adj": "a", "data.adv": "r"}
_HEADER = "  "
"""The licence in front of WordNet's data is set in by two blanks; synsets start with a digit."""
_MARKER = re.compile(r"\((a|p|ip)\)$")
"""Where an adjective may stand, written onto its word: "galore(ip)"."""
_FIRST_EXAMPLE = re.compile(r'(?:^|[;:,.)]\s*|\s)(?=")')
_QUOTED = re.compile(r'"([^"]+)"')
_INDEX_PAGES = re.compile(r"^(genindex|py-modindex|search|download|copyright|license|bugs|contents)\b")


@dataclass(frozen=True)
class Synset:
    """One meaning, with the words for it.

    Attributes:
        id: part of speech and WordNet's offset, "n00001740".
        lemmas: its words, blanks for underscores.
        gloss: its definition, without examples.
        examples: sentences or phrases that use one of its words.
        hypernyms: ids of what it is a kind (or an instance) of.
        usages: ids of the manners of speaking it is marked with (slang, disparagement ...).
    """

    id: str
    lemmas: tuple[str, ...]
    gloss: str
    examples: tuple[str, ...] = ()
    hypernyms: tuple[str, ...] = ()
    usages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """Synsets for training and for evaluation, with no text in common.

    Attributes:
        training: synsets as WordNet has them, in the order of their files.
        held_out: synsets whose gloss no training synset has, with only those examples that training lacks.
        chosen: synsets that the hash held out, before any was dropped.
        dropped_glosses: held-out synsets given up because training has their gloss word for word.
        dropped_examples: examples left out of the held-out synsets that stayed.
    """

    training: tuple[Synset, ...]
    held_out: tuple[Synset, ...]
    chosen: int
    dropped_glosses: int
    dropped_examples: int


def read_wordnet(folder: Path = WORDNET) -> tuple[Synset, ...]:
    """All synsets of a WordNet 3 database: data.noun, data.verb, data.adj and data.adv, in this order.

    Raises:
        DataError: the folder or a file is missing, or a line is not in WordNet's format.
    """
    missing = [name for name in _PARTS if not (folder / name).is_file()]
    if missing:
        raise DataError(f"WordNet folder {shown(str(folder))}", "must hold data.noun, data.verb, data.adj and data.adv",
                        "no such folder" if not folder.is_dir() else f"no {missing[0]}",
                        "install the Debian package wordnet-base, or name the folder where its files lie")
    return tuple(synset for name in _PARTS for synset in _read_part(folder / name))


def _read_part(path: Path) -> Iterator[Synset]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"WordNet file {path.name}", "must be readable as UTF-8", type(error).__name__,
                        "install the Debian package wordnet-base again") from error
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith(_HEADER):
            try:
                yield parse_synset(line, _PARTS[path.name])
            except (ValueError, IndexError) as error:
                raise DataError(f"WordNet file {path.name}, line {number}", "must be a synset in WordNet's data format",
                                shown(line), "install the Debian package wordnet-base again") from error


def parse_synset(line: str, part: str) -> Synset:
    """A synset from a line of a data file (man 5 wndb): counts of words are hexadecimal, those of pointers decimal.

    Args:
        line: the whole line.
        part: n, v, a or r; satellite adjectives count as a.

    Raises:
        ValueError, IndexError: the line is not in this format.
    """
    data, bar, text = line.partition(" | ")
    fields = data.split()
    if not bar or not re.fullmatch(r"\d{8}", fields[0]):
        raise ValueError("no offset or no gloss")
    n_words = int(fields[3], 16)
    words, at = fields[4:4 + 2 * n_words:2], 4 + 2 * n_words
    pointers = [fields[k:k + 4] for k in range(at + 1, at + 1 + 4 * int(fields[at]), 4)]
    if len(words) != n_words or any(len(pointer) < 4 for pointer in pointers):
        raise ValueError("fewer words or pointers than counted")
    gloss, examples = split_gloss(text)

    def targets(*symbols: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind + offset for symbol, offset, kind, _ in pointers if symbol in symbols))

    return Synset(part + fields[0], tuple(_MARKER.sub("", word).replace("_", " ") for word in words), gloss, examples,
                  targets("@", "@i"), targets(";u"))


def split_gloss(text: str) -> tuple[str, tuple[str, ...]]:
    """Definition and examples: what stands in double quotes, and what stands in front of the first of them.

    A quotation's author (``"..."- Shakespeare``) is in neither.
    """
    found = _FIRST_EXAMPLE.search(text)
    if found is None:
        return " ".join(text.split()).strip(" ;"), ()
    examples = tuple(dict.fromkeys(one for raw in _QUOTED.findall(text[found.start():])
                                   if (one := " ".join(raw.split()).strip(" ;"))))
    return " ".join(text[:found.start()].split()).strip(" ;:,"), examples


def same_text(text: str) -> str:
    """What two texts have in common that differ in case, blanks and closing punctuation alone."""
    return " ".join(text.casefold().split()).strip(" .;,:!?")


def share_of(text: str, salt: str) -> float:
    """A number in [0, 1) that depends on text and salt alone."""
    return int.from_bytes(hashlib.sha256(f"{salt}:{text}".encode()).digest()[:8], "big") / 2**64


def split_synsets(synsets: Iterable[Synset], share: float = HELD_OUT_SHARE) -> Split:
    """Holds out a share of the synsets by a hash of their ids, and drops what training has word for word.

    Args:
        synsets: from ``read_wordnet``.
        share: expected share held out, 0..1.
    """
    sides: tuple[list[Synset], list[Synset]] = ([], [])
    for synset in synsets:
        sides[share_of(synset.id, "held-out") < share].append(synset)
    seen = {same_text(text) for synset in sides[0] for text in (synset.gloss, *synset.examples)}
    held_out, dropped = [], 0
    for synset in sides[1]:
        if same_text(synset.gloss) in seen:
            continue
        examples = tuple(example for example in synset.examples if same_text(example) not in seen)
        dropped += len(synset.examples) - len(examples)
        held_out.append(replace(synset, examples=examples))
    return Split(tuple(sides[0]), tuple(held_out), len(sides[1]), len(sides[1]) - len(held_out), dropped)


def training_lines(training: Sequence[Synset], paragraphs: Iterable[str] = ()) -> list[str]:
    """Lines for learning to fill in masked tokens, none twice: each gloss, with its words in front and without, each
    example, then the paragraphs."""
    lines: dict[str, None] = {}
    for synset in training:
        lines[synset.gloss] = None
        lines[f"{', '.join(synset.lemmas)}: {synset.gloss}"] = None
        lines.update(dict.fromkeys(synset.examples))
    lines.update(dict.fromkeys(paragraphs))
    return list(lines)


def read_python_doc(folder: Path = PYTHON_DOC, *, min_words: int = 4) -> tuple[str, ...]:
    """Paragraphs, headings, list items and signatures of Python's HTML documentation, without code blocks and indices.

    Args:
        folder: the folder of the HTML pages.
        min_words: shorter pieces are left out.

    Returns:
        The pieces in the order of the files' names, each once.

    Raises:
        DataError: no such folder, or no page in it.
    """
    pages = sorted(path for path in folder.rglob("*.html") if not _INDEX_PAGES.match(path.name))
    if not pages:
        raise DataError(f"Python documentation folder {shown(str(folder))}", "must hold HTML pages",
                        "none" if folder.is_dir() else "no such folder",
                        "install the Debian package python3-doc, or name the folder where its pages lie")
    pieces: dict[str, None] = {}
    for page in pages:
        reader = _Page()
        try:
            reader.feed(page.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"documentation page {page.name}", "must be readable as UTF-8", type(error).__name__,
                            "install the Debian package python3-doc again") from error
        reader.flush()
        pieces.update(dict.fromkeys(piece for piece in reader.pieces if len(piece.split()) >= min_words))
    return tuple(pieces)


class _Page(HTMLParser):
    """Collects the text of a page's main part, one piece for each block element."""

    _BLOCKS = frozenset(("p", "li", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "tr", "table", "ul", "ol", "dl",
                         "div", "section", "aside", "blockquote"))
    _SILENT = frozenset(("script", "style", "pre", "nav"))
    _VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._words: list[str] = []
        self._open: list[tuple[str, bool, bool]] = [("", False, False)]
        """Open elements: name, inside the main part, silent."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._VOID:
            self._words.append(" ")  # a line break ends a word
            return
        given = dict(attrs)
        if tag in self._BLOCKS:
            self.flush()
        _, main, silent = self._open[-1]
        # A heading's link to itself would add a pilcrow to each.
        silent = silent or tag in self._SILENT or "headerlink" in (given.get("class") or "").split()
        self._open.append((tag, main or given.get("role") == "main", silent))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._BLOCKS:
            self.flush()
        for k in range(len(self._open) - 1, 0, -1):
            if self._open[k][0] == tag:
                del self._open[k:]
                return

    def handle_data(self, data: str) -> None:
        _, main, silent = self._open[-1]
        if main and not silent:
            self._words.append(data)

    def flush(self) -> None:
        """Ends the piece being read."""
        piece = " ".join("".join(self._words).split())
        self._words = []
        if piece:
            self.pieces.append(piece)
