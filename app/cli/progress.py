"""A progress line on a terminal, nothing when the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from components.types import Progress as ProgressCallable
from components.types import no_progress


@contextmanager
def terminal_progress() -> Iterator[ProgressCallable]:
    """Yields a progress callable that draws on standard error when that is a terminal."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                  console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Starting", total=None)
        stage = ""

        def progress(done: int, total: int, message: str) -> None:
            nonlocal stage
            if message != stage:
                bar.reset(task, description=message)
                stage = message
            bar.update(task, completed=done, total=total or None)

        yield progress
