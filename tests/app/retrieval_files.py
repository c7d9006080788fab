"""A small retrieval set as files, from the bundled passages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from components.retrieval_sets import load_retrieval_set


def small_set(folder: Path, n_queries: int = 20, n_documents: int = 60) -> Path:
    """Writes the first passages and questions; returns the folder."""
    of = load_retrieval_set("passages")
    folder.mkdir()
    pd.DataFrame({"query_id": of.query_ids[:n_queries], "text": of.queries[:n_queries]}).to_csv(folder / "queries.csv", index=False)
    pd.DataFrame({"document_id": of.document_ids[:n_documents], "text": of.documents[:n_documents]}).to_csv(
        folder / "documents.csv", index=False)
    pd.DataFrame({"query_id": of.query_ids[:n_queries], "document_id": of.document_ids[:n_queries], "relevance": 1}).to_csv(
        folder / "qrels.csv", index=False)
    return folder
