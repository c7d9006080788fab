"""The controls and panels of the Audit page, top to bottom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app import audit_data, tables, viewport, widgets
from app.audit_data import Configured
from app.settings import settings
from components.audit_options import PRECISIONS, AuditOptions
from components.audit_words import OUTCOME_WORDS, VERDICT_SENTENCES, VERDICT_WORDS
from components.charts.audit_distances import audit_distances, audit_distances_alt
from components.charts.style import ChartTheme

CHART = {"displaylogo": False, "displayModeBar": False}
VECTOR_TYPES, TEXT_TYPES = ("npy", "csv", "tsv", "jsonl", "parquet"), ("txt", "csv", "tsv", "jsonl", "parquet")
ANY = "Any that the files allow"


@dataclass(frozen=True)
class Uploads:
    """What was uploaded in this session."""

    config: tuple[str, bytes] | None
    given: dict[str, tuple[str, bytes]]

    @property
    def complete(self) -> bool:
        return "vectors" in self.given


def uploads() -> Uploads:
    """The files, in the sidebar; each is as large as the server's limit allows at the most."""
    side, most = st.sidebar, max(1, int(settings().max_file_mb))

    def take(label: str, types: tuple[str, ...], key: str, help_: str, where: Any = side) -> tuple[str, bytes] | None:
        file = where.file_uploader(label, list(types), key=key, help=help_, max_upload_size=most)
        return None if file is None else (file.name, file.getvalue())

    config = take("embedding.yaml", ("yaml", "yml"), "audit_config", "Without one, what the model's own files say is expected.")
    vectors = take("Vectors", VECTOR_TYPES, "audit_vectors", "One row a text, in the order of the texts.")
    texts = take("Their texts", TEXT_TYPES, "audit_texts", "The texts that the vectors were made from.")
    other = side.expander("Queries against this index")
    given = {
        "vectors": vectors, "texts": texts,
        "against_vectors": take("Vectors of the queries' side", VECTOR_TYPES, "audit_against",
                                "Then the vectors above are an index's.", other),
        "against_texts": take("Their texts, if others", TEXT_TYPES, "audit_against_texts", "Without, those above.", other)}
    there = {role: file for role, file in given.items() if file is not None}
    side.caption(f"Up to {settings().max_file_mb:g} MB a file and {settings().max_texts:,} rows.")
    if ("vectors" in there) != ("texts" in there):
        missing = "texts" if "vectors" in there else "vectors"
        st.info(f"The {missing} are missing: vectors and the texts that they were made from are compared row by row.")
        there = {}
    elif "against_vectors" in there and "vectors" not in there:
        st.info("The index's vectors and texts are missing: the queries' side is compared with them.")
        there = {}
    if "against_vectors" in there:
        there.setdefault("against_texts", there["texts"])
    else:
        there.pop("against_texts", None)
    return Uploads(config, there)


def options(at: Configured) -> AuditOptions:
    """What is expected of the vectors beside the configuration."""
    side = st.sidebar
    names = [name for name, text in (at.config.prompts or {}).items() if text]
    prompt = side.selectbox("Prompt that the texts should have", [ANY, *names], key="audit_prompt") if names else ANY
    precision = side.selectbox("Precision of the vectors", PRECISIONS, key="audit_precision",
        help="In which they are meant to be stored.")
    return AuditOptions(prompt=None if prompt == ANY else str(prompt), precision=str(precision))


def verdict(report: Mapping[str, Any], at: Configured) -> None:
    """The verdict with what it rests on."""
    side = report["vectors"]
    with st.container(key="headline"):
        columns = st.columns(4)
        columns[0].metric("Verdict", VERDICT_WORDS[report["verdict"]], help="Exit codes of poolscope audit: 0, 1 and 2.")
        columns[0].caption(VERDICT_SENTENCES[report["verdict"]])
        columns[1].metric("Keys that depart", sum(c["status"] == "differs" for c in report["checks"]))
        columns[1].caption(f"of {len(report['checks'])} in " + ("the uploaded file" if at.uploaded else "the model's own files"))
        if side is not None:
            columns[2].metric("Explained by", OUTCOME_WORDS[side["outcome"]])
            columns[2].caption(widgets.plain(f"{side['n_compared']:,} of {side['n']:,} rows compared"))
            columns[3].metric("Rows that follow nothing", f"{side['n_unexplained']:,}")
            columns[3].caption(widgets.plain(f"{side['file']}: {side['dim']} dims, stored as {side['stored']}"))


