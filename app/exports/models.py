"""The Models page's view as a file: collapse against score, each model left out, and what tuning changed."""

from __future__ import annotations

from app import model_data, widgets
from app.exports.common import command, headline
from app.model_data import MEASURES, SUBSETS, Chosen, Scored
from app.views import models_parts
from components.charts.change_rows import change_rows, change_rows_alt
from components.charts.model_scatter import model_scatter, model_scatter_alt
from components.charts.style import LIGHT
from components.html_export import FigurePart, TablePart, View
from components.published import models

TITLE = "Do models with less collapse score higher?"
READING = ("Each mark is a published model: left, the covariances of two texts differ little where their means agree; up, it scores "
           "higher on MTEB. Hollow marks are backbones; arrows lead to what tuning made of them.")


def models_view(chosen: Chosen, measure: str, subset: str, scored: list[Scored]) -> View:
    """The view of the published models that take part.

    Args:
        scored: scores that the user gave for models computed here; a command cannot make these again.
    """
    label, marks = models_parts.axis(measure), model_data.marks(chosen, scored)
    changed, ticks = model_data.changes(chosen.measure), model_data.unscored(chosen, scored)
    shorter = label.removesuffix(", as published")
    parts: list[FigurePart | TablePart] = [
        FigurePart(model_scatter(marks, LIGHT, x_label=label, y_label=models_parts.SCORE, unscored=ticks),
                   model_scatter_alt(marks, x_label=label, y_label=models_parts.SCORE, unscored=ticks),
                   models_parts.caption(chosen, scored))]
    if chosen.correlation is not None:
        table = model_data.without_each(chosen).rename(columns={"rho without it": "ρ without it"})
        parts.append(TablePart("Without each model in turn", table, len(table), "As published; the coefficient over the others."))
    parts.append(FigurePart(change_rows(changed, LIGHT, x_label=shorter), change_rows_alt(changed, x_label=shorter),
                            models_parts.changes_caption(changed), "What tuning did to it"))
    known = model_data.known_models()
    parts.append(TablePart("Models that come along or were offered", known, len(known),
                           f"Final layer, mean pooling, {model_data.CORPUS}; empty where nothing is stored."))
    without = [model for model in chosen.shown if model not in chosen.taking_part]
    options: list[tuple[str, str | bool | None]] = [
        ("--measure", measure if measure != next(iter(MEASURES)) else None),
        ("--subset", subset if subset != next(iter(SUBSETS)) else None),
        *(("--without", model.model_id) for model in without)]
    return View(TITLE, f"{measure}, {len(chosen.taking_part)} of {len(models())} published models", READING,
                headline(models_parts.numbers(chosen)), parts, widgets.plain(model_data.finding(chosen)), models_parts.NOTES,
                models_parts.about(chosen, measure), command("models", options))
