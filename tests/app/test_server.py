"""The server's early scripts: what is announced exists, what is served is byte for byte Streamlit's, nothing else is reachable."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import pytest
from streamlit import file_util

from app.server import ELEMENTS, EarlyScripts, scripts_of

STATIC = Path(file_util.get_static_dir())
SCRIPTS = STATIC / "static" / "js"


async def _inner(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b"inner"})


def ask(path: str, *, method: str = "GET", client: str = "127.0.0.1", accept: bytes = b"gzip", static: Path = STATIC):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "client": (client, 1), "headers": [(b"accept-encoding", accept)]}
    asyncio.run(EarlyScripts(_inner, static, frozenset({"/", "/map"}))(scope, None, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent[1:])


def test_announced_scripts_exist_and_hold_what_the_pages_load_late():
    _, headers, _ = ask("/map")
    names = [part.split("/static/js/")[1].split(">")[0] for part in headers[b"link"].decode().split(", ")]
    assert names and all((SCRIPTS / name).is_file() for name in names)
    starts = {name.split(".")[0] for name in names}
    assert "PlotlyChart" in starts and "DataFrame" not in starts
    first = (STATIC / "index.html").read_text()
    assert not [name for name in names if name in first]


def test_every_element_is_still_called_so():
    there = {file.name.split(".")[0] for file in SCRIPTS.glob("*.js")}
    assert set(ELEMENTS) <= there


def test_imports_are_followed_to_their_end(tmp_path):
    for name, text in {"A.1.js": 'import{x}from"./B.2.js";import"./C.3.js";', "B.2.js": 'import"./A.1.js"', "C.3.js": "1" * 99,
                       "D.4.js": "never"}.items():
        (tmp_path / name).write_text(text)
    assert scripts_of(("A", "Gone"), tmp_path) == ["C.3.js", "A.1.js", "B.2.js"]


@pytest.mark.parametrize(("client", "packed"), [("127.0.0.1", False), ("::1", False), ("10.0.0.7", True)])
def test_files_come_whole_from_memory(client, packed):
    name = next(SCRIPTS.glob("DataFrame.*.js")).name
    status, headers, body = ask(f"/static/js/{name}", client=client)
    assert status == 200 and (b"content-encoding" in headers) is packed
    assert headers[b"content-length"] == str(len(body)).encode() and b"javascript" in headers[b"content-type"]
    assert (gzip.decompress(body) if packed else body) == (SCRIPTS / name).read_bytes()


def test_a_client_that_cannot_unpack_gets_it_plain():
    name = next(SCRIPTS.glob("DataFrame.*.js")).name
    _, headers, body = ask(f"/static/js/{name}", client="10.0.0.7", accept=b"identity")
    assert b"content-encoding" not in headers and body == (SCRIPTS / name).read_bytes()


@pytest.mark.parametrize("path", ["/static/../index.html", "/static/js/../../index.html", "/static/js/none.js", "/etc/passwd",
                                  "/static//js", "/other"])
def test_everything_else_is_left_to_streamlit(path):
    _, headers, body = ask(path)
    assert body == b"inner" and b"link" not in headers


def test_other_methods_are_left_to_streamlit():
    assert ask("/map", method="POST")[2] == b"inner"
    assert b"link" not in ask("/map", method="HEAD")[1]
