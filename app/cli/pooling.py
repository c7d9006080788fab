"""``poolscope pooling``: which way of making one vector retrieves best, whether the difference is real."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.outputs import check_asked
from app.cli.progress import terminal_progress
from app.settings import settings

if TYPE_CHECKING:
    from components.pooling_result import PoolingResult, Row
    from components.store import StoredResult


def pooling(
    model: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2 (embedded), a folder, or a Hugging Face id.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="passages, long-documents, or a folder with queries, documents and "
                                                              "qrels (BEIR's layout too).")],
    out: Annotated[Path | None, typer.Option(help="Write a row for each pooling and metric here: .csv or .parquet.")] = None,
    query_prompt: Annotated[str | None, typer.Option(help="In front of every query; default: the prompt that the model declares for "
                                                          "queries.")] = None,
    document_prompt: Annotated[str | None, typer.Option(help="In front of every document; default: the model's own.")] = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Leave out w2, socm_penalty, spearman and probe.")] = False,
    revision: Annotated[str | None, typer.Option(help="Commit or tag of a Hugging Face id.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object with the table and what it rests on.")] = False,
) -> None:
    """Measure every pooling: columns pooling, metric, value, low, high, difference, p, p_holm, n, of.

    difference, p (randomisation test) and p_holm compare with the pooling that the model declares, on the same queries; nDCG@10 is
    the primary metric. mean_unmasked, w2 and socm_penalty are a fault and two hypotheses.
    """
    from components.models import declared, resolve_model
    from components.pooling_pipeline import compute_pooling
    from components.pooling_result import PoolingOptions, PoolingResult, declared_prompts
    from components.retrieval_sets import load_retrieval_set

    start = time.perf_counter()
    check_asked(out, json_, "pooling", folder)
    ref = resolve_model(model, revision=revision, download=True)
    own = settings()
    of = load_retrieval_set(folder, own.limits)
    prompts = declared_prompts(declared(ref.folder))
    options = PoolingOptions(prompts[0] if query_prompt is None else query_prompt,
                             prompts[1] if document_prompt is None else document_prompt, more=not retrieval_only)
    with terminal_progress() as progress:
        found = compute_pooling(of, ref, options, store=own.open_store(), device=device or own.device,
                                allow_remote_code=own.allow_remote_code, progress=progress)
    result = PoolingResult.from_stored(found.arrays, found.meta)
    rows = result.table()
    if out is not None:
        _write(out, rows)
    for note in notes(result):
        typer.echo(f"note: {note}", err=True)
    if json_:
        typer.echo(json.dumps(_summary(found, result, rows, time.perf_counter() - start), ensure_ascii=False, allow_nan=False))


def notes(result: PoolingResult) -> list[str]:
    """What to know of these numbers."""
    meta = result.meta
    out = [*meta["notes"], *meta["model_notes"]]
    if meta["declared"] is None:
        out.append("the model's files declare no pooling, so the others are compared with the mean.")
    if cut := meta["n_cut_documents"]:
        out.append(f"{cut:,} of {meta['n_documents']:,} documents were cut at {meta['max_length']} tokens.")
    if tied := meta["tied"]["cosine"][result.declared]:
        out.append(f"{tied:,} queries have an answer that ties with a document that is none; ties keep the documents' order.")
    if not meta["second_order"] and "penalty_weight" not in meta and meta.get("n_graded"):
        out.append("w2 and socm_penalty were left out: too many queries times documents.")
    return out


def _write(out: Path, rows: list[Row]) -> None:
    import pyarrow as pa

    from app.cli.tables import writing

    schema = pa.schema([("pooling", pa.string()), ("metric", pa.string()), *((name, pa.float64()) for name in
                        ("value", "low", "high", "difference", "difference_low", "difference_high", "p", "p_holm")),
                        ("n", pa.int64()), ("of", pa.string())])
    with writing(out, schema) as writer:
        columns: dict[str, Any] = {name: [] for name in schema.names}
        for row in rows:
            for name, value in plain(row).items():
                columns[name].append(value)
        writer.write({name: pa.array(values, schema.field(name).type, from_pandas=True) for name, values in columns.items()})


def plain(row: Row) -> dict[str, Any]:
    """A row of the table as plain values."""
    gap = row.difference
    return {"pooling": row.pooling, "metric": row.metric, "value": row.value.value, "low": row.value.low, "high": row.value.high,
            "difference": gap and gap.value, "difference_low": gap and gap.low, "difference_high": gap and gap.high, "p": row.p,
            "p_holm": row.p_holm, "n": row.value.n, "of": row.value.of}


def _summary(found: StoredResult, result: PoolingResult, rows: list[Row], total: float) -> dict[str, Any]:
    import math

    meta = result.meta
    kept = ("declared", "declared_source", "reference", "normalize", "prompts", "n_queries", "n_answered", "n_documents", "dim",
            "max_length", "n_cut_documents", "n_cut_queries", "geometry", "penalty_weight", "penalty_tuned_on")
    table = [{name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in plain(row).items()}
             for row in rows]
    return {"model": found.key.model_id, "revision": found.key.model_revision, **{name: meta[name] for name in kept if name in meta},
            "options": dict(found.key.params), "table": table, "notes": notes(result), "seconds": {**found.seconds, "total": total},
            "versions": dict(found.versions)}
