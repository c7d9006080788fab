"""``poolscope export VIEW``: a view as one HTML file that opens anywhere, from stored or computed results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.export_files import check_html, write_text
from app.cli.outputs import layer_of
from app.cli.progress import terminal_progress
from components.errors import DataError, shown
from components.types import FINAL

if TYPE_CHECKING:
    from components.html_export import View

cli = typer.Typer(no_args_is_help=True, help="Save a view as one HTML file: figures interactive, tables sortable, no network needed.")

Model = Annotated[str, typer.Option(help="A bundled model, a folder, or a Hugging Face id.")]
Models = Annotated[list[str] | None, typer.Option("--model", help="A model; the first is the view's own. May repeat, up to four.")]
Texts = Annotated[str, typer.Option(help="A bundled corpus, or a .txt, .csv, .tsv, .jsonl or .parquet file.")]
Out = Annotated[Path, typer.Option(help="The HTML file to write.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
LayerName = Annotated[str, typer.Option(help=f"A layer from 0, or {FINAL}: what pooling sees.")]
NoSpecial = Annotated[bool, typer.Option("--no-special-tokens", help="Leave out [CLS], [SEP], <s> ...")]
USUAL_MODEL, USUAL_TEXTS = "all-MiniLM-L6-v2", "encyclopedia"
MOST = 4


@cli.command("map")
def map_(
    out: Out, model: Model = USUAL_MODEL, texts: Texts = USUAL_TEXTS, layer: LayerName = FINAL, no_special_tokens: NoSpecial = False,
    plane: Annotated[str, typer.Option(help="Density, Points, or Mean of a quantity.")] = "Density",
    quantity: Annotated[str, typer.Option(help="Which quantity's mean.")] = "Tokens of the shorter text",
    labelled: Annotated[bool, typer.Option("--labelled", help="Draw the bundled labelled pairs over the map.")] = False,
    box: Annotated[str | None, typer.Option(help="List the pairs inside: d_mu from,to,d_sigma from,to.")] = None,
    tokens: Annotated[str | None, typer.Option(help="Tokens in each text: least,most.")] = None,
    label: Annotated[str | None, typer.Option(help="Only pairs whose texts both have this label.")] = None,
    relation: Annotated[str | None, typer.Option(help="Of one label, or Of different labels.")] = None,
    vs_model: Annotated[str | None, typer.Option(help="Model of a second map to compare with.")] = None,
    vs_texts: Annotated[str | None, typer.Option(help="Texts of the second map.")] = None,
    vs_layer: Annotated[str | None, typer.Option(help="Layer of the second map.")] = None, device: Device = "",
) -> None:
    """All pairs of texts on the plane of mean distance and covariance distance."""
    check_html(out, texts)
    from app.exports import inputs
    from app.exports.map import map_view
    from components.pair_map import PairOptions
    from components.pair_selection import Filter

    compared = bool(vs_model or vs_texts or vs_layer)
    chosen, drawn, corner = inputs.pair_filter(tokens, label, relation), inputs.plane(plane, quantity, labelled), inputs.box(box)
    models, read = inputs.offer([model, vs_model or model], [texts, vs_texts or texts], device)
    at = [(read[k], models[k], PairOptions(layer=layer_of(name), special_tokens=not no_special_tokens))
          for k, name in enumerate([layer, vs_layer or layer][:1 + compared])]
    with terminal_progress() as progress:
        # A filter is one of the first map's texts; another corpus has labels and lengths of its own.
        sides = [inputs.map_of(*one, chosen if one[0] == read[0] else Filter(), progress) for one in at]
        over = inputs.labelled_pairs([one[1:] for one in at], progress) if labelled else []
    _save(map_view(sides, drawn, corner, over), out)


@cli.command("layers")
def layers(
    out: Out, model: Models = None, texts: Texts = USUAL_TEXTS, layer: LayerName = FINAL,
    over: Annotated[str, typer.Option(help="The quantity whose distribution over texts is drawn.")] = "Normalised spread",
    published: Annotated[bool, typer.Option("--published", help="Draw the paper's curves beside.")] = False, device: Device = "",
) -> None:
    """Where a text's tokens gather round their mean, layer by layer."""
    check_html(out, texts)
    from app.exports import inputs
    from app.exports.layers import layers_view
    from app.views.layers_parts import LOOKED_AT, USUAL

    quantity = LOOKED_AT[inputs.one_of("--over", over, tuple(LOOKED_AT))]
    models, read = inputs.offer(_few(model or [USUAL_MODEL, *USUAL]), [texts], device)
    with terminal_progress() as progress:
        data = inputs.layers_of(read[0], models, progress)
    at = layer_of(layer)
    if isinstance(at, int) and not 0 <= at <= data.first.curves.n_layers:
        raise DataError("--layer", f"must be from 0 to {data.first.curves.n_layers}, or {FINAL}", str(at), "choose a layer")
    _save(layers_view(data, quantity, at, published=published), out)


