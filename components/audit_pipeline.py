"""From a configuration, texts and vectors to a report; the model is loaded only when there are vectors.

The worker's task takes the files that travel with its request, since uploads lie in memory and have no path. What is stored is
the report: settings, distances and row numbers, no text and no vector.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from components.audit_options import AuditOptions
from components.audit_texts import RowTexts, read_row_texts
from components.embedding_config import EmbeddingConfig, config_of, filled, parse_config
from components.errors import DataError
from components.files import DEFAULT_LIMITS, ReadLimits
from components.models import ModelRef, declared, hidden_size, resolve_model
from components.result_key import canonical_json
from components.store import ResultKey, ResultStore
from components.types import CancelEvent, Progress, no_progress
from components.vector_files import Vectors, read_vectors

SCHEMA = 1
USUAL = AuditOptions()


@dataclass(frozen=True)
class VectorsOfTexts:
    """Vectors with the texts they were made from."""

    vectors: Vectors
    texts: RowTexts


def resolve_config(config: EmbeddingConfig, *, download: bool = False) -> ModelRef:
    """The configured model; a revision is looked up for an id of the hub and compared for all others."""
    try:
        return resolve_model(config.model, download=download)
    except Exception:
        if config.revision is None or config.revision.startswith("sha256:"):
            raise
        return resolve_model(config.model, revision=config.revision, download=download)


def audit_config(config: EmbeddingConfig, ref: ModelRef) -> dict[str, Any]:
    """The configuration against the model's files; nothing is computed.

    Returns:
        verdict, model, revision, config, checks, changes, corrected (a configuration by the model's files).
    """
    from components.audit_config import check_config, checks_as_dicts, config_sentences, overall

    stated = declared(ref.folder)
    checks = check_config(config, ref, stated, hidden_size(ref))
    files = config_of(ref, config.model)
    corrected = files.model_copy(update={"truncate_dim": config.truncate_dim, "prompts": files.prompts or config.prompts,
                                         "pooling": files.pooling or config.pooling,
                                         "normalize": config.normalize if files.normalize is None else files.normalize})
    changes = config_sentences(checks)
    missing = [c for c in checks if c.key == "pooling" and c.status in ("missing", "not stated")]
    if missing:
        changes.append("The model's files name no pooling, so that none can be checked: " + (
            "write pooling: into embedding.yaml." if missing[0].status == "missing" else "only vectors can tell."))
    return {"verdict": overall(checks, None), "model": ref.model_id, "revision": ref.revision, "config": config.model_dump(mode="json"),
            "checks": checks_as_dicts(checks), "changes": changes, "corrected": corrected.as_yaml(), "says": [], "vectors": None,
            "against": None, "between": None, "notes": [], "seconds": {}}


def audit(config: EmbeddingConfig, ref: ModelRef, given: VectorsOfTexts | None = None, against: VectorsOfTexts | None = None,
          options: AuditOptions = USUAL, *, qrels: Any = None, device: str = "auto", allow_remote_code: Sequence[str] = (),
          progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> dict[str, Any]:
    """The whole audit as a report (plain JSON).

    Args:
        given: vectors and their texts (of an index, when there are others to compare with).
        against: vectors of the same or other texts, made for queries.
        qrels: (query row, document row) pairs of relevant texts, for the cost between the two.

    Raises:
        DataError, ModelError: with a sentence.
    """
    start = time.perf_counter()
    report = audit_config(config, ref)
    if given is None:
        return report
    from components.audit_between import compare_sides
    from components.audit_config import CLEAN, DEPARTS, UNKNOWN, Check, overall
    from components.audit_side import audit_side
    from components.pipeline import timed_encoder

    encoder, seconds = timed_encoder(ref, device, tuple(allow_remote_code), progress)
    first = audit_side(given, config, encoder, options, options.prompt, progress=progress, cancelled=cancelled)
    report["vectors"], verdict, sides = first.report, first.report["verdict"], [first]
    report["says"], report["changes"] = [*first.says], [*report["changes"], *first.changes]
    if against is not None:
        second = audit_side(against, config, encoder, options, options.against_prompt, progress=progress,
                            cancelled=cancelled)
        sides.append(second)
        report["against"] = second.report
        between = compare_sides(given, against, first, second, qrels)
        report["between"] = between
        report["says"] = [f"{side.report['file']}: {text}" for side in sides for text in side.says] + between["says"]
        report["changes"] += [change for change in second.changes if change not in report["changes"]]
        verdicts = (verdict, second.report["verdict"])
        verdict = DEPARTS if between["differences"] or DEPARTS in verdicts else CLEAN if set(verdicts) == {CLEAN} else UNKNOWN
    report["verdict"] = overall([Check(**check) for check in report["checks"]], verdict)
    if (made := first.as_made(filled(config, ref))) is not None:
        report["as_made"] = made.as_yaml()
    report["notes"] = [note for side in sides for note in side.notes]
    report["seconds"] = {**seconds, "total": time.perf_counter() - start}
    return report


def audit_key(files: Mapping[str, bytes], config: EmbeddingConfig, ref: ModelRef, options: AuditOptions) -> ResultKey:
    """The key of a report on uploaded files."""
    digest = hashlib.sha256(b"poolscope-audit-1")
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    params = {"options": asdict(options), "config": config.model_dump(mode="json")}
    return ResultKey("audit", digest.hexdigest(), ref.model_id, ref.revision, params, SCHEMA)


def side_of(files: Mapping[str, tuple[str, bytes]], prefix: str, column: str | None,
            limits: ReadLimits = DEFAULT_LIMITS) -> VectorsOfTexts | None:
    """Vectors and texts among uploaded files, role -> (name, bytes); None without vectors."""
    if f"{prefix}vectors" not in files:
        return None
    vectors = read_vectors(*files[f"{prefix}vectors"], limits)
    texts = read_row_texts(*files[f"{prefix}texts"], column, limits)
    texts.rows_for(len(vectors))
    return VectorsOfTexts(vectors, texts)


def run_audit(args: Mapping[str, Any], *, store: ResultStore, progress: Progress, cancelled: CancelEvent) -> str:
    """The worker's task: args hold model, config (YAML text), options, limits, device, digest, and inline the files."""
    from components.inline_texts import files_of

    files = files_of(args)
    config, options = parse_config(args["config"]), AuditOptions(**args["options"])
    ref = resolve_model(args["model"])
    key = audit_key({role: data for role, (_, data) in files.items()}, config, ref, options)
    if key.digest != args["digest"]:
        raise DataError("files or model", "must stay as they are while a job waits", "a change since the page was drawn",
                        "reload the page and start again")
    limits = ReadLimits(**args["limits"])
    report = audit(config, ref, side_of(files, "", options.column, limits), side_of(files, "against_", None, limits), options,
                   device=args.get("device", "auto"), allow_remote_code=args.get("allow_remote_code", ()), progress=progress,
                   cancelled=cancelled)
    canonical_json(report)  # no NaN
    store.put(key, {"verdict": np.array([0])}, report, report["seconds"])
    return key.digest
