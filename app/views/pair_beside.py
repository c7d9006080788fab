"""The same two texts at every layer, and under several settings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from app import pair_data, pair_settings, state, viewport, widgets
from app.pair_data import LINEAR, TokenPair
from app.pair_settings import Shown
from app.results import Request
from app.views.pair_parts import CHART
from components.charts.layer_panels import layer_panels, layer_panels_alt
from components.charts.style import ChartTheme
from components.charts.token_plane import span_of, token_plane, token_plane_alt
from components.token_pair import Projection
from components.types import FINAL

SMALL = 340
"""Height of a plane beside others."""


def models_of(shown: Sequence[Shown]) -> list[TokenPair]:
    """One pair a model of those whose tokens are there, the page's own first."""
    found: dict[str, TokenPair] = {}
    for one in shown:
        if isinstance(one.pair, TokenPair):
            found.setdefault(one.setting.model, one.pair)
    return list(found.values())


def through_layers(shown: Sequence[Shown], theme: ChartTheme) -> None:
    """The pair's three numbers at every layer, under the page's model and those of pinned settings; a click sets the layer."""
    st.subheader("Through the layers")
    models, layer = models_of(shown), shown[0].setting.layer
    panels, axis = pair_data.by_layer(models)
    last = int(models[0].found.meta["n_layers"])
    at = float(last if layer == FINAL else layer)
    relative = axis != "Layer"
    with st.container(key="pair_layers"):
        narrow, chosen = viewport.is_narrow(), at / last if relative else at
        drawn = models[0].once(repr((*(pair.signature() for pair in models), "layers", theme.name, narrow, chosen)),
                               lambda: layer_panels(panels, theme, axis=axis, chosen=chosen, narrow=narrow))
        st.plotly_chart(drawn, theme=None, key="through", alt=layer_panels_alt(panels), config=CHART, selection_mode="points",
                        on_select=partial(state.keep_layer, "through", partial(_own_layer, models)))
    named = ", ".join(f"{widgets.plain(pair.model)} (revision {pair.revision})" for pair in models)
    notes = [pair_settings.without_common_layer(shown)]
    if len(models) > 1:
        notes.append("Single tokens are left out under the page's own model only, since other models cut texts into other tokens.")
    st.caption(f"{named}; layer 0 is the embedding output. A click on a point sets the layer of the whole page. "
               + " ".join(widgets.plain(note) for note in notes if note))


def _own_layer(found: list[TokenPair], model: str, layer: str) -> str:
    """The page's model's layer at the depth of a layer of one of the models."""
    clicked = next((pair for pair in found if pair.model == model), found[0])
    return str(round(int(layer) / int(clicked.found.meta["n_layers"]) * int(found[0].found.meta["n_layers"])))


def side_by_side(shown: Sequence[Shown], theme: ChartTheme) -> None:
    """The settings' numbers as a table, and a plane of each, all on one scale."""
    if len(shown) < 2:
        return
    st.subheader("Side by side")
    waiting: dict[str, Request] = {one.setting.model: one.pair for one in shown if isinstance(one.pair, Request)}
    for name, request in waiting.items():
        st.caption(f"{widgets.plain(name)}:")
        widgets.compute_or_wait(request, height=160)
    three = {name: st.column_config.NumberColumn(title, format="%.3f") for name, title in (
        ("SOCM", "SOCM"), ("d_mu", "Mean dμ"), ("d_sigma", "Covariance dΣ"), ("size", "Size part"),
        ("shape", "Shape part"), ("align", "Alignment"), ("cosine", "Cosine of means"), ("halves ratio", "Halves of one text, of two"))}
    st.dataframe(pair_settings.table(shown), hide_index=True, key="side_by_side", column_config=three)
    st.caption("Halves of one text, of two: covariance distance between halves of either text over that between halves of the two; "
               "near 1 a covariance distance is what few tokens give, and distances of models with other ratios do not compare.")
    there = [one for one in shown if isinstance(one.pair, TokenPair)]
    name = _linear()
    planes = [(one, one.pair, found) for one in there if isinstance(one.pair, TokenPair)
              and isinstance(found := one.pair.projection(one.setting.layer, name), Projection)]
    span = span_of([found for _, _, found in planes])
    columns = [*st.columns(2), *st.columns(2)]
    for k, (one, pair, found) in enumerate(planes):
        with columns[k].container(key=f"beside_{k}"):
            st.markdown(f"**{widgets.plain(one.setting.words)}**")
            shares = pair.effects(one.setting.layer, "spread")
            assert shares is not None
            drawn = token_plane(found, pair.kept_tokens, shares, theme, effect_label="share of the spread", places=pair.kept, span=span,
                                height=SMALL, narrow=True)
            st.plotly_chart(drawn, theme=None, key=f"beside_plane_{k}", alt=token_plane_alt(found), config=CHART)
            st.caption(f"{found.share or 0:.0%} of the joint variance, {sum(map(len, pair.kept))} tokens.")


def _linear() -> str:
    """The plane chosen above, or the first where that is UMAP, which would be a job for each."""
    chosen = str(st.session_state.get("projection") or "")
    return chosen if chosen in LINEAR else next(iter(LINEAR))