@cli.command("models")
def models(
    out: Out, measure: Annotated[str, typer.Option(help="What collapse is measured by.")] = "SOCM, Wikipedia",
    subset: Annotated[str, typer.Option(help="All, Contrastive only, or Backbones only.")] = "All",
    without: Annotated[list[str] | None, typer.Option(help="Leave this model out. May repeat.")] = None,
) -> None:
    """Published models: does less collapse go with higher scores, and what tuning did to it."""
    check_html(out)
    from app import model_data
    from app.exports import inputs
    from app.exports.models import models_view
    from components.published import models as published

    inputs.one_of("--measure", measure, tuple(model_data.MEASURES))
    inputs.one_of("--subset", subset, tuple(model_data.SUBSETS))
    for name in without or []:
        inputs.one_of("--without", name, tuple(model.model_id for model in published()))
    _save(models_view(model_data.choose(measure, subset, without or []), measure, subset, []), out)


@cli.command("pair")
def pair(
    out: Out, model: Models = None, texts: Texts = USUAL_TEXTS,
    a: Annotated[int, typer.Option(help="Row of text A in the texts, from 0.")] = 0,
    b: Annotated[int, typer.Option(help="Row of text B.")] = 1,
    item: Annotated[int | None, typer.Option(help="A labelled pair that comes along, from 0.")] = None,
    text_a: Annotated[str | None, typer.Option(help="Text A itself.")] = None,
    text_b: Annotated[str | None, typer.Option(help="Text B itself.")] = None,
    layer: LayerName = FINAL, no_special_tokens: NoSpecial = False,
    no_punctuation: Annotated[bool, typer.Option("--no-punctuation", help="Leave out tokens without a letter or digit.")] = False,
    without_a: Annotated[str, typer.Option(help="Numbers of tokens of text A to leave out: 3,5.")] = "",
    without_b: Annotated[str, typer.Option(help="Numbers of tokens of text B to leave out.")] = "",
    plane: Annotated[str, typer.Option(help="Principal axes, Means and covariances, or UMAP.")] = "Principal axes",
    tint: Annotated[str, typer.Option(help="What the tokens on the plane show.")] = "Share of the spread", device: Device = "",
) -> None:
    """Two texts as clouds of tokens, through the layers and token by token."""
    check_html(out, texts)
    from app import pair_data, pair_references
    from app.exports import inputs
    from app.exports.pair import pair_view
    from app.views.pair_controls import Texts as Chosen
    from components.pair_map import PairOptions

    if (text_a is None) != (text_b is None):
        raise DataError("--text-a and --text-b", "must be given together", "one of them", "give both")
    inputs.one_of("--plane", plane, pair_data.PLANES)
    inputs.one_of("--tint", tint, tuple(pair_data.TINTS))
    at, special = layer_of(layer), not no_special_tokens
    models, read = inputs.offer(_few(model or [USUAL_MODEL]), [texts], device)
    if text_a is not None and text_b is not None:
        chosen = Chosen(pair_data.checked("A", text_a), pair_data.checked("B", text_b), "typed", own=True)
    elif item is not None:
        chosen = Chosen(*inputs.labelled_text(item))
    else:
        chosen = Chosen(inputs.row("--a", a, read[0]), inputs.row("--b", b, read[0]), f"row {a} and row {b}", (a, b))
    with terminal_progress() as progress:
        bare = pair_data.Switches(special, not no_punctuation)
        own = pair_data.Switches(special, not no_punctuation, (_numbers("--without-a", without_a), _numbers("--without-b", without_b)))
        found = [inputs.tokens_of(chosen.a, chosen.b, name, bare if k else own, progress) for k, name in enumerate(models)]
        if at not in found[0].layers:
            raise DataError("--layer", f"must be from 0 to {found[0].layers[-2]}, or {FINAL}", str(at), "choose a layer")
        shown_plane = inputs.ready(lambda: found[0].projection(at, plane), progress)
    whole = inputs.stored_map(read[0], models[0], PairOptions(layer=at, special_tokens=special))
    _save(pair_view(found[0], at, chosen, shown_plane, tint, pair_references.among(whole, found[0]), found, read[0]), out)


def _few(names: list[str]) -> list[str]:
    unique = list(dict.fromkeys(names))
    if len(unique) > MOST:
        raise DataError("--model", f"must name at most {MOST} models", str(len(unique)), "leave some out")
    return unique


def _numbers(option: str, text: str) -> frozenset[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise DataError(option, "must be token numbers separated by commas", shown(text), "write 3,5")
    return frozenset(map(int, parts))


def _save(view: View, out: Path) -> None:
    from components.html_export import html_page

    size = write_text(out, html_page(view))
    typer.echo(f"{out}: {size / 1e6:.1f} MB, one file; opens without a network.", err=True)
