"""How every figure looks: colours by role, type, number formatting and the words on the axes.

Colour carries a role and keeps it on every page: text A is blue, text B is orange-red, models follow in one order. The
hues are Okabe and Ito's (2008), chosen to stay apart for colour-blind readers. Two of them (#E69F00, #56B4E9) have less
than 3:1 against white paper; merely darkening them to 3:1 makes the first one equal to #D55E00 under deuteranopia, so
the light theme takes much darker shades of both, which differ from their neighbours in lightness instead.

Magnitudes use cividis (Nuñez, Anderton and Renslow 2018), which is monotone in lightness. The low end of a scale must
lie near the ground it is drawn on, or a single pair looks as heavy as a thousand: dark grounds take cividis as it is,
white grounds take it reversed, with its yellow end paled towards paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Text A, text B, then further models."""
TEXT_A, TEXT_B = OKABE_ITO[:2]
MODELS = OKABE_ITO[2:]
"""Further models in their order; figures take ``ChartTheme.models``, which has 3:1 on its ground."""
MAGNITUDE = "cividis"
"""Plotly's name of the scale for magnitudes on grounds of any colour (heatmaps without empty cells)."""

SANS = "Inter, system-ui, sans-serif"
MONO = "'JetBrains Mono', ui-monospace, monospace"
TEXT_SIZE = 13
AXIS_SIZE = 14
PROJECTOR = 4 / 3
"""Scale for projector mode: a third larger."""

LABEL_D_MU = "Mean distance d<sub>μ</sub>"
LABEL_D_SIGMA = "Covariance distance d<sub>Σ</sub>"
LABEL_SOCM = "SOCM"
SYMBOL_D_MU = "d<sub>μ</sub>"
SYMBOL_D_SIGMA = "d<sub>Σ</sub>"
# Streamlit's markdown knows no <sub>; its LaTeX is drawn locally and sets true subscripts.
MD_D_MU = r"$d_\mu$"
MD_D_SIGMA = r"$d_\Sigma$"
MD_LABEL_D_MU = f"Mean distance {MD_D_MU}"
MD_LABEL_D_SIGMA = f"Covariance distance {MD_D_SIGMA}"

Scale = tuple[tuple[float, str], ...]
"""Colour stops ``(position in 0..1, "#RRGGBB")``, rising from 0 to 1."""


@dataclass(frozen=True)
class ChartTheme:
    """The colours of one ground. Every colour is ``#RRGGBB``.

    Attributes:
        name: "light" or "dark".
        paper, panel: grounds of figures and of panels.
        ink, secondary: text; secondary for axis numbers and captions (4.5:1 on both grounds).
        hairline: rules and grid.
        accent: links, the selected thing.
        text_a, text_b: marks of the two texts of a pair (3:1 on paper).
        models: marks of further models in their order (3:1 on paper).
        published: marks of values taken from a paper, drawn dotted.
        marginal: fill of histograms beside a plane.
        field: hue of the tint that shows where SOCM is high.
        density: scale for log counts over an otherwise empty ground, near paper at 0.
        magnitude: scale for values that fill a heatmap.
        diverging: scale for differences, to be centred at 0: blue, ground, orange.
    """

    name: str
    paper: str
    panel: str
    ink: str
    secondary: str
    hairline: str
    accent: str
    text_a: str
    text_b: str
    models: tuple[str, ...]
    published: str
    marginal: str
    field: str
    density: Scale
    magnitude: Scale
    diverging: Scale

    @property
    def sequence(self) -> tuple[str, ...]:
        """Text A, text B and the models: the order for categories."""
        return (self.text_a, self.text_b, *self.models)


def even(colours: tuple[str, ...]) -> Scale:
    """A scale with these colours at even distances."""
    return tuple((i / (len(colours) - 1), colour) for i, colour in enumerate(colours))


CIVIDIS = ("#00224E", "#123570", "#3B496C", "#575D6D", "#707173", "#8A8678", "#A59C74", "#C3B369", "#E1CC55", "#FEE838")

LIGHT = ChartTheme(
    name="light",
    paper="#FFFFFF",
    panel="#F6F7F9",
    ink="#1B1F27",
    secondary="#5B6472",
    hairline="#E2E6EB",
    accent="#0072B2",
    text_a=TEXT_A,
    text_b=TEXT_B,
    models=("#009E73", "#CC79A7", "#7A5000", "#003F66"),
    published="#7A8494",
    marginal="#AEB6C1",
    field="#0072B2",
    density=even(("#F2EAC4", "#E6D88E", "#D3C373", "#B5A96F", "#908B74", "#6C6E72", "#4B546D", "#223E6C", "#00224E")),
    magnitude=even(CIVIDIS),
    diverging=even(("#004C78", "#0072B2", "#5BA3CF", "#A9D0E8", "#FFFFFF", "#F5BE97", "#E98B4B", "#D55E00", "#8F3F00")),
)

