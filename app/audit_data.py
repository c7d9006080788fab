"""What the Audit page shows: the configuration's checks at once, and the report on uploaded vectors from the store.

Uploads are read here, so that a file that cannot be used is told at once; the worker gets their bytes with its request, since they
have no path. Only the report is stored, under a digest of the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd

from app import private, resources, results
from app.results import Request
from app.settings import settings
from components.audit_options import AuditOptions
from components.audit_pipeline import audit_config, audit_key, side_of
from components.audit_words import STATUS_WORDS
from components.charts.audit_distances import CandidateDistance
from components.embedding_config import EmbeddingConfig, config_of, parse_config
from components.errors import DataError, shown
from components.files import ReadLimits
from components.inline_texts import inline_files
from components.models import ModelRef

Files = Mapping[str, tuple[str, bytes]]
"""Role ("vectors", "texts", "against_vectors", "against_texts") -> (file name, bytes)."""


@dataclass(frozen=True)
class Configured:
    """The configuration under audit: the model in the menu, with what an uploaded embedding.yaml says of it."""

    config: EmbeddingConfig
    ref: ModelRef
    model_name: str
    uploaded: bool


def configured(model_name: str, upload: tuple[str, bytes] | None) -> Configured:
    """The configuration of an upload, or what the model's files say.

    Raises:
        DataError: the file cannot be used, or names a model that this server does not offer.
    """
    if upload is None:
        ref = results.model(model_name)
        return Configured(config_of(ref, model_name), ref, model_name, False)
    config = parse_config(upload[1], upload[0])
    names = resources.model_names()
    # A path is never taken from an upload: a model is one of the menu's names, or what stands behind one.
    known = next((name for name, source in names.items() if config.model in (name, source, f"sentence-transformers/{name}")), None)
    if known is None:
        raise DataError("model in the configuration", "must be one that this server offers", shown(config.model),
                        f"choose one of {', '.join(names)}, or use poolscope audit on your own machine")
    return Configured(config, results.model(known), known, True)


def checked(at: Configured) -> dict[str, Any]:
    """The report on the configuration alone."""
    return audit_config(at.config, at.ref)


def request(at: Configured, files: Files, options: AuditOptions) -> Request:
    """What to ask for so that the report on these files lies in the store.

    Raises:
        DataError: a file that cannot be used, in the sentence that the command line gives.
    """
    own = settings()
    key = audit_key({role: data for role, (_, data) in files.items()}, at.config, at.ref, options)
    args = {"model": resources.model_names()[at.model_name], "config": at.config.as_yaml(), "options": asdict(options),
            "limits": asdict(own.limits), "device": own.device, "allow_remote_code": list(own.allow_remote_code), "digest": key.digest}
    # Read once for a session: every run of the page comes by here.
    rows = private.session().kept(("audited", key.digest), lambda: _rows(files, options, own.limits))
    return Request(key, "audit", args, f"Audit {rows:,} vectors", 8 + 0.02 * min(rows, options.rows), partial(inline_files, files))


def _rows(files: Files, options: AuditOptions, limits: ReadLimits) -> int:
    """How many vectors the files hold, all of which can be used."""
    given = side_of(files, "", options.column, limits)
    side_of(files, "against_", None, limits)
    assert given is not None
    return len(given.vectors)


def report(wanted: Request) -> Mapping[str, Any] | None:
    """The stored report, or None when it has to be computed first."""
    found = results.stored(wanted)
    return None if found is None else found.meta


def distances(side: Mapping[str, Any]) -> list[CandidateDistance]:
    """The nearest candidates of one file, for the figure."""
    return [CandidateDistance(one["words"], one["median"], one["max"], one["reproduced"], side["n_compared"]) for one in side["tried"]]


def checks_table(report: Mapping[str, Any]) -> pd.DataFrame:
    """Configuration beside the model's files."""
    def short(text: str) -> str:
        return f"{text[:17]}…" if text.startswith("sha256:") or len(text) == 40 else text

    return pd.DataFrame([{"Key": c["key"], "Result": STATUS_WORDS.get(c["status"], c["status"]), "Configured": short(c["configured"]),
                          "Model's files": short(c["files"]), "Read from": c["source"]} for c in report["checks"]])


def tried_table(side: Mapping[str, Any]) -> pd.DataFrame:
    """Candidates in full digits."""
    return pd.DataFrame([{"Setting": one["words"], "Median distance": one["median"], "Largest distance": one["max"],
                          "Rows reproduced": one["reproduced"], "of": side["n_compared"]} for one in side["tried"]])
