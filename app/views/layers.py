"""Where, and through which part of the block, do a text's tokens gather round their mean?"""

from functools import partial

import streamlit as st

from app import layer_data, theme, viewport, widgets
from app.exports.layers import layers_view
from app.views import layers_parts

st.title("At which layers do a text's tokens gather round their mean?")
st.caption("Each line is a model, its band a 95% interval over texts. Where normalised spread falls, tokens close in on their "
           "mean and mean pooling has less to lose. Click a point to look at its layer.")

with widgets.sentences():
    corpus_name, model_name = widgets.choose_corpus(), widgets.choose_model()
    names = [model_name, *layers_parts.compared(model_name)]
    layer = widgets.choose_layer(model_name)
    published, quantity = layers_parts.controls()
    data = layer_data.load(corpus_name, names)

for request in data.missing:
    widgets.compute_or_wait(request, height=180)
if not data.models or data.first.name != model_name:
    st.stop()

layers_parts.headline(data, layer)
layers_parts.curves(data, layer, theme.current(), published=published)
st.markdown(f"**What this shows.** {widgets.plain(layer_data.finding(data))}")
layers_parts.at_layer(data, quantity, layer, theme.current())
layers_parts.heads(data, theme.current())
layers_parts.more(data, layer, theme.current())
layers_parts.caveats(data)
layers_parts.exports(data, quantity, layer, partial(layers_view, data, quantity, layer, published=published), published=published)
viewport.watch()
