"""How much of what the covariances say does the mean lose, for this model on these texts, and for which pairs?"""

import streamlit as st

from app import map_data, results, state, theme, uploads, viewport, widgets
from app.views import map_comparison, map_controls, map_exports, map_parts
from components.findings import map_finding

st.title("How much of what the covariances say does the mean lose?")
st.caption("Each pair of texts is a point. Left: the means agree. Up: the token clouds differ. What the mean hides, high "
           "SOCM, lies in the upper left.")

with widgets.sentences():
    corpus_name, model_name, options = widgets.choose_setting()
    whole = map_data.load(corpus_name, model_name, options)
    second = map_controls.compared(corpus_name, model_name, options)
    other = map_data.load(*second) if second else None

if not isinstance(whole, map_data.MapData):
    widgets.compute_or_wait(whole)
    st.stop()

with widgets.sentences():
    plane = map_controls.plane(whole)
    chosen = map_controls.pair_filter(whole.result, whole.corpus)
    data = map_data.apply(whole, chosen)

if len(data.pairs) == 0:
    st.info("No pair is left: widen the filters in the sidebar.")
    st.stop()

map_parts.headline(data)
with_second = None
if second and isinstance(other, map_data.MapData):
    with_second = map_data.apply(other, chosen) if other.corpus is whole.corpus else other
    if len(with_second.pairs) == 0:
        st.info("No pair of the second setting is left: widen the filters in the sidebar.")
        with_second = None
settings = [(model_name, options), second[1:]] if second and with_second else [(model_name, options)]
with_labels = plane.labelled if all(model != uploads.OWN_STATES for model, _ in settings) else ""
over, missing = map_data.labelled_of(settings if with_labels else [], with_labels)
if missing:
    widgets.compute_or_wait(missing, height=180)
if isinstance(other, results.Request):
    widgets.compute_or_wait(other)
elif with_second:
    map_comparison.comparison(data, with_second, plane, theme.current(), state.box(), over)
else:
    map_parts.figure(data, plane, theme.current(), over[0] if over else None)
if not data.filtered:
    st.markdown(f"**What this shows.** {widgets.plain(map_finding(data.result))}")
map_parts.selection(data, compared=with_second is not None)
map_parts.lengths(data, theme.current())
map_parts.caveats(data)
map_exports.exports(data, with_second, plane, state.box(), over)
viewport.watch()
