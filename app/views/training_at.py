"""The small views of one step: the pairs on the plane, the layers, and the tokens of one pair."""

from __future__ import annotations

import streamlit as st

from app import training_data, training_figures, viewport, widgets
from app.training_data import Run
from components.charts.layer_panels import layer_panels, layer_panels_alt
from components.charts.pair_points import pair_points, pair_points_alt
from components.charts.style import MD_D_MU, MD_D_SIGMA, ChartTheme, caption_number
from components.charts.token_plane import token_plane
from components.errors import DataError

CHART = {"displaylogo": False, "displayModeBar": False}
HEIGHT = 380
MISSING = "This step's file cannot be read; choose another step."


def show(runs: list[Run], step: int, theme: ChartTheme) -> None:
    """Map of each run, layers of both, tokens of each run."""
    at = int(runs[0].rec.line(step)["step"])
    st.subheader(f"The same texts at step {at:,}")
    _maps(runs, step, theme)
    _tokens(runs, step, theme)


def _maps(runs: list[Run], step: int, theme: ChartTheme) -> None:
    columns = st.columns(len(runs) + 1)
    for column, run in zip(columns, runs, strict=False):
        with column:
            st.markdown(f"**{widgets.plain(run.title)}: map**")
            drawn = training_figures.drawn_pairs(run, runs, step)
            if drawn is None:
                st.info(MISSING)
                continue
            fig = pair_points(drawn.d_mu, drawn.d_sigma, theme, mu_range=drawn.mu_range, sigma_range=drawn.sigma_range,
                              socm_range=drawn.socm_range, height=HEIGHT + 60, narrow=True)
            st.plotly_chart(fig, theme=None, key=f"training_map_{run.colour}", alt=pair_points_alt(drawn.d_mu, drawn.d_sigma),
                            config=CHART)
            now = run.at(step, "mean_socm")
            st.caption(f"{len(drawn.d_mu):,} pairs of {run.rec.lines[0]['n_texts']} texts; mean SOCM "
                       f"{caption_number(now.value if now else None)} {training_data.interval_words(now)}.")
    with columns[-1]:
        st.markdown("**Layers**")
        panel, high = training_figures.layer_profile(runs, step)
        fig = layer_panels([panel], theme, axis="Layer", narrow=True)
        fig.update_yaxes(range=[0, high])
        fig.update_layout(height=HEIGHT + 60, margin={"t": 34, "b": 118})
        fig.update_layout(legend={"y": 0.0, "yanchor": "bottom", "orientation": "v"})
        st.plotly_chart(fig, theme=None, key="training_profile", alt=layer_panels_alt([panel]), config=CHART)
        st.caption("Normalised spread by layer, dashed before training; bands are 95% over texts.")
    with st.expander(f"Pairs of highest SOCM under {widgets.plain(runs[0].title)} at this step"):
        table = training_figures.top_pairs(runs[0], step)
        if not len(table):
            st.info(MISSING)
            return
        titles = {"SOCM": "SOCM", "d_mu": "Mean distance dμ", "d_sigma": "Covariance distance dΣ"}
        st.dataframe(table, hide_index=True, key="training_top", column_config={
            **{name: st.column_config.NumberColumn(title, format="%.3f") for name, title in titles.items()},
            **{f"text {side}": st.column_config.TextColumn(f"Text {side}", width="medium") for side in "AB"}})


def _tokens(runs: list[Run], step: int, theme: ChartTheme) -> None:
    pairs = training_figures.pairs_shown(runs[0])
    if not pairs:
        st.info("This run kept no tokens.")
        return
    number = str(st.segmented_control("Pair whose tokens are drawn", list(pairs), default=next(iter(pairs)), required=True, key="pair",
                                      bind="query-params",
                                      help="The probe's first texts, two by two, chosen before anything was measured."))
    chosen = list(pairs).index(number) if number in pairs else 0
    for side, text in zip("AB", list(pairs.values())[chosen], strict=True):
        st.caption(f"Text {side}: {widgets.plain(text)}")
    for column, run in zip(st.columns(len(runs)), runs, strict=True):
        with column:
            try:
                found = training_figures.pair_tokens(run, runs, step, chosen)
            except (DataError, KeyError, IndexError):
                found = None
            if found is None:
                st.info(MISSING)
                continue
            st.markdown(f"**{widgets.plain(run.title)}: tokens of the pair**")
            fig = token_plane(found.plane, found.words, found.shares, theme, effect_label="Share of the text's spread",
                              span=found.span, height=HEIGHT, narrow=viewport.is_narrow())
            st.plotly_chart(fig, theme=None, key=f"training_tokens_{run.colour}", config=CHART,
                            alt=f"Tokens of two texts under {run.title} on a plane, with their means and the ellipses of one and "
                                f"two standard deviations.")
            socm = None if found.d_mu is None or found.d_sigma is None else (1 - found.d_mu) * found.d_sigma
            st.caption(f"{MD_D_MU} {caption_number(found.d_mu)}, {MD_D_SIGMA} {caption_number(found.d_sigma)}, SOCM "
                       f"{caption_number(socm)}; {len(found.words[0])} and {len(found.words[1])} tokens.")
