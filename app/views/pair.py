"""What do the tokens of these two texts look like, and which of them carry the difference?"""

import streamlit as st

from app import map_data, pair_data, theme, uploads, viewport, widgets
from app.views import pair_parts

st.title("How far apart do these two texts lie?")
st.caption("Two texts as clouds of tokens: what the mean keeps of them is the distance of the two crosses, what it loses is how the "
           "clouds differ around them. The share says how many of the corpus's pairs lie below a number.")

with widgets.sentences():
    corpus_name, model_name, options = widgets.choose_setting()
    given = model_name == uploads.OWN_STATES
    data = map_data.load(corpus_name, model_name, options)
    texts = pair_parts.choose_texts(corpus_name)
    others = [] if given else pair_parts.compared(model_name)

pair_parts.show_texts(texts)
if texts.same:
    st.info("Both texts are one: choose two.")
    st.stop()
whole = data if isinstance(data, map_data.MapData) else None
with widgets.sentences():
    found = pair_parts.load(texts, corpus_name, model_name, options.special_tokens)

if not isinstance(found, pair_data.TokenPair):
    if texts.rows and whole:
        pair_parts.map_numbers(whole, *texts.rows)
    elif not isinstance(data, map_data.MapData) and texts.rows:
        widgets.compute_or_wait(data, height=180)
    widgets.compute_or_wait(found, height=220)
    st.stop()

with widgets.sentences():
    pair_parts.headline(found, options.layer, whole)
    pair_parts.plane(found, options.layer, theme.current())
    pair_parts.strips(found, options.layer, theme.current())
    if not given:
        pair_parts.through_layers(found, texts, others, options.layer, theme.current())
    pair_parts.matrices(found, options.layer, theme.current())
    if not given:
        pair_parts.edited(texts, model_name, found, options.layer)
pair_parts.caveats(found)
viewport.watch()
