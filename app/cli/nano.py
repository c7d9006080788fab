"""``poolscope nano``: makes the small models that come with the project, from Debian's texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import terminal_progress

cli = typer.Typer(no_args_is_help=True, help="Make the small teaching models that come with the project.")


@cli.callback()
def _group() -> None:
    """Keeps ``build`` a subcommand while it is the only one."""


@cli.command()
def build(
    out: Annotated[Path, typer.Option(help="Folder for the models and, below text/, what they are made from.")],
    seed: Annotated[int, typer.Option(min=0, help="Of weights, order and pairs.")] = 0,
    backbone: Annotated[Path | None, typer.Option(help="A finished backbone to start from.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each tuned model.")] = 400,
) -> None:
    """Make backbone, contrastive, CLS, MRL and MIC models (about an hour on two cores) and a card for each.

    Needs the Debian packages wordnet-base and python3-doc. Stopped, it goes on where it was.
    """
    from components.nano import build_family, evaluate, write_card, write_text

    with terminal_progress() as progress:
        progress(0, 0, "Reading WordNet and the Python documentation")
        text = write_text(out / "text", seed=seed)
        origin = f"Made by `poolscope nano build`, seed {seed}."
        for name, folder, seconds in build_family(out, text, seed=seed, steps=steps, backbone=backbone, progress=progress):
            if (folder / "README.md").is_file():  # its card is written last
                continue
            progress(0, 0, f"Measuring {name}")
            figures = evaluate(folder, text)
            write_card(folder, figures, seconds, origin)
            typer.echo(f"{name}: mean SOCM {figures['socm']['value']:.3f}, Recall@10 at 16 dims "
                       f"{figures['retrieval']['16']['recall']['value']:.3f}, {seconds:.0f} s")
