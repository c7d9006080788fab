"""The command ``poolscope``: one file per subcommand; this one joins them and turns errors into sentences.

Exit codes: 0 done; 1 the input cannot be used (the sentence says why); 2 wrong usage of the command; 3 something
stored is damaged (``cache verify``); 70 an internal error; 130 stopped by the user. ``audit`` has its own three: 0 clean, 1 departs,
2 could not tell.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings

import typer

from app.cli import audit, cache, export, export_site, gallery, layers, nano, pairs, pooling, serve, train, truncation
from components.errors import PoolscopeError
from components.store import StoreWarning

cli = typer.Typer(name="poolscope", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="See what pooling throws away: how text-embedding models turn tokens into one vector.")
cli.command("serve")(serve.serve)
cli.command("pairs")(pairs.pairs)
cli.command("layers")(layers.layers)
cli.command("pooling")(pooling.pooling)
cli.command("truncation")(truncation.truncation)
cli.command("train")(train.train)
cli.command("config")(audit.config)
cli.command("audit")(audit.audit)
cli.command("export-site")(export_site.export_site)
cli.add_typer(cache.cli, name="cache")
cli.add_typer(export.cli, name="export")
cli.add_typer(gallery.cli, name="gallery")
cli.add_typer(nano.cli, name="nano")


def _stop(*_: object) -> None:
    # Not KeyboardInterrupt, which typer would turn into a bare "Aborted.".
    typer.echo("poolscope: stopped; nothing unfinished was stored.", err=True)
    sys.exit(130)


def main() -> None:
    """Entry point: a user's error is one sentence on standard error and exit code 1, never a traceback."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a job in the background of a script is not to be stopped
        signal.signal(signal.SIGINT, _stop)
    show = warnings.showwarning
    # A sentence for the user, without the line of source that Python prints below.
    warnings.showwarning = lambda message, category, *where: typer.echo(f"warning: {message}", err=True) \
        if issubclass(category, StoreWarning) else show(message, category, *where)
    try:
        cli()
    except PoolscopeError as error:
        typer.echo(f"poolscope: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output went away (``| head``): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("POOLSCOPE_DEBUG"):
            raise
        typer.echo(f"poolscope: an internal error stopped the command ({type(error).__name__}: {error}); "
                   "set POOLSCOPE_DEBUG=1 to see where, and please report it.", err=True)
        sys.exit(70)
