"""From upload to every page in a real browser: what is HTML in a file stays text everywhere, and nothing enters the address."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from components.corpora import load_corpus
from tests.app.test_data_page import npz

SCRIPT = "<script>window.hacked = 1</script>"
NAME = "=<img src=x onerror=hacked=1> www.example.com **a** $x$.csv"
COLUMN, LABELS = "=<b>kind</b> [l](javascript:alert(1))", ("=1+1", "<img src=x onerror=hacked=1>", "@SUM(A1)")
TEXTS = [*load_corpus("encyclopedia").texts[:10], f"{SCRIPT} is a text of <b>eight</b> words.", '=HYPERLINK("https://example.com","x")']


def table(columns: dict[str, list[str]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()


def give(page, name: str, data: bytes, at: int = 0) -> None:
    page.page.locator("input[type=file]").nth(at).set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})
    page.settle()


def use(page) -> None:
    page.page.get_by_role("button", name="Use them in this session").click()
    page.page.get_by_text("is on the pages of this session").wait_for()
    page.settle()


def choose(page, label: str, option: str) -> None:
    page.page.get_by_test_id("stSelectbox").filter(has_text=label).locator("input").first.click()
    page.page.get_by_role("option", name=option, exact=True).click()
    page.settle()


def labelled_by(page, option: int) -> None:
    page.page.get_by_test_id("stSelectbox").filter(has_text="Column of labels").locator("input").first.click()
    page.page.get_by_role("option").nth(option).click()
    page.settle()


def go(page, name: str) -> None:
    page.page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    page.settle()


def inert(page) -> None:
    assert page.page.evaluate("window.hacked") is None
    main = page.page.locator("[data-testid=stMain]")
    assert main.locator("img, b, script").count() == 0 and main.locator("a[href*=example], a[href^=javascript]").count() == 0
    side = page.page.locator("[data-testid=stSidebarContent]")
    assert side.locator("img[src=x], b, a[href*=example], a[href^=javascript]").count() == 0
    address = page.page.url
    assert not any(word in address for word in ("hacked", "img", "example", "javascript", "SUM"))


def test_from_upload_to_every_page(visit):
    page = visit()
    page.open("/data")
    give(page, NAME, table({"text": TEXTS, COLUMN: [LABELS[k % 3] for k in range(len(TEXTS))]}))
    labelled_by(page, 2)
    inert(page)
    use(page)
    inert(page)
    page.page.get_by_text("Pairs of texts", exact=True).first.click()
    page.settle()
    give(page, "<i>pairs.csv", table({"text_a": TEXTS[:6], "text_b": TEXTS[6:], "label": [LABELS[1]] * 6}))
    labelled_by(page, 3)
    use(page)
    inert(page)

    go(page, "Map of pairs")
    choose(page, "Texts", NAME)
    page.page.get_by_role("button", name="Compute 66 pairs").click()
    page.page.wait_for_selector(".st-key-wide .js-plotly-plot", timeout=120_000)
    page.settle()
    page.page.get_by_text("Labelled pairs", exact=True).click()
    page.settle()
    page.page.get_by_role("button", name="Compute 6 labelled pairs").click()
    page.page.wait_for_function("document.querySelector('.st-key-wide .js-plotly-plot')?.textContent.includes('onerror')",
                                timeout=60_000)
    page.settle()
    inert(page)
    page.page.get_by_text("Export", exact=True).click()
    page.settle()
    with page.page.expect_download() as saved:
        page.page.get_by_role("button", name="Pairs as CSV").click()
    rows = list(csv.reader(io.StringIO(saved.value.path().read_text("utf-8"))))
    assert len(rows) == 67 and not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t", "\r"))]
    assert any(cell.startswith("'=HYPERLINK") for row in rows for cell in row) and any(cell.startswith("'=<b>kind") for cell in rows[0])

    go(page, "Layers")
    assert page.page.get_by_test_id("stSelectbox").first.inner_text().startswith("Texts")
    page.page.get_by_role("button", name="Measure 8 layers of all-MiniLM-L6-v2").click()
    page.page.wait_for_selector(".js-plotly-plot", timeout=180_000)
    page.settle()
    inert(page)
    go(page, "Pair")
    page.page.get_by_role("spinbutton", name="Row of text A").fill("10")
    page.page.keyboard.press("Enter")
    page.settle()
    page.page.get_by_role("button", name="Look at their tokens").click()
    page.page.get_by_text("Tokens tinted by").wait_for(timeout=120_000)
    page.settle()
    inert(page)
    for name in ("Models", "Poolscope"):
        go(page, name)
        inert(page)
    page.page.reload()
    page.settle()
    go(page, "Map of pairs")
    assert NAME not in page.page.get_by_test_id("stSelectbox").first.inner_text()


def test_token_states_and_a_bad_file(visit):
    page = visit()
    page.open("/data")
    page.page.get_by_text("Token states", exact=True).first.click()
    page.settle()
    give(page, "mine.npz", npz(states=np.ones((4, 2), np.float32), offsets=np.array([0, 9, 4])))
    assert "must lie between 0 and the 4 rows" in page.page.get_by_test_id("stAlert").inner_text()
    rng = np.random.default_rng(0)
    page.open("/data?kind=Token+states")
    give(page, "mine.npz", npz(states=rng.normal(1, 1, (60, 6)), offsets=np.arange(0, 61, 6), texts=np.array([SCRIPT] * 10)))
    use(page)
    page.page.get_by_test_id("stMain").get_by_role("link", name="Map of pairs").click()
    page.settle()
    page.page.get_by_role("button", name="Compute 45 pairs").click()
    page.page.wait_for_selector(".st-key-wide .js-plotly-plot", timeout=120_000)
    page.settle()
    inert(page)
    assert "own=" not in page.page.url and "mine" not in page.page.url
    assert "token states as given" in page.page.locator("[data-testid=stMain]").inner_text()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["dark", "390 px"])
def test_other_grounds_and_widths(visit, options):
    page = visit(**options)
    page.open("/data")
    give(page, "a.csv", table({"text": TEXTS}))
    use(page)
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
