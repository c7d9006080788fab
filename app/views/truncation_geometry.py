"""The geometry of cuts: C between what is kept and what is dropped, MIC's terms, effective dims, spectra."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from app import resources, truncation_data, viewport, widgets
from app.truncation_data import Cuts
from components.charts.correlation_map import correlation_map, correlation_map_alt
from components.charts.dim_panels import dim_panels, dim_panels_alt
from components.charts.style import ChartTheme, caption_number
from components.truncation_result import PLAIN, SPECIAL

CHART = {"displaylogo": False, "displayModeBar": False}
USUAL = 16


def controls(data: Cuts) -> tuple[int, float]:
    """The dim whose kept and dropped coordinates are looked at, and tau."""
    dims = [f"{dim}" for dim in data.first.result.dims[:-1]] or [f"{data.first.result.full}"]
    usual = f"{USUAL}" if f"{USUAL}" in dims else dims[0]
    dim = int(st.sidebar.selectbox("Cut looked at, dims", dims, dims.index(usual), key="cut", bind="query-params",
                                   help="Of the maps below; a click on a point of the figure sets it."))
    tau = float(st.sidebar.slider("Correlation counted from τ", 0.0, 0.5, 0.02, 0.005, key="tau", bind="query-params", format="%.3f",
                                  help="MIC's threshold: |C| up to τ goes unpunished. 0.02 is our trainer's default."))
    return dim, round(tau, 3)


def correlation(data: Cuts, dim: int, tau: float, theme: ChartTheme) -> None:
    """|C| between prefix and residual of the first model."""
    one, result = data.first, data.first.result
    st.subheader(f"Does what is kept repeat what is dropped? {widgets.plain(one.name)} at {dim:,} dims")
    if not result.has_tokens:
        st.info(f"{widgets.plain(one.name)} joins poolings or maps the pooled vector on, so its tokens' coordinates are not the "
                "vector's, and C is not defined.")
        return
    if dim >= result.full:
        st.info("Nothing is dropped at the full dim.")
        return
    narrow = viewport.is_narrow()

    def draw() -> tuple[go.Figure, str]:
        found = truncation_data.maps(one, dim)
        return correlation_map(found, theme, named=result.dims, narrow=narrow), correlation_map_alt(found)

    drawn, alt = resources.made_once(data.signature("map", dim, theme.name, narrow), draw)
    st.plotly_chart(drawn, theme=None, key="correlation_map", alt=alt, config=CHART)
    st.caption(f"C: correlation of a kept with a dropped coordinate over each text's tokens, averaged over "
               f"{result.meta['n_correlated'][SPECIAL]:,} of {result.meta['n']['documents']:,} documents "
               "(the first, 1,000 at the most); mean |C| in blocks of coordinates, finer in front. Final layer.")
    st.markdown(f"**What this shows.** {widgets.plain(said(data, dim, tau))}")


def said(data: Cuts, dim: int, tau: float) -> str:
    """The first model's |C| against what independent coordinates give."""
    result, parts = data.first.result, []
    panel = {SPECIAL: "over all tokens", PLAIN: "without special tokens"}
    for tokens, words in panel.items():
        floor, share = truncation_data.floors(result, tau, tokens), result.share_above(dim, tau, tokens)
        parts.append(f"{words} mean |C| is {caption_number(result.mean_correlation(dim, tokens))} and {share:.1%} of its entries lie "
                     f"above {tau:g}, where independent coordinates of as many texts would give {caption_number(floor[0])} and "
                     f"{floor[1]:.1%}")
    return f"At {dim:,} dims {'; '.join(parts)}."


def shape(data: Cuts, tau: float, theme: ChartTheme) -> None:
    """Panels by dim, the spectra and the table of MIC's terms."""
    st.subheader("How the cut vectors lie")
    narrow = viewport.is_narrow()

    def draw() -> tuple[go.Figure, str]:
        found = truncation_data.geometry_panels(data, tau)
        return dim_panels(found, theme, narrow=narrow, columns=3), dim_panels_alt(found)

    drawn, alt = resources.made_once(data.signature("geometry", tau, theme.name, narrow), draw)
    st.plotly_chart(drawn, theme=None, key="geometry", alt=alt, config=CHART)
    n = data.first.result.meta["n"]["documents"]
    st.caption("Dashed, hollow: without special tokens. "
               f"{n:,} documents at length 1 for effective dims (at most {n - 1:,} axes) and uniformity, log mean exp(−2 ‖x − y‖²), "
               "lower is more even; mean-pooled tokens for L_cv, 0 where every coordinate varies alike. The dotted level is what "
               "coordinates without any relation give; tokens of one text depend on each other, which widens it.")
    with st.expander("Variance by coordinate and axis, and each term of MIC's loss", on_change="rerun", key="terms_open") as folded:
        if not folded.open:
            return

        def draw_spectra() -> tuple[go.Figure, str]:
            found = truncation_data.spectrum_panels(data)
            return dim_panels(found, theme, narrow=narrow), dim_panels_alt(found)

        drawn, alt = resources.made_once(data.signature("spectrum", theme.name, narrow), draw_spectra)
        st.plotly_chart(drawn, theme=None, key="spectrum", alt=alt, config=CHART)
        st.caption(f"{n:,} documents at length 1; shares of each model's whole variance.")
        one = data.first
        if not one.result.has_tokens:
            return
        numbers = {name: st.column_config.NumberColumn(name, format="%.4f") for name in (
            "mean |C|", "noise |C|", "L_corr", "noise L_corr", "L_var", "L_cv", "L_unif", "L_SIR")}
        numbers |= {"L_corr": st.column_config.NumberColumn("L_corr", format="%.6f"),
                    "noise L_corr": st.column_config.NumberColumn("noise L_corr", format="%.6f"),
                    "InfoNCE": st.column_config.NumberColumn("InfoNCE", format="%.3f")}
        st.dataframe(truncation_data.terms_table(one, tau), hide_index=True, key="terms", column_config={
            "dims": st.column_config.NumberColumn("Dims", format="%d"), "tokens": "Tokens", **numbers})
        st.caption(f"{widgets.plain(one.name)}, final layer, {one.result.meta['n_token_texts']:,} documents as one batch, τ {tau:g}, "
                   "t 2. L_corr = mean max(0, |C| − τ)²; L_var = max(0, 1 − mean std of kept) + ½ max(0, 1 − mean std of dropped), "
                   "0 at full dim; L_SIR = (L_cv + L_unif) / 2, of mean-pooled tokens; InfoNCE of queries against all documents, "
                   "cosine times 20. MIC's weights are not published, so no total is given.")
