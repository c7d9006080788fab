"""The controls and panels of the Training page, top to bottom."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import theme, training_data, training_figures, training_resources, training_words, viewport, widgets
from app.training_data import RECORDED, Run
from app.views import training_at, training_files, training_status
from components.charts.style import MD_D_SIGMA, ChartTheme, caption_number
from components.charts.training_curves import CurvePanel, training_curves, training_curves_alt

CHART = {"displaylogo": False, "displayModeBar": False}
NOTHING = "nothing"
LATEST = "latest"
POLL_SECONDS = 1.0


def controls() -> tuple[str, str | None, str]:
    """The run, the one beside it, and the seed of both, from the menus."""
    # Titles are the options themselves: a bound menu writes into the link what it shows.
    names = {training_data.title_of(name): name for name in training_resources.recipe_names()}
    name = names[str(st.sidebar.selectbox("Run", list(names), key="run", bind="query-params",
                                          help="Contrastive: each text against the others of its batch (InfoNCE). MRL: the same for "
                                               "several prefixes of the vector at once (Matryoshka). MIC: MRL and two terms on how "
                                               "prefix and residual vary. About a minute each on two cores."))]
    beside = names.get(str(st.sidebar.selectbox("Beside it", [NOTHING, *names], index=2 if len(names) > 1 else 0, key="beside",
                                                bind="query-params",
                                                help="A second run from the same seed: the same pairs in the same order.")))
    seed = str(st.sidebar.selectbox("Seed", [RECORDED, *map(str, training_data.SEEDS)], key="seed", bind="query-params",
                                    help="Recorded: run once (seed 0) and kept with Poolscope. A number: train it here."))
    return name, None if beside == name else beside, seed


def show(name: str, beside: str | None, seed: str) -> None:
    """The page below its controls; drawn again every second while a run goes on."""
    runs = _load(name, beside, seed)
    st.fragment(partial(_live, name, beside, seed), run_every=POLL_SECONDS if any(run.active for run in runs) else None)()


def _load(name: str, beside: str | None, seed: str) -> list[Run]:
    return [training_data.load(one, seed, colour) for colour, one in enumerate((name, beside)) if one is not None]


def _live(name: str, beside: str | None, seed: str) -> None:
    runs = _load(name, beside, seed)
    # The page around has to know when runs begin and end: only it can start and stop the polling.
    going = tuple(run.active for run in runs)
    if going != st.session_state.get("_training_going", going) or (any(going) and not st.session_state.get("_training_polled")):
        st.session_state.update(_training_going=going, _training_polled=any(going))
        st.rerun()
    st.session_state.update(_training_going=going, _training_polled=any(going))
    training_status.show(runs)
    shown = [run for run in runs if run.shown]
    if not shown:
        st.container(height=widgets.FIGURE_HEIGHT // 2, border=True, horizontal_alignment="center", vertical_alignment="center") \
            .markdown(training_status.waiting(runs), text_alignment="center")
        return
    step = _step(shown)
    headline(shown[0], step)
    curves(shown, step, theme.current())
    st.markdown(f"**What this shows.** {widgets.plain(training_words.finding(shown, step))}")
    training_at.show(shown, step, theme.current())
    more(shown, step, theme.current())
    caveats(shown)
    training_files.exports(shown, step)


def _step(runs: list[Run]) -> int:
    steps = sorted({step for run in runs for step in run.rec.probed})
    # "latest" follows a run that goes on; a number stays where it is.
    chosen = st.select_slider("Step", [*map(str, steps), LATEST], value=LATEST, key="step", bind="query-params",
                              help="Steps at which the probe was measured; latest follows a run that goes on.")
    return steps[-1] if chosen == LATEST else int(chosen)


def headline(run: Run, step: int) -> None:
    """Four figures of the first run at the step, each beside its value before training."""
    small, full = run.dims
    last = run.layers[-1]
    with st.container(key="headline"):
        columns = st.columns(4)
        for column, label, name, help_ in (
                (columns[0], "Mean SOCM", "mean_socm", "SOCM over all pairs of the probe's texts."),
                (columns[1], f"Normalised spread, layer {last}", f"normalized_spread_layer_{last}",
                 "Mean squared distance of a text's tokens to their mean, over the mean's squared length."),
                (columns[2], f"Recall@10 at {small} dims", f"recall_at_10_dim_{small}",
                 "Share of questions whose answer is among the ten nearest, by the first coordinates alone."),
                (columns[3], f"Recall@10 at {full} dims", f"recall_at_10_dim_{full}", "The same by all coordinates.")):
            now, before = run.at(step, name), run.at(0, name)
            below = f"{training_data.interval_words(now)}; from {caption_number(before.value) if before else '–'} before: " \
                    f"{training_words.verdict(run, name, step)}"
            widgets.number(column, label, now.value if now else None, below, f"{help_} {training_words.spread_words(run, name)}")


def _figure(panels: list[CurvePanel], runs: list[Run], step: int, theme: ChartTheme, key: str) -> None:
    total = max(run.rec.total for run in runs)
    st.plotly_chart(training_curves(panels, theme, total=total, chosen=step, narrow=viewport.is_narrow()), theme=None, key=key,
                    alt=training_curves_alt(panels), config=CHART)


def curves(runs: list[Run], step: int, theme: ChartTheme) -> None:
    """Loss, SOCM, d_sigma with its references, retrieval and effective dims over the steps."""
    with st.container(key="curves"):
        _figure(training_figures.panels(runs), runs, step, theme, "training_curves")
    line = runs[0].rec.lines[-1]
    st.caption(f"{widgets.plain(training_data.made_of(runs))} {MD_D_SIGMA}'s references: dotted, halves of one text; dashed, halves "
               f"of two texts. SOCM and {MD_D_SIGMA} over {line['n_pairs']:,} pairs; {line['n_questions']:,} questions.")


def more(runs: list[Run], step: int, theme: ChartTheme) -> None:
    """Spread of every layer, and the loss's terms, over the steps; folded."""
    with st.expander("Every layer over the steps", on_change="rerun", key="layers_open") as folded:
        if folded.open:
            _figure(training_figures.layer_curves(runs), runs, step, theme, "training_layers")
    with st.expander("The loss and its terms", on_change="rerun", key="terms_open") as folded:
        if folded.open:
            _figure(training_figures.term_curves(runs), runs, step, theme, "training_terms")
            st.caption("Measured without a gradient on the probe's first pairs, as many as a batch holds. MIC's terms are measured "
                       "for every loss, weighted or not, so that runs can be compared; components/mic_terms.py has the formulas.")


