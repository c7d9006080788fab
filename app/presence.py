"""Which sessions are still there, so that a visitor who leaves frees the place in line.

A browser that goes away closes its socket, and Streamlit knows. Nobody tells the line of computations, so a thread asks
every few seconds; a short absence (a reload, a dropped socket that comes back) is no leaving.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

if TYPE_CHECKING:
    from app.jobs import JobRegistry

LOOK_SECONDS = 2.0
GRACE_SECONDS = 10.0
_sessions: dict[str, str] = {}
"""Watcher -> Streamlit's id of its session; written from scripts, read by the thread, one key at a time."""


def note(watcher: str) -> None:
    """Remembers whose session a watcher's name stands for; call from a page."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None:
        _sessions[watcher] = context.session_id


def is_here(watcher: str) -> bool:
    """Whether a watcher's browser is connected; anybody whom no page noted counts as here."""
    session = _sessions.get(watcher)
    return session is None or not runtime.exists() or runtime.get_instance().is_active_session(session)


def follow(registry: JobRegistry) -> None:
    """Starts the thread that lets absent watchers leave the registry's jobs, until it is shut down."""
    threading.Thread(target=_follow, args=(registry,), name="presence", daemon=True).start()


def _follow(registry: JobRegistry) -> None:
    missed: dict[str, float] = {}
    while not registry.closed:
        time.sleep(LOOK_SECONDS)
        missed = leave_absent(registry, missed, time.monotonic())


def leave_absent(registry: JobRegistry, missed: dict[str, float], now: float) -> dict[str, float]:
    """Lets those leave who have been away for ``GRACE_SECONDS``.

    Args:
        missed: watcher -> since when it has been away.
        now: ``time.monotonic()``.

    Returns:
        ``missed`` brought up to date.
    """
    away = {watcher: missed.get(watcher, now) for watcher in registry.watchers() if not is_here(watcher)}
    for watcher, since in away.items():
        if now - since >= GRACE_SECONDS:
            registry.leave(watcher)
            _sessions.pop(watcher, None)
    return away
