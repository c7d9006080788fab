"""Opens a page in Streamlit's own test harness, from a link, and reads it."""

from __future__ import annotations

from collections.abc import Mapping

from streamlit.testing.v1 import AppTest


def open_page(view: str, query: Mapping[str, str | list[str]]) -> AppTest:
    """The page after its first run, without an exception."""
    page = AppTest.from_file("../../app/main.py", default_timeout=30)
    for name, value in query.items():
        page.query_params[name] = value
    page.switch_page(f"views/{view}.py")
    page.run()
    assert not page.exception
    return page


def metrics(page: AppTest) -> dict[str, str]:
    """Label -> value of each headline number."""
    return {metric.label: metric.value for metric in page.metric}
