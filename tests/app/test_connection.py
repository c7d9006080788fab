"""The route that answers 503 until the gallery is read, the echo, and what is said of a connection."""

from __future__ import annotations

import shutil

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app import connection_check, readiness, resources
from app.connection_check import FIT, UNFIT, UNKNOWN, WEAK, verdicts
from app.server import ROUTES
from components.gallery import GALLERY_DIR
from components.store import ResultStore
from tests.app.pages import open_page

GOOD = {"socket": 20, "http": 12.5, "webgl": True, "modern": True, "clipboard": True, "width": 1280}
pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture
def client():
    return TestClient(Starlette(routes=ROUTES))


def asked(state: readiness.Readiness):
    from starlette.routing import Route

    return TestClient(Starlette(routes=[Route(readiness.ROUTE, state.answer)])).get(readiness.ROUTE)


def test_not_ready_until_the_gallery_is_read():
    state = readiness.Readiness()
    assert asked(state).status_code == 503 and asked(state).headers["retry-after"] == "2"
    state.load()
    found = asked(state)
    assert found.status_code == 200 and found.json()["results"] == len(list(GALLERY_DIR.rglob("*.json"))) > 10
    assert found.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("how", ["torn", "empty"])
def test_never_ready_with_a_bad_gallery(how, tmp_path, monkeypatch):
    folder = tmp_path / "gallery"
    folder.mkdir()
    if how == "torn":
        shutil.copytree(GALLERY_DIR / "layers", folder / "layers")
        arrays = next(folder.rglob("*.npz"))
        arrays.write_bytes(arrays.read_bytes()[:-100])
    monkeypatch.setenv("POOLSCOPE_HOSTED", "1")
    monkeypatch.setattr(resources, "gallery", lambda: ResultStore(folder))
    state = readiness.Readiness()
    state.load()
    found = asked(state)
    assert found.status_code == 503 and found.json()["reason"] and str(tmp_path) not in found.text


def test_the_echo_answers_a_few_short_messages(client):
    with client.websocket_connect(connection_check.ECHO) as socket:
        for k in range(connection_check.MOST_ECHOES):
            socket.send_text(str(k))
            assert socket.receive_text() == str(k)
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()
    with client.websocket_connect(connection_check.ECHO) as socket:
        socket.send_text("x" * 1000)
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()


def test_the_plain_page_needs_no_socket(client):
    page = client.get(connection_check.PAGE)
    assert page.status_code == 200 and "<script src=" in page.text and "<script>" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert client.get("/check/script.js").headers["content-type"].startswith("text/javascript")


def fits(**changed: object) -> dict[str, str]:
    return {row.what: row.fit for row in verdicts(GOOD | changed)}


def test_a_good_connection_is_fit():
    assert set(fits().values()) == {FIT} and all(not row.advice for row in verdicts(GOOD))


@pytest.mark.parametrize(("changed", "what", "fit"), [
    ({"socket": 400}, "Socket", WEAK), ({"socket": 900}, "Socket", UNFIT), ({"socket": None}, "Socket", UNKNOWN),
    ({"http": 151}, "Requests", WEAK), ({"modern": False}, "Browser", UNFIT), ({"webgl": False}, "WebGL", WEAK),
    ({"width": 320}, "Window", WEAK), ({"clipboard": False}, "Copy link", WEAK)])
def test_what_is_not_fit_says_what_to_do(changed, what, fit):
    assert fits(**changed)[what] == fit and all(value == FIT for name, value in fits(**changed).items() if name != what)
    assert next(row for row in verdicts(GOOD | changed) if row.what == what).advice


@pytest.mark.parametrize("bad", ["<script>", float("nan"), float("inf"), -1, True, [1], {"a": 1}, None, 10**30])
def test_what_a_browser_sends_is_not_believed(bad):
    rows = verdicts(dict.fromkeys(GOOD, bad))
    assert all("script" not in f"{row.found}{row.advice}" and "nan" not in row.found for row in rows)
    assert verdicts({})[0].fit == UNKNOWN


def test_the_page_waits_for_the_browser():
    page = open_page("connection", {})
    assert any("Measuring" in text.value for text in page.markdown) and not page.dataframe
