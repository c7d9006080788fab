"""What every exported view says of itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from components.html_export import Number

Told = tuple[str, float | None, str, str]


def headline(numbers: Iterable[Told]) -> tuple[Number, ...]:
    """A page's headline numbers without their hovers."""
    return tuple(Number(label, value, below) for label, value, below, _ in numbers)


def command(view: str, options: Sequence[tuple[str, str | bool | None]]) -> str:
    """The command that makes a view again; what is False, None or empty is left out.

    Args:
        options: flag -> value, in order; True is a bare flag.
    """
    parts = ["poolscope", "export", view]
    for flag, value in options:
        if value is True:
            parts.append(flag)
        elif value:
            # An option's value may begin with a hyphen, which would be read as another option.
            parts += [f"{flag}={shlex.quote(value)}"] if value.startswith("-") else [flag, shlex.quote(value)]
    return " ".join([*parts, "--out", f"{view}.html"])
