"""What do the tokens of these two texts look like, and which of them carry the difference?"""

from functools import partial

import streamlit as st

from app import map_data, pair_data, pair_references, pair_settings, theme, uploads, viewport, widgets
from app.exports.pair import pair_view
from app.views import pair_beside, pair_controls, pair_edit, pair_exports, pair_parts

st.title("How far apart do these two texts lie?")
st.caption("Two texts as clouds of tokens: what the mean keeps of them is the distance of the two crosses, what it loses is how the "
           "clouds differ around them. Click a token, on the plane or in its text, to see what it carries.")

with widgets.sentences():
    corpus_name, model_name, options = widgets.choose_setting()
    given, layer = model_name == uploads.OWN_STATES, options.layer
    data = map_data.load(corpus_name, model_name, options)
    texts = pair_controls.choose_texts(corpus_name)
    pinned = [] if given else pair_controls.pinned(model_name, layer)

pair_parts.show_texts(texts)
if texts.same:
    st.info("Both texts are one: choose two.")
    st.stop()
whole = data if isinstance(data, map_data.MapData) else None
with widgets.sentences():
    found = pair_controls.load(texts, corpus_name, model_name, options.special_tokens)

if not isinstance(found, pair_data.TokenPair):
    if texts.rows and whole:
        pair_parts.map_numbers(whole, *texts.rows)
    elif not isinstance(data, map_data.MapData) and texts.rows:
        widgets.compute_or_wait(data, height=180)
    widgets.compute_or_wait(found, height=220)
    st.stop()

look = theme.current()
with widgets.sentences():
    among = pair_references.among(whole, found)
    pair_parts.headline(found, layer, among)
    shown = pair_parts.plane(found, layer, look)
    tint = pair_parts.strips(found, layer, look)
    pair_parts.clicked_token(found, layer)
    pair_parts.finding_and_halves(found, layer, corpus_name, options.special_tokens)
    beside = pair_settings.load(found, layer, pinned)
    if not given:
        pair_beside.through_layers(beside, look)
        pair_beside.side_by_side(beside, look)
    pair_parts.matrices(found, layer, look)
    if not given:
        pair_edit.edited(texts, model_name, found, layer)
    pair_parts.every_number(found, layer, among)
    pair_parts.caveats(found)
    pair_exports.exports(found, layer, texts, shown, tint, among, beside,
                         partial(pair_view, found, layer, texts, shown, tint, among, pair_beside.models_of(beside), corpus_name))
viewport.watch()
