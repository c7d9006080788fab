"""What an audit expects of vectors beside the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from components.errors import DataError, shown

MOST_ROWS = 1_000
PRECISIONS = ("float32", "float16", "bfloat16", "int8", "binary")


@dataclass(frozen=True)
class AuditOptions:
    """What is expected beside the configuration.

    Attributes:
        prompt: name of the prompt that these texts should have; None for any that the model's files allow.
        against_prompt: the same for the second file.
        precision: of the stored vectors.
        rows: texts that are encoded at the most, evenly through the file.
        column: of the texts; None finds it.
    """

    prompt: str | None = None
    against_prompt: str | None = None
    precision: str = "float32"
    rows: int = MOST_ROWS
    column: str | None = None

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise DataError("--precision", f"must be one of {', '.join(PRECISIONS)}", shown(self.precision), "choose one of these")
        if type(self.rows) is not int or self.rows < 8:
            raise DataError("--rows", "must be a whole number from 8", shown(self.rows), "leave it out for 1,000")
