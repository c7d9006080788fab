"""A text as its tokens, each tinted by a number that a hover gives in full."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from components.charts.style import ChartTheme, caption_number
from components.types import FloatArray


def token_strip(tokens: Sequence[str], values: FloatArray, kept: Sequence[int], theme: ChartTheme, *, colour: str, label: str,
                signed: bool) -> str:
    """HTML of the tokens in their order; every token is escaped, and nothing in it can be clicked or run.

    Args:
        tokens: of the whole text.
        values: (len(kept),) numbers of the tokens that take part; NaN is drawn plain.
        kept: which take part; the others are struck through.
        colour: of the largest magnitude, "#RRGGBB".
        label: words for the number, for hovers and readers.
        signed: negative values are underlined, since colour alone must not tell them apart.
    """
    largest = float(np.nanmax(np.abs(values))) if len(values) and np.isfinite(values).any() else 0.0
    by_token = dict(zip(kept, values, strict=True))
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    parts = []
    for i, token in enumerate(tokens):
        word = html.escape(token)
        if i not in by_token:
            parts.append(f'<span title="left out" style="opacity:.6;text-decoration:line-through">{word}</span>')
            continue
        value = float(by_token[i])
        tint = 0.0 if not largest or not np.isfinite(value) else 0.65 * abs(value) / largest
        line = "text-decoration:underline dotted;" if signed and value < 0 else ""
        parts.append(f'<span title="{html.escape(label)} {caption_number(value)}" '
                     f'style="background:rgba({red},{green},{blue},{tint:.3f});{line}">{word}</span>')
    return (f'<p class="strip" aria-label="{html.escape(label)}" style="font-family:var(--st-code-font, monospace);font-size:.85rem;'
            f'line-height:2;color:{theme.ink};overflow-wrap:anywhere">{" ".join(parts)}</p>')