def caveats(runs: list[Run]) -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        st.markdown("\n\n".join((
            "**No change.** data/nano/seeds.csv holds five runs of each loss from other seeds (398 steps, 300 texts, 529 questions). "
            "The largest minus the smallest of the five is what the seed alone does; a change or a difference no larger than that is "
            "called no change. These runs are shorter and their probe smaller, so the yardstick is rough.",
            "**Training loss** is that of each step's batch. Losses of different kinds are on different scales: Matryoshka adds up "
            "one loss for each truncation dim.",
            "**Mean SOCM's references.** $d_\\Sigma$ of random halves of one text and of two texts; where they lie close, most of a "
            "covariance distance is what few tokens give. They are read on $d_\\Sigma$, never on SOCM.",
            "**Effective dims by axes** is the participation ratio of the covariance of pooled vectors.",
            "**The plane of tokens** is that of each step (from mean to mean, and across it where the covariances differ most), so "
            "axes turn while the model changes; both axes keep their scale over the steps.",
            "**Runs** are made in a process of their own, one after the other, behind what other visitors compute. They lie in a "
            f"folder below the store, at most {training_data.MOST_RUNS} of them, and are removed by the button.",
            *(f"**{widgets.plain(run.title)}**: {widgets.plain(training_data.recipe_words(run))}" for run in runs))))
