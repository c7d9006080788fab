"""The audit: a configuration against its model's files, and given vectors against both.

A verdict is "clean", "departs" or "unknown", each with sentences that say what was found and what to change. Vectors that the
configured setting reproduces are clean even where the model's files say nothing; a configuration that differs from the files
departs whatever the vectors say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from components.audit_search import MIXED, NONE, ONE, PADDED, PARTLY, SHUFFLED, Found
from components.audit_setting import NO, UNSEEN, YES, Setting, pooling_words
from components.embedding_config import EmbeddingConfig, filled, pooling_name
from components.errors import shown
from components.files import listed
from components.models import Declared, ModelRef

CLEAN, DEPARTS, UNKNOWN = "clean", "departs", "unknown"
EXIT_CODES = {CLEAN: 0, DEPARTS: 1, UNKNOWN: 2}
SAME, DIFFERS, NOT_STATED, CHOICE, MISSING, FILES = "same", "differs", "not stated", "a choice", "missing", "as the files say"
DOCUMENT_NAMES = ("document", "passage", "corpus", "doc", "search_document", "text")
NEAR = 0.05
"""Relative distance up to which vectors that nothing reproduces are called near."""


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


def expected_setting(config: EmbeddingConfig, ref: ModelRef, stated: Declared, full_dim: int,
                     precision: str = "float32") -> Setting | None:
    """The setting that configuration and files together ask for; None where neither names a pooling."""
    whole = filled(config, ref, stated)
    if whole.pooling is None:
        return None
    cut = whole.truncate_dim if whole.truncate_dim is not None and whole.truncate_dim < full_dim else None
    return Setting(whole.pooling, YES if whole.normalize else NO, "", whole.max_seq_len, cut, precision)


def usual_prompts(config: EmbeddingConfig, stated: Declared, chosen: str | None) -> tuple[dict[str, str], set[str]]:
    """Prompts to try (name -> text, the expected first, "" for none), and the names that are as they should be.

    Without ``chosen``, the model's default prompt is expected if it has one; else any of the prompts, and none unless the
    documents' side has a prompt too.
    """
    prompts = {name: text for name, text in {**(stated.prompts or {}), **(config.prompts or {})}.items() if text}
    every = {"": ""} | prompts
    if chosen is not None:
        right = {chosen} if chosen in prompts else {""}
    elif stated.default_prompt in prompts and config.prompts is None:
        right = {str(stated.default_prompt)}
    else:
        both = any(name in DOCUMENT_NAMES for name in prompts) and len(set(prompts.values())) > 1
        right = set(prompts) if both else {"", *prompts}
    order = [name for name in every if name in right] + [name for name in every if name not in right]
    texts: dict[str, str] = {}
    for name in order:
        if every[name] not in texts.values():
            texts[name] = every[name]
    return texts, right


def judge(found: Found, expected: Setting | None, right_prompts: set[str]) -> str:
    """The verdict on vectors."""
    if found.outcome == NONE:
        return UNKNOWN
    if found.outcome != ONE:
        return DEPARTS
    if expected is None:
        return UNKNOWN
    settings = [found.parts[0].setting, *found.alike]
    return CLEAN if any(not departures(s, expected, right_prompts, found.longest) for s in settings) else DEPARTS


def departures(setting: Setting, expected: Setting, right_prompts: set[str], longest: int) -> list[str]:
    """What differs from what is expected; a length at which no text is cut differs from none."""
    limit = expected.max_seq_len if expected.max_seq_len is not None and longest > expected.max_seq_len else None
    return [name for name in setting.differences(expected.with_(max_seq_len=limit))
            if name != "prompt" or setting.prompt not in right_prompts]


def vector_sentences(found: Found, expected: Setting | None, right: set[str], n: int, model_id: str) -> tuple[list[str], list[str]]:
    """(what was found, what to change)."""
    says, changes = [], []
    rows = f"all {len(found.rows):,} rows" if len(found.rows) == n else f"the {len(found.rows):,} of {n:,} rows that were compared"
    if found.outcome in (ONE, PADDED, SHUFFLED):
        setting = found.parts[0].setting
        says.append(f"One setting gives {rows}: {setting.words}.")
        if found.order is not None:
            order = found.order
            first = ", ".join(f"text {order.texts[k] + 1} at row {order.found[k] + 1}" for k in order.moved[:3])
            says.append(f"Rows stand elsewhere: {len(order.moved):,} of {len(order.texts):,} texts looked for have their vector at "
                        f"another row, {order.kind} ({first}, counted from 1).")
            changes.append("Put the vectors back into the order of the texts" + (": undo the sort that batching made."
                           if order.kind.startswith("sorted") else "; every answer from this index belongs to another text."))
        if expected is not None:
            changes += [_change(name, setting, expected) for name in departures(setting, expected, right, found.longest)]
        same = [s for s in found.alike if s.differences(setting)]
        if same:
            says.append(f"On these texts {'it gives' if len(same) == 1 else 'they give'} the same: {'; '.join(s.words for s in same[:3])}. "
                        + _apart(setting, same))
        if found.padding is not None and found.padding.others:
            says.append(f"The same widths follow from: {'; '.join(found.padding.others[:3])}.")
    elif found.outcome in (MIXED, PARTLY):
        says += [f"{len(part.rows):,} rows follow {part.setting.words} ({_runs(part.rows)})." for part in found.parts]
        if len(found.unexplained):
            says.append(f"{len(found.unexplained):,} rows follow no setting that was tried ({_runs(found.unexplained)}): their texts may "
                        "have changed since, or another model or revision made them.")
        changes.append("Make all vectors anew with one setting; distances between rows of different settings mean nothing.")
    else:
        says += _none(found, model_id)
        changes.append("Name the model and revision that made these vectors, and check that the texts are the ones they were made from.")
    return says, changes


def _none(found: Found, model_id: str) -> list[str]:
    if not found.tried:
        return [f"No setting of {model_id} gives vectors of this width: another model made them."]
    best = found.tried[0]
    distance = float(np.median(best.error))
    says = [f"No setting of {model_id} that was tried gives these vectors. The nearest is {best.setting.words}: relative distance "
            f"{distance:.3g} in the median over {len(found.rows):,} rows, {float(best.error.max()):.3g} at most."]
    says.append("So near, the weights may be of another revision, or the model was run in lower precision (float16, bfloat16, TF32): "
                "these vectors cannot tell which." if distance < NEAR else
                "That is far: another model, another revision, or other texts.")
    return says


def _change(name: str, setting: Setting, expected: Setting) -> str:
    limit = setting.max_seq_len
    return {
        "pooling": f"Change the pooling to {expected.pooling} ({pooling_words(expected.pooling)}): the vectors come from "
                   f"{pooling_words(setting.pooling)}." + (" Pass the attention mask to the mean, or vectors depend on their batch."
                                                           if setting.padding else ""),
        "normalize": "Divide each vector by its length as the last step: they are "
                     + ("normalised before the cut only." if setting.normalize not in (YES, NO) else "not normalised.")
                     if expected.normalize == YES else "Leave the vectors' lengths as they are: they were normalised.",
        "prompt": f"Put the prompt in front of the texts that the configuration asks for: the vectors have "
                  f"{f'the prompt {setting.prompt!r}' if setting.prompt else 'none'}.",
        "max_seq_len": f"Cut texts at {expected.max_seq_len} tokens: the vectors come from texts "
                       + (f"cut at {limit}." if limit is not None else "that were not cut."),
        "truncate_dim": f"Keep {expected.truncate_dim or 'all'} dims: the vectors have {setting.truncate_dim or 'all'}.",
        "modules": "Apply the modules that the model's files put after pooling (Dense): the vectors lack them.",
        "precision": f"Store the vectors as {expected.precision}, or say that they are meant to be {setting.precision.split(',')[0]}: they "
                     f"are {setting.precision}.",
    }[name]


def _apart(setting: Setting, alike: Sequence[Setting]) -> str:
    ways = set()
    for other in alike:
        for name in setting.differences(other):
            ways.add({"max_seq_len": "longer texts would tell the lengths apart",
                      "pooling": "normalised vectors cannot tell a mean from a mean by the root of the length, and it does not matter"
                      if ({setting.pooling, other.pooling} == {"mean", "mean_sqrt_len"} and UNSEEN in (setting.normalize, other.normalize))
                      or setting.normalize == YES else "longer texts would tell the poolings apart",
                      "normalize": "vectors of another length would tell whether they were normalised",
                      "prompt": "other texts would tell the prompts apart"}.get(name, "more texts would tell them apart"))
    said = "; ".join(sorted(ways))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _runs(rows: Any) -> str:
    """``rows 1 to 500`` where they follow each other, else the first few, counted from 1."""
    rows = np.sort(np.asarray(rows))
    if len(rows) > 2 and rows[-1] - rows[0] == len(rows) - 1:
        return f"rows {rows[0] + 1:,} to {rows[-1] + 1:,}"
    return f"rows {listed([int(row) + 1 for row in rows])}"


def overall(checks: Sequence[Check], vectors: str | None) -> str:
    """One verdict from the configuration's checks and the vectors' verdict, if there are vectors."""
    if vectors == DEPARTS or any(check.status == DIFFERS for check in checks):
        return DEPARTS
    if vectors is not None:
        return vectors
    return UNKNOWN if any(check.status == MISSING or (check.key == "pooling" and check.status == NOT_STATED) for check in checks) else CLEAN


def found_as_dict(found: Found) -> dict[str, Any]:
    """The finding as JSON; texts are no part of it."""
    return {"outcome": found.outcome, "parts": [{"setting": p.setting.as_dict(), "words": p.setting.words, "n": len(p.rows),
                                                 "rows": [int(r) for r in p.rows[:1000]]} for p in found.parts],
            "alike": [s.words for s in found.alike], "n_compared": len(found.rows),
            "unexplained": [int(r) for r in found.unexplained[:1000]], "n_unexplained": len(found.unexplained), "longest": found.longest,
            "order": None if found.order is None else {"kind": found.order.kind, "n_moved": len(found.order.moved)},
            "padding": None if found.padding is None else {"words": found.padding.words, "batch_size": found.padding.batch_size},
            "tried": [{"words": t.setting.words, "median": float(np.median(t.error)), "max": float(t.error.max()),
                       "reproduced": int(t.ok.sum()), "reproduces": bool(t.ok.all()), "pooling": t.setting.pooling} for t in found.tried]}


def checks_as_dicts(checks: Sequence[Check]) -> list[dict[str, str]]:
    return [asdict(check) for check in checks]
