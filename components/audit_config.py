"""A configuration against its model's files, key by key; nothing is computed.

What both state has to agree. A width to cut at is the team's own choice. What the files do not say cannot be checked, which counts
only for the pooling: without one there is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from components.embedding_config import EmbeddingConfig, pooling_name
from components.errors import shown
from components.models import Declared, ModelRef

CLEAN, DEPARTS, UNKNOWN = "clean", "departs", "unknown"
EXIT_CODES = {CLEAN: 0, DEPARTS: 1, UNKNOWN: 2}
SAME, DIFFERS, NOT_STATED, CHOICE, MISSING, FILES = "same", "differs", "not stated", "a choice", "missing", "as the files say"


@dataclass(frozen=True)
class Check:
    """One key of the configuration beside the model's files."""

    key: str
    configured: str
    files: str
    source: str
    status: str


def check_config(config: EmbeddingConfig, ref: ModelRef, stated: Declared, full_dim: int) -> list[Check]:
    """Every key that either side states. ``full_dim`` is the width of the model's vectors before any cut."""
    lists_modules = (ref.folder / "modules.json").is_file()
    pooling = pooling_name(stated.pooling) if stated.pooling else None
    prompts = {k: v for k, v in (stated.prompts or {}).items() if v}
    own = {k: v for k, v in (config.prompts or {}).items() if v}
    revision = SAME if config.revision and _same_revision(config.revision, ref) else DIFFERS
    rows = [_check("revision", config.revision, ref.revision, "the model's files", revision if config.revision else None)]
    rows.append(_check("pooling", config.pooling, pooling, stated.pooling_source or "no 1_Pooling/config.json",
                       None if not config.pooling else NOT_STATED if not pooling else SAME if config.pooling == pooling else DIFFERS))
    if not config.pooling and not pooling:
        rows[-1] = Check("pooling", "–", "–", "no 1_Pooling/config.json", MISSING)
    rows.append(_check("normalize", config.normalize, stated.normalize if lists_modules else None,
                       "modules.json" if lists_modules else "no modules.json", None if config.normalize is None else
                       NOT_STATED if not lists_modules else SAME if config.normalize == stated.normalize else DIFFERS))
    rows.append(_check("prompts", own or ("none" if config.prompts is not None else None), prompts or None,
                       "config_sentence_transformers.json: prompts", None if config.prompts is None or own == prompts else
                       NOT_STATED if not prompts else DIFFERS))
    rows.append(_check("max_seq_len", config.max_seq_len, stated.max_length, "sentence_bert_config.json: max_seq_length",
                       None if config.max_seq_len is None else NOT_STATED if stated.max_length is None else
                       SAME if config.max_seq_len == stated.max_length else DIFFERS))
    if config.truncate_dim is not None:
        rows.append(Check("truncate_dim", str(config.truncate_dim), f"at most {full_dim}", "width of the model's vectors",
                          CHOICE if config.truncate_dim <= full_dim else DIFFERS))
    return [row for row in rows if row.configured != "–" or row.files != "–" or row.status == MISSING]


def _same_revision(given: str, ref: ModelRef) -> bool:
    own = ref.revision.removeprefix("sha256:")
    short = given.removeprefix("sha256:").lower()
    return len(short) >= 7 and own.startswith(short)


def _check(key: str, configured: object, files: object, source: str, status: str | None) -> Check:
    def text(value: object) -> str:
        if isinstance(value, Mapping):
            return shown(", ".join(f"{name}: {prompt!r}" for name, prompt in value.items()))
        return "–" if value is None else str(value).lower() if isinstance(value, bool) else shown(value) if not isinstance(value, str) \
            else value

    return Check(key, text(configured), text(files), source if files is not None else "", status or FILES)


def config_sentences(checks: Sequence[Check]) -> list[str]:
    """What to change in the configuration, one sentence for each key that departs."""
    found = []
    for check in checks:
        if check.status == DIFFERS:
            if check.key == "truncate_dim":
                found.append(f"truncate_dim is {check.configured}, but the model's vectors have {check.files.removeprefix('at most ')} "
                             "dims: lower it or leave it out.")
            else:
                found.append(f"{check.key} is {check.configured}, but the model's files say {check.files} ({check.source}): set "
                             f"{check.key}: {check.files}.")
    return found


def overall(checks: Sequence[Check], vectors: str | None) -> str:
    """One verdict from the configuration's checks and the vectors' verdict, if there are vectors."""
    if vectors == DEPARTS or any(check.status == DIFFERS for check in checks):
        return DEPARTS
    if vectors is not None:
        return vectors
    unclear = [check for check in checks if check.status == MISSING or (check.key == "pooling" and check.status == NOT_STATED)]
    return UNKNOWN if unclear else CLEAN


def checks_as_dicts(checks: Sequence[Check]) -> list[dict[str, str]]:
    return [asdict(check) for check in checks]
