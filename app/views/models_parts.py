"""The controls and panels of the Models page, top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from app import model_data, resources, state, tables, viewport, widgets
from app.exports import button
from app.figure_files import figure_files
from app.model_data import MEASURES, SUBSETS, Chosen, Scored
from components.charts.change_rows import Change, change_rows, change_rows_alt
from components.charts.model_scatter import model_scatter, model_scatter_alt
from components.charts.style import LIGHT, ChartTheme, caption_number, interval_text
from components.charts.titles import add_title
from components.html_export import View
from components.published import models

CHART = {"displaylogo": False, "displayModeBar": False}
WITHOUT, SCORES = "without", "_scores"
SCORE = "Mean MTEB(eng, v2) score"


def controls() -> tuple[str, str, list[str]]:
    """The measure of collapse, the subset, and the models left out; each in the URL."""
    side = st.sidebar
    measure = str(side.selectbox("Collapse measured by", list(MEASURES), key="measure", bind="query-params",
                                 help="As published by the paper's authors; last-layer spread for the models whose curve was."))
    subset = str(side.radio("Models", list(SUBSETS), key="subset", bind="query-params"))
    without = side.multiselect("Left out", [model.model_id for model in models()], key=WITHOUT, bind="query-params",
                               help="A click on a mark puts it here, a second one takes it back.")
    return measure, subset, [str(model) for model in without]


def headline(chosen: Chosen) -> None:
    """The coefficient, two p-values, Pearson's r beside it."""
    with st.container(key="headline"):
        columns = st.columns(4)
        if chosen.correlation is None:
            columns[0].metric("Spearman's ρ", "–")
            return
        for column, (label, value, below, help_) in zip(columns, numbers(chosen), strict=True):
            widgets.number(column, label, value, below, help_)


def numbers(chosen: Chosen) -> list[tuple[str, float | None, str, str]]:
    """Label, value, what it rests on and how to read it, of each headline number; none of too few models."""
    found = chosen.correlation
    if found is None:
        return []
    interval = f"{interval_text(found.low, found.high)} over families and models" if found.low is not None else \
        "no interval below 6 models or 2 families"
    return [
        ("Spearman's ρ", found.rho, interval,
         "Rank correlation of collapse and score. The interval draws families anew, and models within them: models of "
         "one backbone are no independent draws."),
        ("p by permutation", found.p_permutation,
         f"{'all' if found.exact else '99,999 random'} orders; Student's t gives {caption_number(found.p_student)}",
         "Share of the orders of the scores with a coefficient at least as far from 0. It takes models as independent."),
        ("Pearson's r", found.pearson, f"p {caption_number(found.p_pearson)}",
         "Correlation of the values themselves, which one far model can make or break."),
        ("Models", found.n, f"of {len(models())} published, in "
         f"{len({model.family for model in chosen.taking_part})} families", "The models that take part.")]


def scatter(chosen: Chosen, measure: str, scored: list[Scored], theme: ChartTheme) -> None:
    """The models, with arrows from backbones."""
    found, label, ticks = model_data.marks(chosen, scored), axis(measure), model_data.unscored(chosen, scored)
    narrow = viewport.is_narrow()
    name = f"models_{'narrow' if narrow else 'wide'}"
    with st.container(key="scatter"):
        drawn = resources.made_once(repr((found, ticks, label, theme.name, narrow)), lambda: model_scatter(
            found, theme, x_label=label, y_label=SCORE, unscored=ticks, narrow=narrow))
        st.plotly_chart(drawn, theme=None, key=name,
                        alt=model_scatter_alt(found, x_label=label, y_label=SCORE, unscored=ticks), config=CHART,
                        selection_mode="points", on_select=partial(state.toggle_clicked, name, WITHOUT))
    st.caption(caption(chosen, scored))


