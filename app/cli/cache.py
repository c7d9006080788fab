"""``poolscope cache``: list, check and clear the stored results that pages and commands share."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.settings import settings

cli = typer.Typer(no_args_is_help=True, help="List, check or clear stored results.")


@cli.command("list")
def list_() -> None:
    """List the stored results, last used first."""
    store = settings().open_store()
    entries = sorted(store.entries(), key=lambda entry: entry.used, reverse=True)
    table = Table(title=f"{len(entries)} stored results, {sum(e.bytes for e in entries) / 1e6:,.1f} MB")
    for column in ("kind", "key", "model", "texts", "parameters", "MB", "last used"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        used = entry.used.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
        params = ", ".join(f"{k}={v}" for k, v in entry.key.params.items())
        table.add_row(entry.key.kind, entry.key.digest[:12], entry.key.model_id, entry.key.corpus_digest[:12],
                      params, f"{entry.bytes / 1e6:.1f}", used)
    Console().print(table)


@cli.command()
def verify() -> None:
    """Check every stored result against its checksum; exit code 3 when one is damaged."""
    store = settings().open_store()
    problems = store.verify()
    for problem in problems:
        typer.echo(f"{problem.file}: {problem.sentence}")
    typer.echo(f"{len(list(store.entries()))} results read, {len(problems)} findings.")
    # What a killed process left behind has been cleaned up by now; it is reported, but it is no damage.
    if any(not problem.removed for problem in problems):
        raise typer.Exit(3)


@cli.command()
def clear(yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Delete every stored result."""
    if not yes:
        typer.confirm("Delete every stored result?", abort=True)
    count, size = settings().open_store().clear()
    typer.echo(f"{count} results deleted, {size / 1e6:,.1f} MB.")
