"""The controls and the first panels of the Truncation page: curves, recommendation, tables, exports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from app import resources, state, tables, truncation_data, viewport, widgets
from app.figure_files import figure_files, file_word
from app.truncation_data import Cuts
from components.charts.correlation_map import correlation_map
from components.charts.dim_panels import dim_panels
from components.charts.style import LIGHT, ChartTheme, caption_number
from components.charts.titles import add_title
from components.charts.truncation_curves import truncation_curves, truncation_curves_alt
from components.files import plural
from components.pair_map import UNKNOWN_WARNING
from components.truncation_advice import WORDS, change_words, rule, size_words
from components.truncation_result import DTYPES, FLOAT32, MILLION, QUALITY, bytes_per_vector

MOST, CUT = 4, "cut"
USUAL = ("nano-contrastive", "nano-mrl", "nano-mic")
"""Compared with unless told otherwise: a base loss, Matryoshka on it, and MIC on that."""
CHART = {"displaylogo": False, "displayModeBar": False}
METRICS = {WORDS[metric]: metric for metric in QUALITY}


@dataclass(frozen=True)
class Asked:
    """What the controls are set to."""

    metric: str
    dtype: str
    points: float
    baselines: bool

    @property
    def word(self) -> str:
        return WORDS[self.metric]


def compared(model_name: str) -> list[str]:
    """Up to three further models, from the link or the menu."""
    others = [name for name in resources.model_names() if name != model_name]
    usual = [name for name in USUAL if name in others][:MOST - 1]
    chosen = st.sidebar.multiselect("Compared with", others, usual, key="cut_with", bind="query-params", max_selections=MOST - 1,
                                    help="Hollow marks and dashed lines: a backbone, whose files declare no pooling.")
    return [str(name) for name in chosen][:MOST - 1]


def controls() -> Asked:
    """Metric, dtype, allowed loss, baselines; each in the URL."""
    side = st.sidebar
    metric = METRICS[str(side.selectbox("Measured by", list(METRICS), key="measured", bind="query-params",
                                        help="nDCG@10 was named before anything was measured; the others stand beside it."))]
    dtype = str(side.radio("Numbers kept as", DTYPES, key="kept_as", bind="query-params", horizontal=True,
                           help="int8: 255 steps a coordinate, scaled on the documents; binary: the sign alone."))
    points = float(side.slider("Loss allowed, points", 0.5, 10.0, 2.0, 0.5, key="points", bind="query-params",
                               help="A point is 0.01 of the metric."))
    return Asked(metric, dtype, points, bool(side.toggle("Baselines", value=True, key="baselines", bind="query-params",
                                                         help="The first model's random coordinates and other texts' axes.")))


def headline(data: Cuts, asked: Asked) -> None:
    """The first model: the metric uncut, the recommended dim, its bytes, effective dims."""
    result, best = data.first.result, truncation_data.advice(data.first, asked.metric, asked.points, asked.dtype)
    full = result.value(asked.metric, result.full)
    with st.container(key="headline"):
        columns = st.columns(4)
        widgets.number(columns[0], f"{asked.word} at {result.full:,} dims", full.value, widgets.spread_of(full),
                       "Of the full float32 vector; the interval is a percentile bootstrap.")
        lost = "we cannot tell" if best.loss is None else "no shorter prefix is sure to stay within" \
            if best.dim == result.full and best.dtype == FLOAT32 else f"{asked.word} {change_words(best.loss)}"
        widgets.number(columns[1], f"Smallest dim within {asked.points:g} points", best.dim, f"{lost}; as {asked.dtype}",
                       rule(asked.metric, asked.points))
        # A million times so many bytes is as many megabytes.
        widgets.number(columns[2], "MB for a million vectors", best.bytes,
                       f"instead of {caption_number(bytes_per_vector(result.full, FLOAT32))}"
                       + ("" if best.saved is None else f"; {best.saved:.0%} saved"), "So cut and kept, without the index around them.")
        widgets.number(columns[3], "Effective dims", result.geometry("effective_axes", result.full),
                       f"by axis; {caption_number(result.geometry('effective_dims', result.full))} by coordinate, of {result.full:,}",
                       "Participation ratio of the documents' variances, by principal axis and by coordinate: along how many "
                       "they vary in effect.")


def curves(data: Cuts, asked: Asked, theme: ChartTheme) -> None:
    """Metric against dims."""
    narrow = viewport.is_narrow()
    best = truncation_data.advice(data.first, asked.metric, asked.points, asked.dtype)

    def draw() -> tuple[go.Figure, str]:
        lines = truncation_data.curves(data, asked.metric, asked.dtype)
        return _curves(data, asked, theme, best.dim, narrow=narrow), truncation_curves_alt(lines, label=asked.word)

    drawn, alt = resources.made_once(data.signature("curves", asked, theme.name, narrow), draw)
    with st.container(key="curves"):
        name = f"truncation_curves_{'narrow' if narrow else 'wide'}"
        shorter = [str(dim) for dim in data.first.result.dims[:-1]]
        st.plotly_chart(drawn, theme=None, key=name, alt=alt, config=CHART, selection_mode="points",
                        on_select=partial(state.keep_clicked, name, CUT, shorter))
    st.caption(caption(data, asked))


def _curves(data: Cuts, asked: Asked, theme: ChartTheme, chosen: int | None, *, narrow: bool = False) -> go.Figure:
    return truncation_curves(truncation_data.curves(data, asked.metric, asked.dtype),
                             truncation_data.baselines(data.first, asked.metric) if asked.baselines else [], theme,
                             label=f"{asked.word}, {asked.dtype}", chosen=chosen, narrow=narrow, places=data.first.result.dims[:-1])


def caption(data: Cuts, asked: Asked) -> str:
    """What the figure is made of."""
    meta, n = data.first.result.meta, data.first.result
    models = ", ".join(f"{widgets.plain(one.name)} (revision {one.revision}, {one.result.full:,} dims, "
                       f"{one.result.meta['pooling']} pooling)" for one in data.models)
    counted = n.value(asked.metric, n.full)
    parts = [f"{widgets.plain(data.of.name)}: {meta['n']['queries']:,} queries, {meta['n']['documents']:,} documents; "
             f"{asked.word} over {counted.n:,} {counted.of}", models]
    parts += [f"{plural(one.result.meta['n_cut_documents'], 'document')} cut at {one.result.meta['max_length']:,} tokens under "
              f"{widgets.plain(one.name)}" for one in data.models if one.result.meta["n_cut_documents"]]
    if asked.baselines:
        parts.append(f"grey band: lowest to highest of {meta['draws']} random choices of dims, line: their median; dash-dotted: "
                     f"principal axes of {meta['n']['others']:,} other texts (both float32, {widgets.plain(data.first.name)})")
    if asked.metric == "overlap@10":
        parts.append(f"chance gives {caption_number(n.chance_overlap)}")
    if meta["unknown_share"] > UNKNOWN_WARNING:
        parts.append(f"{meta['unknown_share']:.1%} of tokens unknown: read nothing into these numbers")
    return "; ".join(parts) + "."


def shows(data: Cuts, asked: Asked) -> None:
    """A computed sentence for each model."""
    said = truncation_data.findings(data, asked.metric, asked.points, asked.dtype)
    st.markdown("**What this shows.** " + "  \n".join(map(widgets.plain, said)))


def advice(data: Cuts, asked: Asked) -> None:
    """The rule, what it recommends, and the lines to write down."""
    st.subheader("Where to cut")
    one, best = data.first, truncation_data.advice(data.first, asked.metric, asked.points, asked.dtype)
    least = truncation_data.fewest_bytes(one, asked.metric, asked.points)
    st.markdown(f"{widgets.plain(rule(asked.metric, asked.points))} For {widgets.plain(one.name)} as {asked.dtype}: "
                + (f"**{best.dim:,} dims**." if best.dim is not None else f"none. {widgets.plain(best.why)}"))
    if best.skipped:
        st.caption(f"At {', '.join(f'{dim:,}' for dim in best.skipped)} dims, which are more, the interval reaches further: the "
                   "answer hangs on these queries; take the larger one where you can.")
    if least.dim is not None and least.bytes is not None and (best.bytes is None or least.bytes < best.bytes):
        st.caption(f"Fewest bytes within {asked.points:g} points: {least.dim:,} dims as {least.dtype}, {least.bytes:,} bytes a vector, "
                   f"{size_words(least.bytes * MILLION)} a million.")
    if best.dim is not None:
        lines = truncation_data.yaml_lines(one, best)
        st.code(lines, language="yaml")
        st.download_button("Save as embedding.yaml", lines, file_name="embedding.yaml", mime="application/yaml", on_click="ignore",
                           key="embedding_yaml")


def cuts(data: Cuts, asked: Asked) -> None:
    """Every dim and dtype of the first model."""
    st.subheader(f"Every cut of {widgets.plain(data.first.name)}")
    columns = {"dims": st.column_config.NumberColumn("Dims", format="%d"), "kept as": st.column_config.TextColumn("Kept as"),
               "bytes": st.column_config.NumberColumn("Bytes a vector", format="%d"),
               "MB a million": st.column_config.NumberColumn("MB a million", format="%.1f"),
               **{name: st.column_config.NumberColumn(title, format=form) for name, title, form in (
                   ("value", asked.word, "%.3f"), ("low", "Low", "%.3f"), ("high", "High", "%.3f"), ("lost", "Points lost", "%.2f"),
                   ("lost low", "Lost, low", "%.2f"), ("lost high", "Lost, high", "%.2f"), ("tied", "Tied queries", "%d"))}}
    st.dataframe(truncation_data.cut_table(data.first, asked.metric), hide_index=True, column_config=columns, key="cuts", height=320)
    st.caption("Lost: the full float32 vector minus the cut, on the same queries, in points of 0.01. p: randomisation test of float32 "
               "prefixes, Holm-corrected over the shorter dims. Tied: queries of which an answer scores like a document that is "
               "none; equal scores keep the documents' order.")


def differences(data: Cuts, asked: Asked) -> None:
    """The first model against each other one, paired, folded since the tests take seconds."""
    if len(data.models) < 2:
        return
    with st.expander("Paired differences between models", on_change="rerun", key="differences_open") as folded:
        if not folded.open:
            return
        table = resources.made_once(data.signature("differences", asked.metric, asked.dtype),
                                    lambda: truncation_data.differences(data, asked.metric, asked.dtype))
        shown = {name: st.column_config.NumberColumn(title, format=form) for name, title, form in (
            ("points", "Points", "%+.2f"), ("low", "Low", "%+.2f"), ("high", "High", "%+.2f"), ("p", "p", "%.4f"),
            ("p corrected", "p, Holm", "%.4f"), ("n", "n", "%d"))}
        st.dataframe(table, hide_index=True, column_config={"minus": "Minus", "dims": "Dims", **shown}, key="model_differences")
        st.caption(f"{widgets.plain(data.first.name)} minus the other, {asked.word} as {asked.dtype}, in points of 0.01, on the same "
                   "queries, pairs, texts or documents; bootstrap intervals, randomisation p, corrected over the dims of each pair "
                   "of models.")


def exports(data: Cuts, asked: Asked, dim: int, tau: float) -> None:
    """The figures and every number as files."""
    with st.expander("Export", on_change="rerun", key="truncation_export_open") as folded:
        if not folded.open:
            return
        about = truncation_data.about(data, widgets.version())
        best = truncation_data.advice(data.first, asked.metric, asked.points, asked.dtype)
        made = {"Curves": _curves(data, asked, LIGHT, best.dim),
                "Geometry": dim_panels(truncation_data.geometry_panels(data, tau), LIGHT),
                "Spectrum": dim_panels(truncation_data.spectrum_panels(data), LIGHT)}
        if data.first.result.has_tokens and dim < data.first.result.full:
            made["Correlation"] = correlation_map(truncation_data.maps(data.first, dim), LIGHT, named=data.first.result.dims)
        name = f"poolscope-truncation-{file_word(data.first.name)}"
        for label, fig in made.items():
            add_title(fig, f"{label}: {', '.join(one.name for one in data.models)}, {data.of.name}",
                      f"{about['queries']} queries, {about['documents']} documents (digest {data.of.digest[:10]}); model revisions "
                      f"{', '.join(one.revision for one in data.models)}; Poolscope {about['poolscope']}", LIGHT)
            fig.layout.meta = about
            figure_files(fig, label, f"{name}-{label.lower()}", key=f"export_truncation_{label.lower()}")
        tables.table_files(partial(truncation_data.long_table, data), "Every number", name, about, key="export_truncation")
