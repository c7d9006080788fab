"""``poolscope nano``: makes the small models that come with the project, from Debian's texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import terminal_progress
from components.types import Interval

cli = typer.Typer(no_args_is_help=True, help="Make the small teaching models that come with the project.")


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


@cli.command()
def settings(
    out: Annotated[Path, typer.Option(help="Folder for the runs and settings.csv; text/ in it as in nano build.")],
    backbone: Annotated[Path, typer.Option(help="A finished backbone to start from.")],
    steps: Annotated[int, typer.Option(min=1, help="Steps of each trial.")] = 200,
) -> None:
    """Compare the settings of each tuned model, as many for each, on the development half alone."""
    from components.nano import write_text
    from components.nano_settings import compare

    with terminal_progress() as progress:
        progress(0, 0, "Reading WordNet and the Python documentation")
        for row in compare(out, backbone, write_text(out / "text"), steps=steps, progress=progress):
            typer.echo(", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                                 for name, value in row.items()))


@cli.command()
def table(
    folders: Annotated[list[Path], typer.Argument(help="Folders of nano build, one for each seed.")],
    out: Annotated[Path, typer.Option(help="Folder for seeds.csv and differences.csv.")],
) -> None:
    """Write each figure's mean over seeds with an interval, and what one model gains on another."""
    import csv

    from components.nano_table import differences, read_seeds, table

    seeds = read_seeds(folders)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "seeds.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "quantity", "mean", "low", "high", *(f"seed_{k}" for k in range(len(folders)))])
        writer.writerows([row.model, row.quantity, *_ends(row.over_seeds), *(f"{value:.6g}" for value in row.values)]
                         for row in table(seeds))
    with (out / "differences.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "minus", "quantity", "mean", "low_over_seeds", "high_over_seeds", "low_over_questions",
                         "high_over_questions"])
        writer.writerows([row.model, row.other, row.quantity, *_ends(row.over_seeds),
                          *(_ends(row.over_questions)[1:] if row.over_questions else ("none", "none"))] for row in differences(seeds))
    typer.echo(f"{out / 'seeds.csv'}: {len(folders)} seeds.")


def _ends(value: Interval) -> tuple[str, str, str]:
    return f"{value.value:.6g}", *("none" if end is None else f"{end:.6g}" for end in (value.low, value.high))  # type: ignore[return-value]
