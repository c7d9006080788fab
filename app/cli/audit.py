"""``poolscope audit`` and ``poolscope config``: is the pipeline set as its model's files say, and did it make these vectors?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.progress import terminal_progress
from app.settings import settings
from components.audit_words import VERDICT_WORDS
from components.errors import DataError, PoolscopeError, shown

if TYPE_CHECKING:
    from components.audit_pipeline import VectorsOfTexts

COULD_NOT_TELL = 2


def config(
    model: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2 (embedded), a folder, or a Hugging Face id.")],
    out: Annotated[Path | None, typer.Option(help="Write it here instead of printing it.")] = None,
    revision: Annotated[str | None, typer.Option(help="Commit or tag of a Hugging Face id.")] = None,
) -> None:
    """Write what a model's own files declare as embedding.yaml."""
    from components.embedding_config import config_of, write_config
    from components.models import resolve_model

    found = config_of(resolve_model(model, revision=revision, download=True), model)
    if out is None:
        typer.echo(found.as_yaml(), nl=False)
    else:
        write_config(found, out)
    if found.pooling is None:
        typer.echo("note: the model's files name no pooling; add the one that you use.", err=True)


def audit(
    target: Annotated[str, typer.Argument(metavar="CONFIG|MODEL", help="An embedding.yaml, or a model as in the other commands.")],
    vectors: Annotated[Path | None, typer.Option(help="Vectors of known texts: .npy, .csv, .tsv, .jsonl or .parquet.")] = None,
    texts: Annotated[Path | None, typer.Option(help="The texts they were made from, in the same order.")] = None,
    against: Annotated[Path | None, typer.Option(help="Vectors of the queries' side; --vectors are then the index's.")] = None,
    texts2: Annotated[Path | None, typer.Option(help="Texts of --against; the same as --texts when left out.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Which documents are relevant: columns query_id, document_id.")] = None,
    column: Annotated[str | None, typer.Option(help="Column that holds the texts.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Name of the prompt that the texts should have.")] = None,
    prompt2: Annotated[str | None, typer.Option(help="The same for --against.")] = None,
    precision: Annotated[str, typer.Option(help="In which the vectors are meant to be: float32, float16, bfloat16, int8, binary.")]
    = "float32",
    rows: Annotated[int, typer.Option(help="Rows compared at the most, evenly through the file.")] = 1_000,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Check a configuration against the model's files, and vectors against both.

    Exit codes of this command: 0 clean, 1 departs, 2 could not tell (bad input too, so that no test passes by accident).
    """
    from components.audit_config import EXIT_CODES
    from components.audit_options import AuditOptions
    from components.audit_pipeline import audit as run
    from components.audit_pipeline import resolve_config
    from components.embedding_config import EmbeddingConfig, is_config, read_config

    try:
        options = AuditOptions(prompt, prompt2, precision, rows, column)
        _together(vectors, texts, against, texts2, qrels)
        configured = read_config(target) if is_config(target) else EmbeddingConfig(model=target)
        ref = resolve_config(configured, download=True)
        given = _side(vectors, texts, column)
        other = _side(against, texts2 or texts, column if texts2 is None else None)
        pairs = None if qrels is None or given is None or other is None else _qrels(qrels, given, other)
        own = settings()
        with terminal_progress() as progress:
            report = run(configured, ref, given, other, options, qrels=pairs, device=device or own.device,
                         allow_remote_code=own.allow_remote_code, progress=progress)
    except PoolscopeError as error:
        typer.echo(f"poolscope: {error}", err=True)
        sys.exit(COULD_NOT_TELL)
    code = EXIT_CODES[report["verdict"]]
    if json_:
        typer.echo(json.dumps({**report, "exit_code": code}, ensure_ascii=False, allow_nan=False))
    else:
        _print(report)
    sys.exit(code)


def _together(vectors: Path | None, texts: Path | None, against: Path | None, texts2: Path | None, qrels: Path | None) -> None:
    for needs, wanted, given, missing in (("--vectors", "--texts", vectors, texts), ("--texts", "--vectors", texts, vectors),
                                          ("--against", "--vectors", against, vectors), ("--texts2", "--against", texts2, against),
                                          ("--qrels", "--against", qrels, against)):
        if given is not None and missing is None:
            raise DataError(needs, f"must be given with {wanted}", f"{needs} alone", f"add {wanted}, or leave {needs} out")


def _side(vectors: Path | None, texts: Path | None, column: str | None) -> VectorsOfTexts | None:
    if vectors is None or texts is None:
        return None
    from components.audit_pipeline import VectorsOfTexts
    from components.audit_texts import read_row_texts
    from components.files import read_file, shown_path
    from components.vector_files import load_vectors

    limits = settings().limits
    found = load_vectors(vectors, limits)
    data = read_file(texts, f"texts {shown_path(texts)}", limits, "check the path of the texts")
    rows = read_row_texts(str(texts), data, column, limits)
    rows.rows_for(len(found))
    return VectorsOfTexts(found, rows)


def _qrels(path: Path, index: VectorsOfTexts, queries: VectorsOfTexts) -> list[tuple[int, int]]:
    """Rows of queries and documents that belong together; ids are those of the texts' files, or row numbers from 0."""
    from components.columns import check_column
    from components.files import read_file, shown_path
    from components.tables import read_table

    argument = f"qrels {shown_path(path)}"
    limits = settings().limits
    table = read_table(str(path), read_file(path, argument, limits, "check the path of the qrels"), argument, limits)
    columns = [check_column(table, name, "column") for name in ("query_id", "document_id")]
    places = [{name: row for row, name in enumerate(side.texts.ids or map(str, range(len(side.texts.texts))))}
              for side in (queries, index)]
    found = []
    for number, query, document in zip(table.numbers, table.cells(columns[0]), table.cells(columns[1]), strict=True):
        for what, name, known in (("query", query, places[0]), ("document", document, places[1])):
            if str(name) not in known:
                raise DataError(table.at(number), f"must name a {what} of the texts", shown(name),
                                "give the file of texts with that id")
        found.append((places[0][str(query)], places[1][str(document)]))
    return found


def _print(report: dict[str, Any]) -> None:
    typer.echo(f"{VERDICT_WORDS[report['verdict']]}: {report['model']} at {report['revision'].removeprefix('sha256:')[:10]}")
    for check in report["checks"]:
        typer.echo(f"  {check['key']}: {check['configured']} (files: {check['files']}; {check['status']})")
    for text in report["says"]:
        typer.echo(text)
    for text in report["changes"]:
        typer.echo(f"To change: {text}")
    for text in report["notes"]:
        typer.echo(f"note: {text}", err=True)
