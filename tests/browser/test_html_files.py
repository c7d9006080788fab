"""Exported files and the static site in a browser with the network off: figures drawn, nothing asked for, tables sorted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.command import call


class Opened:
    """A file in a browser without a network, and everything that it asked for or complained about."""

    def __init__(self, browser, address: str, **options) -> None:
        self.context = browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **options})
        self.page, self.asked, self.wrong = self.context.new_page(), [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.goto(address)

    def drawn(self) -> int:
        """How many figures the page drew, all of those it has."""
        plots = self.page.locator(".plot").count()
        self.page.wait_for_function("n => document.querySelectorAll('.plot[data-drawn=yes]').length === n", arg=plots, timeout=60_000)
        assert self.page.locator(".plot .main-svg").count() >= plots
        return plots

    def outside(self) -> list[str]:
        return [address for address in self.asked if not address.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def opened(browser):
    pages: list[Opened] = []

    def make(address: str, **options) -> Opened:
        pages.append(Opened(browser, address, **options))
        return pages[-1]

    yield make
    for page in pages:
        page.context.close()
        assert page.wrong == [] and page.outside() == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("html")


def exported(folder: Path, *arguments: str) -> Path:
    out = folder / "view.html"
    done = call("export", *arguments, "--out", str(out), POOLSCOPE_STORE=str(folder / "store"))
    assert done.code == 0, done.err
    return out


def test_the_map_opens_from_a_file_with_its_table_sortable(opened, folder):
    file = exported(folder, "map")
    assert file.stat().st_size < 8_000_000 and file.read_text("utf-8").count("plotly.js v") == 1
    here = opened(file.as_uri())
    assert here.drawn() == 2 and here.asked == [file.as_uri()]
    assert "All-MiniLM".lower() in here.page.title().lower()
    first = here.page.locator("table.sortable tbody tr").first
    assert here.page.locator("table.sortable tbody tr").count() == 2_000
    assert "2,000 of 499,500 rows" in here.page.locator("p.caption").first.inner_text()
    values = "[...document.querySelectorAll('table.sortable tbody tr')].map(r => Number(r.cells[1].dataset.v))"
    here.page.get_by_role("button", name="Mean distance dμ").focus()
    here.page.keyboard.press("Enter")
    assert (down := here.page.evaluate(values)) == sorted(down, reverse=True)
    here.page.keyboard.press("Enter")
    assert (up := here.page.evaluate(values)) == sorted(up) and up != down and first.is_visible()
    # Still a plotly figure and not a picture: hovering over a cell answers.
    here.page.locator(".plot").first.scroll_into_view_if_needed()
    place = here.page.locator(".plot").first.bounding_box()
    here.page.mouse.move(place["x"] + place["width"] * 0.5, place["y"] + place["height"] * 0.45)
    here.page.wait_for_selector(".plot .hoverlayer .hovertext", timeout=10_000)
