"""What the Models page shows: the published models, those whose results lie in the store, and changes by tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from app import resources, results
from components.charts.change_rows import Change
from components.charts.model_scatter import ModelMark, Unscored
from components.charts.style import caption_number, interval_text
from components.correlation import LEAST, RankCorrelation, left_out, rank_correlation
from components.errors import PoolscopeError
from components.layer_curves import LayerOptions
from components.models import ModelRef, declared, hidden_size, layer_count
from components.pair_map import PairOptions
from components.published import BACKBONE, CONTRASTIVE, PublishedModel, models
from components.types import FINAL, FloatArray

MEASURES = {"SOCM, Wikipedia": "wiki", "SOCM, MS MARCO": "msmarco", "SOCM, hard negatives": "hard_negatives",
            "Last-layer spread": "spread"}
SUBSETS = {"All": (BACKBONE, CONTRASTIVE), "Contrastive only": (CONTRASTIVE,), "Backbones only": (BACKBONE,)}
CORPUS = "encyclopedia"
"""What models computed here are compared on."""


@dataclass(frozen=True)
class Scored:
    """A score that the user gives for a model computed here, with its source."""

    model: str
    score: float
    source: str


@dataclass(frozen=True)
class Chosen:
    """The published models that are shown, by one measure, and which of them take part."""

    measure: str
    shown: tuple[PublishedModel, ...]
    taking_part: tuple[PublishedModel, ...]

    def value(self, model: PublishedModel) -> float:
        if self.measure == "spread":
            assert model.last_spread is not None
            return model.last_spread
        return model.socm[self.measure]

    def columns(self) -> tuple[FloatArray, FloatArray, list[str]]:
        return (np.array([self.value(model) for model in self.taking_part]), np.array([model.mteb for model in self.taking_part]),
                [model.family for model in self.taking_part])

    @property
    def correlation(self) -> RankCorrelation | None:
        """None where fewer than three models are left."""
        return _correlation(self.measure, tuple(model.model_id for model in self.taking_part)) \
            if len(self.taking_part) >= LEAST else None


def choose(measure: str, subset: str, without: Sequence[str]) -> Chosen:
    """The models of a subset for which the measure was published."""
    shown = tuple(model for model in models() if model.kind in SUBSETS[subset]
                  and (MEASURES[measure] != "spread" or model.last_spread is not None))
    return Chosen(MEASURES[measure], shown, tuple(model for model in shown if model.model_id not in without))


def _correlation(measure: str, ids: tuple[str, ...]) -> RankCorrelation:
    part = tuple(model for model in models() if model.model_id in ids)
    return resources.made_once(repr(("correlation", measure, ids)), lambda: rank_correlation(*Chosen(measure, part, part).columns()))


def marks(chosen: Chosen, scored: Sequence[Scored]) -> list[ModelMark]:
    """The models as drawn; those computed here only with a score that the user gave."""
    found = [ModelMark(model.model_id, model.family, model.kind == BACKBONE, chosen.value(model), model.mteb,
                       model not in chosen.taking_part, "as published") for model in chosen.shown]
    for one in scored:
        value = computed_value(one.model, chosen.measure)
        if value is not None:
            found.append(ModelMark(one.model, "", results.is_backbone(one.model), value, one.score, False,
                                   f"computed here, exactly, on {CORPUS}; score from {one.source}; no part of the correlation"))
    return found


def unscored(chosen: Chosen, scored: Sequence[Scored]) -> list[Unscored]:
    """Models of this server whose collapse is stored and whose score nobody gave."""
    given = {one.model for one in scored}
    found = [(name, computed_value(name, chosen.measure)) for name in readable_models() if name not in given]
    return [Unscored(name, results.is_backbone(name), value, f"computed here, exactly, on {CORPUS}") for name, value in found
            if value is not None]


def readable_models() -> tuple[str, ...]:
    """The models in the menu whose files can be read."""
    return tuple(name for name in resources.model_names() if not isinstance(_ref(name), str))


def _ref(name: str) -> ModelRef | str:
    """The model, or the sentence that says why it cannot be read."""
    try:
        ref = results.model(name)
        layer_count(ref)
        hidden_size(ref)
    except PoolscopeError as error:
        return str(error)
    return ref


def subset_table() -> pd.DataFrame:
    """Every measure over every subset: n, families, Spearman with its interval and both p, Pearson; null below three models."""
    rows = []
    for measure in MEASURES:
        for subset in SUBSETS:
            part = choose(measure, subset, ())
            found = part.correlation
            rows.append({"Measure": measure, "Models": subset, "n": len(part.taking_part),
                         "Families": len({model.family for model in part.taking_part}), "rho": found.rho if found else None,
                         "low": found.low if found else None, "high": found.high if found else None,
                         "p by permutation": found.p_permutation if found else None, "p, Student": found.p_student if found else None,
                         "Pearson": found.pearson if found else None, "p of Pearson": found.p_pearson if found else None})
    return pd.DataFrame(rows)


def exceptions() -> str:
    """Tuned models whose published SOCM rises, with the text sets on which it does."""
    rising: dict[str, list[str]] = {}
    for title, measure in MEASURES.items():
        if measure != "spread":
            for change in changes(measure, published_only=True):
                if change.rises:
                    rising.setdefault(change.tuned, []).append(title.removeprefix("SOCM, "))
    return "; ".join(f"{name} on {' and '.join(sets)}" for name, sets in rising.items())


def computed_value(name: str, measure: str) -> float | None:
    """Mean SOCM, or the last layer's spread, of a model here on the bundled corpus; None where it is not stored."""
    if measure == "spread":
        curves = results.layers(results.layers_request(CORPUS, name, LayerOptions()))
        return curves.mean("normalized_spread", curves.n_layers).value if curves else None
    found = results.pair_map(results.pair_map_request(CORPUS, name, PairOptions()))
    return found.means["socm"].value if found else None


