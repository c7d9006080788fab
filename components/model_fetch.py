"""Fetches a model that somebody named into the local cache, in the worker, where it can be watched and cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.models import resolve_model
from components.store import ResultKey, ResultStore
from components.types import CancelEvent, Progress


def fetch_key(name: str) -> ResultKey:
    """What the job is found by; nothing is stored under it."""
    return ResultKey("model", "0" * 64, name, "", {}, 1)


def run_fetch(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: configuration, tokenizer and safetensors weights of a Hugging Face id, into the hub's own cache.

    Raises:
        ModelError: not reachable, or no weights as safetensors.
    """
    progress(0, 0, f"Fetching {args['model']} from the Hugging Face hub")
    resolve_model(args["model"], download=True)
    return fetch_key(args["model"]).digest
