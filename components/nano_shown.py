"""Which of WordNet's text may be shown or shipped.

WordNet records how people speak, insults and obscenities included. A model may learn from them; a page shows none. Three
nets, each with its own count: the usage that WordNet marks a synset with (slang, disparagement, ethnic slur, obscenity),
glosses that say so in words ("offensive term for ..."), and words in any of its texts. Too much is dropped rather than
too little: what is left is plenty.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from components.nano_text import Synset

MARKED_USAGES = frozenset(("slang", "disparagement", "derogation", "ethnic slur", "obscenity", "vulgarism", "dirty word",
                           "profanity", "taboo"))
"""A noun synset with one of these words marks what points to it as its usage."""

_SAYS_SO = re.compile(
    r"\bslang\b|\b(obscen|vulgar|profan|derogat|disparag|pejorativ|derisi|contemptuous)\w*|\bethnic slur|\boffensive\b"
    r"|\bterms? of (abuse|contempt)|\binsult\w*|\b(abusive|contempt of|taboo|four-letter)\b", re.IGNORECASE)

_DELICATE = re.compile(
    r"\b(sex\w*|(bi|homo|hetero|inter)sex\w*|gays?|lesbian\w*|transvest\w*|queers?|erotic\w*|copulat\w*|coit\w*|intercourse|"
    r"orgasm\w*|masturbat\w*|ejaculat\w*|genital\w*|penis\w*|penile|penetrat\w*|vagina\w*|vulva\w*|clitor\w*|testi[cs]\w*|"
    r"testes|sperm\w*|scrot\w*|semen|nipples?|breasts?|bosoms?|buttocks?|anus|anal|rectal|rectum|porno\w*|prostitut\w*|"
    r"brothels?|harlots?|strumpets?|seduc\w*|fornicat\w*|adulter(y|er|ous)\w*|incest\w*|rap(e|ed|es|ing|ist|ists)|molest\w*|"
    r"nud(e|es|ity|ist)|naked\w*|virgin(s|ity)?|lust\w*|lewd\w*|lascivious\w*|lecher\w*|libid\w*|indecen\w*|condoms?|"
    r"contracepti\w*|castrat\w*|circumcis\w*|pederast\w*|pedophil\w*|masochis\w*|sadis(m|t)\w*|mannish\w*|puberty|pubic|"
    r"feces|faeces|fecal|excre\w*|urin(e|al|at|o)\w*|defecat\w*|flatul\w*|vomit\w*|menstru\w*|abort\w*|suicid\w*|lynch\w*|"
    r"tortur\w*|murder\w*|kill\w*|slit\w*|behead\w*|guillotin\w*|massacr\w*|genocid\w*|holocaust|nazis?|hitler\w*|"
    r"racis\w*|semit\w*|antisemit\w*|negro\w*|mulatto\w*|gyps(y|ies)|savages?|retard\w*|moron\w*|imbecil\w*|idiot\w*|stupid\w*|"
    r"nincompoops?|cripple[sd]?|lunatics?|hysteric\w*|slaves?|slavery|white of you|whites|blacks|"
    r"(white|black|colou?red) (people|man|men|woman|women|person|race)|jews?|jewish|muslims?|islam\w*|turks|mexicans?|"
    r"heathens?|infidels?|(fat|ugly) (man|woman|people|person|girl)|girl or woman|drunk\w*|heroin|cocaine|marijuana|"
    r"aids|hiv)\b", re.IGNORECASE)
"""Subjects and groups of people that an old gloss or a sample sentence may treat badly; many are harmless, and none is
missed beside a chart about something else."""

_CRUDE_DIGITS = """
0024f57553 06a1d8bf7f 08a841e996 095080134d 09616d58d5 0a07895e53 0be9b885f4 0d335db1f7 0f28c4960d 118418653f 120f6e5b4e
130229cd36 14a81e30c4 15551266fa 1600725e92 16ea09fc78 16ee4702f8 173195c81c 17b92fbe09 1802d08145 18d0f9c28d 19013a628e
1b83044895 1d975ddabe 2062f80093 2189c0ed71 227c0106e5 25390976ce 262f86db0a 292316bdfb 292aa99a17 29edf76558 2f34b7a451
2f5f6ce5ae 30a989afc8 31506a8448 3152c94df8 32bac578d6 33740da8a8 33b9a12f47 34b14e3282 372c7de53a 39b1b7b3d0 39c824dcac
3b1e0d7c5d 3b2afc707b 3d011e92f7 3e202af265 4140197ec7 42ea5be17c 469c0fdb60 470dd24587 4894efd1b4 48e94858da 4ae04c21da
4c0fbd0ce0 4c58f5d5fe 5006479496 544fc8545c 566f532d48 56d9e1f657 594810adcb 5ad15c085d 5d7577cd00 5e9cf6db8a 6122fdf4ae
619bc82e0d 6556c1a584 665cb762e3 69c5c5d45d 6ac3c336e4 6b571f65fa 6cd512a819 70aafb4266 72f33361b2 74dcfbc208 77ccd22350
796e43a5a8 7bc671151c 7c4a5c242b 7cfc9425c5 7ea82ce2b3 805c0cdff8 80d71140f7 83270a9a9c 83621b34ec 85fc17f706 886d51e97a
89133bc00e 8a2ee3aaad 8a6e40cfcd 8aaf9c8402 8f5083e3e5 8fec6062ec 923e5a75db 94a877e2ce 94c6d2e10a 958ce5c321 96c91fa847
986c990041 98b52c4b6b 9915ba2d82 9ae315a94e 9ce65878c9 9d57436661 a322b4dd3b a409533e22 a40ccba874 a78a7c503f a7bf072c97
a87490631f ab0c0f27af acc96930e3 ad505b0be8 ad64e56f21 ad6cacf3af affc875700 b04a8a4006 b66e4e54b4 b81d6dc258 bb61ef4081
bb87adf8aa bdb1cc258d be00f1af52 be72176c19 c0ebfa7cbe c1b4ed0539 c20363e686 c2c3b68b48 c3de533e9b c590c39675 c6918c5b6d
c8e2661780 ca5941f915 cb9c013441 cbbd0f71af cbc2d9ac11 cc02032349 cdd28ff153 ce20df7259 d5146a6287 d730ead8ec d751137f9b
d75a838dc7 dd92623b0a df736257aa e14a747f15 e2de05b07b e30c2ea7a7 e388b89852 e3fa01d29c e3fe12c0f8 e4506bd18c e512a05583
e5cd1243e0 e6d4b03eed e7b98c6aa5 e883b5ad97 e9143a2903 e96d8eb373 e99d55248f e9e8b6c5af ea1813aeb4 ebeb0df359 ee5a869b5a
eef3bd0916 f50c51ed23 f753bcddd0 f9d0d9b18a fa38a8d3e5 fb96c27642 fcb7d8ae19
"""
_CRUDE = frozenset(_CRUDE_DIGITS.split())
"""Crude words as the first ten hexadecimal digits of their sha256, so that this file holds none."""

_ENDINGS = ("", "s", "es", "ed", "er", "ers", "ing", "in", "y", "ty", "ter", "head", "heads")
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class ShownText:
    """Synsets that may be shown, and how many may not.

    Attributes:
        kept: in the order given.
        by_usage: dropped for the usage they are marked with.
        by_gloss: dropped for what their gloss says.
        by_word: dropped for a word in their gloss, examples or lemmas.
    """

    kept: tuple[Synset, ...]
    by_usage: int
    by_gloss: int
    by_word: int

    @property
    def dropped(self) -> int:
        return self.by_usage + self.by_gloss + self.by_word


def marked_usages(synsets: Iterable[Synset]) -> frozenset[str]:
    """Ids of the noun synsets that mark a manner of speaking not to be shown; found by their words."""
    return frozenset(synset.id for synset in synsets if synset.id.startswith("n") and MARKED_USAGES.intersection(synset.lemmas))


def fit_to_show(synsets: Iterable[Synset], marks: frozenset[str]) -> ShownText:
    """The synsets that no net catches; each dropped one is counted for the first net that does.

    Args:
        synsets: to be looked through.
        marks: from ``marked_usages`` of the whole WordNet.
    """
    kept, dropped = [], {"usage": 0, "gloss": 0, "word": 0}
    for synset in synsets:
        if marks.intersection(synset.usages) or synset.id in marks:
            dropped["usage"] += 1
        elif _SAYS_SO.search(synset.gloss):
            dropped["gloss"] += 1
        elif any(has_bad_word(text) for text in (synset.gloss, *synset.examples, *synset.lemmas)):
            dropped["word"] += 1
        else:
            kept.append(synset)
    return ShownText(tuple(kept), dropped["usage"], dropped["gloss"], dropped["word"])


def has_bad_word(text: str) -> bool:
    """A word of the text is crude, or one of those that do not belong beside a chart."""
    return bool(_DELICATE.search(text)) or any(_is_crude(word) for word in _WORD.findall(text.casefold()))


def _is_crude(word: str) -> bool:
    stems = {word.removesuffix(ending) for ending in _ENDINGS if len(word) > len(ending) + 2}
    stems |= {stem[:-1] for stem in stems if len(stem) > 3 and stem[-1] == stem[-2]}  # the p doubled in front of -ing
    return any(hashlib.sha256(stem.encode()).hexdigest()[:10] in _CRUDE for stem in stems)
