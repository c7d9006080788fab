"""Dense modules that some models apply to the pooled vector, read from their safetensors without running any code.

sentence-transformers names a layer's activation by the path of its class; only torch's own activations are taken.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from components.errors import ModelError, shown
from components.models import ModelRef
from components.types import FloatArray

_ACTIVATIONS = "torch.nn.modules.activation."
_IDENTITY = "torch.nn.modules.linear.Identity"


@dataclass(frozen=True)
class Dense:
    """x -> activation(x W^T + b); weight (out, in) and bias (out,) in float32, ``activation`` a class name of torch.nn."""

    weight: FloatArray
    bias: FloatArray
    activation: str

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """(n, in) -> (n, out) float32."""
        import torch

        out = np.asarray(vectors, np.float32) @ self.weight.T + self.bias
        with torch.inference_mode():
            return np.asarray(getattr(torch.nn, self.activation)()(torch.from_numpy(out)).numpy())


def dense_layers(ref: ModelRef) -> tuple[Dense, ...]:
    """The Dense modules that modules.json lists, in order.

    Raises:
        ModelError: a module whose files cannot be read, or whose activation is not torch's own.
    """
    from safetensors.numpy import load_file

    file = ref.folder / "modules.json"
    modules = json.loads(file.read_text("utf-8")) if file.is_file() else []
    out = []
    for module in modules:
        path = str(module.get("path", ""))
        if str(module.get("type", "")).rsplit(".", 1)[-1] != "Dense":
            continue
        if ".." in path or path.startswith("/"):
            raise ModelError("modules.json", "must name folders inside the model", shown(path), "mend the file")
        try:
            config = json.loads((ref.folder / path / "config.json").read_text("utf-8"))
            weights = load_file(ref.folder / path / "model.safetensors")
            weight = np.asarray(weights["linear.weight"], np.float32)
        except Exception as error:
            raise ModelError(f"module {shown(path)} of model {ref.model_id}", "must hold config.json and model.safetensors",
                             type(error).__name__, "fetch or save the model again") from error
        named = str(config.get("activation_function", _ACTIVATIONS + "Tanh"))
        if named != _IDENTITY and not (named.startswith(_ACTIVATIONS) and named.removeprefix(_ACTIVATIONS).isidentifier()):
            raise ModelError(f"module {shown(path)} of model {ref.model_id}", "must use an activation of torch's own", shown(named),
                             "choose another model")
        bias = np.asarray(weights.get("linear.bias", np.zeros(len(weight))), np.float32)
        out.append(Dense(weight, bias, named.rsplit(".", 1)[-1]))
    return tuple(out)
