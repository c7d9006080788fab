"""``poolscope train``: contrastive training by a recipe, measured as it goes."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from app.cli.progress import terminal_progress
from app.settings import settings
from components.errors import Cancelled
from components.types import Interval


def train(
    recipe: Annotated[Path, typer.Argument(help="A YAML file: model, pairs, loss, dims, steps ... (see the README).")],
    out: Annotated[Path | None, typer.Option(help="Folder for the model; default: the recipe's name. A stopped run of the "
                                                  "same recipe there goes on.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the evaluation as one JSON object.")] = False,
) -> None:
    """Train a model by a recipe; Ctrl-C stops it so that the same command goes on from there."""
    from components.recipes import read_recipe
    from components.training_pipeline import run_training

    read = read_recipe(recipe)
    target = out or recipe.with_suffix("")
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        with terminal_progress() as progress:
            evaluation = run_training(read, target, store=settings().open_store(), progress=progress, cancelled=stop)
    except Cancelled as error:
        typer.echo("poolscope: stopped; the same command goes on from here.", err=True)
        raise SystemExit(130) from error
    finally:
        signal.signal(signal.SIGINT, before)
    if json_:
        typer.echo(json.dumps(evaluation, ensure_ascii=False, allow_nan=False))
        return
    typer.echo(f"{target}: {evaluation['steps']:,} steps in {evaluation['seconds']:.0f} s, final loss "
               f"{evaluation['final_loss']:.4f}.")
    first, last = evaluation["before"], evaluation["after"]
    typer.echo(f"Mean SOCM of {last['n_pairs']:,} pairs {_of(first['socm'])} -> {_of(last['socm'])}.")
    for dim, found in (last.get("retrieval") or {}).items():
        typer.echo(f"Recall@10 at {dim} dims {_of(first['retrieval'][dim]['recall'])} -> {_of(found['recall'])}.")


def _of(value: dict[str, float | int | str | None]) -> str:
    found = Interval(**value)  # type: ignore[arg-type]
    return f"{found.value:.3f}" + (f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None else "")
