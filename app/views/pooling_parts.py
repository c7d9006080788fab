"""The controls and panels of the Pooling page, top to bottom."""

from __future__ import annotations

import streamlit as st

from app import pooling_data, resources, results, tables, viewport, widgets
from app.figure_files import figure_files, file_word
from app.pooling_data import WORDS, PoolingData, Setting
from app.results import Request
from components.charts.interval_rows import interval_rows, interval_rows_alt
from components.charts.style import LIGHT, ChartTheme, caption_number, interval_text
from components.charts.titles import add_title
from components.files import plural
from components.models import declared
from components.pooling_measures import poolings_for
from components.pooling_result import METRIC_WORDS, SECOND_ORDER, default_reference
from components.retrieval import METRICS, SIMILARITIES

CHART = {"displaylogo": False, "displayModeBar": False}
PARTS = METRICS_AND_QUERIES, FAULTS, GEOMETRY, IN_A_FILE = "Metrics and queries", "Faults", "Geometry", "In a file"
DOCUMENT, AS_DECLARED = "doc", "as declared"
METRIC_OF = {METRIC_WORDS[metric]: metric for metric in METRICS}
SIMILARITY_OF = dict(zip(("Cosine", "Inner product", "Euclidean distance"), SIMILARITIES, strict=True))
"""Words in menus and links -> names."""
HYPOTHESES = ("w2 and socm_penalty see covariances; they are hypotheses that this page tests, not poolings that an index can hold. "
              "Both are computed from all token states of a query and a document.")


def controls(model_name: str) -> tuple[Setting, bool]:
    """What is looked at, and whether the declared prompts stand in front of the texts; all in the URL."""
    side, own = st.sidebar, declared(results.model(model_name).folder)
    names = [AS_DECLARED, *poolings_for(own.pooling), *SECOND_ORDER]
    pooling = str(side.selectbox("Pooling in use", names, key="pooling", bind="query-params",
                                 help="What your pipeline does; set beside what the model's files declare."))
    metric = METRIC_OF[str(side.selectbox("Metric", list(METRIC_OF), key="metric", bind="query-params",
                                          help="nDCG@10 is the primary one, named before anything was measured."))]
    similarity = SIMILARITY_OF[str(side.radio("Compared by", list(SIMILARITY_OF), key="similarity", bind="query-params"))]
    free = similarity != SIMILARITIES[0]
    units = [bool(side.toggle(f"{name} at length 1", value=True, key=key, bind="query-params", disabled=not free,
                              help="Cosine brings both to length 1 itself." if not free else None))
             for name, key in (("Queries", "unit_queries"), ("Documents", "unit_documents"))]
    prompts = True
    if own.prompts and any(own.prompts.values()):
        prompts = bool(side.toggle("Declared prompts", value=True, key="prompts", bind="query-params",
                                   help="What the model's files put in front of queries and documents."))
    name = default_reference(own.pooling) if pooling == AS_DECLARED else pooling
    return Setting(name, metric, similarity, *units), prompts


def choose_part() -> str:
    """What stands below the figure, one thing at a time: each costs the browser a figure or more."""
    return str(st.segmented_control("Look at", PARTS, default=PARTS[0], key="part", bind="query-params") or PARTS[0])


def choose_document(data: PoolingData) -> int:
    """The document looked at: the one clicked on a plane, or in the menu."""
    ids = list(data.of.document_ids)
    return ids.index(str(st.selectbox("Document", ids, key=DOCUMENT, bind="query-params")))


def alarm(data: PoolingData, setting: Setting) -> None:
    """What the model declares, and what it costs not to follow it."""
    meta = data.result.meta
    known = [f"{widgets.plain(data.model)} declares {widgets.plain(data.declares)}"]
    known.append("and normalises its vectors (modules.json)" if meta["normalize"] else "and no normalisation")
    if meta["modules"]:
        known.append(f"after {' and '.join(meta['modules'])}, applied here to every pooling")
    st.markdown(", ".join(known) + ".")
    if meta["unknown_modules"]:
        st.warning(widgets.plain(f"Its module {meta['unknown_modules'][0]} is not known here and was not applied: these vectors are "
                                 "not the model's own."))
    if setting.pooling not in data.result.names:
        return
    cost = pooling_data.cost(data, setting)
    if not cost:
        return
    departs = setting.pooling != data.result.declared
    what = f"{setting.pooling} is not what this model declares. " if departs and meta["declared"] else ""
    if not meta["declared"] and departs:
        what = "No pooling was trained into this model, so none is wrong. "
    how = "" if setting.ranking == "cosine" else f"Compared by {setting.in_words}. "
    (st.warning if (departs and meta["declared"]) or how else st.info)(widgets.plain(f"{what}{how}{cost}"))


