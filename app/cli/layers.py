"""``poolscope layers``: how a text's tokens gather round their mean, layer by layer."""

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
    from components.layer_curves import LayerCurves
    from components.store import StoredResult


def layers(
    model: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2 (embedded), a folder, or a Hugging Face id.")],
    texts: Annotated[str, typer.Argument(help="A bundled corpus, or a .txt, .csv, .tsv, .jsonl or .parquet file.")],
    out: Annotated[Path | None, typer.Option(help="Write every text's numbers here: .csv or .parquet.")] = None,
    column: Annotated[str | None, typer.Option(help="Column that holds the texts.")] = None,
    prompt: Annotated[str, typer.Option(help="Put this text in front of every text.")] = "",
    revision: Annotated[str | None, typer.Option(help="Commit or tag of a Hugging Face id.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object with means and intervals by layer.")] = False,
) -> None:
    """Measure every layer: columns text, layer (0 to L, final), head (lambda's only), quantity, value.

    Quantities: lambda, r, C, normalized_spread, mean_cosine, mean_cosine_no_self, attention_gain S(Z)/S(H), residual_gain
    S(Y)/S(H).
    """
    from components.corpora import load_corpus
    from components.layer_curves import LayerCurves, LayerOptions
    from components.layer_pipeline import compute_layers
    from components.models import resolve_model

    start = time.perf_counter()
    check_asked(out, json_, "layers", texts)
    ref = resolve_model(model, revision=revision, download=True)
    own = settings()
    corpus = load_corpus(texts, column, limits=own.limits)
    with terminal_progress() as progress:
        found = compute_layers(corpus, ref, LayerOptions(prompt=prompt), store=own.open_store(), device=device or own.device,
                               allow_remote_code=own.allow_remote_code, progress=progress)
    curves = LayerCurves.from_stored(found.arrays, found.meta)
    if out is not None:
        _write(out, curves)
    for note in (*found.meta["notes"], *found.meta["model_notes"]):
        typer.echo(f"note: {note}", err=True)
    if not curves.available:
        typer.echo(f"note: lambda, r and C are not available for this model: {curves.reason}", err=True)
    if json_:
        typer.echo(json.dumps(_summary(found, curves, time.perf_counter() - start), ensure_ascii=False, allow_nan=False))


def _write(out: Path, curves: LayerCurves) -> None:
    import pyarrow as pa

    from app.cli.tables import writing

    columns = curves.long()
    schema = pa.schema([("text", pa.int32()), ("layer", pa.string()), ("head", pa.int16()), ("quantity", pa.string()),
                        ("value", pa.float64())])
    heads, values = columns["head"], columns["value"]
    with writing(out, schema) as writer:
        writer.write({"text": columns["text"].astype("int32"), "layer": columns["layer"].tolist(),
                      "head": pa.array(heads.astype("int16"), mask=heads == 0), "quantity": columns["quantity"].tolist(),
                      "value": pa.array(values, mask=values != values)})  # 0/0 is an empty cell


def _summary(found: StoredResult, curves: LayerCurves, total: float) -> dict[str, Any]:
    import math

    from components.layer_curves import QUANTITIES

    means: dict[str, Any] = {}
    for quantity in QUANTITIES:
        layers, values = curves.curve(quantity)
        means[quantity] = {str(layer): None if not math.isfinite(value.value) else
                           {"mean": value.value, "interval": None if value.low is None else [value.low, value.high], "n": value.n}
                           for layer, value in zip(layers, values, strict=True)}
    pairs = {layer: {name: {"mean": value["value"], "interval": None if value["low"] is None else [value["low"], value["high"]]}
                     for name, value in held["means"].items() if name in ("socm", "socm_ceiling", "d_sigma", "ceiling")}
             for layer, held in found.meta["pairs"].items()}
    return {"model": found.key.model_id, "revision": found.key.model_revision, "n_texts": curves.n_texts, "n_layers": curves.n_layers,
            "n_heads": curves.n_heads, "truncated": found.meta["n_cut"], "available": curves.available, "reason": curves.reason,
            "pre_norm": curves.pre_norm, "means": means, "pairs": pairs, "n_pairs": found.meta["n_pairs"],
            "seconds": {**found.seconds, "total": total}, "versions": dict(found.versions)}
