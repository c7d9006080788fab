"""The Pair page's view as a file: two texts' tokens on a plane, through the layers, token by token, and every number."""

from __future__ import annotations

from collections.abc import Sequence

from app import pair_data, pair_references, pair_tables, results, widgets
from app.exports.common import command, headline
from app.pair_data import PLANES, TINTS, TokenPair
from app.pair_references import Among, LengthHalves
from app.views import pair_exports, pair_parts
from app.views.pair_controls import Texts
from components.charts.layer_panels import layer_panels, layer_panels_alt
from components.charts.style import LIGHT
from components.charts.token_matrix import token_matrix, token_matrix_alt
from components.charts.token_plane import token_plane, token_plane_alt
from components.html_export import FigurePart, TablePart, View
from components.pair_findings import pair_finding
from components.token_pair import Projection
from components.types import FINAL, Layer

TITLE = "How far apart do these two texts lie?"
READING = ("Two texts as clouds of tokens: what the mean keeps of them is the distance of the two crosses, what it loses is how the "
           "clouds differ around them.")


def pair_view(pair: TokenPair, layer: Layer, texts: Texts, shown: Projection | None, tint: str, among: Among | None,
              models: Sequence[TokenPair], corpus_name: str) -> View:
    """The view of two texts under a model.

    Args:
        shown: the plane, or None where it is not there yet.
        tint: a word of ``TINTS``; the tokens on the plane show it.
        among: where the pair lies among its corpus's pairs, if its map is stored.
        models: the pair under each model that is drawn through the layers, the page's own first.
        corpus_name: whose texts of like length halves are read against, where these are stored.
    """
    made = pair_parts.made_of(pair, layer, among)
    effects = pair.effects(layer, TINTS[tint])
    parts: list[FigurePart | TablePart] = [TablePart("The texts", pair_tables.text_table(pair), 2)]
    if shown is not None and effects is not None:
        parts.append(FigurePart(token_plane(shown, pair.kept_tokens, effects, LIGHT, effect_label=tint.lower(), places=pair.kept),
                                token_plane_alt(shown), pair_parts.plane_caption(pair, layer, shown),
                                f"Tokens of both texts: {shown.name}"))
    tokens = pair_tables.token_table(pair, layer, shown)
    parts.append(TablePart("Tokens", tokens, len(tokens), "An effect is the number with the token minus the number without it, "
                           f"computed again from the states that are left. {made}"))
    if not pair.given:
        panels, axis = pair_data.by_layer(models)
        named = ", ".join(f"{widgets.plain(one.model)} (revision {one.revision})" for one in models)
        parts.append(FigurePart(layer_panels(panels, LIGHT, axis=axis), layer_panels_alt(panels),
                                f"{named}; layer 0 is the embedding output.", "Through the layers"))
    numbers = pair_references.number_table(pair, layer, among)
    parts.append(TablePart("Every number", numbers, len(numbers), "Shares are of the corpus's pairs with a smaller value; empty "
                           "where its map is not stored."))
    cosines = pair.cosines(layer)
    parts.append(FigurePart(token_matrix(cosines, pair.kept_tokens, LIGHT, label="Cosine", centred=True),
                            token_matrix_alt(cosines, pair.kept_tokens, label="Cosine"), made, "Cosines token by token"))
    return View(TITLE, f"{pair.model}, {pair_parts.where(pair, layer)}, {texts.source}", READING,
                headline((*one, "") for one in pair_parts.numbers_of(pair, layer, among)), parts,
                widgets.plain(_finding(pair, layer, corpus_name)), pair_parts.rests_on(pair), pair_exports.about(pair, layer, texts),
                _command(pair, layer, texts, shown, tint, models, corpus_name))


def _finding(pair: TokenPair, layer: Layer, corpus_name: str) -> str:
    there = pair_references.length_halves(corpus_name, pair, layer, pair.switches.special)
    return pair_finding(pair.numbers(layer), pair.halves(layer), there.ratio if isinstance(there, LengthHalves) else None,
                        pair.strongest(layer))


def _command(pair: TokenPair, layer: Layer, texts: Texts, shown: Projection | None, tint: str, models: Sequence[TokenPair],
             corpus_name: str) -> str:
    if pair.given:
        return ""
    if texts.rows is not None:
        which = [("--a", str(texts.rows[0])), ("--b", str(texts.rows[1]))]
    elif texts.own:  # typed, or of a list that no command knows
        which = [("--text-a", texts.a), ("--text-b", texts.b)]
    else:
        listed = results.listed("pairs")
        which = [("--item", str(list(zip(listed.texts_a, listed.texts_b, strict=True)).index((texts.a, texts.b))))]
    without = [",".join(map(str, sorted(out))) for out in pair.switches.without]
    options: list[tuple[str, str | bool | None]] = [
        *(("--model", one.model) for one in models), ("--texts", corpus_name), *which,
        ("--layer", None if layer == FINAL else str(layer)), ("--no-special-tokens", not pair.switches.special),
        ("--no-punctuation", not pair.switches.punctuation), ("--without-a", without[0]), ("--without-b", without[1]),
        ("--plane", shown.name if shown and shown.name != PLANES[0] else None), ("--tint", tint if tint != next(iter(TINTS)) else None)]
    return command("pair", options)


