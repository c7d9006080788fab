"""What Poolscope answers, and where to go."""

import streamlit as st

from app import navigation

st.title("See what pooling throws away")
st.markdown(
    "A text-embedding model turns every token of a text into a vector and then pools them into one, most often by "
    "taking their mean. Poolscope shows what that mean keeps and what it loses, for a model and texts of your choice."
)
st.page_link(navigation.pages()[1], label="Map of pairs: how much of what the covariances say does the mean lose?")
