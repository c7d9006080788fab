"""What the search found, as a verdict and as sentences: what was found and what to change.

A verdict is "clean", "departs" or "unknown". Vectors that the configured setting reproduces are clean even where the model's files
say nothing; of several settings that give the same vectors on these texts, one that is as it should be is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.audit_config import CLEAN, DEPARTS, UNKNOWN
from components.audit_search import MIXED, NONE, ONE, PADDED, PARTLY, SHUFFLED, Found
from components.audit_setting import NO, UNSEEN, YES, Setting, pooling_words
from components.embedding_config import EmbeddingConfig, filled
from components.files import listed
from components.models import Declared, ModelRef

DOCUMENT_NAMES = ("document", "passage", "corpus", "doc", "search_document", "text")
NEAR = 0.05
"""Relative distance up to which vectors that nothing reproduces are called near."""


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
    found = [name for name in setting.differences(expected.with_(max_seq_len=limit)) if name != "prompt"]
    return [*found, "prompt"] if setting.prompt not in right_prompts else found


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
            says.append(f"On these texts {'it gives' if len(same) == 1 else 'they give'} the same: "
                f"{'; '.join(s.words for s in same[:3])}. "
                        + _apart(setting, same))
        if found.padding is not None and found.padding.others:
            says.append(f"The same widths follow from: {'; '.join(found.padding.others[:3])}.")
    elif found.outcome in (MIXED, PARTLY):
        says += [f"{len(part.rows):,} rows follow {part.setting.words} ({_runs(part.rows)})." for part in found.parts]
        if len(found.unexplained):
            says.append(f"{len(found.unexplained):,} rows follow no setting that was tried ({_runs(found.unexplained)}): their "
                f"texts may "
                        "have changed since, or another model or revision made them.")
        changes.append("Make all vectors anew with one setting; distances between rows of different settings mean nothing.")
    else:
        says += _none(found, model_id)
        changes.append("Name the model and revision that made these vectors, and check that the texts are the ones they were made "
            "from.")
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
        "precision": f"Store the vectors as {expected.precision}, or say that they are meant to be "
        f"{setting.precision.split(',')[0]}: they "
                     f"are {setting.precision}.",
    }[name]


def _apart(setting: Setting, alike: Sequence[Setting]) -> str:
    ways = set()
    for other in alike:
        for name in setting.differences(other):
            ways.add({"max_seq_len": "longer texts would tell the lengths apart",
                      "pooling": "normalised vectors cannot tell a mean from a mean by the root of the length, and it does not matter"
                      if ({setting.pooling, other.pooling} == {"mean", "mean_sqrt_len"} and UNSEEN in (setting.normalize,
                          other.normalize))
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


def found_as_dict(found: Found) -> dict[str, Any]:
    """The finding as JSON; texts are no part of it."""
    return {"outcome": found.outcome, "parts": [{"setting": p.setting.as_dict(), "words": p.setting.words, "n": len(p.rows),
                                                 "rows": [int(r) for r in p.rows[:1000]]} for p in found.parts],
            "alike": [s.words for s in found.alike], "n_compared": len(found.rows),
            "unexplained": [int(r) for r in found.unexplained[:1000]], "n_unexplained": len(found.unexplained),
            "longest": found.longest,
            "order": None if found.order is None else {"kind": found.order.kind, "n_moved": len(found.order.moved)},
            "padding": None if found.padding is None else {"words": found.padding.words, "batch_size": found.padding.batch_size},
            "tried": [{"words": t.setting.words, "median": float(np.median(t.error)), "max": float(t.error.max()),
                       "reproduced": int(t.ok.sum()), "reproduces": bool(t.ok.all()), "pooling": t.setting.pooling}
                       for t in found.tried]}
