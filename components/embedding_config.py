"""``embedding.yaml``: how a team makes its vectors, written down once and checked against the model's own files.

    embedding:
      model: all-MiniLM-L6-v2
      revision: 53aa5117
      pooling: mean
      normalize: true
      prompts: {query: "query: ", document: "passage: "}
      max_seq_len: 256
      truncate_dim: 128

The top key may be left out. A key that is absent says nothing: what the model's files declare then holds. The file is data,
never code; what is wrong with it is said in one sentence before anything is loaded.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError, field_validator

from components.errors import DataError, shown
from components.files import DEFAULT_LIMITS, ReadLimits, decode, read_file, shown_path
from components.models import POOLING_NAMES, Declared, ModelRef, declared
from components.plain_yaml import plain_mapping

TOP = "embedding"
MAX_CONFIG_BYTES = 100_000
POOLINGS = ("mean", "cls", "lasttoken", "max", "mean_sqrt_len", "weightedmean")
"""Names of sentence-transformers' poolings, without the ending "_tokens"."""
_ALIASES = {**POOLING_NAMES, "last_token": "lasttoken", "lasttoken_tokens": "lasttoken", "weighted_mean": "weightedmean"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
MAX_PROMPTS, MAX_PROMPT_CHARS = 100, 10_000


def pooling_name(name: str) -> str:
    """The pooling under the name used here: "last_token" and "lasttoken" are one; several are joined by "+"."""
    return "+".join(_ALIASES.get(part.strip().lower(), part.strip().lower()) for part in name.split("+"))


class EmbeddingConfig(BaseModel):
    """How vectors are made; None where the file says nothing.

    Attributes:
        model: embedded default, bundled small model, folder or Hugging Face id.
        revision: commit, branch or tag of an id; of a folder its digest, or the beginning of it.
        pooling: one of ``POOLINGS``, or several joined by "+" (their vectors one after the other).
        normalize: vectors are divided by their length at the very end.
        prompts: name -> text put in front of a text.
        max_seq_len: tokens after which a text is cut, special ones included.
        truncate_dim: only the first coordinates of a vector are kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    model: StrictStr = Field(min_length=1, max_length=1000)
    revision: StrictStr | None = Field(default=None, min_length=1, max_length=200)
    pooling: StrictStr | None = None
    normalize: StrictBool | None = None
    prompts: dict[StrictStr, StrictStr] | None = None
    max_seq_len: StrictInt | None = Field(default=None, ge=1, le=10_000_000)
    truncate_dim: StrictInt | None = Field(default=None, ge=1, le=1_000_000)

    @field_validator("pooling", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = "+".join(value)
        if not isinstance(value, str):
            return value
        name = pooling_name(value)
        parts = name.split("+")
        if unknown := [part for part in parts if part not in POOLINGS]:
            near = difflib.get_close_matches(unknown[0], POOLINGS, 1)
            raise ValueError(f"must be one of {', '.join(POOLINGS)}" + (f" (nearest: {near[0]})" if near else ""))
        if len(set(parts)) != len(parts):
            raise ValueError("must name each pooling once")
        return name

    @field_validator("model", "revision", "prompts")
    @classmethod
    def _printable(cls, value: Any) -> Any:
        texts = [*value, *value.values()] if isinstance(value, dict) else [value or ""]
        if isinstance(value, dict) and len(value) > MAX_PROMPTS:
            raise ValueError(f"must hold at most {MAX_PROMPTS} prompts")
        if any(len(text) > MAX_PROMPT_CHARS for text in texts):
            raise ValueError(f"must be at most {MAX_PROMPT_CHARS:,} characters long")
        if any(_CONTROL.search(text) for text in texts):
            raise ValueError("must be printable text without NUL and control characters")
        return value

    def as_yaml(self) -> str:
        """The file, with the top key and without what it says nothing of."""
        plain = {name: value for name, value in self.model_dump(mode="json").items() if value is not None}
        return str(yaml.safe_dump({TOP: plain}, sort_keys=False, allow_unicode=True, width=10_000))


KEYS = tuple(EmbeddingConfig.model_fields)


def is_config(name: str) -> bool:
    """Whether a command's argument names a configuration rather than a model."""
    return name.lower().endswith((".yaml", ".yml"))


def read_config(path: str | Path) -> EmbeddingConfig:
    """The configuration in a file; a model that is a folder beside the file is meant from there.

    Raises:
        DataError: no such file, too large, not plain YAML, an unknown key, a value of the wrong type or out of range.
    """
    file = Path(path)
    limits = ReadLimits(max_file_bytes=MAX_CONFIG_BYTES)
    data = read_file(file, f"configuration {shown_path(path)}", limits, "check the path, or write one with poolscope config MODEL")
    config = parse_config(data, file.name)
    beside = file.resolve().parent / config.model
    if not Path(config.model).is_absolute() and (config.model.startswith(".") or beside.is_dir()):
        return config.model_copy(update={"model": str(beside)})
    return config


def parse_config(data: bytes | str, name: str = "embedding.yaml") -> EmbeddingConfig:
    """The configuration in a file's bytes or text.

    Raises:
        DataError: as ``read_config``.
    """
    called = f"configuration {shown_path(name)}"
    size = len(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    if size > MAX_CONFIG_BYTES:
        raise DataError(called, f"must have at most {MAX_CONFIG_BYTES:,} bytes", f"{size:,}", "keep the seven keys only")
    text = decode(data, called) if isinstance(data, bytes) else data
    found = plain_mapping(text, called, "pooling: mean")
    if TOP in found:
        if beside := [key for key in found if key != TOP]:
            raise DataError(f"{called}: {shown(beside[0])}", f"must stand below the top key {TOP!r}", "it beside it",
                            f"indent it below {TOP}, or leave {TOP} out")
        found = found[TOP]
        if not isinstance(found, dict):
            raise DataError(f"{called}: {TOP}", "must hold keys with values", "nothing" if found is None else shown(found),
                            "write model: and the other keys below it, indented")
    for key in found:
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, 1, 0.5)
            raise DataError(f"{called}: {shown(key)}", "is no key of an embedding configuration", shown(found[key]),
                            (f"did you mean {near[0]}? " if near else "") + f"the keys are {', '.join(KEYS)}")
    try:
        return EmbeddingConfig.model_validate(found)
    except ValidationError as error:
        raise _sentence(called, error, found) from error


_RULES = {"missing": "must be given", "string_type": "must be text", "bool_type": "must be true or false",
          "int_type": "must be a whole number", "dict_type": "must be names with texts", "string_too_short": "must not be empty"}


def _sentence(called: str, error: ValidationError, given: Mapping[Any, Any]) -> DataError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]") or "keys"
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    rule = _RULES.get(first["type"], message if message.startswith("must") else f"must be usable ({message})")
    found = "nothing" if first["type"] == "missing" else f"{shown(first.get('input'))} of type {_kind(first.get('input'))}"
    ways = {"missing": "write it, as in model: all-MiniLM-L6-v2", "string_type": "put it into quotes"}
    way_out = ways.get(first["type"], f"mend {key.split('.')[0]}")
    return DataError(f"{called}: {shown(key) if len(key) > 40 else key}", rule, found, way_out)


