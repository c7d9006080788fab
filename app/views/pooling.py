"""Which way of making one vector retrieves best, is the difference real, and what do the usual faults cost?"""

import streamlit as st

from app import pooling_data, theme, viewport, widgets
from app.results import Request
from app.views import pooling_faults, pooling_geometry, pooling_parts

st.title("Which way of making one vector retrieves best?")
st.caption("Each row is a pooling: left, how well its vectors find the document that answers a question, with a 95% interval over "
           "questions; right, how far that lies from the pooling the model declares. An interval that crosses 0 tells nothing.")

with widgets.sentences():
    set_name, model_name = widgets.choose_set(), widgets.choose_model()
    data = pooling_data.load(set_name, model_name)
    setting, prompts = pooling_parts.controls(model_name)
    if not prompts and not isinstance(data, Request):
        data = pooling_data.load(set_name, model_name, prompts=False)

if isinstance(data, Request):
    widgets.compute_or_wait(data)
    st.stop()

pooling_parts.alarm(data, setting)
pooling_parts.headline(data, setting)
pooling_parts.figure(data, setting, theme.current())
st.markdown(f"**What this shows.** {widgets.plain(pooling_data.finding(data))}")
pooling_parts.metrics_table(data, setting)
pooling_parts.flipped(data, setting)
pooling_parts.prompts(data, setting)
pooling_faults.company(data, setting, theme.current())
pooling_faults.chunks(data, setting, theme.current())
pooling_geometry.show(data, theme.current())
pooling_parts.caveats(data)
pooling_parts.exports(data, setting)
viewport.watch()