def caption(chosen: Chosen, scored: list[Scored]) -> str:
    """What the figure is made of."""
    here, ticks = len(model_data.marks(chosen, scored)) - len(chosen.shown), model_data.unscored(chosen, scored)
    return (f"{len(chosen.shown)} models as published: collapse on the authors' own texts with their code's bias (up to 0.012 too "
            "low at 768 dims, see below), scores read off their figure to ±0.001."
            + (f" {here} computed here, exactly and on {model_data.CORPUS}, drawn beside them and no part of the correlation."
               if here else "")
            + (f" Ticks on the axis: {', '.join(f'{widgets.plain(tick.name)} {caption_number(tick.x)}' for tick in ticks)}, "
               f"computed here, exactly and on {model_data.CORPUS}, without a score and no part of the correlation. Exact values "
               "lie above what the authors' code would give, and other texts give others." if ticks else ""))


def axis(measure: str) -> str:
    """Words under the axis."""
    return "Normalised spread S/‖μ‖² at the last layer" if measure == "Last-layer spread" else f"Mean {measure}, as published"


def left_out(chosen: Chosen) -> None:
    """The coefficient without each model in turn."""
    with st.expander("Without each model in turn", on_change="rerun", key="without_open") as folded:
        if not folded.open or chosen.correlation is None:
            return
        table = model_data.without_each(chosen)
        st.dataframe(table, hide_index=True, column_config={
            "Collapse": st.column_config.NumberColumn(format="%.4f"), "Score": st.column_config.NumberColumn(format="%.3f"),
            "rho without it": st.column_config.NumberColumn("ρ without it", format="%.3f")})


def subsets() -> None:
    """The coefficients that a careful reader asks for, all at once."""
    with st.expander("Every measure and subset", on_change="rerun", key="subsets_open") as folded:
        if not folded.open:
            return
        three = {name: st.column_config.NumberColumn(title, format="%.3f") for name, title in (
            ("rho", "Spearman ρ"), ("low", "95% from"), ("high", "to"), ("p by permutation", "p by permutation"),
            ("p, Student", "p, Student"), ("Pearson", "Pearson r"), ("p of Pearson", "p of Pearson"))}
        st.dataframe(model_data.subset_table(), hide_index=True, key="subsets", column_config=three)
        st.caption("As published, nobody left out. n is models; the interval draws families anew and models within them, and is empty "
                   "below six models or two families. Permutation p takes all orders up to eight models, 99,999 random ones above. The "
                   "twelve coefficients share models, and no p is corrected for there being twelve.")


def changes(chosen: Chosen, measure: str, theme: ChartTheme) -> None:
    """Dumbbells of backbone and tuned, and the exceptions by name."""
    st.subheader("What tuning did to it")
    found, label = model_data.changes(chosen.measure), axis(measure).removesuffix(", as published")
    narrow = viewport.is_narrow()
    drawn = resources.made_once(repr((found, label, theme.name, narrow)),
                                lambda: change_rows(found, theme, x_label=label, narrow=narrow))
    st.plotly_chart(drawn, theme=None, key="changes", alt=change_rows_alt(found, x_label=label), config=CHART)
    st.caption(changes_caption(found))


def changes_caption(found: list[Change]) -> str:
    """What the dumbbells are, and the exceptions by name."""
    rising = [change.tuned for change in found if change.rises]
    return (f"Hollow: backbone; filled: tuned. {len(found)} tuned models; "
            + (f"it rises for {', '.join(map(widgets.plain, rising))}." if rising else "it falls for all of them.")
            + f" Over the three published sets SOCM rises for {widgets.plain(model_data.exceptions())}."
            + f" The small models that come along were computed here, exactly, on {model_data.CORPUS}: on the same axis, not on the "
              "same footing.")


def known() -> None:
    """All models that this server offers."""
    st.subheader("Models on this server")
    st.dataframe(model_data.known_models(), hide_index=True, key="known", column_config={
        name: st.column_config.NumberColumn(name, format=form) for name, form in (
            ("Mean SOCM", "%.3f"), ("Spread", "%.2f"), ("Random cosine", "%.3f"), ("Effective dims, coordinates", "%.1f"),
            ("Effective dims, axes", "%.1f"))})
    st.caption(f"Final layer, mean pooling, {model_data.CORPUS}; empty where nothing is stored yet: open Map and Layers with that "
               "model to compute it. Random cosine: mean cosine of two texts' means. Effective dims: over how many coordinates, "
               "and along how many principal axes, pooled vectors vary.")


