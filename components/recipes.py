"""A training recipe: one YAML file that says everything a run depends on.

The file is data, never code: plain YAML only, every key known, every value in its range. What is wrong is said in one
sentence before anything is loaded.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from components.errors import DataError, shown
from components.plain_yaml import OnceLoader

MAX_RECIPE_BYTES = 100_000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class MicTerms(_Strict):
    """MIC's terms on top of Matryoshka; nothing of this is public, see ``losses.MICLoss``."""

    layers: tuple[int | Literal["final"], ...] | dict[int | Literal["final"], tuple[int, ...]] = ("final",)
    gamma: float = Field(default=3.0, ge=0)
    tau: float = Field(default=0.02, ge=0)
    lambda_var: float = Field(default=0.0, ge=0)
    special_tokens: bool = True


class Probe(_Strict):
    """What is measured before the first step, every ``every`` steps and at the end."""

    every: int = Field(default=50, ge=1, description="steps")
    texts: str = Field(default="encyclopedia", description="bundled corpus or file of texts: SOCM, spread, effective dims")
    n_texts: int = Field(default=100, ge=2, le=2000, description="texts taken, evenly through the corpus")
    retrieval: str | None = Field(default=None, description="file of pairs; none: pairs held out from training")
    held_out: int = Field(default=200, ge=2, le=5000, description="pairs held out when there is no retrieval file")


class Recipe(_Strict):
    """Everything a training run depends on; defaults are those of a short run on two cores.

    Attributes:
        model: embedded default, bundled nano model, folder or Hugging Face id.
        pairs, text_a, text_b: file of pairs and its two columns (None: see ``corpora.load_pairs``).
        loss: base loss, with ``temperature`` and, when ``symmetric``, from each side to the other.
        dims: Matryoshka's truncation dims, ascending; empty for none.
        mic: MIC's terms, or None.
        steps, batch, lr, warmup, seed: of AdamW with a linear schedule (or constant).
        pooling: "mean" or "cls"; "declared" keeps what the model's files say.
        max_length: tokens after which a text is cut; None keeps the model's own.
        half: store the weights in float16 (half the size).
        bf16: multiply in bfloat16 while training (faster where the processor has it); weights and losses stay float32.
        group_by_length: batches of pairs of like length, see ``batch_order``; False takes them at random.
    """

    model: str = Field(min_length=1)
    pairs: str = Field(min_length=1)
    text_a: str | None = None
    text_b: str | None = None
    loss: Literal["MultipleNegativesRankingLoss", "CachedMultipleNegativesRankingLoss"] = "MultipleNegativesRankingLoss"
    temperature: float = Field(default=0.05, gt=0, le=10)
    symmetric: bool = True
    dims: tuple[int, ...] = ()
    mic: MicTerms | None = None
    steps: int = Field(default=200, ge=1, le=1_000_000)
    batch: int = Field(default=32, ge=2, le=65_536)
    lr: float = Field(default=2e-5, gt=0, lt=1)
    warmup: int = Field(default=0, ge=0)
    schedule: Literal["linear", "constant"] = "linear"
    weight_decay: float = Field(default=0.0, ge=0, lt=1)
    seed: int = Field(default=0, ge=0, lt=2**32)
    pooling: Literal["mean", "cls", "declared"] = "mean"
    max_length: int | None = Field(default=None, ge=3)
    device: str = "auto"
    half: bool = False
    bf16: bool = False
    group_by_length: bool = True
    probe: Probe = Probe()

    @field_validator("dims")
    @classmethod
    def _ascending(cls, dims: tuple[int, ...]) -> tuple[int, ...]:
        if any(d < 1 for d in dims) or list(dims) != sorted(set(dims)):
            raise ValueError("must be ascending whole numbers from 1")
        return dims

    @model_validator(mode="after")
    def _together(self) -> Recipe:
        if self.mic is not None and not self.dims:
            raise ValueError("mic needs dims, the truncation dims it is about")
        if (self.text_a is None) != (self.text_b is None):
            raise ValueError("text_a and text_b must be given together")
        if self.warmup >= self.steps and self.warmup:
            raise ValueError("warmup must be shorter than steps")
        return self

    @property
    def digest(self) -> str:
        """Names the recipe in the log and in the store; where the run is computed is no part of it."""
        plain = json.dumps(self.model_dump(mode="json", exclude={"device"}), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(plain.encode()).hexdigest()

    def as_yaml(self) -> str:
        return str(yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True))


def read_recipe(file: Path) -> Recipe:
    """The recipe in a YAML file; relative files in it are meant from the recipe's own folder.

    Raises:
        DataError: no such file, not plain YAML, an unknown key, a value out of range.
    """
    called = f"recipe {shown(file.name)}"
    try:
        size = file.stat().st_size
        if size > MAX_RECIPE_BYTES:
            raise DataError(called, f"must be smaller than {MAX_RECIPE_BYTES:,} bytes", f"{size:,}",
                            "name the pairs file in it instead of its contents")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(called, "must be a readable UTF-8 file", getattr(error, "strerror", None) or type(error).__name__,
                        "check the path") from error
    recipe = parse_recipe(text, called)
    beside = file.resolve().parent
    updates: dict[str, Any] = {"pairs": _beside(beside, recipe.pairs)}
    if recipe.model.startswith((".", "/", "~")) or (beside / recipe.model).is_dir():
        updates["model"] = _beside(beside, recipe.model)
    updates["probe"] = recipe.probe.model_copy(update={
        "texts": _beside(beside, recipe.probe.texts),
        "retrieval": None if recipe.probe.retrieval is None else _beside(beside, recipe.probe.retrieval)})
    return recipe.model_copy(update=updates)


def parse_recipe(text: str, called: str = "recipe") -> Recipe:
    """The recipe in a YAML text.

    Raises:
        DataError: as ``read_recipe``.
    """
    try:
        found = yaml.load(text, Loader=OnceLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise DataError(called, "must be plain YAML", f"{getattr(error, 'problem', None) or type(error).__name__}{where}",
                        "mend that line; tags such as !!python are not read") from error
    except (RecursionError, ValueError, TypeError) as error:
        raise DataError(called, "must be plain YAML", type(error).__name__, "write one key a line") from error
    if not isinstance(found, dict):
        raise DataError(called, "must be keys with values, as in 'steps: 200'", type(found).__name__, "write one key a line")
    try:
        return Recipe.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "keys"
        rule = {"extra_forbidden": "is no key of a recipe", "missing": "must be given"}.get(
            first["type"], first["msg"].removeprefix("Value error, "))
        way_out = f"the keys are {', '.join(Recipe.model_fields)}" if first["type"] == "extra_forbidden" else \
            f"mend {key} in the recipe"
        given = "nothing" if first["type"] == "missing" else shown(first.get("input", ""))
        raise DataError(f"{called}: {key}", _as_rule(rule), given, way_out) from error


def _as_rule(message: str) -> str:
    """Pydantic's message as a verb phrase."""
    for start in ("Input should be ", "Input should "):
        if message.startswith(start):
            return ("must be " if start.endswith("be ") else "must ") + message.removeprefix(start)
    return message if message.startswith(("must", "is ", "mic ", "text_a", "warmup")) else f"must be usable ({message})"


def _beside(folder: Path, name: str) -> str:
    path = Path(name).expanduser()
    return str(folder / path) if not path.is_absolute() and (folder / path).exists() else name
