"""Vectors of an index against vectors of queries: what differs between the two, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from components.audit_side import Side
from components.types import FloatArray, IntArray

if TYPE_CHECKING:
    from components.audit_pipeline import VectorsOfTexts

MOST_QUERIES = 5_000
NAMES = {"pooling": "pooling", "normalize": "normalisation", "truncate_dim": "number of dims", "max_seq_len": "length at which texts "
         "are cut", "modules": "modules after pooling", "precision": "precision", "model": "model"}


def compare_sides(index: VectorsOfTexts, queries: VectorsOfTexts, first: Side, second: Side, qrels: Any = None) -> dict[str, Any]:
    """What differs between two audited files, and how often a query finds its own text first.

    Prompts may differ: queries and documents have their own in many models.

    Args:
        qrels: (k, 2) rows of relevant pairs, query and document; None takes the texts that both files hold.

    Returns:
        differences (names), costs, says.
    """
    a, b = first.setting, second.setting
    if a is None and b is None:
        differences = []
    elif a is None or b is None:
        differences = ["model"]
    else:
        differences = [name for name in a.differences(b) if name != "prompt"]
    if first.found.outcome != second.found.outcome and "model" not in differences:
        differences += [] if {first.found.outcome, second.found.outcome} == {"one", "none"} else ["outcome"]
    says = []
    for name in differences:
        if name == "model":
            whole, other = (first, second) if a is not None else (second, first)
            says.append(f"{other.report['file']} is not of the model that made {whole.report['file']}: no setting of it "
                f"reproduces them.")
        elif name == "outcome":
            says.append(f"{first.report['file']} and {second.report['file']} were not made in one way: see what was found for each.")
        elif a is not None and b is not None:
            mine, theirs = getattr(a, name), getattr(b, name)
            says.append(f"Index and queries differ in {NAMES[name]}: {mine if mine is not None else 'none'} against "
                        f"{theirs if theirs is not None else 'none'}.")
    costs = None
    if index.vectors.dim == queries.vectors.dim:
        costs = _recall(index, queries, qrels)
        if costs is not None:
            says.append(f"Recall@1 over {costs['n']:,} {costs['of']}: {costs['dot']:.3f} by inner product, {costs['cosine']:.3f} "
                f"by cosine "
                        f"(one setting on both "
                        f"sides{' finds every one' if costs['of'].startswith('texts') else ' is not measured here'}).")
    elif differences:
        says.append(f"Vectors of {index.vectors.dim} and {queries.vectors.dim} dims cannot be compared at all.")
    return {"differences": differences, "costs": costs, "says": says}


def _recall(index: VectorsOfTexts, queries: VectorsOfTexts, qrels: Any) -> dict[str, Any] | None:
    """Share of queries whose nearest row of the index is right."""
    own, theirs = _texts(index), _texts(queries)
    right: dict[int, set[int]] = {}
    if qrels is not None:
        for query, document in qrels:
            right.setdefault(int(query), set()).add(int(document))
        of = "queries with relevant documents"
    else:
        places: dict[str, set[int]] = {}
        for row, text in enumerate(own):
            places.setdefault(text, set()).add(row)
        right = {row: places[text] for row, text in enumerate(theirs) if text in places}
        of = "texts that both files hold"
    rows = np.array(sorted(right), dtype=np.int64)[:MOST_QUERIES]
    if not len(rows):
        return None
    found = {}
    for name in ("dot", "cosine"):
        a, b = (np.asarray(side.vectors.values, dtype=np.float64) for side in (index, queries))
        best = _nearest(_unit(b[rows]), _unit(a)) if name == "cosine" else _nearest(b[rows], a)
        found[name] = float(np.mean([int(best[k]) in right[int(row)] for k, row in enumerate(rows)]))
    return {"n": len(rows), "of": of, **found}


def _texts(side: VectorsOfTexts) -> list[str]:
    return [side.texts.texts[row] or "" for row in side.texts.rows_for(len(side.vectors))]


def _nearest(queries: FloatArray, rows: FloatArray) -> IntArray:
    return np.concatenate([(queries[start:start + 256] @ rows.T).argmax(axis=1) for start in range(0, len(queries), 256)])


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