def without_each(chosen: Chosen) -> pd.DataFrame:
    """Rho with each model left out: columns Model, Family, Kind, Collapse, Score, rho without it."""
    x, y, _ = chosen.columns()
    rho = left_out(x, y)
    return pd.DataFrame({"Model": [model.model_id for model in chosen.taking_part],
                         "Family": [model.family for model in chosen.taking_part],
                         "Kind": [model.kind for model in chosen.taking_part], "Collapse": x, "Score": y, "rho without it": rho})


def finding(chosen: Chosen) -> str:
    """What the correlation says, and what it does not."""
    found = chosen.correlation
    if found is None:
        return f"Fewer than {LEAST} models are left, too few for a correlation."
    way = "higher scores go with less" if found.rho < 0 else "higher scores go with more"
    parts = [f"Over {found.n} models {way} of it: Spearman {caption_number(found.rho)}, permutation p "
             f"{caption_number(found.p_permutation)}."]
    if found.low is not None and found.high is not None:
        families = len({model.family for model in chosen.taking_part})
        ends = f"with the {families} families drawn anew as well, the interval is {interval_text(found.low, found.high)}"
        parts.append(f"But {ends}, so these models cannot tell it from none." if found.low <= 0 <= found.high
                     else f"{ends[0].upper()}{ends[1:]}.")
    if found.n < 6:
        parts.append("So few models show nothing by themselves.")
    return " ".join(parts)


def changes(measure: str, *, published_only: bool = False) -> list[Change]:
    """Backbone to tuned: as published in each family, then the small models that come along, computed here."""
    found = []
    for model in models():
        base = next((one for one in models() if one.family == model.family and one.kind == BACKBONE), None)
        values = [one.last_spread if measure == "spread" else one.socm[measure] for one in (base, model)] if base else []
        if model.kind == CONTRASTIVE and base and None not in values:
            found.append(Change(model.short, base.short, float(values[0] or 0), float(values[1] or 0), "as published"))
    names = [name for name in resources.model_names() if name.startswith("nano-") and not published_only]
    before = computed_value("nano-backbone", measure) if "nano-backbone" in names else None
    for name in names:
        after = computed_value(name, measure) if name != "nano-backbone" else None
        if before is not None and after is not None:
            found.append(Change(name, "nano-backbone", before, after, f"computed here, exactly, on {CORPUS}"))
    return found


def known_models() -> pd.DataFrame:
    """Every model that the server offers, with what its files declare and what the store knows of it on the bundled corpus."""
    rows: list[dict[str, Any]] = []
    for name in resources.model_names():
        ref = _ref(name)
        if isinstance(ref, str):
            rows.append({"Model": name, "Pooling": "cannot be read", "Prompts": ref})
            continue
        stated = declared(ref.folder)
        pairs = results.pair_map(results.pair_map_request(CORPUS, name, PairOptions()))
        curves = results.layers(results.layers_request(CORPUS, name, LayerOptions()))
        dims = curves.meta.get("effective_dims") if curves else None
        prompts = ", ".join(key for key, text in (stated.prompts or {}).items() if text)  # an empty prompt is none
        rows.append({"Model": name, "Layers": layer_count(ref), "Dims": hidden_size(ref), "Pooling": stated.pooling or "none declared",
                     "Prompts": prompts or "none", "Max tokens": stated.max_length,
                     "Mean SOCM": pairs.means["socm"].value if pairs else None,
                     "Spread": curves.mean("normalized_spread", FINAL).value if curves else None,
                     "Random cosine": 1 - 2 * pairs.means["d_mu"].value if pairs else None,
                     "Effective dims, coordinates": dims[0] if dims else None, "Effective dims, axes": dims[1] if dims else None,
                     "Revision": ref.short_revision})
    return pd.DataFrame(rows)
