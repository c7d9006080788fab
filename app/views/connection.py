"""Are this visitor's socket, browser and latency fit for the pages?"""

import streamlit as st

from app import hosted
from app.views import connection_parts

st.title("Is this connection fit for Poolscope?")
st.caption("Your browser measures its way to this server and back; nothing leaves the two. Pages come through a socket that stays "
           "open, and each change of a control is one round trip through it.")
found = connection_parts.measured()
if found is None:
    st.markdown("Measuring, about two seconds ...")
else:
    connection_parts.verdict(found)
st.caption("A page that stays blank cannot show this: the address /check of this server needs no socket and says whether one opens.")
st.subheader("What this server limits")
st.markdown(hosted.limits())