def headline(data: PoolingData, setting: Setting) -> None:
    """The declared pooling, the one in use, their difference, and the questions it decides."""
    result, words = data.result, METRIC_WORDS[setting.metric]
    usual = data.row(result.declared, setting.metric)
    with st.container(key="headline"):
        columns = st.columns(4)
        widgets.number(columns[0], f"{words}, {result.declared}", usual.value.value, widgets.spread_of(usual.value),
                       "As the model declares, by cosine." if result.meta["declared"] else "The mean, since the model declares none.")
        if setting.pooling not in result.names:
            columns[1].metric(f"{words}, {setting.pooling}", "–")
            columns[1].caption("not computed for so many pairs")
            return
        row = data.row(setting.pooling, setting.metric, setting.ranking)
        same = setting.pooling == result.declared and setting.ranking == "cosine"
        widgets.number(columns[1], f"{words}, {setting.pooling}", row.value.value,
                       "as declared" if same else widgets.spread_of(row.value), f"{WORDS.get(setting.pooling, setting.pooling)}; by "
                       f"{setting.in_words}.")
        gap = None if same else row.difference
        columns[2].metric("Difference", "–" if gap is None else pooling_data.signed(gap.value),
                          help="On the same queries; its interval and p are paired.")
        columns[2].caption("none: this is the declared one" if gap is None else
                           f"{interval_text(gap.low, gap.high)} p {caption_number(row.p_holm)} after Holm".strip())
        n = len(result.flips(setting.pooling, setting.ranking))
        widgets.number(columns[3], "Queries that flip", n, f"of {result.meta['n_answered']:,}, at rank 1",
                       "One of the two puts an answer first and the other does not.")


def figure(data: PoolingData, setting: Setting, theme: ChartTheme) -> None:
    """Every pooling's value and difference."""
    found = pooling_data.rows(data, setting)
    label, narrow = METRIC_WORDS[setting.metric], viewport.is_narrow()
    drawn, alt = resources.made_once(
        repr(("pooling rows", data.request.key.digest, setting, theme.name, narrow)),
        lambda: (interval_rows(found, theme, label=label, narrow=narrow,
                               difference_label=f"Difference to {data.result.declared} by cosine"),
                 interval_rows_alt(found, label=label)))
    with st.container(key="poolings"):
        st.plotly_chart(drawn, theme=None, key="pooling_rows", alt=alt, config=CHART)
    st.caption(caption(data, setting) + f" Orange and hollow: a fault. Diamonds: hypotheses. {HYPOTHESES}")


def caption(data: PoolingData, setting: Setting) -> str:
    """What the figure is made of."""
    meta = data.result.meta
    parts = [f"{widgets.plain(data.of.name)}: {plural(meta['n_documents'], 'document')}, "
             f"{meta['n_answered']:,} of {meta['n_queries']:,} queries, those with an answer",
             f"{widgets.plain(data.model)} (revision {data.revision}), final layer, {setting.in_words}",
             f"{plural(meta['n_cut_documents'], 'document')} cut at {meta['max_length']} tokens" if meta["n_cut_documents"] else
             "no document cut"]
    tied = meta["tied"][setting.ranking].get(setting.pooling, 0)
    if tied:
        parts.append(f"{tied:,} queries with an answer that ties with another document, in file order")
    return "; ".join(parts) + "."


def metrics_table(data: PoolingData, setting: Setting) -> None:
    """All metrics, a row a pooling."""
    table = pooling_data.wide(data, setting.ranking)
    st.subheader("Every metric")
    st.dataframe(table, hide_index=True, key="metrics", column_config={
        "pooling": "Pooling", **{name: st.column_config.NumberColumn(name, format="%.3f") for name in table.columns[1:]}})
    meta = data.result.meta
    more = ""
    if "n_graded" in meta:
        more = (f" Spearman: cosine against the grades of {meta['n_graded']:,} bundled pairs. Probe: a ridge classifier names the "
                f"subject of {meta['n_probe']:,} bundled sentences ({meta['n_subjects']} subjects), 5 folds split by sentence; unseen "
                f"subjects: their field ({meta['n_fields']} of them), with no subject in both training and test.")
    st.caption("nDCG: the relevance itself as gain, discounted by log₂(rank + 1); MRR counts an answer below rank 10 as 0; MAP over "
               f"all {meta['n_documents']:,} documents. Intervals, differences and p of each are in the export.{more}")


