"""The Connection page's measuring, which the browser does, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.connection_check import FIT, UNFIT, verdicts

_KEY, _RUN = "connection", "_connection_run"
_JS = """
const median = (them) => them.length ? [...them].sort((a, b) => a - b)[Math.floor(them.length / 2)] : null;
const timed = async (ask) => { const start = performance.now(); await ask(); return performance.now() - start; };

async function throughSocket(root) {
  const address = new URL('check/echo', root);
  address.protocol = address.protocol.replace('http', 'ws');
  const socket = new WebSocket(address);
  const next = (name) => new Promise((yes, no) => {
    socket['on' + name] = yes;
    socket.onerror = socket.onclose = () => no(new Error('closed'));
    setTimeout(() => no(new Error('no answer')), 5000);
  });
  try {
    await next('open');
    const times = [];
    for (let k = 0; k < 5; k += 1) times.push(await timed(() => { const got = next('message'); socket.send(String(k)); return got; }));
    return median(times);
  } catch { return null; } finally { socket.onclose = null; socket.close(); }
}

async function throughRequests(root) {
  try {
    const times = [];
    for (let k = 0; k < 6; k += 1) times.push(await timed(() => fetch(new URL('_stcore/health', root), { cache: 'no-store' })));
    return median(times.slice(1));  // the first one opens the connection
  } catch { return null; }
}

const measured = new WeakSet();
export default function ({ parentElement, setStateValue }) {
  if (measured.has(parentElement)) return;
  measured.add(parentElement);
  (async () => {
    const root = new URL(window.location.pathname.replace(/connection\\/?$/, ''), window.location.origin);
    const canvas = document.createElement('canvas');
    setStateValue('found', {
      socket: await throughSocket(root), http: await throughRequests(root),
      webgl: Boolean(canvas.getContext('webgl2') || canvas.getContext('webgl')),
      modern: typeof structuredClone === 'function' && CSS.supports('selector(:has(*))'),
      clipboard: Boolean(window.isSecureContext && navigator.clipboard), width: window.innerWidth });
  })();
}
"""
_measure = st.components.v2.component("poolscope_connection", js=_JS)


def measured() -> Mapping[str, Any] | None:
    """What the browser found; None until it has."""
    key = f"{_KEY}_{st.session_state.get(_RUN, 0)}"
    _measure(key=key, default={"found": None}, height=1, on_found_change=lambda: None)
    found = (st.session_state.get(key) or {}).get("found")
    return found if isinstance(found, Mapping) else None


def verdict(found: Mapping[str, Any]) -> None:
    """One sentence, then each thing that was looked at."""
    rows = verdicts(found)
    unfit = [row.what for row in rows if row.fit == UNFIT]
    st.markdown(f"**What this shows.** {'Not fit: ' + ', '.join(unfit) + '.' if unfit else 'Fit.'}"
                + ("" if unfit or all(row.fit == FIT for row in rows) else " Where it is not at its best stands below."))
    # The column of advice only where there is some.
    advice = any(row.advice for row in rows)
    st.dataframe([{"What": row.what, "Found": row.found, "Verdict": row.fit} | ({"What to do": row.advice} if advice else {})
                  for row in rows], hide_index=True, key="verdicts")
    st.button("Measure again", on_click=_again)


def _again() -> None:
    st.session_state[_RUN] = st.session_state.get(_RUN, 0) + 1