def scores_given() -> list[Scored]:
    """Scores that the user gave in this session."""
    return list(st.session_state.get(SCORES, {}).values())


def give_a_score() -> None:
    """A form for the score of a model on this server; it is drawn, and stays out of the correlation."""
    with st.expander("Put a model of this server beside them"), st.form("score", border=False):
        st.caption("Its collapse is computed here; its MTEB score has to come from you, with its source. "
                   "It is kept for this visit only.")
        st.selectbox("Model of this server", model_data.readable_models(), key="score_model")
        st.number_input("MTEB(eng, v2) score, 0 to 1", 0.0, 1.0, 0.5, 0.001, format="%.3f", key="score_value")
        st.text_input("Source of the score", key="score_source", max_chars=200)
        st.form_submit_button("Draw it", on_click=_keep_score)
    if problem := st.session_state.pop("_score_problem", None):
        st.error(widgets.plain(problem))


def _keep_score() -> None:
    model, source = str(st.session_state["score_model"]), str(st.session_state["score_source"]).strip()
    if not source:
        st.session_state["_score_problem"] = "The source of the score must be given, found nothing: name a table, paper or page."
    elif model_data.computed_value(model, "wiki") is None:
        st.session_state["_score_problem"] = f"The map of {model} must be stored, found none: open Map with it and compute it first."
    else:
        given = dict(st.session_state.get(SCORES, {}))
        given[model] = Scored(model, float(st.session_state["score_value"]), source)
        st.session_state[SCORES] = given


def caveats() -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        st.markdown("\n\n".join(NOTES))


NOTES = [
    "**Twelve models, four families.** Models of one family share a backbone, so they are fewer than twelve draws. Intervals "
    "draw families anew and then models within them; with so few families such an interval is rough itself.",
    "**The published SOCM is biased low** by about 0.5 · √1e-9 · (dims − rank): 0.012 at 768 dims and 0.006 at 384 for "
    "texts of twenty tokens, much for a model at 0.0175 and little for one at 0.396. The order of the twelve stays the same.",
    "**Scores** were read off the authors' figure, ±0.001 (±0.002 for two marks that overlap).",
    "**Permutation p** counts all orders up to eight models and 99,999 random ones above; no interval is given below six.",
    "**Models computed here** were measured exactly and on other texts, so they stand beside the published ones and take no "
    "part in the correlation."]
"""What to know before believing the numbers, a paragraph each."""


def exports(chosen: Chosen, measure: str, scored: list[Scored], view: Callable[[], View]) -> None:
    """Figures and tables as files, and all of it as one."""
    with st.expander("Export", on_change="rerun", key="models_export_open") as folded:
        if not folded.open:
            return
        said = about(chosen, measure)
        label = axis(measure)
        made = {"Scores": model_scatter(model_data.marks(chosen, scored), LIGHT, x_label=label, y_label=SCORE,
                                        unscored=model_data.unscored(chosen, scored)),
                "Changes": change_rows(model_data.changes(chosen.measure), LIGHT, x_label=label)}
        for name, fig in made.items():
            below = f"{len(chosen.taking_part)} models of {said['source']}; Poolscope {said['poolscope']}"
            add_title(fig, f"{name}: {measure}", below, LIGHT)
            fig.layout.meta = said
            figure_files(fig, name, f"poolscope-models-{name.lower()}", key=f"export_models_{name.lower()}")
        tables.table_files(partial(model_data.without_each, chosen), "Published models", "poolscope-published-models", said,
                           key="export_published_models")
        tables.table_files(model_data.subset_table, "Subsets", "poolscope-subsets", said, key="export_subsets")
        tables.table_files(model_data.known_models, "Models here", "poolscope-models-here", said, key="export_models_here")
        button.one_file(view, "poolscope-models", key="export_models_html")


def about(chosen: Chosen, measure: str) -> dict[str, str]:
    """What a file was made from."""
    return {"measure": measure, "models": ", ".join(model.model_id for model in chosen.taking_part),
            "source": "arXiv 2604.27398 and its code's notebooks; scores read off a figure", "poolscope": widgets.version()}
