"""Labelled pairs over the plane: where paraphrases lie, where negations, where translations.

Every label has a shape of its own, so that it is told apart without colour too; the colours are the house's, each on at
most two shapes. Pairs that mean the same are filled, pairs that do not are hollow (a hollow mark is filled with the
ground, to be seen on a density); labels that we do not know take the shapes that are left, the most frequent first.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from components.charts.plane import PAIR_NUMBERS, STEADY, hover_texts, line_or_marks, pair_numbers, stretch
from components.charts.style import ChartTheme, caption_number, rgba
from components.errors import DataError
from components.types import FloatArray

OTHER = "other labels"
LEGEND, COLUMNS, ENTRY = "legend2", 3, 172
"""Room is kept for so many columns of so many pixels; where wider, more stand in a row."""
COLUMNS_NARROW, WRAP, WRAP_NARROW = 2, 40, 17
ROW, LINE = 19, 16
"""Pixels of a legend's row, and of each further line in it."""
SIZE, SIZE_NARROW, HALO = 9, 7, 4


@dataclass(frozen=True)
class MarkStyle:
    """A label's mark: plotly's shape, a place in ``ChartTheme.sequence`` (-1 = ink), and whether it is filled."""

    symbol: str
    colour: int
    filled: bool


STYLES: dict[str, MarkStyle] = {
    "paraphrase": MarkStyle("circle", 0, True),
    "translation ko-en": MarkStyle("triangle-up", 2, True),
    "translation nl-en": MarkStyle("triangle-down", 3, True),
    "short against long": MarkStyle("square", 4, True),
    "one word against a paragraph": MarkStyle("star", 5, True),
    "negation": MarkStyle("diamond", 1, False),
    "role swap": MarkStyle("bowtie", 3, False),
    "changed number": MarkStyle("square", 2, False),
    "same words scrambled": MarkStyle("star-diamond", 0, False),
    "same subject, another fact": MarkStyle("pentagon", 4, False),
    "unrelated": MarkStyle("x", -1, True),
}
# No hollow circle: that is the ring around the pairs of largest SOCM.
SPARE = (MarkStyle("cross", 1, True), MarkStyle("hexagon", 0, False), MarkStyle("triangle-left", 2, False),
         MarkStyle("triangle-right", 1, False), MarkStyle("hexagram", 4, True))
OTHER_STYLE = MarkStyle("diamond-tall", -1, False)


def label_styles(labels: Sequence[str]) -> dict[str, MarkStyle]:
    """Each label's mark, in the legend's order: known ones, unknown ones by frequency, the rest as one "other labels"."""
    counts = Counter(labels)
    found = {name: mark for name, mark in STYLES.items() if name in counts}
    free = [*SPARE, *(mark for name, mark in STYLES.items() if name not in counts)]
    unknown = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if name not in STYLES]
    most = min(len(free), max(0, len(STYLES) - len(found)))
    if len(unknown) > most:
        return found | dict(zip(unknown[:most], free, strict=False)) | {OTHER: OTHER_STYLE}
    return found | dict(zip(unknown, free, strict=False))


def add_labelled_pairs(
    fig: go.Figure,
    d_mu: FloatArray,
    d_sigma: FloatArray,
    labels: Sequence[str],
    texts_a: Sequence[str],
    texts_b: Sequence[str],
    theme: ChartTheme,
    narrow: bool = False,
) -> None:
    """Lays pairs over a figure of ``pair_density``, ``pair_points`` or ``pair_means``, by label.

    The axes widen where the pairs lie outside, and the figure grows by its legend, which stands below the plane.

    Args:
        fig: the figure, changed in place.
        d_mu, d_sigma: (n,) distances.
        labels, texts_a, texts_b: n labels and texts, in the same order; a mark's number in it leads its ``customdata``.
        theme, narrow: as the figure was made with.

    Raises:
        DataError: not as many of one as of another.
    """
    d_mu, d_sigma = np.asarray(d_mu, dtype=float), np.asarray(d_sigma, dtype=float)
    lengths = {len(d_mu), len(d_sigma), len(labels), len(texts_a), len(texts_b)}
    if len(lengths) > 1:
        raise DataError("labelled pairs", "must have as many distances as labels and texts", f"lengths {sorted(lengths)}",
                        "give one of each for every pair")
    if not len(d_mu):
        return
    stretch(fig, d_mu, d_sigma, theme)
    styles = label_styles(labels)
    shown = np.array([label if label in styles else OTHER for label in labels])
    for name, mark in styles.items():
        _draw(fig, name, mark, np.flatnonzero(shown == name), (d_mu, d_sigma), (labels, texts_a, texts_b), theme, narrow)
    _legend(fig, list(styles), theme, narrow)


