"""How much of what the covariances say does the mean lose, for this model on these texts, and for which pairs?"""

import streamlit as st

from app import map_data, results, theme, widgets
from app.views import map_controls, map_parts
from components.findings import map_finding
from components.pair_map import PairOptions

st.title("How much of what the covariances say does the mean lose?")
st.caption("Each pair of texts is a point. Left: the means agree. Up: the token clouds differ. What the mean hides, high "
           "SOCM, lies in the upper left.")

with widgets.sentences():
    corpus_name, model_name = widgets.choose_corpus(), widgets.choose_model()
    options = PairOptions(layer=widgets.choose_layer(model_name), special_tokens=widgets.choose_special())
    whole = map_data.load(corpus_name, model_name, options)
    second = map_controls.compared(corpus_name, model_name, options)
    other = map_data.load(*second) if second else None

if not isinstance(whole, map_data.MapData):
    widgets.compute_or_wait(whole)
    st.stop()

with widgets.sentences():
    plane = map_controls.plane(whole.corpus)
    chosen = map_controls.pair_filter(whole.result, whole.corpus)
    data = map_data.apply(whole, chosen)

if len(data.pairs) == 0:
    st.info("No pair is left: widen the filters in the sidebar.")
    st.stop()

map_parts.headline(data)
over = map_data.labelled(model_name, options) if plane.labelled else None
if isinstance(over, results.Request):
    widgets.compute_or_wait(over, height=180)
if other is None:
    map_parts.figure(data, plane, theme.current(), over if isinstance(over, map_data.Labelled) else None)
elif isinstance(other, map_data.MapData):
    map_parts.comparison(data, map_data.apply(other, chosen) if other.corpus is whole.corpus else other, plane,
                         theme.current())
else:
    widgets.compute_or_wait(other)
if not data.filtered:
    st.markdown(f"**What this shows.** {widgets.plain(map_finding(data.result))}")
map_parts.selection(data)
map_parts.lengths(data, theme.current())
map_parts.caveats(data)
map_parts.exports(data, plane, theme.current())
