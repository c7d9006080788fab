"""How each run stands: progress, time left, what went wrong, and the buttons that start, stop, resume and remove it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from app import navigation, training_data, training_resources, widgets
from app.settings import settings
from app.training_data import Run
from components.errors import PoolscopeError

PROBLEM = "_training_problem"


def show(runs: list[Run]) -> None:
    """One row for each run, and one button for both where neither has begun."""
    if len(runs) == 2 and all(run.state == "none" and run.place for run in runs) and runs[0].seed != training_data.RECORDED:
        _button(f"Train both from seed {runs[0].seed}, about 2 min", "both", partial(_start_all, runs))
        st.caption("One after the other, in a process of its own; other computations on this server come first.")
    else:
        for run in runs:
            _row(run)
    if problem := st.session_state.pop(PROBLEM, None):
        st.error(widgets.plain(problem))


def _start_all(runs: list[Run]) -> None:
    for run in runs:
        training_data.start(run)


def waiting(runs: list[Run]) -> str:
    """What stands in place of the figure."""
    if any(run.active for run in runs):
        return "The first points come once the model is loaded and measured."
    return "Nothing trained here yet from this seed. Train it, or choose the recorded seed."


def _row(run: Run) -> None:
    name = widgets.plain(run.title)
    if run.state in ("gone", "damaged", "changed"):
        st.error(f"{name}: {widgets.plain(run.problem)}")
        if run.state != "gone":
            _remove(run)
    elif run.state == "none" and run.problem:
        st.info(f"{name}: {widgets.plain(run.problem)}")
    if run.state == "none" and run.seed != training_data.RECORDED:
        _button(f"Train {run.title} from seed {run.seed}, about a minute", run.name, lambda: training_data.start(run))
    elif run.active:
        _progress(run)
    elif run.state == "stopped":
        _stopped(run)
    elif run.state == "finished":
        with st.container(horizontal=True, vertical_alignment="center"):
            seconds = float(run.rec.seconds.sum()) + sum(float(line.get("seconds") or 0) for line in run.rec.lines)
            st.caption(f"{name}, seed {run.seed}: {run.rec.total:,} steps in {seconds:.0f} s, measuring included.", width="content")
            if (link := training_data.model_link(run)) is not None:
                navigation.link("map", "Map of this model", link)
                navigation.link("layers", "Layers", link)
            _remove(run)


def _progress(run: Run) -> None:
    name, record = widgets.plain(run.title), run.record
    with st.container(horizontal=True, vertical_alignment="center"):
        if run.state == "queued":
            job = training_resources.training_jobs().get(run.place.key.digest) if run.place else None
            place = training_resources.training_jobs().place(job) if job else None
            st.markdown(f"{name}: waiting" + (f", number {place} in line." if place else "."), width="stretch")
        else:
            done, total = (int(record.steps[-1]), record.total) if record is not None and len(record.steps) else (0, 0)
            stage = run.job.stage if run.job is not None else ""
            left = record.seconds_left() if record is not None else None
            words = f"{name}: step {done:,} of {total:,}" if total else f"{name}: {widgets.plain(stage) or 'starting'}"
            if total and not stage.startswith("Training"):
                words += f"; {widgets.plain(stage).lower()}"
            words += f"; about {widgets.rounded(left)} left" if left is not None else ""
            st.progress(done / total if total else 0.0, text=words, width="stretch")
        _button("Stop", f"stop_{run.name}", lambda: training_data.stop(run), primary=False,
                help_="Ends after the present step; its weights are kept, and the run can go on.")


def _stopped(run: Run) -> None:
    name = widgets.plain(run.title)
    kept = run.place.folder.last_step() if run.place else 0
    reached = int(run.record.steps[-1]) if run.record is not None and len(run.record.steps) else 0
    total = f" of {run.record.total:,}" if run.record is not None else ""
    where = f"It reached step {reached:,}{total}; its last checkpoint is of step {kept:,}." if kept else \
        f"It reached step {reached:,}{total} and has no checkpoint yet, so it starts again."
    if run.problem:
        st.error(f"{name}: {widgets.plain(run.problem)} {where}")
    elif run.record is not None and run.record.stopped:
        st.error(f"{name}: {widgets.plain(run.record.stopped)}. {where}")
    else:
        st.info(f"{name} was stopped. {where}")
    with st.container(horizontal=True):
        _button(f"Resume {run.title} at step {kept:,}" if kept else f"Start {run.title} again", f"resume_{run.name}",
                lambda: training_data.start(run))
        _remove(run)


def _remove(run: Run) -> None:
    _button(f"Remove {run.title}", f"remove_{run.name}", lambda: training_data.remove(run), primary=False,
            help_="Removes this run's weights, checkpoints and log from the server.")


def _button(label: str, key: str, act: Callable[[], object], *, primary: bool = True, help_: str | None = None) -> None:
    """A button whose work is done before the page is drawn again; none where the server allows no training."""
    if not settings().training:
        if primary:
            st.caption("Training is switched off on this server; recorded runs can be looked at.")
        return

    def do() -> None:
        try:
            act()
        except PoolscopeError as error:
            st.session_state[PROBLEM] = str(error)

    st.button(widgets.plain(label), key=f"training_{key}", on_click=do, type="primary" if primary else "secondary", help=help_)
