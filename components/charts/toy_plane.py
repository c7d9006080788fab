"""Two linked figures of one pair of toy texts: what they look like in two dimensions, and where that lies on the plane.

The left figure has to stay comparable while a slider moves, so its range holds still as long as the ellipses fit and
only then grows. The right one names its four corners outside the plane: inside, they would lie under the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from components.charts import style
from components.charts.plane import ISO, Plane, add_field, new_figure
from components.charts.style import ChartTheme, caption_number, rgba
from components.errors import DataError
from components.types import FloatArray

HEIGHT = 400
MARGIN = {"l": 56, "r": 12, "t": 40, "b": 90}
"""One for both figures, so that their frames stand on common lines."""
WINDOW = ((-3.3, 3.3), (-2.2, 3.35))
"""What the left figure shows at least: the unit circle and every corner's ellipses."""
LEAST_SIGMA = 0.6
"""The plane's height at least; it grows with d_sigma, which no fixed end would hold."""
ROUND = 97
TEXTS = (("Text A", 7.0, "solid"), ("Text B", 2.5, "dot"))
"""Name, arrow width and outline of each: B lies over A, and where both coincide, A has to show under B."""
POINT = "point"
Corners = Sequence[tuple[str, str]]


def toy_ellipses(means: FloatArray, covariances: FloatArray, theme: ChartTheme, *, alone: bool = False) -> go.Figure:
    """Both toy texts: an arrow from the origin to each mean, and ellipses at one and two standard deviations round it.

    Args:
        means: (2, 2) float, text A's and text B's.
        covariances: (2, 2, 2) float, positive semidefinite.
        theme: ``style.LIGHT`` or ``style.DARK``.
        alone: no plane stands beside it: no room is kept below for the names of the plane's corners.

    Raises:
        DataError: means or covariances have other shapes.
    """
    if means.shape != (2, 2) or covariances.shape != (2, 2, 2):
        raise DataError("toy texts", "must be two means and two covariances in two dimensions",
                        f"{means.shape} and {covariances.shape}", "give (2, 2) and (2, 2, 2)")
    fig = go.Figure(layout={"template": style.template(theme)})
    circle = _unit_circle()
    fig.add_scatter(x=circle[0], y=circle[1], mode="lines", line={"color": theme.published, "width": 1}, hoverinfo="skip",
                    showlegend=False, meta="circle")
    outer = []
    colours = (theme.text_a, theme.text_b)
    for mean, covariance, colour, (name, _, dash) in zip(means, covariances, colours, TEXTS, strict=True):
        for deviations, fill in ((2, 0.10), (1, 0.18)):
            x, y = _ellipse(mean, covariance, deviations)
            fig.add_scatter(x=x, y=y, mode="lines", fill="toself", fillcolor=rgba(colour, fill), hoverinfo="skip",
                            line={"color": colour, "width": 1.5, "dash": dash}, showlegend=deviations == 1, name=name,
                            meta=f"{deviations} sd")
            if deviations == 2:
                outer.append(np.stack([x, y]))
    for mean, colour, (name, width, _) in zip(means, colours, TEXTS, strict=True):
        fig.add_scatter(
            x=[0.0, float(mean[0])], y=[0.0, float(mean[1])], mode="lines+markers", showlegend=False, meta="mean",
            line={"color": colour, "width": width},
            marker={"symbol": "arrow", "angleref": "previous", "size": [0, 9 + 1.5 * width], "color": colour, "opacity": 1,
                    "line": {"width": 0}},
            hovertemplate=f"Mean of {name.lower()}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>",
        )
    all_x, all_y = np.concatenate(outer, axis=1)
    fig.update_layout(
        height=HEIGHT - 40 * alone, margin=MARGIN | {"b": MARGIN["b"] - 40 * alone}, dragmode=False, hovermode="closest",
        xaxis={"range": _window(WINDOW[0], all_x), "title": {"text": "First dimension"}, "fixedrange": True,
               "constrain": "domain", "nticks": 7},
        yaxis={"range": _window(WINDOW[1], all_y), "title": {"text": "Second dimension"}, "fixedrange": True,
               "scaleanchor": "x", "nticks": 7},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"},
    )
    return fig


