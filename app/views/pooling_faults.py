"""Two faults that raise no error: a mean that forgets the mask, and a document's tail that nobody reads."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app import pooling_data, resources, results, viewport, widgets
from app.pooling_data import PoolingData, Setting
from app.views import pooling_parts
from components.charts.company_curve import company_curve, company_curve_alt
from components.charts.interval_rows import interval_rows, interval_rows_alt
from components.charts.style import ChartTheme, caption_number, interval_text
from components.files import plural
from components.pooling_result import METRIC_WORDS

CHART = {"displaylogo": False, "displayModeBar": False}


def company(data: PoolingData, setting: Setting, theme: ChartTheme) -> None:
    """A text in batches of growing company, under the masked and the unmasked mean."""
    st.subheader("Fault: a vector that depends on its batch")
    st.caption("Documents are encoded in batches in the order of their file, as a simple script would; queries come alone. With the "
               "mask, a text's vector is its own. Without it, padding joins the mean.")
    request = results.company_request(data.of.name, data.model, results.pooling_options(data.model))
    found = results.stored(request)
    if found is None:
        widgets.compute_or_wait(request, height=180)
        return
    document = pooling_parts.choose_document(data)
    lines = pooling_data.company_lines(found, setting.metric, document)
    sizes, label, narrow = pooling_data.company_sizes(found), METRIC_WORDS[setting.metric], viewport.is_narrow()
    one = f"document {data.of.document_ids[document]}"
    drawn = company_curve(sizes, lines, theme, metric_label=label, one_label=one, narrow=narrow)
    st.plotly_chart(drawn, theme=None, key="company", alt=company_curve_alt(sizes, lines, metric_label=label), config=CHART)
    masked, unmasked = lines
    worst = int(np.argmin([m.value for m in unmasked.metric]))
    here, alone = unmasked.metric[worst], unmasked.metric[0]
    if float(unmasked.drift.max()) < 1e-9:
        st.markdown(f"No document of {widgets.plain(data.of.name)} is ever padded, since all have as many tokens as the model reads: "
                    "with nothing to forget, the mask makes no difference here.")
        return
    st.caption(f"{plural(data.result.meta['n_documents'], 'document')}; line: half of the texts lie below, band: 5 to 95%; dotted: "
               f"{widgets.plain(one)} ({found.arrays['n_tokens'][document]:,} tokens, in batches up to "
               f"{int(found.arrays['widths'][:, document].max()):,} wide). With the mask the largest distance is "
               f"{caption_number(float(masked.drift.max()))}, which is rounding.")
    st.markdown(f"Without the mask, {label} lies lowest with {widgets.plain(sizes[worst])} in a batch: {caption_number(here.value)} "
                f"{interval_text(here.low, here.high)} where each text alone gives {caption_number(alone.value)} "
                f"{interval_text(alone.low, alone.high)}, over {here.n:,} queries.")


def chunks(data: PoolingData, setting: Setting, theme: ChartTheme) -> None:
    """Documents cut at the model's limit, beside chunks."""
    st.subheader("Fault: a tail that nobody reads")
    meta = data.result.meta
    if not meta["n_cut_documents"]:
        others = [name for name in resources.retrieval_sets() if name != data.of.name]
        limit = f"the {meta['max_length']:,} tokens that {data.model} reads" if meta["max_length"] else f"{data.model} reads"
        more = f"; choose {others[-1]} to see truncation." if others else "."
        st.caption(widgets.plain(f"No document of {data.of.name} is longer than {limit}{more}"))
        return
    request = results.chunks_request(data.of.name, data.model, results.pooling_options(data.model))
    found = results.stored(request)
    if found is None:
        widgets.compute_or_wait(request, height=180)
        return
    rows, label = pooling_data.chunk_rows(found, setting.metric), METRIC_WORDS[setting.metric]
    st.plotly_chart(interval_rows(rows, theme, label=label, difference_label="Difference to cutting at the limit",
                                  narrow=viewport.is_narrow()),
                    theme=None, key="chunks", alt=interval_rows_alt(rows, label=label), config=CHART)
    unseen = pooling_data.unseen_shares(found)
    best = max(rows[1:], key=lambda row: row.value.value) if len(rows) > 1 else rows[0]
    first = rows[0].value
    width = "" if first.low is None or first.high is None else \
        f" {first.n:,} queries leave an interval of {caption_number(first.high - first.low)}: differences below that are hard to see."
    st.caption(f"{meta['n_cut_documents']:,} of {meta['n_documents']:,} documents are longer than {meta['max_length']} tokens; of "
               f"these, {float(unseen[unseen > 0].mean()):.0%} is never read on average, {float(unseen.max()):.0%} at most. Chunks do "
               "not overlap and end between words; best: a document is as near as its nearest chunk. "
               f"{widgets.plain(found.meta['pooling'])} pooling, cosine; p is not corrected.")
    gap = best.difference
    said = "" if gap is None else f" {best.name.capitalize()} changes {label} by {pooling_data.signed(gap.value)} " \
        f"{interval_text(gap.low, gap.high)} (p {caption_number(best.p)})."
    st.markdown(f"Cut at the limit, {label} is {caption_number(first.value)} {interval_text(first.low, first.high)}.{said}{width}")
