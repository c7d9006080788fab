"""How do texts, pairs, retrieval sets and token states of one's own get onto the pages?"""

import streamlit as st

from app import widgets
from app.views import data_parts

st.title("What do your own texts look like here?")
st.caption(data_parts.promise())

with widgets.sentences():
    kind = data_parts.choose_kind()
    data_parts.caps(kind)
    files = data_parts.upload(kind)
    if files:
        data_parts.reading(kind, files)
    data_parts.from_hub(kind)
data_parts.own_data()
data_parts.formats()