DARK = ChartTheme(
    name="dark",
    paper="#0F1318",
    panel="#171C23",
    ink="#E7EAEE",
    secondary="#9AA4B2",
    hairline="#2A313B",
    accent="#56B4E9",
    text_a=TEXT_A,
    text_b=TEXT_B,
    models=MODELS,
    published="#7A8494",
    marginal="#59626F",
    field="#56B4E9",
    density=even(("#0E2A50", "#173B72", *CIVIDIS[2:])),
    magnitude=even(CIVIDIS),
    # The middle is the ground here too: white cells on a dark page would make "no difference" the brightest thing.
    diverging=even(("#A9D8F5", "#56B4E9", "#2E7FB0", "#1F4A66", "#20262E", "#6B3A17", "#B35510", "#F08A3C", "#FFC79A")),
)


def plotly_scale(scale: Scale) -> list[list[float | str]]:
    """The scale in the form that plotly takes for ``colorscale``."""
    return [[position, colour] for position, colour in scale]


def rgba(colour: str, alpha: float) -> str:
    """``#RRGGBB`` as a CSS colour with an alpha in 0..1."""
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def template(theme: ChartTheme, *, scale: float = 1.0) -> go.layout.Template:
    """The layout defaults of every figure.

    Args:
        theme: ``LIGHT`` or ``DARK``.
        scale: factor on every text size; ``PROJECTOR`` for projector mode.
    """
    text, axis_text = TEXT_SIZE * scale, AXIS_SIZE * scale
    axis = {
        "gridcolor": theme.hairline, "gridwidth": 1, "zeroline": False, "showline": False, "ticks": "",
        "tickfont": {"size": text, "color": theme.secondary},
        "title": {"font": {"size": axis_text, "color": theme.ink}, "standoff": 10},
        # The minus sign, and thousands with a comma, as in captions.
        "separatethousands": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": SANS, "size": text, "color": theme.ink},
            "paper_bgcolor": theme.paper, "plot_bgcolor": theme.paper,
            "colorway": list(theme.sequence),
            "colorscale": {
                "sequential": plotly_scale(theme.magnitude), "diverging": plotly_scale(theme.diverging),
            },
            "xaxis": axis, "yaxis": axis,
            "margin": {"l": 64, "r": 12, "t": 12, "b": 52},
            "legend": {"bgcolor": rgba(theme.paper, 0.85), "font": {"size": text}, "itemsizing": "trace"},
            "hoverlabel": {
                "align": "left", "bgcolor": theme.panel, "bordercolor": theme.secondary,
                "font": {"family": SANS, "size": text, "color": theme.ink},
                "namelength": -1,
            },
            "modebar": {"bgcolor": rgba(theme.paper, 0), "color": theme.secondary, "activecolor": theme.accent},
            "newselection": {"line": {"color": theme.accent, "width": 1.5, "dash": "solid"}},
            "activeselection": {"fillcolor": theme.accent, "opacity": 0.12},
            "separators": ".,",
        }
    )


def decimals_for(value: float) -> int:
    """Decimals that show ``value`` with three significant digits (0 for 100 and above)."""
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, 2 - int(f"{abs(value):.2e}".split("e")[1]))


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    # U+2212: a hyphen is too short beside figures and may break from them. -0.00 is no number to print.
    return text.replace("-", "−") if any(digit in text for digit in "123456789") else text.lstrip("-")


def caption_number(x: float | int | None) -> str:
    """A number for captions: three significant digits, or a count in full with thousands separators.

    Args:
        x: an int (a count, printed in full), a float, or None for a value that is not known (printed as a dash).
    """
    if x is None:
        return "–"
    if isinstance(x, int) or (hasattr(x, "dtype") and x.dtype.kind in "iu"):
        return _fixed(int(x), 0)
    value = float(x)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "−")
    if abs(value) >= 1000:
        value = float(f"{value:.3g}")
    return _fixed(value, decimals_for(value))


def interval_text(low: float | None, high: float | None) -> str:
    """``[low, high]`` with as many decimals on both sides as the larger one needs; empty where there is no interval."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    larger = max(abs(low), abs(high))
    if not math.isfinite(larger) or (larger != 0 and not 1e-4 <= larger < 1e6):
        return f"[{caption_number(float(low))}, {caption_number(float(high))}]"
    return f"[{_fixed(low, decimals_for(larger))}, {_fixed(high, decimals_for(larger))}]"
