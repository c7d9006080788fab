"""Errors a user can act on: one sentence with the argument, the rule, the value found and the way out.

The command line and the pages print ``str(error)`` as it is, so the sentence is written once, where the fault is seen.
"""

from __future__ import annotations

MAX_SHOWN = 80


def shown(value: object) -> str:
    """A value found in bad input, cut to one short printable line."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


class PoolscopeError(Exception):
    """Base of the errors whose text is meant for a user.

    Args:
        argument: what was given, in the user's words ("--layer", "TEXTS file notes.csv").
        rule: what it has to be, as a verb phrase ("must lie in 0..6").
        found: what was found instead.
        way_out: what to do about it, as an imperative.
    """

    def __init__(self, argument: str, rule: str, found: str, way_out: str) -> None:
        self.argument, self.rule, self.found, self.way_out = argument, rule, found, way_out
        super().__init__(f"{argument} {rule}; found {found}: {way_out}.")

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        return type(self), (self.argument, self.rule, self.found, self.way_out)


class DataError(PoolscopeError):
    """Texts, pairs, numbers or options that cannot be used as they are."""


class ModelError(PoolscopeError):
    """A model that cannot be found, trusted or run."""


class StoreError(PoolscopeError):
    """The result store cannot be read or written."""


class Cancelled(Exception):
    """The work was given up because its cancel event was set; nothing was stored."""
