"""``poolscope serve``: starts the pages."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.settings import settings
from components.errors import DataError
from components.hub_datasets import is_hub_name
from components.models import EMBEDDED, resolve_model

ROOT = Path(__file__).resolve().parents[2]


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8501,
    model: Annotated[list[str] | None, typer.Option(help="Offer this model too: folder or id. May repeat.")] = None,
    texts: Annotated[list[Path] | None, typer.Option(help="Offer this file of texts too. May repeat.")] = None,
    in_frame: Annotated[bool, typer.Option("--in-frame", help="The pages stand in another site's frame (a Hugging Face Space): XSRF "
                                                              "protection off, or uploads fail there.")] = False,
) -> None:
    """Start the pages in a browser's reach; stop with Ctrl-C."""
    own = settings()
    models, files = list(own.models), list(own.texts)
    for name in model or []:
        resolve_model(name, download=True)
        models.append(str(Path(name).resolve()) if Path(name).is_dir() else name)
    for file in texts or []:
        if is_hub_name(str(file)):
            files.append(str(file))
            continue
        if not file.is_file():
            raise DataError("--texts", "must be a file", repr(str(file)), "check the path")
        files.append(str(file.resolve()))
    _refuse_used_port(host, port)
    environment = os.environ | {"POOLSCOPE_MODELS": ",".join(models), "POOLSCOPE_TEXTS": ",".join(files)}
    shown_host = "localhost" if host in ("127.0.0.1", "0.0.0.0") else host
    typer.echo(f"Poolscope opens at http://{shown_host}:{port} (model {EMBEDDED}"
               + (f" and {len(models)} more" if models else "") + "); Ctrl-C stops it.")
    os.chdir(ROOT)  # where .streamlit/config.toml lies
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app" / "server.py"),
               "--server.address", host, "--server.port", str(port), "--server.headless", "true"]
    if in_frame:
        command += ["--server.enableXsrfProtection", "false", "--server.enableCORS", "false"]
    if own.hosted:  # whatever the environment says: a traceback shows paths and code
        command += ["--client.showErrorDetails", "none", "--server.fileWatcherType", "none",
                    "--server.maxUploadSize", str(max(1, round(own.max_file_mb)))]
    os.execve(sys.executable, command, environment)


def _refuse_used_port(host: str, port: int) -> None:
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise DataError("--port", f"must be free on {host}", f"{port} ({error.strerror})",
                        "choose another with --port") from error
