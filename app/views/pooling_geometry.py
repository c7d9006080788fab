"""How each pooling's vectors lie: numbers, neighbours in common, and a plane each."""

from __future__ import annotations

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from app import pooling_data, resources, results, state, viewport, widgets
from app.pooling_data import PoolingData
from app.views import pooling_parts
from app.views.pooling_parts import DOCUMENT
from components.charts.pooled_planes import pooled_planes, pooled_planes_alt
from components.charts.style import ChartTheme
from components.charts.token_matrix import token_matrix, token_matrix_alt

CHART = {"displaylogo": False, "displayModeBar": False}
AXES, UMAP = "Principal axes", "UMAP"


def show(data: PoolingData, theme: ChartTheme) -> None:
    """All of it."""
    st.subheader("Geometry beside quality")
    table = pooling_data.geometry(data)
    st.dataframe(table, hide_index=True, key="geometry", column_config={
        "pooling": "Pooling", **{name: st.column_config.NumberColumn(name, format="%.3f") for name in table.columns[1:]}})
    st.caption("Vectors at length 1. Random cosine: of two different documents. Alignment: mean squared distance of a query and its "
               "answer (low is near). Uniformity: log of the mean of exp(−2 · squared distance) over documents (low is spread out). "
               "Effective dims: over how many coordinates, and along how many principal axes, documents vary.")
    narrow = viewport.is_narrow()
    _planes(data, theme, narrow=narrow)
    names, label = data.result.poolings, "Share in common"
    st.markdown("##### Nearest documents that two poolings have in common")
    with st.container(width=560):
        st.plotly_chart(token_matrix(data.result.overlap, (names, names), theme, label=label, centred=False, narrow=narrow,
                                     titles=("", "")),
                        theme=None, key="overlap", config=CHART, alt=token_matrix_alt(data.result.overlap, (names, names), label=label,
                                                                                      sides=("pooling", "pooling")))
    st.caption(f"Of each document's 10 nearest by cosine, the share that both poolings name; means over "
               f"{data.result.meta['n_documents']:,} documents.")


def _planes(data: PoolingData, theme: ChartTheme, *, narrow: bool) -> None:
    ids, marked = list(data.of.document_ids), pooling_parts.choose_document(data)
    arranged = str(st.segmented_control("Arranged by", [AXES, UMAP], default=AXES, key="arranged", bind="query-params") or AXES)
    planes, words = pooling_data.planes(data), "First two principal axes, with the share of variance they carry"
    if arranged == UMAP:
        request = results.pooled_umap_request(data.of.name, data.model, results.pooling_options(data.model))
        found = results.stored(request)
        if found is None:
            widgets.compute_or_wait(request, height=280)
            return
        planes = pooling_data.umap_planes(data, found)
        words = (f"UMAP of vectors at length 1 ({found.meta['n_neighbors']} neighbours, seed {found.meta['seed']}), with its "
                 "trustworthiness: 1 where every neighbour on the plane is one, about 0.5 by chance; distances and axes mean nothing")
    hover = [data.of.queries[q] for q in data.of.answered], data.of.documents

    def draw() -> tuple[go.Figure, str]:
        return pooled_planes(planes, hover, theme, marked=marked, answered_by=pooling_data.answering(data.of), axis=arranged,
                             narrow=narrow), pooled_planes_alt(planes, n_queries=len(hover[0]), n_documents=len(hover[1]))

    drawn, alt = resources.made_once(repr(("pooled planes", data.request.key.digest, arranged, marked, theme.name, narrow)), draw)
    st.plotly_chart(drawn, theme=None, key="pooled_planes", alt=alt, config=CHART, selection_mode="points",
                    on_select=partial(state.keep_clicked, "pooled_planes", DOCUMENT, ids))
    st.caption(f"{words}. Queries open and blue, documents orange. Click one: its document is marked in every plane, joined to the "
               "queries it answers.")
