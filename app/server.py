"""The server behind the pages: Streamlit's own, with its scripts handed out from memory and announced in advance.

A page's title stands before the browser has even asked for plotly (5 MB), and every script it asks for then is read in
blocks of 64 kB through a thread. Announcing the scripts with the page and answering from memory takes both waits away.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path

import streamlit as st
from anyio import to_thread
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import file_util

from app import connection_check, readiness
from app.navigation import PAGES

ELEMENTS = ("PlotlyChart",)
"""Streamlit's names of the scripts to announce: the one of 5 MB, with what it imports. Announcing the hundred small ones as
well keeps a browser that was never here busy before the page's own script has run. A name that a release changes is
loaded late again."""

_IMPORTED = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
_HEAD = 8_000
"""Characters of a bundle in which its imports stand."""
_LOCAL = ("127.0.0.1", "::1")


def scripts_of(elements: Iterable[str], folder: Path) -> list[str]:
    """File names of the elements' scripts with everything they import, biggest first.

    Args:
        elements: names before the first dot, such as "PlotlyChart".
        folder: Streamlit's ``static/js``; names that are not there are left out.
    """
    there = {file.name: file for file in folder.glob("*.js")}
    wanted = [name for name in there if name.split(".")[0] in set(elements)]
    found: dict[str, Path] = {}
    while wanted:
        name = wanted.pop()
        if name in there and name not in found:
            found[name] = there[name]
            with there[name].open(encoding="utf-8", errors="replace") as script:
                wanted += _IMPORTED.findall(script.read(_HEAD))
    return sorted(found, key=lambda name: (-found[name].stat().st_size, name))


class EarlyScripts:
    """ASGI middleware: announces the pages' scripts, and serves Streamlit's static files from memory.

    Args:
        app: what answers everything else.
        static: the folder whose ``static/`` subfolder holds Streamlit's bundles.
        pages: addresses of the pages, with their slash.
    """

    def __init__(self, app: ASGIApp, static: Path, pages: frozenset[str]) -> None:
        self.app, self.pages = app, pages
        # The only files that can be asked for, by address: no path is ever built from a request.
        self.files = {f"/{file.relative_to(static).as_posix()}": file
                      for file in (static / "static").rglob("*") if file.is_file()}
        first = set(re.findall(r"/static/js/([\w.-]+\.js)", (static / "index.html").read_text(encoding="utf-8")))
        late = [name for name in scripts_of(ELEMENTS, static / "static" / "js") if name not in first]
        self.link = ", ".join(f"<./static/js/{name}>; rel=modulepreload; fetchpriority=low" for name in late).encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
        elif scope["path"] in self.files:
            await self._file(self.files[scope["path"]], scope, send)
        elif scope["path"] in self.pages:
            await self.app(scope, receive, self._announcing(send))
        else:
            await self.app(scope, receive, send)

    def _announcing(self, send: Send) -> Send:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and self.link:
                message = {**message, "headers": [*message.get("headers", ()), (b"link", self.link)]}
            await send(message)

        return answer

    async def _file(self, file: Path, scope: Scope, send: Send) -> None:
        headers = dict(scope["headers"])
        local = scope.get("client") is not None and scope["client"][0] in _LOCAL
        # Over a real network 5 MB cost more than unpacking them; on one's own machine it is the other way round.
        packed = not local and b"gzip" in headers.get(b"accept-encoding", b"") and file.suffix in (".js", ".css")
        body = await to_thread.run_sync(_content, file, packed)
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        out = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()),
               (b"cache-control", b"public, immutable, max-age=31536000"), (b"vary", b"accept-encoding")]
        if packed:
            out.append((b"content-encoding", b"gzip"))
        await send({"type": "http.response.start", "status": 200, "headers": out})
        await send({"type": "http.response.body", "body": body})


@lru_cache(maxsize=256)
def _content(file: Path, packed: bool) -> bytes:
    data = file.read_bytes()
    return gzip.compress(data, 6) if packed else data


_readiness = readiness.Readiness()
ROUTES: list[BaseRoute] = [
    Route(readiness.ROUTE, _readiness.answer), WebSocketRoute(connection_check.ECHO, connection_check.echo),
    Route(connection_check.PAGE, connection_check.plain_page), Route(f"{connection_check.PAGE}/script.js", connection_check.script)]


@asynccontextmanager
async def _lifespan(_app: st.App) -> AsyncIterator[None]:
    _readiness.start()
    yield


app = st.App(Path(__file__).with_name("main.py"), routes=ROUTES, lifespan=_lifespan, middleware=[
    Middleware(EarlyScripts, static=Path(file_util.get_static_dir()),
               pages=frozenset(f"/{row.path}" for row in PAGES))])