def what_to_change(report: Mapping[str, Any]) -> None:
    """What was found and what to change, in sentences."""
    if report["says"]:
        st.markdown("**What this shows.** " + " ".join(widgets.plain(text) for text in report["says"]))
    elif report["vectors"] is None:
        st.markdown("**What this shows.** " + ("The configuration says what the model's files say." if report["verdict"] == "clean" else
                    "The configuration and the model's files do not agree, or neither says how to pool."))
    if report["changes"]:
        st.markdown("**What to change**\n\n" + "\n".join(f"- {widgets.plain(text)}" for text in report["changes"]))
    for note in report["notes"]:
        st.caption(widgets.plain(note))


def candidates(side: Mapping[str, Any], report: Mapping[str, Any], theme: ChartTheme) -> None:
    """The nearest settings of one file: figure and table."""
    st.subheader(f"How far each setting is from {widgets.plain(side['file'])}")
    shown, key = audit_data.distances(side), f"{side['file']}_{side['n']}"
    st.plotly_chart(audit_distances(shown, theme, narrow=viewport.is_narrow()), theme=None, key=f"distances_{key}",
                    alt=audit_distances_alt(shown), config=CHART)
    st.caption(widgets.plain(f"Mark: median over {side['n_compared']:,} rows; line: to the largest. Filled: every row lies within "
        f"what its "
                             f"precision explains. {report['model']}, revision {report['revision'].removeprefix('sha256:')[:10]}. The "
                             f"{len(shown)} nearest of those tried."))
    table = audit_data.tried_table(side)
    with st.expander("The same as a table", on_change="rerun", key=f"table_{key}") as folded:
        if folded.open:
            st.dataframe(table, hide_index=True, column_config={name: st.column_config.NumberColumn(format="%.2e")
                                                                for name in ("Median distance", "Largest distance")})
            tables.table_files(lambda: table, "Candidates", "audit-candidates", {"model": report["model"],
                "revision": report["revision"],
                               "file": side["file"], "poolscope": widgets.version()}, key=f"save_{key}")


def configuration(report: Mapping[str, Any], at: Configured) -> None:
    """The configuration beside the model's files."""
    st.subheader("Configuration and model files")
    st.dataframe(audit_data.checks_table(report), hide_index=True, key="checks")
    st.caption(widgets.plain(f"{report['model']}, revision {report['revision'].removeprefix('sha256:')[:10]}: "
                             + ("the uploaded embedding.yaml beside what its own files declare." if at.uploaded else
                                "what its own files declare, as an embedding.yaml would say it.")))


def files_to_take(report: Mapping[str, Any], at: Configured) -> None:
    """The corrected configuration, and the one that describes the vectors as they are."""
    with st.container(horizontal=True):
        st.download_button("embedding.yaml by the model's files", report["corrected"], "embedding.yaml", "text/yaml", on_click="ignore",
                           key="save_corrected")
        made = report.get("as_made")
        if made and made != report["corrected"]:
            st.download_button("embedding.yaml as these vectors were made", made, "embedding-as-made.yaml", "text/yaml",
                               on_click="ignore", key="save_made")
    st.code(report["corrected"], language="yaml")


def caveats() -> None:
    """What the audit can and cannot see."""
    with st.expander("How it is decided, and what it cannot see"):
        st.markdown(
            "- A setting reproduces a row when the row's relative error is within what its precision explains: 1e-4 for float32, "
            "half a "
            "unit in the last place for float16, bfloat16 and decimals, about one step for int8, every sign for binary.\n"
            "- After normalising, a mean and a mean by the root of the length are one and the same. Texts shorter than a limit cannot "
            "show where texts were cut. Signs and int8 codes with a scale for each row do not show the vectors' lengths.\n"
            "- An unmasked mean depends on the batch: batches of 2 to 256 in the order of the file or sorted by length are tried, and "
            "fixed lengths.\n"
            "- Half-precision arithmetic on other hardware and a slightly different revision look alike: then it cannot be told.\n"
            "- In CI: `poolscope audit embedding.yaml --vectors index.npy --texts texts.jsonl` ends with 0 (clean), 1 (departs) or 2 "
            "(could not tell).")
