"""What does contrastive training do to the tokens, step by step?"""

import streamlit as st

from app import viewport
from app.views import training_parts

st.title("What does contrastive training do to the tokens, step by step?")
st.caption("Each line is a run over its steps, its band a 95% interval over texts or questions. Move the step: map, layers and "
           "tokens of the same texts follow. A change within what five seeds differ by is called no change.")

training_parts.show(*training_parts.controls())
viewport.watch()
