"""Runs a notebook's cells in order, as Jupyter would, without Jupyter; as a command, writes their output into the notebook.

    python -m tests.notebooks data/notebooks/token_states.ipynb
"""

from __future__ import annotations

import ast
import io
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def outputs(notebook: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each code cell with what it prints, and the value of its last expression."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        said = io.StringIO()
        with redirect_stdout(said):
            exec(compile(tree, "cell", "exec"), space)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), space)
                if value is not None:
                    print(value)
        yield cell, said.getvalue()


def kept(cell: Mapping[str, Any]) -> str:
    """The output that a cell holds."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


if __name__ == "__main__":
    path = Path(sys.argv[1])
    book = json.loads(path.read_text("utf-8"))
    for number, (cell, text) in enumerate(outputs(book), start=1):
        cell["execution_count"] = number
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}] if text else []
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")
