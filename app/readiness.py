"""Whether the server can answer a visitor at once: the gallery is read and checked, and its first view is in memory.

A balancer asks ``/ready`` and gets 503 until then, and also where the gallery is missing or damaged; ``/_stcore/health``
only says that the process lives.
"""

from __future__ import annotations

import logging
import threading
import warnings

from starlette.requests import Request
from starlette.responses import JSONResponse

from app import hosted, resources
from components.errors import PoolscopeError
from components.models import EMBEDDED
from components.store import StoreWarning

ROUTE = "/ready"
log = logging.getLogger(__name__)


class Readiness:
    """Reads the gallery in a thread of its own and remembers how that went."""

    def __init__(self) -> None:
        self.results = 0
        self.reason = "the gallery is being read"
        self.ready = False

    def start(self) -> None:
        """Begins to read; returns at once."""
        threading.Thread(target=self.load, name="gallery", daemon=True).start()

    def load(self) -> None:
        """Reads every result of the gallery against its checksum and keeps the first view's in memory."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", StoreWarning)  # a damaged result is no reason to go on
                gallery = resources.gallery()
                keys = [entry.key for entry in gallery.entries()]
                for key in keys:
                    if gallery.get(key) is None:
                        raise StoreWarning(f"a result of the gallery ({key.kind}, {key.model_id}) cannot be read")
                    if key.model_id == EMBEDDED and key.kind == "pair_map":
                        resources.stored_pairs(key.digest, resources.stored_pair_map(key.digest, key))
                    elif key.model_id == EMBEDDED and key.kind == "layers":
                        resources.stored_layers(key.digest, key)
                    self.results += 1
        except (PoolscopeError, StoreWarning, OSError, resources.NotStored) as error:
            self.reason = hosted.without_paths(str(error)) or type(error).__name__
            log.error("the gallery cannot be loaded: %s", error)
            return
        self.ready = self.results > 0
        self.reason = "" if self.ready else "the gallery holds no results: poolscope gallery build makes them"

    async def answer(self, request: Request) -> JSONResponse:
        """200 when ready, else 503 with the reason."""
        return JSONResponse({"ready": self.ready, "results": self.results, "reason": self.reason}, 200 if self.ready else 503,
                            headers={"cache-control": "no-store", **({} if self.ready else {"retry-after": "2"})})
