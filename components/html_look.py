"""How exported pages look, and the script that draws their figures and sorts their tables.

The colours are the figures' own (``components.charts.style``), on white, since the figures are; the fonts travel inside.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from pathlib import Path

from components.charts.style import LIGHT, MONO, SANS

FONTS = Path(__file__).resolve().parent.parent / "app" / "static" / "fonts"
_FACES = (("Inter", "inter-latin-wght-normal.woff2", "100 900",
           "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2212,U+2215"),
          ("Inter", "inter-greek-wght-normal.woff2", "100 900", "U+0370-03FF"))

_RULES = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: {LIGHT.paper}; color: {LIGHT.ink}; font: 16px/1.5 {SANS}; }}
main {{ max-width: 1160px; margin: 0 auto; padding: 1.5rem 1rem 4rem; }}
h1 {{ font-size: 1.75rem; font-weight: 650; line-height: 1.25; margin: 0.5rem 0; }}
h2 {{ font-size: 1.25rem; font-weight: 600; margin: 2rem 0 0.25rem; }}
a {{ color: {LIGHT.accent}; }}
.reading, .caption, figcaption, dd:not(.value) {{ color: {LIGHT.secondary}; font-size: 0.875rem; line-height: 1.45; }}
.numbers {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 1rem; margin: 1rem 0; }}
dt {{ font-size: 0.875rem; }} dd {{ margin: 0; }}
.value {{ font-size: 1.875rem; font-weight: 500; line-height: 1.25; font-variant-numeric: tabular-nums; }}
figure {{ margin: 0.5rem 0; }} .scroll {{ overflow-x: auto; }} .plot {{ min-width: 640px; }}
.rows {{ max-height: 30rem; overflow: auto; border: 1px solid {LIGHT.hairline}; border-radius: 0.375rem; }}
:focus-visible {{ outline: 2px solid {LIGHT.accent}; outline-offset: 1px; }}
table {{ border-collapse: collapse; font-size: 0.875rem; }} .sortable {{ width: 100%; }}
td, th {{ padding: 0.35rem 0.6rem; border-bottom: 1px solid {LIGHT.hairline}; text-align: left; vertical-align: top; }}
.sortable td.long {{ min-width: 14rem; overflow-wrap: anywhere; }}
td[data-v] {{ font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }}
.sortable thead th {{ position: sticky; top: 0; background: {LIGHT.panel}; padding: 0; }}
th button {{ all: unset; display: block; width: 100%; padding: 0.45rem 0.6rem; cursor: pointer; font-weight: 600;
  box-sizing: border-box; }}
th[aria-sort=ascending] button::after {{ content: " ↑"; }} th[aria-sort=descending] button::after {{ content: " ↓"; }}
.about th {{ font-weight: 400; color: {LIGHT.secondary}; white-space: nowrap; }} .about td {{ overflow-wrap: anywhere; }}
pre {{ background: {LIGHT.panel}; padding: 0.75rem; overflow-x: auto; font: 0.8125rem/1.5 {MONO}; border-radius: 0.375rem; }}
details {{ margin: 1.5rem 0; }} summary {{ cursor: pointer; }}
.failed {{ color: #B85100; }}
@media print {{ .rows {{ max-height: none; overflow: visible; }} }}
"""

PAGE_SCRIPT = """
'use strict';
(() => {
  document.querySelectorAll('.plot').forEach((place, k) => {
    const { data, layout } = JSON.parse(document.getElementById('figure-' + k).textContent);
    layout.autosize = true;
    const options = { displaylogo: false, responsive: true, scrollZoom: false, showSendToCloud: false,
      plotlyServerURL: '', modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d'] };
    Plotly.newPlot(place, data, layout, options).then(() => { place.dataset.drawn = 'yes'; }, (error) => {
      place.classList.add('failed');
      place.textContent = 'The figure could not be drawn: ' + error.message;
    });
  });
  document.querySelectorAll('table.sortable').forEach((table) => {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const value = (row, k) => {
      const cell = row.cells[k];
      return cell.hasAttribute('data-v') ? (cell.dataset.v === '' ? null : Number(cell.dataset.v)) : cell.textContent;
    };
    heads.forEach((head, k) => head.querySelector('button').addEventListener('click', () => {
      const rows = [...body.rows].map((row) => [value(row, k), row]);
      const numeric = rows.some(([at]) => typeof at === 'number');
      // Largest number first, since that is what one looks for; texts from A.
      const down = head.getAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'ascending' : numeric;
      rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : (down ? -1 : 1) *
        (numeric ? a - b : String(a).localeCompare(String(b)))));
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      body.append(...rows.map(([, row]) => row));
    }));
  });
})();
"""


@lru_cache(maxsize=1)
def page_style() -> str:
    """The style sheet, with the fonts in it."""
    faces = "".join(
        f'@font-face{{font-family:{family};font-weight:{weight};unicode-range:{reach};src:url(data:font/woff2;base64,'
        f'{base64.b64encode((FONTS / file).read_bytes()).decode()}) format("woff2")}}\n' for family, file, weight, reach in _FACES)
    return faces + _RULES
