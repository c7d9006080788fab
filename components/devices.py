"""Where a model runs."""

from __future__ import annotations

import torch

from components.errors import ModelError, shown


def choose_device(device: str) -> str:
    """The torch device to use; "auto" takes CUDA, then MPS, then CPU.

    Raises:
        ModelError: a device that is not here.
    """
    there = ["cpu"]
    if torch.cuda.is_available():
        there.append("cuda")
    if torch.backends.mps.is_available():
        there.append("mps")
    if device == "auto":
        return there[-1]
    if device.split(":")[0] not in there:
        raise ModelError("device", f"must be auto or one of {', '.join(there)} on this machine", shown(device),
                         "choose one of these")
    return device
