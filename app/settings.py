"""Every setting, read once from environment variables that begin with POOLSCOPE_.

Lists are separated by commas; an empty variable counts as unset. A value that cannot be used is reported in one sentence
naming the variable.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from components.corpora import ReadLimits
from components.errors import DataError, shown
from components.models import EMBEDDED
from components.store import ResultStore, default_store_root

LOOPBACK = ("127.0.0.1", "::1", "localhost")
Names = Annotated[tuple[str, ...], NoDecode]
HOSTED: dict[str, float | int] = {"time_limit": 120.0, "max_queue": 30, "max_own_jobs": 2, "max_file_mb": 5.0, "max_texts": 2_000,
                                  "max_text_chars": 4_000, "max_states_mb": 10.0, "max_upload_mb": 10.0, "store_max_gb": 1.0}
"""What a hosted server limits unless its own variables say otherwise."""


class Settings(BaseSettings):
    """The settings; each field's variable is POOLSCOPE_ and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="POOLSCOPE_", frozen=True, env_ignore_empty=True)

    store: Path = Field(default_factory=default_store_root, description="folder of stored results")
    store_max_gb: float = Field(4.0, gt=0, allow_inf_nan=False, description="size at which the longest unused results are dropped")
    models: Names = Field((), description="models offered beside the embedded one: folders or cached ids")
    texts: Names = Field((), description="text files offered beside the bundled corpora")
    retrieval_sets: Names = Field((), description="folders with queries, documents and qrels offered beside the bundled sets")
    device: str = Field("auto", description="auto, cpu, cuda or mps")
    allow_remote_code: Names = Field((), description="model ids whose own code may run")
    time_limit: float = Field(900.0, gt=0, allow_inf_nan=False, description="seconds after which a page's computation is stopped")
    max_queue: int = Field(20, ge=1, description="computations that may wait")
    max_own_jobs: int = Field(10, ge=1, description="computations that one session may have waiting or running")
    max_file_mb: float = Field(50.0, ge=0.0001, allow_inf_nan=False)
    max_texts: int = Field(100_000, ge=2)
    max_text_chars: int = Field(100_000, ge=1)
    max_states_mb: float = Field(100.0, ge=0.0001, allow_inf_nan=False, description="size of a file of token states, unpacked")
    max_upload_mb: float = Field(100.0, ge=0.0001, allow_inf_nan=False, description="what one session's own data may have in all")
    hosted: bool = Field(False, description="the server is not its visitors' own: nothing of theirs enters its store")
    keep_texts: bool = Field(False, description="the store may keep tokens of a visitor's own texts; never when hosted")
    allow_models: bool | None = Field(None, description="visitors may name models; unset: on a server that only this machine reaches")

    @field_validator("models", "texts", "retrieval_sets", "allow_remote_code", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _smaller_when_hosted(cls, given: Any) -> Any:
        hosted = str(given.get("hosted", "")).strip().lower() in ("1", "true", "t", "yes", "y", "on")
        return {**HOSTED, **given} if hosted else given

    @property
    def store_max_bytes(self) -> int:
        return int(self.store_max_gb * 1024**3)

    @property
    def model_names(self) -> tuple[str, ...]:
        """Models that pages offer, the embedded one first."""
        return (EMBEDDED, *(name for name in self.models if name != EMBEDDED))

    @property
    def limits(self) -> ReadLimits:
        return ReadLimits(max_file_bytes=int(self.max_file_mb * 1_000_000), max_texts=self.max_texts,
                          max_text_chars=self.max_text_chars)

    @property
    def max_states_bytes(self) -> int:
        return int(self.max_states_mb * 1_000_000)

    @property
    def max_upload_bytes(self) -> int:
        return int(self.max_upload_mb * 1_000_000)

    def models_allowed(self, address: str | None) -> bool:
        """Whether visitors may name models: as the owner says, else where the server listens to this machine alone."""
        if self.allow_models is not None:
            return self.allow_models
        return not self.hosted and address in LOOPBACK

    def open_store(self) -> ResultStore:
        return ResultStore(self.store, self.store_max_bytes)


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process.

    Raises:
        DataError: a variable's value cannot be used.
    """
    try:
        return Settings()  # type: ignore[call-arg]
    except ValidationError as error:
        first = error.errors()[0]
        name = "POOLSCOPE_" + "_".join(str(part) for part in first["loc"]).upper()
        raise DataError(name, "must be usable", f"{shown(first.get('input', ''))} ({first['msg']})",
                        "mend or unset the variable") from error
