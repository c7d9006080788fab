"""One file of vectors under the audit: which texts are compared, what is expected, what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from components.audit import expected_setting, found_as_dict, judge, usual_prompts, vector_sentences
from components.audit_search import LIMITS, NONE, ONE, Found, search
from components.audit_setting import YES, Setting
from components.audit_states import Candidates
from components.embedding_config import POOLINGS, EmbeddingConfig
from components.encoders import Encoder
from components.errors import DataError
from components.model_modules import after_pooling
from components.types import CancelEvent, Progress, no_progress

if TYPE_CHECKING:
    from components.audit_options import AuditOptions
    from components.audit_pipeline import VectorsOfTexts


@dataclass(frozen=True)
class Side:
    """What the audit of one file says."""

    report: dict[str, Any]
    found: Found
    says: tuple[str, ...]
    changes: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def setting(self) -> Setting | None:
        return self.found.parts[0].setting if self.found.outcome != NONE else None

    def as_made(self, config: EmbeddingConfig) -> EmbeddingConfig | None:
        """A configuration that describes the vectors as they are; None where a configuration cannot say it."""
        setting = self.setting
        if setting is None or self.found.outcome != ONE or not set(setting.pooling.split("+")) <= set(POOLINGS):
            return None
        return config.model_copy(update={"pooling": setting.pooling, "normalize": setting.normalize == YES,
                                         "truncate_dim": setting.truncate_dim,
                                         "max_seq_len": setting.max_seq_len or config.max_seq_len})


def audit_side(given: VectorsOfTexts, config: EmbeddingConfig, encoder: Encoder, options: AuditOptions, prompt: str | None, *,
               progress: Progress = no_progress, cancelled: CancelEvent | None = None) -> Side:
    """Compares vectors with what the model gives.

    Raises:
        DataError: as many vectors as neither rows nor texts, more dims than the model has, a prompt that nobody declares.
    """
    ref, stated = encoder.ref, encoder.declared
    after = after_pooling(ref)
    expected_pooling = (expected_setting(config, ref, stated, encoder.dim) or Setting("mean")).pooling
    full_dim = _width(after.apply(np.zeros((1, encoder.dim * (expected_pooling.count("+") + 1)), dtype=np.float32)), encoder.dim)
    vectors = given.vectors
    rows_of = given.texts.rows_for(len(vectors))
    texts = [given.texts.texts[row] or "" for row in rows_of]
    if vectors.dim > full_dim:
        raise DataError(f"vectors {vectors.name!r}", f"must have at most {full_dim:,} dims, as those of {ref.model_id} have",
                        f"{vectors.dim:,}", "name the model that made them")
    expected = expected_setting(config, ref, stated, full_dim, options.precision)
    prompts, right = usual_prompts(config, stated, prompt)
    declared_prompts = {**(stated.prompts or {}), **(config.prompts or {})}
    if prompt is not None and prompt not in declared_prompts:
        known = ", ".join(declared_prompts) or "none"
        raise DataError("--prompt", "must be the name of a prompt in the configuration or the model's files", repr(prompt),
                        f"choose one of: {known}")
    n = len(texts)
    rows = np.arange(n) if n <= options.rows else np.unique(np.linspace(0, n - 1, options.rows).astype(np.int64))
    joint = [expected_pooling] if "+" in expected_pooling else []
    candidates = Candidates(encoder, texts, rows, after, joint, progress, cancelled)
    limit = config.max_seq_len or encoder.max_length or candidates.room or max(LIMITS)
    stated_limit = [stated.max_length] if stated.max_length else []
    if expected is not None and expected.max_seq_len is None:
        expected = expected.with_(max_seq_len=limit)  # what the model itself takes
    found = search(vectors.values, candidates, prompts, limit, [*LIMITS, *stated_limit], full_dim, expected)
    says, changes = vector_sentences(found, expected, right, n, ref.model_id)
    verdict = judge(found, expected, right)
    if expected is None and found.outcome == ONE:
        changes.append("Neither configuration nor model files name a pooling to compare with: write it into embedding.yaml.")
    notes = [*vectors.notes, *given.texts.notes]
    if found.outcome == ONE and (most := config.max_seq_len or stated.max_length) and found.longest <= most:
        notes.append(f"No compared text of {vectors.name} is longer than {found.longest} tokens, so that max_seq_len {most} cannot be "
                     "checked with them.")
    if len(rows) < n:
        notes.append(f"{len(rows):,} of {n:,} rows of {vectors.name} were compared, evenly through the file; --rows compares more.")
    if after.unknown:
        notes.append(f"The model has modules that are not rebuilt here ({', '.join(after.unknown)}): vectors that they change match "
                     "nothing.")
    report = {"file": vectors.name, "n": n, "dim": vectors.dim, "stored": vectors.stored, "verdict": verdict,
              "expected": None if expected is None else expected.as_dict(), **found_as_dict(found)}
    return Side(report, found, tuple(says), tuple(changes), tuple(notes))


def _width(vectors: Any, least: int) -> int:
    return int(vectors.shape[1]) if vectors.shape[1] else least
