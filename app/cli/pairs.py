"""``poolscope pairs``: d_mu, d_sigma and SOCM of every pair of a file's texts, or of a list of pairs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.outputs import check_asked, layer_of
from app.cli.progress import terminal_progress
from app.settings import settings
from components.errors import DataError, shown
from components.pair_map import ARRAY_LIMIT, EXACT, PUBLISHED, UNKNOWN_WARNING, PairMap, PairOptions
from components.pair_parts import n_pairs_of
from components.types import FINAL

if TYPE_CHECKING:
    from components.models import ModelRef
    from components.store import StoredResult
    from components.types import Progress


def pairs(
    model: Annotated[str | None, typer.Argument(help="all-MiniLM-L6-v2 (embedded), a folder, or a Hugging Face id.")] = None,
    texts: Annotated[str | None, typer.Argument(help="A bundled corpus; a .txt, .csv, .tsv, .jsonl or .parquet file; or "
                                                     "hf:owner/name:split:column.")] = None,
    token_states: Annotated[Path | None, typer.Option("--token-states", help="Instead of MODEL and TEXTS: an .npz with states "
                                                      "and offsets.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the pairs here: .csv or .parquet.")] = None,
    layer: Annotated[str, typer.Option(help="0 (embedding output) to L, or final (what pooling sees).")] = FINAL,
    column: Annotated[str | None, typer.Option(help="Column that holds the texts.")] = None,
    text_a: Annotated[str | None, typer.Option("--text-a", help="Row-by-row pairs: column of the first text.")] = None,
    text_b: Annotated[str | None, typer.Option("--text-b", help="Row-by-row pairs: column of the second.")] = None,
    label: Annotated[str | None, typer.Option(help="Row-by-row pairs: column copied to the output.")] = None,
    as_published: Annotated[bool, typer.Option("--as-published", help="With the authors' numerics (biased).")] = False,
    float64: Annotated[bool, typer.Option("--float64", help="Everything in float64.")] = False,
    sample: Annotated[int | None, typer.Option(help="Estimate from about N pairs, in balanced cycles.")] = None,
    all_pairs: Annotated[bool, typer.Option("--all", help="All pairs, whatever their number.")] = False,
    no_special: Annotated[bool, typer.Option("--no-special-tokens", help="Leave out [CLS], [SEP], <s> ...")] = False,
    prompt: Annotated[str, typer.Option(help="Put this text in front of every text.")] = "",
    revision: Annotated[str | None, typer.Option(help="Commit or tag of a Hugging Face id.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object with the summary.")] = False,
) -> None:
    """Compare every pair of texts: columns text1, text2 (row numbers from 0), d_mu, d_sigma, size, shape, align, socm.

    With --text-a and --text-b the file is a list of pairs and each row is compared.
    """
    start = time.perf_counter()
    if token_states is None:
        for name, given in (("MODEL", model), ("TEXTS", texts)):
            if given is None:
                raise typer.BadParameter(f"Missing argument '{name}', unless --token-states is given.")
    check_asked(out, json_, "pairs", str(token_states or texts))
    options = PairOptions(layer=layer_of(layer), special_tokens=not no_special, prompt=prompt, float64=float64,
                          numerics=PUBLISHED if as_published else EXACT, sample=sample, all_pairs=all_pairs)
    where = device or settings().device
    if token_states is not None:
        _refuse_with_states({"MODEL": model, "TEXTS": texts, "--layer": None if layer == FINAL else layer, "--column": column,
                             "--text-a": text_a, "--text-b": text_b, "--label": label, "--no-special-tokens": no_special or None,
                             "--prompt": prompt or None, "--revision": revision})
        _finish(_token_states(token_states, options, out, where), start, json_)
        return
    assert model is not None and texts is not None
    listed = bool(text_a or text_b)
    _refuse_inert(listed, {"--column": column, "--sample": sample, "--all": all_pairs} if listed else {"--label": label})
    from components.models import resolve_model

    ref = resolve_model(model, revision=revision, download=True)
    if listed:
        summary = _pair_list(ref, texts, text_a, text_b, label, options, out, where)
    else:
        summary = _all_pairs(ref, texts, column, options, out, where)
    _finish(summary, start, json_)


def _finish(summary: dict[str, Any], start: float, json_: bool) -> None:
    """Prints notes and, where asked, the summary."""
    summary["seconds"]["total"] = time.perf_counter() - start
    for note in summary["notes"]:
        typer.echo(f"note: {note}", err=True)
    if json_:
        try:
            typer.echo(json.dumps(summary, ensure_ascii=False, allow_nan=False))
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python fails once more when it flushes at its end
            raise DataError("standard output", "must be writable to its end", error.strerror or str(error),
                            "free some space there; what was computed is in the store") from error


def _refuse_inert(listed: bool, given: Mapping[str, object]) -> None:
    """What would change nothing is refused, since whoever gives it expects that it does.

    Raises:
        DataError: an option of the other way to compare is given.
    """
    for option, value in given.items():
        if value is not None and value is not False:
            found = "True" if value is True else shown(value)
            raise DataError(option, "only goes with all pairs of a file's texts" if listed else
                            "only goes with a list of pairs (--text-a and --text-b)",
                            f"{found} with a list of pairs" if listed else f"{found} without them",
                            f"leave out {option}, or --text-a and --text-b" if listed else
                            f"name the columns of both texts, or leave out {option}")


def _refuse_with_states(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise DataError(option, "says how a model reads texts, and does not go with --token-states",
                            "True" if value is True else shown(value), f"leave out {option}, or --token-states")


def _all_pairs(ref: ModelRef, texts: str, column: str | None, options: PairOptions, out: Path | None,
               device: str) -> dict[str, Any]:
    from components.corpora import load_corpus
    from components.pipeline import compute_pair_map

    corpus = load_corpus(texts, column, settings().limits)
    stored, numbers, notes, writing = _mapped(len(corpus.texts), options, out, lambda extra, progress: compute_pair_map(
        corpus, ref, options, store=settings().open_store(), device=device, allow_remote_code=settings().allow_remote_code,
        progress=progress, extra_sinks=extra))
    summary = _summary(options, stored, writing)
    return summary | numbers | {"notes": [*corpus.notes, *summary["notes"], *notes]}


def _token_states(file: Path, options: PairOptions, out: Path | None, device: str) -> dict[str, Any]:
    from components.states_pipeline import compute_states_map
    from components.token_files import load_token_states

    own = settings()
    states = load_token_states(file, own.limits, own.max_states_bytes)
    stored, numbers, notes, writing = _mapped(len(states.states), options, out, lambda extra, progress: compute_states_map(
        states, options, store=own.open_store(), device=device, progress=progress, extra_sinks=extra))
    summary = _summary(options, stored, writing)
    return summary | numbers | {"layer": stored.key.params["layer"], "notes": [*states.notes, *summary["notes"], *notes]}


def _mapped(n: int, options: PairOptions, out: Path | None, compute: Callable[[Any, Progress], StoredResult],
            ) -> tuple[StoredResult, dict[str, Any], list[str], float]:
    """All pairs of n texts, computed and written: the result, its numbers, notes on them, and the seconds of writing."""
    from app.cli.tables import PairWriterSink, write_pair_map

    streaming = out is not None and options.cycles_pairs(n) is None and n_pairs_of(n) > ARRAY_LIMIT
    writer = PairWriterSink(out) if streaming and out is not None else None
    with terminal_progress() as progress:
        try:
            stored = compute((lambda _moments: [writer]) if writer else None, progress)
        except BaseException:
            if writer:
                writer.abandon()
            raise
    result = PairMap.from_stored(stored.arrays, stored.meta)
    start = time.perf_counter()
    if writer:
        writer.close()
    elif out is not None:
        write_pair_map(result, out)
    means = result.means
    numbers = {
        "n_texts": result.n_texts, "n_pairs": result.n_pairs, "method": result.method,
        "mean_socm": means["socm"].value, "mean_socm_interval": _ends(means["socm"].low, means["socm"].high),
        "mean_d_mu": means["d_mu"].value, "mean_d_sigma": means["d_sigma"].value,
        "mean_size": means["size"].value, "mean_shape": means["shape"].value,
        "max_d_sigma": stored.meta["highest"]["d_sigma"], "undefined_align": stored.meta["undefined_align"],
        "references": result.references.as_dict()}
    notes = list(result.references.missing)
    if result.method == "cycles":
        notes.append(f"Means are estimated from {result.n_pairs:,} of {stored.meta['all_pairs']:,} pairs "
                     f"in {stored.meta['n_cycles']} balanced cycles; --all computes every pair.")
    return stored, numbers, notes, time.perf_counter() - start


def _pair_list(ref: ModelRef, file: str, text_a: str | None, text_b: str | None, label: str | None,
               options: PairOptions, out: Path | None, device: str) -> dict[str, Any]:
    from app.cli.tables import write_pair_list
    from components.corpora import load_pairs
    from components.pipeline import compute_pair_list

    listed = load_pairs(file, text_a, text_b, label, settings().limits)
    with terminal_progress() as progress:
        stored = compute_pair_list(listed, ref, options, store=settings().open_store(), device=device,
                                   allow_remote_code=settings().allow_remote_code, progress=progress)
    writing = time.perf_counter()
    if out is not None:
        write_pair_list(listed, stored.arrays, label, out)
    d_mu, d_sigma = stored.arrays["d_mu"], stored.arrays["d_sigma"]
    summary = _summary(options, stored, time.perf_counter() - writing)
    return summary | {"n_texts": stored.meta["n_texts"], "n_pairs": len(d_mu), "method": "rows",
                      "mean_socm": float(((1 - d_mu) * d_sigma).mean()), "mean_socm_interval": None,
                      "mean_d_mu": float(d_mu.mean()), "mean_d_sigma": float(d_sigma.mean()), "references": None,
                      "notes": [*listed.notes, *summary["notes"]]}


def _summary(options: PairOptions, stored: StoredResult, writing: float) -> dict[str, Any]:
    meta = stored.meta
    notes = [*meta.get("model_notes", ())]
    if meta["n_cut"]:
        notes.append(f"{meta['n_cut']} texts were cut at the model's limit of {meta['max_length']} tokens "
                     f"(rows {', '.join(map(str, meta['cut'][:10]))}{' ...' if meta['n_cut'] > 10 else ''}).")
    if meta["unknown_share"] > UNKNOWN_WARNING:
        notes.append(f"{meta['unknown_share']:.1%} of the tokens are unknown to {stored.key.model_id}: its numbers say little "
                     "about these texts.")
    return {"model": stored.key.model_id, "revision": stored.key.model_revision, "layer": options.layer,
            "special_tokens": options.special_tokens, "prompt": options.prompt, "numerics": options.numerics,
            "precision": "float64" if options.float64 else "float32 products, float64 small problems",
            "device": meta["device"], "truncated": meta["n_cut"], "unknown_share": meta["unknown_share"],
            "seconds": {**stored.seconds, "write": writing}, "versions": stored.versions, "notes": notes}


def _ends(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]
