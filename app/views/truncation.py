"""How far can these vectors be cut, and what is lost on the way?"""

import streamlit as st

from app import theme, truncation_data, viewport, widgets
from app.views import truncation_geometry, truncation_known, truncation_parts

st.title("How far can these vectors be cut, and what is lost on the way?")
st.caption("Each line is a model whose vectors keep only their first d coordinates, its band a 95% interval over what is counted. "
           "A line that stays level loses nothing by the cut; one above the grey band carries more in front than elsewhere. "
           "Click a point to look at that cut.")

with widgets.sentences():
    set_name, model_name = widgets.choose_set(), widgets.choose_model()
    names = [model_name, *truncation_parts.compared(model_name)]
    asked = truncation_parts.controls()
    data = truncation_data.load(set_name, names)

for request in data.missing:
    widgets.compute_or_wait(request, height=180)
if not data.models or data.first.name != model_name:
    truncation_known.known()
    st.stop()

dim, tau = truncation_geometry.controls(data)
truncation_parts.headline(data, asked)
truncation_parts.curves(data, asked, theme.current())
truncation_parts.shows(data, asked)
truncation_parts.advice(data, asked)
truncation_parts.cuts(data, asked)
truncation_parts.differences(data, asked)
truncation_geometry.correlation(data, dim, tau, theme.current())
truncation_geometry.shape(data, tau, theme.current())
truncation_known.known()
truncation_known.caveats(data)
truncation_parts.exports(data, asked, dim, tau)
viewport.watch()