def labelled_pairs_alt(d_mu: FloatArray, d_sigma: FloatArray, labels: Sequence[str]) -> str:
    """What the marks show, in words, to be put after the plane's own ``alt``."""
    if not len(d_mu):
        return "No labelled pairs."
    socm, names = (1 - np.asarray(d_mu)) * np.asarray(d_sigma), np.asarray(labels)
    means = sorted(((float(socm[names == name].mean()), int((names == name).sum()), str(name)) for name in set(labels)),
                   reverse=True)
    parts = [f"{name} {caption_number(mean)} ({n} {'pair' if n == 1 else 'pairs'})" for mean, n, name in means]
    return f"{caption_number(len(socm))} labelled pairs lie over it; mean SOCM by label: {'; '.join(parts)}."


def _draw(fig: go.Figure, name: str, mark: MarkStyle, at: np.ndarray[tuple[int, ...], np.dtype[np.integer]],
          distances: tuple[FloatArray, FloatArray], words: tuple[Sequence[str], Sequence[str], Sequence[str]],
          theme: ChartTheme, narrow: bool) -> None:
    """One label: a halo in the ground's colour, and the marks; a click on the legend hides both."""
    x, y = (values[at].astype(np.float32) for values in distances)
    colour = theme.ink if mark.colour < 0 else theme.sequence[mark.colour]
    size = SIZE_NARROW if narrow else SIZE
    group = {"x": x, "y": y, "mode": "markers", "cliponaxis": False, "legendgroup": name, "legend": LEGEND, "meta": "label"}
    line_or_marks(fig, **group, **STEADY, name="", showlegend=False, hoverinfo="skip", opacity=0.85,
                  marker={"symbol": mark.symbol, "size": size + HALO, "color": theme.paper, "line": {"width": 0}})
    labels, texts_a, texts_b = ([column[i] for i in at] for column in words)
    both = hover_texts(tuple(texts_a), tuple(texts_b))
    line_or_marks(
        fig, **group, **STEADY, name=_wrapped(name, WRAP_NARROW if narrow else WRAP), showlegend=True,
        marker={"symbol": mark.symbol, "size": size, "color": colour if mark.filled else theme.paper,
                "line": {"color": theme.paper if mark.filled else colour, "width": 0 if mark.filled else 1.8}},
        customdata=pair_numbers(*distances)[at],
        hovertext=[f"<b>{_wrapped(label, 64)}</b><br>{text}" for label, text in zip(labels, both, strict=True)],
        hovertemplate=f"%{{hovertext}}<br>{PAIR_NUMBERS}<extra></extra>",
    )


def _wrapped(label: str, width: int) -> str:
    short = textwrap.shorten(label, 120, placeholder="…") or "(no label)"
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(short, width, break_on_hyphens=False))


def _legend(fig: go.Figure, names: list[str], theme: ChartTheme, narrow: bool) -> None:
    """Below the plane; the figure grows by it, so that the plane keeps its size."""
    columns, width = (COLUMNS_NARROW, WRAP_NARROW) if narrow else (COLUMNS, WRAP)
    scale, lines = fig.layout.meta["scale"], [1 + _wrapped(name, width).count("<br>") for name in names]
    rows = [max(lines[k:k + columns]) for k in range(0, len(lines), columns)]
    height = math.ceil(scale * sum(ROW + LINE * (n - 1) for n in rows)) + 16
    total = int(fig.layout.height) + height
    fig.update_layout(height=total, margin_b=int(fig.layout.margin.b) + height, legend2={
        "orientation": "h", "x": 0 if narrow else 0.5, "xanchor": "left" if narrow else "center", "xref": "container",
        "y": height / total, "yanchor": "top", "yref": "container", "bgcolor": rgba(theme.paper, 0),
        "entrywidthmode": "fraction" if narrow else "pixels", "entrywidth": 1 / columns if narrow else ENTRY * scale,
        "itemsizing": "trace", "traceorder": "normal",
        "tracegroupgap": 0, "font": {"size": 12 * scale, "color": theme.ink},
    })
