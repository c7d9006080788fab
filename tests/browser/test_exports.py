"""What the Map page saves: every format is opened again and says what it is."""

from __future__ import annotations

import json
import struct
import xml.etree.ElementTree as ET

import pandas as pd
import plotly.io
import pytest

from components.corpora import load_corpus


@pytest.fixture
def panel(visit, computed):
    """Opens a page's export panel; gives what saves by a button's label."""

    def open_(query: str = "", **options):
        page = visit(**options)
        page.open(computed + query)
        page.page.locator(".js-plotly-plot:visible").first.wait_for()
        page.page.get_by_text("Export", exact=True).click()
        page.page.get_by_role("button", name="as JSON").first.wait_for()
        page.settle()

        return page, page.save

    return open_


def test_a_figure_as_png_svg_and_json_carries_model_texts_and_layer(panel, server):
    page, save = panel("&labelled=false")
    assert page.page.get_by_role("button", name="Download plot").count() == 0, "no picture without its title"
    corpus = load_corpus(server.folder / "sixty.txt")
    figure = plotly.io.read_json(save("Plane as JSON"))
    about = figure.layout.meta
    assert about["model"] == "all-MiniLM-L6-v2" and about["corpus digest"] == corpus.digest
    assert json.loads(about["parameters"])["layer"] == "final" and about["poolscope"] and "numpy" in about["versions"]
    assert about["revision"].removeprefix("sha256:").startswith(figure.layout.title.subtitle.text.split("revision ")[1][:10])
    assert plotly.io.from_json(figure.to_json()) == figure
    words = " ".join(ET.fromstring(save("Plane as SVG").read_text("utf-8")).itertext())
    for word in ("all-MiniLM-L6-v2", "final layer", "sixty.txt", "60 texts", "1,770 pairs", corpus.digest[:10], about["poolscope"]):
        assert word in words, word
    png = save("Plane as PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (2 * figure.layout.width, 2 * figure.layout.height)


def test_every_figure_and_table_of_a_comparison_is_offered(panel):
    page, save = panel("&compare=true&vs_corpus=encyclopedia")
    labels = [label for label in page.page.get_by_role("button").all_inner_texts() if " as " in label]
    assert sorted(labels) == sorted([
        "This view as one HTML file",
        *(f"{what} as {kind}" for what in ("First plane", "Second plane", "SOCM against length") for kind in ("PNG", "SVG", "JSON")),
        *(f"{what} as {kind}" for what in ("Pairs", "Differences") for kind in ("CSV", "Parquet"))])
    first, second = (plotly.io.read_json(save(f"{which} plane as JSON")) for which in ("First", "Second"))
    assert "sixty.txt" in first.layout.title.text and "encyclopedia" in second.layout.title.text
    assert first.layout.xaxis.range == second.layout.xaxis.range and first.layout.yaxis.range == second.layout.yaxis.range
    table = pd.read_parquet(save("Differences as Parquet"))
    assert table["quantity"].tolist() == ["socm", "d_mu", "d_sigma", "size", "shape", "align"]
    assert (table["second minus first low"] <= table["second minus first"]).all()
    assert table.attrs["second corpus"] == "encyclopedia" and table.attrs["first corpus"] == "sixty.txt"


def test_a_phone_in_the_dark_saves_the_same_figure(panel):
    save = panel()[1]
    phone = panel(viewport={"width": 390, "height": 844}, color_scheme="dark")[1]
    assert plotly.io.read_json(save("Plane as JSON")) == plotly.io.read_json(phone("Plane as JSON"))
    assert phone("Plane as PNG").read_bytes().startswith(b"\x89PNG")


def test_tables_open_again_and_are_equal(panel):
    save = panel("&box=0.2,0.5,0.4,0.8")[1]
    csv, parquet = pd.read_csv(save("Pairs as CSV")), pd.read_parquet(save("Pairs as Parquet"))
    assert len(parquet) > 50 and parquet["d_mu"].between(0.2, 0.5).all() and parquet["d_sigma"].between(0.4, 0.8).all()
    numbers = ["SOCM", "d_mu", "d_sigma", "size", "shape", "row A", "row B"]
    pd.testing.assert_frame_equal(csv[numbers], parquet[numbers], check_dtype=False)
    assert csv["about: box"].iloc[0] == parquet.attrs["box"] == "0.2,0.5,0.4,0.8"


def test_the_whole_view_is_one_file_that_opens_without_a_network(panel, browser):
    file = panel("&box=0.2,0.5,0.4,0.8")[1]("This view as one HTML file")
    text = file.read_text("utf-8")
    assert file.suffix == ".html" and "--texts sixty.txt --box 0.2,0.5,0.4,0.8" in text
    assert "<script>window.hacked" not in text and "&lt;script&gt;window.hacked = 1" in text
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.plot[data-drawn=yes]').length === 2", timeout=60_000)
    assert page.evaluate("window.hacked") is None and asked == [file.as_uri()]
    context.close()
