"""What was published for MIC, what our small models show of it, and what the page's numbers rest on."""

from __future__ import annotations

import streamlit as st

from app import truncation_known_data as known_data
from app import widgets
from app.truncation_data import Cuts


def known() -> None:
    """The published table and our five-seed table, folded; then what was and was not reproduced."""
    with st.expander("Published for MIC, and what our small models show of it", on_change="rerun", key="known_open") as folded:
        if not folded.open:
            return
        st.markdown("**As published** (BERT-base, per cent; blank where nothing was published):")
        st.dataframe(known_data.published_table(), hide_index=True, key="published_mic")
        st.markdown("**Our nano family**, means over five seeds [95% interval over seeds], Recall in per cent; its texts and tasks are "
                    "its own:")
        st.dataframe(known_data.nano_table(), hide_index=True, key="nano_seeds")
        st.markdown("\n\n".join(f"- {widgets.plain(line)}" for line in known_data.reproduced()))


def caveats(data: Cuts) -> None:
    """What to know before believing the numbers, folded."""
    meta = data.first.result.meta
    with st.expander("What these numbers rest on"):
        prompts = "; ".join(f"{widgets.plain(one.name)}: query {widgets.plain(repr(one.result.meta['query_prompt']))}, document "
                            f"{widgets.plain(repr(one.result.meta['document_prompt']))}" for one in data.models
                            if one.result.meta["query_prompt"] or one.result.meta["document_prompt"])
        lines = [
            "**A cut** keeps the first d coordinates of the pooled vector and brings them to length 1 again; documents are ranked by "
            "cosine. Pooling is the one that the model's files declare, else the mean. At the full dim as float32 every number is that "
            "of the Pooling page.",
            "**int8** is symmetric with one scale a coordinate: the largest absolute value among the documents' cut vectors at length "
            "1 is 127. Queries use the documents' scales and are clipped beyond them; cosines are taken of steps times scale. The "
            "scales (4 bytes a coordinate, once) are not counted in the bytes. **Binary** keeps the sign on both sides; its cosine "
            "falls with the number of bits that differ.",
            f"**Random coordinates**: {meta['draws']} choices at each dim, drawn once (seed 0), as float32. **Axes of other texts**: "
            f"principal axes of {meta['n']['others']:,} sentences of the encyclopedia at length 1, none of them in the set; centred on "
            "their mean, so that they differ from the plain vector even at the full dim. The probe is left out there, since the axes "
            "know its texts.",
            f"**Spearman's ρ** is between cosine and grade of {meta['n']['pairs']:,} graded pairs. **The probe** names the subject of "
            f"{meta['n']['texts']:,} sentences that it has not seen, by ridge regression in five folds; on unseen subjects it names "
            "the wider field. It reads the cut as pooled, standardised; int8 and bits as kept.",
            f"**Neighbours shared**: of each document's {meta['n_nearest']} nearest others by the full float32 vector, the share that "
            f"the cut finds too; chance gives {data.first.result.chance_overlap:.2f}. Where several are equally near for the last "
            "places, what a fair draw among them gives on average.",
            "**Intervals** are 95% percentile bootstrap over queries, pairs, texts or documents, with the same draws for every cut; "
            "losses and differences are paired. None is given below six, nor where nothing varies.",
            "**The floor of |C|**: if two coordinates of n tokens have nothing to do with each other, their correlation has variance "
            "1/(n − 1), so C, a mean over N texts, has variance Σ 1/(nᵢ − 1) / N²."]
        lines += [f"**Prompts**: {prompts}."] if prompts else []
        lines += [widgets.plain(note) for note in (*meta["notes"], *meta["model_notes"])]
        st.markdown("\n\n".join(lines))
