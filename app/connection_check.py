"""Whether a visitor's connection is fit for the pages: an echo over a socket, a plain page that needs no socket, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

ECHO, PAGE = "/check/echo", "/check"
MOST_ECHOES, MOST_BYTES = 20, 64
QUICK_MS, SLOW_MS = 150.0, 600.0
"""Round trips up to the first are not noticed; beyond the second every control feels stuck."""
FIT, WEAK, UNFIT, UNKNOWN = "fit", "works, slowly", "not fit", "not known"

_HTML = """<!DOCTYPE html><html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">
<title>Poolscope: is the socket open?</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;color:#1B1F27}</style></head><body>
<h1>Is the socket open?</h1>
<p>Poolscope's pages come through a WebSocket. This page does without one and tries to open it.</p>
<p id=said role=status>Trying ...</p>
<p>A page that stays blank while this one says that the socket is closed is stopped by a proxy or a firewall on the way.</p>
<script src="check/script.js"></script></body></html>"""
_POLICY = ("default-src 'none'; script-src 'self'; connect-src 'self' ws: wss:; style-src 'unsafe-inline'; base-uri 'none'; "
           "form-action 'none'")
_SCRIPT = """'use strict';
const said = document.getElementById('said'), start = performance.now();
const address = new URL('check/echo', document.baseURI);
address.protocol = address.protocol.replace('http', 'ws');
const socket = new WebSocket(address);
const closed = () => { said.textContent = 'The socket is closed: the pages cannot be shown over this connection.'; };
const timer = setTimeout(() => { socket.close(); closed(); }, 10000);
socket.onopen = () => socket.send('1');
socket.onmessage = () => {
  clearTimeout(timer);
  socket.onclose = null;
  said.textContent = `The socket is open; the first answer took ${Math.round(performance.now() - start)} ms.`;
  socket.close();
};
socket.onclose = socket.onerror = () => { clearTimeout(timer); closed(); };
"""


@dataclass(frozen=True)
class Verdict:
    """One thing that has to be fit: what was found, whether it will do, and what to do where it will not."""

    what: str
    found: str
    fit: str
    advice: str = ""


async def echo(socket: WebSocket) -> None:
    """Answers a few short messages with themselves, then closes."""
    await socket.accept()
    try:
        for _ in range(MOST_ECHOES):
            text = await socket.receive_text()
            if len(text) > MOST_BYTES:
                break
            await socket.send_text(text)
        await socket.close()
    except (WebSocketDisconnect, KeyError):  # gone, or bytes instead of text
        return


async def plain_page(request: Request) -> HTMLResponse:
    """A page without Streamlit, for those who see nothing of the pages."""
    return HTMLResponse(_HTML, headers={"content-security-policy": _POLICY})


async def script(request: Request) -> HTMLResponse:
    """The plain page's script."""
    return HTMLResponse(_SCRIPT, media_type="text/javascript")


def verdicts(found: Mapping[str, Any]) -> list[Verdict]:
    """What a browser measured, in words; nothing that it sends is repeated but numbers.

    Args:
        found: "socket" and "http", milliseconds or None; "webgl", "modern", "clipboard", booleans; "width", pixels.
    """
    socket, http = _number(found.get("socket")), _number(found.get("http"))
    rows = [_latency("Socket", socket, "This page came through it; its speed could not be measured here."),
            _latency("Requests", http, "Plain requests could not be measured.")]
    rows.append(Verdict("Browser", "has what the pages need", FIT) if found.get("modern") is True else
                Verdict("Browser", "lacks what the pages need", UNFIT, "Update it: two years old or newer will do."))
    rows.append(Verdict("WebGL", "there", FIT) if found.get("webgl") is True else
                Verdict("WebGL", "switched off or missing", WEAK, "The Map's points need it: choose Density instead."))
    width = _number(found.get("width"))
    if width is not None:
        rows.append(Verdict("Window", f"{width:,.0f} pixels wide", FIT if width >= 360 else WEAK,
                            "" if width >= 360 else "Turn the phone, or widen the window."))
    rows.append(Verdict("Copy link", "can write to the clipboard", FIT) if found.get("clipboard") is True else
                Verdict("Copy link", "may not write to the clipboard", WEAK, "The button shows the link to copy by hand."))
    return rows


def _latency(what: str, value: float | None, unknown: str) -> Verdict:
    if value is None:
        return Verdict(what, "not measured", UNKNOWN, unknown)
    words = f"{value:,.0f} ms a round trip, median of five"
    if value <= QUICK_MS:
        return Verdict(what, words, FIT)
    if value <= SLOW_MS:
        return Verdict(what, words, WEAK, "Controls answer with a delay; a nearer server or another network helps.")
    return Verdict(what, words, UNFIT, "Controls feel stuck: use another network, an exported file, or run Poolscope yourself.")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e6 else None