def flipped(data: PoolingData, setting: Setting) -> None:
    """The queries whose first document changes between right and wrong."""
    result = data.result
    if setting.pooling not in result.names or (setting.pooling == result.declared and setting.ranking == "cosine"):
        return
    table = pooling_data.flips(data, setting)
    st.subheader("Queries that flip")
    if not len(table):
        st.info("Both put an answer first for the same queries.")
        return
    st.caption(f"{len(table):,} of {result.meta['n_answered']:,} queries where one puts an answer first and the other does "
               f"not; declared: {result.declared} by cosine, chosen: {setting.pooling} by {setting.in_words}. "
               "Select one to read all of it.")
    shown = {"better": st.column_config.TextColumn("Better", width=90), "query": st.column_config.TextColumn("Query", width="large"),
             "declared rank": st.column_config.NumberColumn("Rank, declared"),
             "chosen rank": st.column_config.NumberColumn("Rank, chosen"),
             "answer": st.column_config.TextColumn("Answer", width="large")}
    event = st.dataframe(table, hide_index=True, key="flips", on_select="rerun", selection_mode="single-row", height=300,
                         column_config=shown, column_order=list(shown))
    rows = event.selection.rows
    if rows and rows[0] < len(table):
        one = table.iloc[rows[0]]
        for title, name in (("Query", "query"), ("Answer", "answer"), (f"First by {result.declared}", "declared first"),
                            (f"First by {setting.pooling}", "chosen first")):
            st.caption(widgets.plain(title))
            st.text(one[name])


def prompts(data: PoolingData, setting: Setting) -> None:
    """What the declared prompts are, and what they do."""
    known = {name: text for name, text in data.result.meta["prompts"].items() if text}
    if not known:
        return
    st.subheader("Prompts")
    st.dataframe({"name": list(known), "in front of the text": list(known.values())}, hide_index=True, key="prompt_table")
    one, other = (pooling_data.load(data.of.name, data.model, prompts=flag) for flag in (True, False))
    for side in (one, other):
        if isinstance(side, Request):
            widgets.compute_or_wait(side, height=150)
    if isinstance(one, PoolingData) and isinstance(other, PoolingData):
        gap, p = pooling_data.prompts_effect(one, other, setting.metric)
        st.markdown(f"With the declared prompts, {METRIC_WORDS[setting.metric]} of {data.result.declared} changes by "
                    f"{pooling_data.signed(gap.value)} {interval_text(gap.low, gap.high)} over {gap.n:,} queries "
                    f"(p {caption_number(p)}).")


def caveats(data: PoolingData) -> None:
    """What to know before believing the numbers, folded."""
    with st.expander("What these numbers rest on"):
        meta = data.result.meta
        lines = [
            "**One pass.** Every pooling is made from the same token states; results equal those of sentence-transformers' Pooling.",
            "**Intervals** draw the queries anew (2,000 percentile bootstraps); differences are paired. **p** swaps each query's two "
            "values (9,999 draws); Holm's correction counts all poolings compared, for each metric by itself.",
            "**Only queries are drawn anew**, not documents nor the people who wrote them: another collection may rank poolings "
            "otherwise.",
            "**mean_unmasked** is the mean over padding too, in batches of 32 texts in order of length, as encoders run; below it "
            "is measured in the file's order, where padding is wider.",
            "**Ties** keep the documents' order in their file."]
        if "penalty_weight" in meta:
            lines.append(f"**socm_penalty** is cosine − {meta['penalty_weight']:g} SOCM. The weight is the best of 41 on "
                         f"{meta['penalty_tuned_on']:,} of the queries; its row, and its comparison, rest on the other half.")
        lines += [widgets.plain(note) for note in (*meta["notes"], *meta["model_notes"])]
        st.markdown("\n\n".join(lines))


def configuration(data: PoolingData, setting: Setting) -> None:
    """What a pipeline has to say to do the same."""
    st.subheader("Say it in a file")
    lines = pooling_data.configuration(data, setting)
    st.code(lines, language="yaml")
    st.download_button("Save as embedding.yaml", lines, file_name="embedding.yaml", mime="application/yaml", on_click="ignore",
                       key="pooling_yaml")
    st.caption("`poolscope audit embedding.yaml` compares it with the model's files, and with vectors that your pipeline made; "
               "the page Audit does the same.")


def exports(data: PoolingData, setting: Setting) -> None:
    """The figure and the tables as files."""
    with st.expander("Export", on_change="rerun", key="pooling_export_open") as folded:
        if not folded.open:
            return
        about = pooling_data.about(data, setting, widgets.version())
        name = f"poolscope-pooling-{file_word(data.model)}"
        fig = interval_rows(pooling_data.rows(data, setting), LIGHT, label=METRIC_WORDS[setting.metric],
                            difference_label=f"Difference to {data.result.declared} by cosine")
        add_title(fig, f"Poolings of {data.model} on {data.of.name}",
                  f"{data.result.meta['n_answered']:,} queries, {data.result.meta['n_documents']:,} documents (digest "
                  f"{data.of.digest[:10]}); {setting.in_words}; revision {data.revision}; Poolscope {about['poolscope']}", LIGHT)
        fig.layout.meta = about
        figure_files(fig, "Poolings", name, key="export_poolings")
        tables.table_files(lambda: pooling_data.table(data, setting.ranking), "All metrics", name, about, key="export_pooling_table")
        if setting.pooling in data.result.names:
            tables.table_files(lambda: pooling_data.flips(data, setting), "Flips", f"{name}-flips", about, key="export_flips")
