"""The family's table over several seeds: each figure's mean with an interval over seeds, and what one model gains on another.

Two kinds of chance are kept apart. Over seeds: what another order of the data and other pairs would have given. Over
questions: what other questions would have given, from each question's hits averaged over the seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from components.errors import DataError, shown
from components.files import listed
from components.nano import DIMS, FIGURES
from components.nano_settings import KINDS
from components.probe import AT
from components.statistics import mean_interval
from components.types import Interval

MODELS = ("backbone", *KINDS)
COMPARED = (("contrastive", "backbone"), ("cls", "contrastive"), ("mrl", "contrastive"), ("mic", "mrl"))
"""(one, other): what the first gains on the second."""
LEAST = 3
"""Seeds below which no interval over them is given."""


class Row(NamedTuple):
    """One figure of one model over the seeds; ``values`` are those of each seed."""

    model: str
    quantity: str
    over_seeds: Interval
    values: tuple[float, ...]


class Difference(NamedTuple):
    """What ``model`` has more than ``other``, seed by seed; over questions for retrieval only."""

    model: str
    other: str
    quantity: str
    over_seeds: Interval
    over_questions: Interval | None


def read_seeds(folders: Sequence[Path]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each model in each folder of ``nano.build_family``, model -> one for each seed.

    Raises:
        DataError: a folder lacks a model's figures, or two were measured on different texts.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for model in MODELS:
        for folder in folders:
            file = folder / f"nano-{model}" / "training" / FIGURES
            try:
                found.setdefault(model, []).append(json.loads(file.read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise DataError(f"folder {shown(folder.name)}", "must hold a family made by nano build",
                                f"no figures of nano-{model}", "run nano build into it again") from error
    sizes = {(one["n_texts"], one["n_questions"]) for every in found.values() for one in every}
    if len(sizes) > 1:
        raise DataError("folders", "must have been measured on the same texts",
                        listed([f"{texts} texts and {questions} questions" for texts, questions in sorted(sizes)]),
                        "measure them again with one version")
    return found


def quantities(figures: Mapping[str, Any]) -> dict[str, float]:
    """The plain numbers of a model's figures, by the name of their quantity."""
    references = figures["references"] or {}
    out = {"mean_socm": figures["socm"]["value"], "mean_d_mu": figures["d_mu"]["value"],
           "mean_d_sigma": figures["d_sigma"]["value"]}
    out |= {f"socm_{name}": references[name]["value"] for name in ("within", "between", "ratio", "unrelated") if references.get(name)}
    out |= {f"normalized_spread_layer_{layer}": value["value"] for layer, value in figures["spread"].items()}
    for d in map(str, DIMS):
        out |= {f"recall_at_10_dim_{d}": figures["retrieval"][d]["recall"]["value"],
                f"mrr_dim_{d}": figures["retrieval"][d]["mrr"]["value"],
                f"graded_spearman_dim_{d}": figures["graded"][d]["value"],
                f"effective_dims_coordinates_dim_{d}": figures["dims"][d][0],
                f"effective_dims_axes_dim_{d}": figures["dims"][d][1]}
    for d, both in figures["correlation"].items():
        out |= {f"mean_abs_c_dim_{d}": both["special_tokens"], f"mean_abs_c_without_special_dim_{d}": both["without"]}
    return out


def table(seeds: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Row]:
    """Each model's figures over its seeds."""
    for model, every in seeds.items():
        plain = [quantities(one) for one in every]
        for name in plain[0]:
            values = tuple(one[name] for one in plain)
            # A backbone that all seeds start from has no chance of its own to show.
            alike = len(set(values)) == 1
            over = Interval(values[0], None, None, 1, "seeds") if alike else mean_interval(np.array(values), "seeds", least=LEAST)
            yield Row(model, name, over, values)


def differences(seeds: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Difference]:
    """What the models of ``COMPARED`` gain on each other."""
    for model, other in COMPARED:
        pairs = [(quantities(a), quantities(b)) for a, b in zip(seeds[model], seeds[other], strict=True)]
        for name in pairs[0][0]:
            gains = np.array([a[name] - b[name] for a, b in pairs])
            over_questions = None
            if name.startswith("recall_at_10_dim_"):
                dim = name.removeprefix("recall_at_10_dim_")
                over_questions = mean_interval(_hits(seeds[model], dim) - _hits(seeds[other], dim), "questions")
            yield Difference(model, other, name, mean_interval(gains, "seeds", least=LEAST), over_questions)


def _hits(every: Sequence[Mapping[str, Any]], dim: str) -> Any:
    """(n_questions,) share of the seeds in which a question found its answer."""
    return np.mean([np.array(one["ranks"][dim]) <= AT for one in every], axis=0)
