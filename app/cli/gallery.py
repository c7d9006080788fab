"""``poolscope gallery``: the results that come with the project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import terminal_progress
from app.settings import settings

cli = typer.Typer(no_args_is_help=True, help="Build the results that come with the project.")


@cli.callback()
def _group() -> None:
    """Keeps ``build`` a subcommand while it is the only one."""


@cli.command()
def build(out: Annotated[Path | None, typer.Option(help="Folder to write; default data/gallery.")] = None) -> None:
    """Compute the bundled corpora's results under the bundled models and write them to data/gallery."""
    from components.gallery import GALLERY_DIR, build_gallery

    with terminal_progress() as progress:
        for model, what, size in build_gallery(settings().open_store(), out or GALLERY_DIR, progress=progress):
            typer.echo(f"{model}: {what}, {size / 1e6:.2f} MB")
