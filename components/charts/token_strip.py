"""A text as its tokens, each tinted by a number: what a strip of buttons draws, a button a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from components.charts.style import caption_number, rgba
from components.types import FloatArray

STRONGEST = 0.65
"""Opacity of the tint of the largest magnitude; ink on it keeps 4.5:1."""


@dataclass(frozen=True)
class StripToken:
    """One token of a strip; words are plain text, to be shown as such and never as HTML.

    Attributes:
        word: the token. place: in its text, counted from 0.
        tint: a CSS colour. words: the number in words, for hovers and readers.
        underlined: the number is negative, since colour alone must not tell signs apart.
        out: takes no part. marked: the one that was clicked.
    """

    word: str
    place: int
    tint: str
    words: str
    underlined: bool
    out: bool
    marked: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def token_strip(tokens: Sequence[str], values: FloatArray, kept: Sequence[int], *, colour: str, label: str, signed: bool,
                marked: int | None = None) -> list[StripToken]:
    """The tokens in their order.

    Args:
        tokens: of the whole text.
        values: (len(kept),) numbers of the tokens that take part; NaN is drawn plain.
        kept: which take part.
        colour: of the largest magnitude, "#RRGGBB".
        label: words for the number.
        signed: negative values are underlined.
        marked: place of the token that was clicked.
    """
    largest = float(np.nanmax(np.abs(values))) if len(values) and np.isfinite(values).any() else 0.0
    by_token = dict(zip(kept, values, strict=True))
    strip = []
    for place, token in enumerate(tokens):
        value = float(by_token.get(place, np.nan))
        tint = STRONGEST * abs(value) / largest if largest and np.isfinite(value) else 0.0
        words = f"{label} {caption_number(value)}" if place in by_token else "left out"
        strip.append(StripToken(token, place, rgba(colour, round(tint, 3)), words, signed and value < 0, place not in by_token,
                                place == marked))
    return strip


def token_strip_alt(strip: Sequence[StripToken], *, name: str) -> str:
    """The strip in words: how many tokens, and which one is tinted most."""
    there = [token for token in strip if not token.out]
    most = max(there, key=lambda token: float(token.tint.rstrip(")").rsplit(",", 1)[1]), default=None)
    return f"{name}: {len(there)} of {len(strip)} tokens take part" + (f"; tinted most: {most.word} ({most.words})." if most else ".")
