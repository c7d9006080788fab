"""``poolscope truncation``: what is left of a model's vectors when they are cut."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.outputs import check_asked
from app.cli.progress import terminal_progress
from app.settings import settings
from components.errors import DataError, shown

if TYPE_CHECKING:
    from components.store import StoredResult
    from components.truncation_result import TruncationResult

POINTS = 2.0


def truncation(
    model: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2 (embedded), a folder, or a Hugging Face id.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder with queries, documents and qrels, or passages or "
                                                             "long-documents, which come along.")],
    out: Annotated[Path | None, typer.Option(help="Write every number with its interval here: .csv or .parquet.")] = None,
    dims: Annotated[str, typer.Option(help="Truncation dims, separated by commas; default 8,16,32 ... and the model's own.")] = "",
    points: Annotated[float, typer.Option(help="Loss of nDCG@10, in points of 100, that the recommended dim may have.")] = POINTS,
    query_prompt: Annotated[str | None, typer.Option(help="In front of every query; default as the model declares.")] = None,
    document_prompt: Annotated[str | None, typer.Option(help="In front of every document; default as the model declares.")] = None,
    revision: Annotated[str | None, typer.Option(help="Commit or tag of a Hugging Face id.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object with losses, baselines and the recommendation.")] = False,
) -> None:
    """Cut a model's vectors to ever fewer dims: columns model, dim, dtype, metric, value, low, high.

    dtype is float32, int8 or binary. Metrics: ndcg@10, mrr@10, map, recall@1, recall@5, recall@10, spearman (graded pairs),
    probe_accuracy, probe_accuracy_held_out, overlap@10 (with the full vector), then geometry and MIC's terms without intervals.
    """
    from components.models import declared, resolve_model
    from components.pooling_result import declared_prompts
    from components.retrieval_sets import load_retrieval_set
    from components.truncation_pipeline import compute_truncation
    from components.truncation_result import TruncationOptions, TruncationResult

    start = time.perf_counter()
    check_asked(out, json_, "truncation", folder)
    if not 0 < points < 100:
        raise DataError("--points", "must lie between 0 and 100", shown(points), "give a loss such as 2")
    wanted = _dims(dims)
    ref = resolve_model(model, revision=revision, download=True)
    own = settings()
    of = load_retrieval_set(folder, own.limits)
    usual = declared_prompts(declared(ref.folder))
    asked = TruncationOptions(usual[0] if query_prompt is None else query_prompt,
                              usual[1] if document_prompt is None else document_prompt, wanted)
    with terminal_progress() as progress:
        found = compute_truncation(of, ref, asked, store=own.open_store(), device=device or own.device,
                                   allow_remote_code=own.allow_remote_code, progress=progress)
    result = TruncationResult.from_stored(found.arrays, found.meta)
    if out is not None:
        _write(out, found.key.model_id, result)
    for note in (*found.meta["notes"], *found.meta["model_notes"]):
        typer.echo(f"note: {note}", err=True)
    if found.meta["constant"]:
        typer.echo("note: every document has the same vector, so nothing can be found and nothing is lost by cutting.", err=True)
    if json_:
        typer.echo(json.dumps(_summary(found, result, points, time.perf_counter() - start), ensure_ascii=False, allow_nan=False))


def _dims(given: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in given.split(",") if part.strip()}))
    except ValueError as error:
        raise DataError("--dims", "must be whole numbers separated by commas", shown(given), "write 16,64,256") from error


def _write(out: Path, model: str, result: TruncationResult) -> None:
    import pyarrow as pa

    from app.cli.tables import writing
    from components.cells import inert
    from components.truncation_statistics import long_rows

    kinds = {"model": pa.string(), "dim": pa.int32(), "dtype": pa.string(), "metric": pa.string(), "value": pa.float64(),
             "low": pa.float64(), "high": pa.float64()}
    rows = long_rows(inert(model) if out.suffix.lower() == ".csv" else model, result)
    with writing(out, pa.schema(list(kinds.items()))) as writer:
        writer.write({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def _summary(found: StoredResult, result: TruncationResult, points: float, total: float) -> dict[str, Any]:
    from components.truncation_advice import embedding_yaml, recommend
    from components.truncation_statistics import summary

    best = recommend(result, points=points)
    return {"model": found.key.model_id, "revision": found.key.model_revision, "set": found.meta["corpus"],
            **summary(result), "recommendation": best.as_dict(), "embedding_yaml": embedding_yaml(found.key, result, best),
            "seconds": {**found.seconds, "total": total}, "versions": dict(found.versions)}