def _kind(value: object) -> str:
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "list": "list", "dict": "mapping",
            "NoneType": "nothing"}.get(type(value).__name__, type(value).__name__)


def config_of(ref: ModelRef, name: str | None = None) -> EmbeddingConfig:
    """What a model's own files say, as a configuration.

    Args:
        name: how to write the model; None takes its name (of a folder the last part of its path).
    """
    return filled(EmbeddingConfig(model=name or ref.model_id), ref)


def filled(config: EmbeddingConfig, ref: ModelRef, stated: Declared | None = None) -> EmbeddingConfig:
    """The configuration with what the model's files declare wherever it says nothing."""
    stated = stated or declared(ref.folder)
    pooling = pooling_name(stated.pooling) if stated.pooling else None
    files = {"revision": ref.revision, "pooling": pooling if pooling and set(pooling.split("+")) <= set(POOLINGS) else None,
             "normalize": stated.normalize if (ref.folder / "modules.json").is_file() else None,
             "prompts": dict(stated.prompts) if stated.prompts else None, "max_seq_len": stated.max_length}
    return config.model_copy(update={key: value for key, value in files.items() if getattr(config, key) is None})


def write_config(config: EmbeddingConfig, path: Path) -> None:
    """Writes the file whole or not at all; nothing that is there is replaced.

    Raises:
        DataError: the path is taken, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(config.as_yaml())
    except FileExistsError:
        raise DataError("--out", "must not replace a file", shown_path(path), "choose another name, or move that file away") from None
    except (OSError, ValueError) as error:
        raise DataError("--out", "must lie in a folder that can be written", f"{shown_path(path)} ({error})",
                        "choose another folder") from error


__all__ = ["DEFAULT_LIMITS", "KEYS", "POOLINGS", "EmbeddingConfig", "config_of", "filled", "is_config", "parse_config",
           "pooling_name", "read_config", "write_config"]
