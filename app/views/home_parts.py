"""The Home page's controls, numbers, figures and links."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import navigation, state, theme, viewport, widgets
from components.charts.style import caption_number
from components.charts.toy_plane import toy_ellipses, toy_ellipses_alt, toy_plane, toy_plane_alt
from components.models import EMBEDDED
from components.toy_gaussians import CORNERS, MAX_SPREAD, START, ToyPair, ToyStatistics, corner_of, toy_finding

ANGLE, TURN = "home_angle", "home_turn"
SPREAD_A, SPREAD_B, LONG_A, LONG_B = "home_spread_a", "home_spread_b", "home_long_a", "home_long_b"
GLOSSES = {"Only the covariances differ": "the mean hides it", "Both differ": "the mean shows enough",
           "Both agree": "nothing to lose", "Only the means differ": "the mean keeps it"}
STILL: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}


def settings_of(pair: ToyPair) -> dict[str, float]:
    """The sliders' values for a toy pair; elongations in whole per cent."""
    return {ANGLE: round(pair.angle), TURN: round(pair.turn), SPREAD_A: pair.spread_a, SPREAD_B: pair.spread_b,
            LONG_A: round(100 * pair.long_a), LONG_B: round(100 * pair.long_b)}


def go_to(corner: str) -> None:
    """Callback of a corner's button: the sliders take its values."""
    for name, value in settings_of(CORNERS[corner]).items():
        st.session_state[name] = value


def sliders() -> ToyPair:
    """Six sliders, each in the URL: in the sidebar, but on a phone, where that would cover the figures, on the page."""
    place = st.container() if viewport.is_narrow() else st.sidebar
    start = settings_of(CORNERS[START])

    def slide(key: str, label: str, high: float, step: float, form: str, words: str) -> float:
        low, value = type(step)(0), type(step)(start[key])
        return place.slider(label, low, high, value, step, format=form, key=key, bind="query-params", help=words)

    place.markdown("**Between the texts**")
    angle = slide(ANGLE, "Angle between the means", 180, 5, "%d°",
                  "0°: mean pooling gives both texts the same vector. 180°: opposite vectors.")
    turn = slide(TURN, "Angle between the long axes", 90, 5, "%d°",
                 "How far the direction in which text B spreads most is turned from text A's. Without effect when one of "
                 "them is round.")
    values = []
    for name, spread, long in ((":blue[Text A]", SPREAD_A, LONG_A), (":orange[Text B]", SPREAD_B, LONG_B)):
        place.markdown(f"**{name}**")
        values.append((
            slide(spread, "Spread", MAX_SPREAD, 0.1, "%.1f",
                  "Mean squared distance of the tokens from their mean, which has length 1; real texts reach 4 to 6 in "
                  "middle layers."),
            slide(long, "Elongation", 100, 5, "%d%%", "0%: the tokens spread equally in all directions, a circle. "
                  "100%: along one direction only, a line.")))
    return ToyPair(angle, turn, values[0][0], values[1][0], values[0][1] / 100, values[1][1] / 100)


def corner_buttons(here: str) -> None:
    """A button for each corner; that of the setting's own corner is filled."""
    with st.container(horizontal=True, key="home_corners"):
        for k, corner in enumerate(CORNERS):
            st.button(corner, key=f"home_corner_{k}", type="primary" if corner == here else "secondary",
                      on_click=go_to, args=(corner,), help=f"Set the sliders to this corner: {GLOSSES[corner]}.")


def headline(found: ToyStatistics) -> None:
    """Four numbers, each with what it is made of."""
    with st.container(key="headline"):
        socm, mu, sigma, align = st.columns(4)
        widgets.number(socm, "SOCM", found.socm, "what the mean hides",
                       "SOCM = (1 − $d_\\mu$) · $d_\\Sigma$: large only where the means agree and the covariances do not.")
        widgets.number(mu, "Mean distance $d_\\mu$", found.d_mu, f"cosine of the means {caption_number(found.cosine)}",
                       "A quarter of the squared distance between the two means, scaled to length 1: (1 − cosine) / 2.")
        widgets.number(sigma, "Covariance distance $d_\\Sigma$", found.d_sigma,
                       f"size {caption_number(found.size)} + shape {caption_number(found.shape)}",
                       "A quarter of the squared Bures-Wasserstein distance between the covariances: what it costs to move "
                       "one cloud of tokens onto the other once their centres are put together. Size: how differently the "
                       "texts spread; shape: how little their directions agree. It can pass 1, since spreads can.")
        widgets.number(align, "Alignment", found.align,
                       "no direction: a spread is 0" if found.align is None else "1: equal directions",
                       "How well the directions of the two spreads agree, from 0 (none in common) to 1 (the same shape in the "
                       "same direction), whatever their sizes.")


def figures(pair: ToyPair, found: ToyStatistics) -> None:
    """The two texts, and where they lie on the plane."""
    look = theme.current()
    texts, plane = st.columns(2, gap="medium")
    with texts:
        drawn = toy_ellipses(pair.means, pair.covariances, look, alone=viewport.is_narrow())
        alt = toy_ellipses_alt(pair.angle, pair.turn, (pair.spread_a, pair.spread_b), (pair.long_a, pair.long_b))
        st.plotly_chart(drawn, theme=None, key="home_texts", config=STILL, alt=alt)
        st.caption("Arrows: the means of two texts, of length 1 (grey circle), all that mean pooling keeps. Ellipses: 1 and "
                   "2 standard deviations of their tokens, the covariances.")
    with plane:
        corners = [(name, GLOSSES[name]) for name in CORNERS]
        st.plotly_chart(toy_plane(found.d_mu, found.d_sigma, corners, look), theme=None, key="home_plane", config=STILL,
                        alt=toy_plane_alt(found.d_mu, found.d_sigma, corner_of(found)))
        st.caption("The same two texts as one point. Lines join pairs of equal SOCM; the tint deepens where it is large. "
                   "Every number is exact.")


def finding(pair: ToyPair, found: ToyStatistics) -> None:
    sentence = toy_finding(pair, found).replace("SOCM ", "SOCM\u00a0")
    st.markdown(f"**What this shows.** {widgets.plain(sentence)}")


def links() -> None:
    """Into the pages, with their controls set."""
    st.subheader("With real texts")
    st.caption(f"{EMBEDDED} on the 1,000 encyclopedia sentences that come with Poolscope. The final layer comes computed, "
               "layer 3 takes some seconds at its first visit.")
    base = {state.CORPUS: "encyclopedia", state.MODEL: EMBEDDED}
    for path, label, more in (
            ("map", "All 499,500 pairs at the final layer", {}),
            ("map", "The same pairs at layer 3 of 6", {state.LAYER: "3"}),
            ("map", "Paraphrases, negations, translations", {"labelled": "true"}),
            ("layers", "Where tokens gather, layer by layer", {}),
            ("pair", "Two sentences with nearly one mean", {"a": "316", "b": "687"})):
        st.page_link(navigation.page(path), label=label, icon=":material/arrow_forward:", query_params=base | more)