def toy_plane(d_mu: float, d_sigma: float, corners: Corners, theme: ChartTheme) -> go.Figure:
    """The plane of d_mu and d_sigma with lines of equal SOCM, its four corners named, and one point.

    Args:
        d_mu: in 0..1.
        d_sigma: at least 0; may pass 1.
        corners: (name, gloss) of the upper left, upper right, lower left and lower right corner.
        theme: ``style.LIGHT`` or ``style.DARK``.

    Raises:
        DataError: there are not four corners.
    """
    if len(corners) != 4:
        raise DataError("corners", "must be four", str(len(corners)), "name each corner of the plane")
    top = max(LEAST_SIGMA, d_sigma) * 1.08
    plane = Plane(theme, (-0.04, 1.04), (-0.05 * top, top), HEIGHT, tint=0.03)
    fig = new_figure(plane)
    add_field(fig, plane)
    # The word stands at the lowest line, which is the flattest: higher up the next line would run through it.
    lines = [note for note in fig.layout.annotations if note.name == ISO]
    for note in lines:
        note.text = note.text.removeprefix("SOCM ")
    if lines:
        lines[0].text = f"SOCM {lines[0].text}"
    socm = (1 - d_mu) * d_sigma
    left = d_mu < 0.55
    at: dict[str, Any] = {"x": [d_mu], "y": [d_sigma], "showlegend": False, "name": "", "cliponaxis": False}
    fig.add_scatter(**at, mode="markers", marker={"size": 19, "color": theme.paper}, hoverinfo="skip")
    fig.add_scatter(
        **at, mode="markers", meta=POINT, marker={"size": 13, "color": theme.ink}, customdata=[[socm]],
        hovertemplate=f"{style.SYMBOL_D_MU} %{{x:.3r}}<br>{style.SYMBOL_D_SIGMA} %{{y:.3r}}<br>"
                      "SOCM %{customdata[0]:.3r}<extra></extra>",
    )
    fig.add_annotation(
        x=d_mu, y=d_sigma, text=f"<b>SOCM {caption_number(socm)}</b>", showarrow=False, name=POINT,
        xanchor="left" if left else "right", xshift=14 if left else -14, yanchor="middle",
        font={"size": 14, "color": theme.ink}, bgcolor=rgba(theme.paper, 0.8), borderpad=3,
    )
    for k, (name, gloss) in enumerate(corners):
        side, above = ("left", "right")[k % 2], k < 2
        fig.add_annotation(
            x=k % 2, y=1 if above else 0, xref="x domain", yref="y domain", text=f"<b>{name}</b><br>{gloss}", showarrow=False,
            align=side, xanchor=side, yanchor="bottom" if above else "top", yshift=4 if above else -24, name="corner",
            font={"size": 12, "color": theme.secondary},
        )
    fig.update_layout(
        height=HEIGHT, margin=MARGIN, dragmode=False, hovermode="closest",
        xaxis={"range": plane.mu, "title": {"text": style.LABEL_D_MU, "standoff": 46}, "fixedrange": True,
               "tickvals": [0, 0.25, 0.5, 0.75, 1]},
        yaxis={"range": plane.sigma, "title": {"text": style.LABEL_D_SIGMA}, "fixedrange": True, "nticks": 6},
    )
    return fig


def toy_ellipses_alt(angle: float, turn: float, spreads: tuple[float, float], longs: tuple[float, float]) -> str:
    """The left figure in words: the sliders' values, elongations as shares of 1."""
    words = [f"text {name} spreads {caption_number(spread)}, elongation {long:.0%}"
             for name, spread, long in zip("AB", spreads, longs, strict=True)]
    return (f"Two toy texts as ellipses round means of length 1: the means stand {angle:g} degrees apart, the long axes "
            f"{turn:g} degrees; {words[0]}; {words[1]}.")


def toy_plane_alt(d_mu: float, d_sigma: float, corner: str) -> str:
    """The right figure in words."""
    return (f"Plane of mean distance and covariance distance with lines of equal SOCM: the point lies at mean distance "
            f"{caption_number(d_mu)} and covariance distance {caption_number(d_sigma)}, SOCM "
            f"{caption_number((1 - d_mu) * d_sigma)}; corner: {corner[0].lower()}{corner[1:]}.")


def _unit_circle() -> FloatArray:
    around = np.linspace(0, 2 * np.pi, ROUND)
    return np.stack([np.cos(around), np.sin(around)])


def _ellipse(mean: FloatArray, covariance: FloatArray, deviations: float) -> FloatArray:
    """(2, ROUND) outline at so many standard deviations; a line where the covariance has rank 1."""
    values, vectors = np.linalg.eigh(covariance)
    return mean[:, None] + deviations * (vectors * np.sqrt(np.clip(values, 0, None))) @ _unit_circle()


def _window(least: tuple[float, float], values: FloatArray) -> tuple[float, float]:
    return min(least[0], 1.05 * float(values.min())), max(least[1], 1.05 * float(values.max()))
