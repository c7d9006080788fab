"""Backbone against tuned: a row a model, from the backbone's value (hollow) to the tuned one's (filled)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import say_empty
from components.charts.style import ChartTheme, caption_number


@dataclass(frozen=True)
class Change:
    """One tuned model beside the backbone it descends from."""

    tuned: str
    backbone: str
    before: float
    after: float
    source: str

    @property
    def rises(self) -> bool:
        return self.after > self.before


def change_rows(changes: Sequence[Change], theme: ChartTheme, *, x_label: str, narrow: bool = False, scale: float = 1.0) -> go.Figure:
    """Draws the rows, the first on top; what rises against the rule is orange. Pure; show it with ``theme=None``."""
    fig = go.Figure(layout={"template": style.template(theme, scale=scale)})
    rows = [html.escape(change.tuned, quote=False) for change in changes]
    for label, rises, colour in (("falls", False, theme.text_a), ("rises", True, theme.text_b)):
        at = [k for k, change in enumerate(changes) if change.rises == rises]
        if not at:
            continue
        xs: list[float | None] = []
        ys: list[str | None] = []
        for k in at:
            xs += [changes[k].before, changes[k].after, None]
            ys += [rows[k], rows[k], None]
        fig.add_scatter(x=xs, y=ys, mode="lines", line={"color": colour, "width": 2}, hoverinfo="skip", showlegend=False)
        hover = [f"{rows[k]}<br>backbone {html.escape(changes[k].backbone, quote=False)} {caption_number(changes[k].before)}, tuned "
                 f"{caption_number(changes[k].after)}<br>{html.escape(changes[k].source, quote=False)}" for k in at]
        for name, values, fill in (("backbone", [changes[k].before for k in at], theme.paper),
                                   (f"tuned: {label}", [changes[k].after for k in at], colour)):
            fig.add_scatter(x=values, y=[rows[k] for k in at], mode="markers", name=name, hovertext=hover,
                            showlegend=name != "backbone", hovertemplate="%{hovertext}<extra></extra>",
                            marker={"size": 10, "color": fill, "line": {"color": colour, "width": 2}})
    if rows:  # one entry for the hollow marks of both colours
        fig.add_scatter(x=[None], y=[None], mode="markers", name="backbone", hoverinfo="skip",
                        marker={"size": 10, "color": theme.paper, "line": {"color": theme.secondary, "width": 2}})
    fig.update_layout(height=(128 if narrow else 110) + 30 * max(3, len(rows)), dragmode=False, hovermode="closest",
                      margin={"l": 10, "r": 14, "t": 34, "b": 70 if narrow else 52},
                      # The names take half of a phone's width; a legend that began after them would have a line for each entry.
                      legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"} | ({"xref": "container"} if narrow else {}),
                      xaxis={"title": {"text": x_label.replace(", ", ",<br>").replace(" at ", "<br>at ") if narrow else x_label},
                             "rangemode": "tozero", "nticks": 5 if narrow else 10},
                      yaxis={"categoryorder": "array", "categoryarray": rows[::-1], "automargin": True,
                             "tickfont": {"size": 11 if narrow else 13}})
    if not rows:
        say_empty(fig, theme, scale, "No pair of backbone and tuned model")
    return fig


def change_rows_alt(changes: Sequence[Change], *, x_label: str) -> str:
    """The figure in words, for ``alt=``."""
    parts = [f"{change.tuned} {caption_number(change.before)} to {caption_number(change.after)}" for change in changes]
    return f"{x_label} of backbone and tuned model: {'; '.join(parts) or 'none'}."
