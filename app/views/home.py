"""What does mean pooling throw away, and which page answers what about it?"""

import streamlit as st

from app import viewport
from app.views import home_parts
from components.toy_gaussians import corner_of, toy_statistics

st.title("See what pooling throws away")
st.markdown(
    "A text-embedding model turns each token of a text into a vector and pools them into one, most often their mean. "
    "Poolscope measures what that mean hides, for researchers, engineers and teachers."
)
st.caption("Two texts can differ in their means, in how their tokens spread round them (the covariances), in both or in "
           "neither.")

# On a phone the sliders stand below what they decide.
corners, numbers, figures = st.container(), st.container(), st.container()
pair = home_parts.sliders()
found = toy_statistics(pair)
with corners:
    home_parts.corner_buttons(corner_of(found))
with numbers:
    home_parts.headline(found)
with figures:
    home_parts.figures(pair, found)
    home_parts.finding(pair, found)
home_parts.links()
viewport.watch()
