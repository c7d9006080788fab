"""Reads the Dockerfile: instructions in order, with their continued lines joined."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Instruction:
    """One instruction: its word in capitals and the rest of the line."""

    word: str
    rest: str


def instructions(path: Path = ROOT / "Dockerfile") -> list[Instruction]:
    """Every instruction of the file."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Instruction(*re.split(r"\s+", line.strip(), maxsplit=1)) for line in joined.splitlines() if line.strip()]


def environment() -> dict[str, str]:
    """The variables that the image sets."""
    return dict(part.split("=", 1) for one in instructions() if one.word == "ENV" for part in shlex.split(one.rest))


def start_command() -> list[str]:
    """The image's CMD, in its exec form."""
    found = next(one.rest for one in instructions() if one.word == "CMD")
    return [str(part) for part in json.loads(found)]
