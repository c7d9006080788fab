"""Buttons that save a figure as PNG, SVG or JSON, drawn by the plotly that the page has loaded already.

The browser draws the files: a server that draws images needs a browser of its own. What is saved is the figure given
here, with its title, and not what the page happens to show, so that a phone and a dark screen give the same picture.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

FORMATS = ("PNG", "SVG", "JSON")
_CSS = """
.row { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; padding: 2px; margin: -2px; font-family: var(--st-font); }
button { min-height: 2.5rem; padding: 0.25rem 0.75rem; font: inherit; font-size: 0.875rem; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.375rem); }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
[role=status]:not(:empty) { padding-top: 0.25rem; color: var(--st-text-color); font-size: 0.875rem; }
"""
# The figure comes as text: the JSON file is exactly that, and a picture is drawn from it.
_JS = """
// What each row saves at present; its buttons stay while the page around it runs anew, so that no click falls between two.
const shown = new WeakMap();
export default function ({ data, parentElement }) {
  const row = parentElement.querySelector('.row') ?? parentElement.appendChild(document.createElement('div'));
  row.className = 'row';
  shown.set(row, data);
  if (row.dataset.label === data.label) return;
  row.dataset.label = data.label;
  row.replaceChildren();
  const said = document.createElement('div');
  said.setAttribute('role', 'status');
  const save = async (format) => {
    const { name, figure } = shown.get(row);
    if (format === 'JSON') {
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([figure], { type: 'application/json' }));
      link.download = `${name}.json`;
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      return;
    }
    if (!window.Plotly) throw new Error('No figure is drawn on the page yet; wait for it and try again.');
    const { data: traces, layout } = JSON.parse(figure);
    await window.Plotly.downloadImage({ data: traces, layout },
      { format: format.toLowerCase(), filename: name, width: layout.width, height: layout.height, scale: 2 });
  };
  for (const format of data.formats) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = `${data.label} as ${format}`;
    button.onclick = async () => {
      said.textContent = '';
      try { await save(format); } catch (error) { said.textContent = error.message ?? String(error); }
    };
    row.append(button);
  }
  row.append(said);
}
"""
_buttons = st.components.v2.component("poolscope_figure_files", css=_CSS, js=_JS)


def file_word(name: str) -> str:
    """A model's name as part of a file's, without what a file system may refuse."""
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in name)


def figure_files(fig: go.Figure, label: str, file_name: str, *, key: str) -> None:
    """Three buttons, "``label`` as PNG" and so on.

    Args:
        fig: with a width, a height and a title (``add_title``).
        label: what the figure shows, in a word or two.
        file_name: without its ending.
        key: of the element.
    """
    data: dict[str, Any] = {"figure": fig.to_json(), "label": label, "name": file_name, "formats": FORMATS}
    _buttons(data=data, key=key)
