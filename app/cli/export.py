"""``poolscope export VIEW``: a view as one HTML file that opens anywhere, from stored or computed results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.export_files import check_html, write_text
from app.cli.progress import terminal_progress
from app.settings import settings
from components.errors import DataError
from components.types import FINAL, Layer

if TYPE_CHECKING:
    from components.html_export import View

cli = typer.Typer(no_args_is_help=True, help="Save a view as one HTML file: figures interactive, tables sortable, no network needed.")

Model = Annotated[str, typer.Option(help="A bundled model, a folder, or a Hugging Face id.")]
Texts = Annotated[str, typer.Option(help="A bundled corpus, or a .txt, .csv, .tsv, .jsonl or .parquet file.")]
Column = Annotated[str | None, typer.Option(help="Column that holds the texts.")]
Revision = Annotated[str | None, typer.Option(help="Commit or tag of a Hugging Face id.")]
Out = Annotated[Path, typer.Option(help="The HTML file to write.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
LayerName = Annotated[str, typer.Option(help=f"A layer from 0, or {FINAL}: what pooling sees.")]
NoSpecial = Annotated[bool, typer.Option("--no-special-tokens", help="Leave out [CLS], [SEP], <s> ...")]
USUAL_MODEL, USUAL_TEXTS = "all-MiniLM-L6-v2", "encyclopedia"


@cli.callback()
def _group() -> None:
    """Keeps views subcommands while there is only one."""


@cli.command("map")
def map_(
    out: Out, model: Model = USUAL_MODEL, texts: Texts = USUAL_TEXTS, column: Column = None, revision: Revision = None,
    layer: LayerName = FINAL, no_special_tokens: NoSpecial = False,
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

    first = inputs.Given(model, texts, column, revision, device or settings().device)
    chosen, drawn = inputs.pair_filter(tokens, label, relation), inputs.plane(plane, quantity, labelled)
    second = None
    if vs_model or vs_texts or vs_layer:
        second = inputs.Given(vs_model or model, vs_texts or texts, column if not vs_texts else None,
                              revision if not vs_model else None, first.device)
    corner = inputs.box(box)
    with terminal_progress() as progress:
        sides = [inputs.map_data(first, _layer(layer), not no_special_tokens, chosen, progress)]
        over = [inputs.labelled_pairs(first, _layer(layer), not no_special_tokens, progress)] if labelled else []
        if second:
            sides.append(inputs.map_data(second, _layer(vs_layer or layer), not no_special_tokens,
                                         chosen if second.texts == first.texts else inputs.EVERYTHING, progress))
            over += [inputs.labelled_pairs(second, _layer(vs_layer or layer), not no_special_tokens, progress)] if labelled else []
    _save(map_view(sides, drawn, corner, over), out)


def _layer(text: str) -> Layer:
    if text == FINAL:
        return FINAL
    try:
        return int(text)
    except ValueError:
        raise DataError("--layer", f"must be a number from 0 or {FINAL!r}", repr(text), "choose a layer") from None


def _save(view: View, out: Path) -> None:
    from components.html_export import html_page

    size = write_text(out, html_page(view))
    typer.echo(f"{out}: {size / 1e6:.1f} MB, one file; opens without a network.", err=True)
