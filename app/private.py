"""What one session keeps to itself: its own data, and what was computed from them where the store may not have it.

All of it hangs on one object in ``st.session_state``. When Streamlit lets the session go, the object goes, and with it
the folder of its results; what a killed server left behind is removed by the next one on the machine.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import uuid
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from components.store import ResultStore

Made = TypeVar("Made")
PREFIX = "poolscope-private-"
KEPT = 48
"""Results and figures of its own texts that a session keeps in memory."""
STORE_BYTES = 500_000_000
_KEY = "_own"
_bound: ContextVar[Session | None] = ContextVar("bound", default=None)
_left: deque[str] = deque()  # sessions that are gone and whose jobs have not been told; appended to by the collector


class Session:
    """One session's own things. Use ``session()``.

    Attributes:
        id: says nothing about the visitor.
        own: name in the menus -> what was uploaded, in that order.
        choices: key of a menu that is in no link -> the page where it was set last, and to what.
        page: the page being drawn.
    """

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        self.own: dict[str, Any] = {}
        self.choices: dict[str, tuple[str, str]] = {}
        self.page = ""
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()  # guards _kept and _folder; a session's runs follow each other, its callbacks too
        self._folder: Path | None = None

    def store(self) -> ResultStore:
        """A store of this session's own, which is deleted with it."""
        with self._lock:
            if self._folder is None:
                self._folder = private_root() / self.id
                weakref.finalize(self, _let_go, self.id, self._folder)
            return ResultStore(self._folder, STORE_BYTES)

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, made once and kept with the session."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: Made = self._kept[key]
                return found
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made

    def forget(self) -> None:
        """Drops what is kept in memory (own data were removed)."""
        with self._lock:
            self._kept.clear()


def session() -> Session:
    """This session's own things."""
    if (bound := _bound.get()) is not None:
        return bound
    if get_script_run_ctx(suppress_warning=True) is None:  # a command: its user is the only one
        return _nobody()
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    found: Session = st.session_state[_KEY]
    return found


def bound(make: Callable[[], Made]) -> Callable[[], Made]:
    """``make`` for a thread that has no session, where Streamlit makes a file when its button is pressed: with this one's things."""
    own = session()

    def made() -> Made:
        token = _bound.set(own)
        try:
            return make()
        finally:
            _bound.reset(token)

    return made


@lru_cache(maxsize=1)
def _nobody() -> Session:
    return Session()


def left() -> list[str]:
    """Sessions that are gone since this was last asked; what their last jobs stored is removed."""
    gone = []
    while _left:
        gone.append(_left.popleft())
        shutil.rmtree(private_root() / gone[-1], ignore_errors=True)
    return gone


def _let_go(name: str, folder: Path) -> None:
    # The collector may run in any thread, whatever locks it holds: no lock is taken here.
    shutil.rmtree(folder, ignore_errors=True)
    _left.append(name)


@lru_cache(maxsize=1)
def private_root() -> Path:
    """This process's folder for what sessions keep to themselves; readable by its user only, removed at the end."""
    parent = Path(tempfile.gettempdir())
    for old in parent.glob(f"{PREFIX}*"):
        owner = old.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(old, ignore_errors=True)
    root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
