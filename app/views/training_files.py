"""The figure and the table of the Training page as files."""

from __future__ import annotations

import streamlit as st

from app import tables, training_data, training_figures, widgets
from app.figure_files import figure_files, file_word
from app.training_data import Run
from components.charts.style import LIGHT
from components.charts.titles import add_title
from components.charts.training_curves import training_curves


def exports(runs: list[Run], step: int) -> None:
    """Curves as PNG, SVG and JSON; every figure of every probe and step as CSV and Parquet."""
    with st.expander("Export", on_change="rerun", key="training_export_open") as folded:
        if not folded.open:
            return
        about = training_data.about(runs, widgets.version())
        name = f"poolscope-training-{'-'.join(file_word(run.name) for run in runs)}"
        total = max(run.rec.total for run in runs)
        for label, panels in (("Curves", training_figures.panels(runs)), ("Layers", training_figures.layer_curves(runs))):
            fig = training_curves(panels, LIGHT, total=total, chosen=step)
            add_title(fig, f"{label} over training steps: {', '.join(run.title for run in runs)}",
                      f"{training_data.made_of(runs)} Poolscope {about['poolscope']}", LIGHT)
            fig.layout.meta = about
            figure_files(fig, label, f"{name}-{label.lower()}", key=f"export_training_{label.lower()}")
        tables.table_files(lambda: training_data.long_table(runs), "Every figure", name, about, key="export_training")
