"""Runs ``poolscope`` for tests: in this process, which is quick, or as a real one."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from app.cli import main
from app.settings import settings

ROOT = Path(__file__).parents[2]
LINES = ("the cat sat on the mat .", "a dog ran far", "rain in the home", "the dogs ran home , far in the rain .", "a cat",
         "the cat ran", "dog on the mat", "far , far home", "rain", "a mat in the rain .")


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


def call(*arguments: str, **environment: str) -> Result:
    """Runs the command's entry point in this process, as if with these arguments and this environment."""
    out, err, show = io.StringIO(), io.StringIO(), warnings.showwarning
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    settings.cache_clear()
    # A test run that was itself started in the background ignores Ctrl-C, and a command started there does too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with patch.dict(os.environ, environment), patch.object(sys, "argv", ["poolscope", *arguments]), \
                patch.object(sys, "stdin", io.StringIO()), \
                redirect_stdout(out), redirect_stderr(err):
            main()
        code: int | str | None = 0
    except SystemExit as end:
        code = end.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        warnings.showwarning = show
        settings.cache_clear()
    return Result(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())


def refused(place: Path, *arguments: str, code: int = 1, **environment: str) -> str:
    """Runs what must fail with one sentence, and leave folder and store as they were; returns the sentence."""
    before = contents(place)
    result = call(*arguments, **environment)
    assert result.code == code, result
    assert result.out == "" and "Traceback" not in result.err
    lines = result.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("poolscope: ") and lines[0].endswith("."), result.err
    assert contents(place) == before
    return lines[0].removeprefix("poolscope: ")


def contents(place: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes, links and folders by name."""
    return {str(p.relative_to(place)): str(p.readlink()) if p.is_symlink() else p.read_bytes() if p.is_file() else "folder"
            for p in place.rglob("*")}


def start(*arguments: str, code: str = "", **options: object) -> subprocess.Popen[str]:
    """Starts the command as a process of its own; ``code`` runs in it first."""
    command = [sys.executable, "-c", f"{code}\nfrom app.cli import main\nmain()", *arguments] if code else \
        [sys.executable, "-m", "app.cli.run", *arguments]
    given: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(command, text=True, env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
                            **given)  # type: ignore[call-overload,no-any-return]


def run(*arguments: str, code: str = "", **options: object) -> Result:
    """Runs the command as a process of its own to its end."""
    process = start(*arguments, code=code, **options)
    out, err = process.communicate(timeout=120)
    return Result(process.returncode, out or "", err or "")
