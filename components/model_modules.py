"""What a model's files put after pooling: Dense and LayerNorm with their weights, and whether the prompt is pooled too.

Read from modules.json, in its order. Weights come as safetensors only. A module of a kind that is not known here is reported, so
that nobody takes the vectors without it for the model's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.errors import ModelError, shown
from components.models import ModelRef, leads_outside, read_json
from components.types import FloatArray

KNOWN = ("Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout")


@dataclass(frozen=True)
class AfterPooling:
    """The modules after pooling.

    Attributes:
        names: kinds in their order, without Normalize: ("Dense",).
        apply: takes pooled vectors (n_texts, dim) to those after these modules.
        pools_prompt: the prompt's tokens are pooled like others.
        unknown: kinds that are not known here.
    """

    names: tuple[str, ...]
    apply: Callable[[FloatArray], FloatArray]
    pools_prompt: bool = True
    unknown: tuple[str, ...] = ()


def after_pooling(ref: ModelRef) -> AfterPooling:
    """The modules that a model's files put after pooling.

    Raises:
        ModelError: a file that is not JSON, a path that leads outside, pickled or missing weights, an activation that is no
            module of torch.
    """
    listed = read_json(ref.folder / "modules.json", default=[])
    kinds = [(str(m.get("type", "")).rsplit(".", 1)[-1], str(m.get("path", ""))) for m in listed if isinstance(m, dict)]
    pooling = next((path for kind, path in kinds if kind == "Pooling"), "1_Pooling")
    config = {} if leads_outside(pooling) else read_json(ref.folder / pooling / "config.json", default={})
    layers = [(kind, _load(kind, path, ref)) for kind, path in kinds if kind in ("Dense", "LayerNorm")]

    def apply(vectors: FloatArray) -> FloatArray:
        if not layers:
            return vectors
        import torch

        with torch.inference_mode():
            features = {"sentence_embedding": torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))}
            for _, layer in layers:
                features = layer(features)
        return np.asarray(features["sentence_embedding"].numpy())

    return AfterPooling(tuple(kind for kind, _ in layers), apply, bool(config.get("include_prompt", True)),
                        tuple(kind for kind, _ in kinds if kind not in KNOWN))


def _load(kind: str, path: str, ref: ModelRef) -> Any:
    called = f"module {shown(path)} of model {ref.model_id}"
    if leads_outside(path):
        raise ModelError("modules.json", "must name folders inside the model", shown(path), "mend the file")
    if not (ref.folder / path / "model.safetensors").is_file():
        pickled = (ref.folder / path / "pytorch_model.bin").is_file()
        raise ModelError(called, "must have its weights as safetensors", "only pickled weights, which can run code when opened"
                         if pickled else "none", "save the model again with sentence-transformers' save_pretrained")
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import LayerNorm

    try:
        return (Dense if kind == "Dense" else LayerNorm).load(str(ref.folder), subfolder=path, local_files_only=True).eval()
    except Exception as error:
        raise ModelError(called, "must load with sentence-transformers", f"{type(error).__name__}: {shown(str(error))}",
                         "save the model again") from error


def has_pooler(ref: ModelRef, subfolder: str) -> bool:
    """Whether the weights hold a trained pooler (transformers fills a missing one with random numbers)."""
    for file in (ref.folder / subfolder).glob("*.safetensors"):
        with file.open("rb") as handle:
            size = int.from_bytes(handle.read(8), "little")
            header = handle.read(min(size, 50_000_000))
        if b'pooler.dense.weight"' in header:
            return True
    return False
