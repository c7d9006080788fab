"""One way to make vectors, and what it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from components.audit_match import BEFORE_CUT, NO, UNSEEN, YES

__all__ = ["BEFORE_CUT", "NO", "UNSEEN", "YES", "Setting", "pooling_words"]

POOLING_WORDS = {"mean": "mean pooling", "cls": "CLS pooling (the first token)", "lasttoken": "last-token pooling",
    "max": "max pooling",
                 "mean_sqrt_len": "mean pooling by the root of the length", "weightedmean": "mean pooling weighted by position",
                 "mean_without_special": "mean pooling without special tokens", "pooler_output": "the pooler's output (a head that was "
                 "trained for another task)", "mean_unmasked": "unmasked mean pooling (padding is averaged in)"}


@dataclass(frozen=True)
class Setting:
    """How vectors were made.

    Attributes:
        pooling: of ``embedding_config.POOLINGS`` (joined by "+"), or "mean_without_special", "pooler_output", "mean_unmasked".
        normalize: "yes", "no", "before the cut" (normalised at full width, then cut) or "cannot be seen".
        prompt: name of the prompt; empty for none.
        max_seq_len: tokens after which texts were cut; None when no text of the file was.
        truncate_dim: width when it is less than the model's; None otherwise.
        precision: "float32", "float16", "bfloat16", "4 decimals", "int8, ...", "binary".
        modules: the modules after pooling were applied (True also when there are none).
        padding: of an unmasked mean, to what the texts were padded.
    """

    pooling: str
    normalize: str = YES
    prompt: str = ""
    max_seq_len: int | None = None
    truncate_dim: int | None = None
    precision: str = "float32"
    modules: bool = True
    padding: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Setting:
        return cls(**data)

    def differences(self, other: Setting) -> list[str]:
        """Names of what differs. What cannot be seen in one of them differs from nothing."""
        found = [name for name in ("pooling", "prompt", "max_seq_len", "truncate_dim", "modules")
                 if getattr(self, name) != getattr(other, name)]
        if UNSEEN not in (self.normalize, other.normalize) and self.normalize != other.normalize:
            found.append("normalize")
        if self.precision.split(",")[0] != other.precision.split(",")[0]:
            found.append("precision")
        return found

    def with_(self, **changes: Any) -> Setting:
        return replace(self, **changes)

    @property
    def words(self) -> str:
        """The setting in one line."""
        norm = {YES: "normalised", NO: "not normalised", BEFORE_CUT: "normalised before the cut", UNSEEN: "normalisation not visible"}
        parts = [pooling_words(self.pooling), norm[self.normalize], f"prompt {self.prompt!r}" if self.prompt else "no prompt"]
        if self.padding:
            parts.insert(1, self.padding)
        if self.max_seq_len is not None:
            parts.append(f"cut at {self.max_seq_len} tokens")
        if self.truncate_dim is not None:
            parts.append(f"first {self.truncate_dim} dims")
        if not self.modules:
            parts.append("without the modules after pooling")
        return ", ".join([*parts, self.precision])


def pooling_words(name: str) -> str:
    return POOLING_WORDS.get(name) or " beside ".join(POOLING_WORDS.get(part, part) for part in name.split("+"))
