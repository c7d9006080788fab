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
        self.page.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url} {request.failure}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.goto(address)

    def drawn(self) -> int:
        """How many figures the page drew, all of those it has."""
        self.page.wait_for_load_state("load")
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


@pytest.fixture(scope="module")
def site(folder):
    """The static site, made by its command from the gallery and nothing else."""
    done = call("export-site", "--out", str(folder / "site"), POOLSCOPE_STORE=str(folder / "store"))
    assert done.code == 0, done.err
    assert "MB; open index.html" in done.err
    return folder / "site"


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


def test_the_other_views_open_from_a_file(opened, folder):
    for arguments, plots in ((["layers"], 4), (["models"], 2)):
        here = opened(exported(folder, *arguments).as_uri())
        assert here.drawn() == plots and here.page.locator("dl.numbers dd.value").count() == 4


def test_every_page_of_the_site_opens_from_a_folder(opened, site):
    files = [file for file in site.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 40_000_000 and (site / "assets" / "plotly.min.js").is_file()
    start = opened((site / "index.html").as_uri())
    links = start.page.locator("main a").evaluate_all("them => them.map(a => a.getAttribute('href'))")
    assert sorted(links) == sorted(file.name for file in site.glob("*.html") if file.name != "index.html") and len(links) >= 16
    assert all("/" not in link and ":" not in link for link in links)
    assert not [file for file in site.glob("*.html") if "plotly.js v" in file.read_text("utf-8")], "plotly.js is there once"
    for link in links:
        start.page.goto((site / "index.html").as_uri())
        start.page.click(f'a[href="{link}"]')
        start.page.wait_for_url(f"**/{link}")
        assert start.drawn() >= 2 and start.page.locator("h1").count() == 1
    start.page.get_by_role("link", name="All views").click()
    assert start.page.locator("h1").inner_text() == "See what pooling throws away"


def test_nothing_in_a_file_may_run_or_call_out(opened, folder, tmp_path):
    """The policy holds against a script that got into the file all the same."""
    bad = tmp_path / "bad.html"
    bad.write_text(exported(folder, "models").read_text("utf-8").replace(
        "<main>", "<main><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
        "<img src=https://example.com/x.png>"), encoding="utf-8")
    here = opened(bad.as_uri())
    assert here.drawn() == 2 and here.page.evaluate("window.hacked") is None
    # Blocked by the policy before anything was sent, not for want of a network.
    assert all("Content Security Policy" in line or (line[:6] == "failed" and line[-4:] == " csp") for line in here.wrong)
    assert len(here.wrong) >= 3
    here.wrong.clear()
    here.asked.clear()


def test_a_phone_scrolls_figures_and_not_the_page(opened, site):
    here = opened((site / "models-socm__wikipedia.html").as_uri(), viewport={"width": 390, "height": 844})
    here.drawn()
    assert here.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
