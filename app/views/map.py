"""How much of what the covariances say does the mean lose, for this model on these texts, and for which pairs?"""

import streamlit as st

from app import resources, results, theme, widgets
from app.views.map_parts import caveats, figure, headline, largest_pairs
from components.findings import map_finding
from components.pair_map import PairOptions

st.title("How much of what the covariances say does the mean lose?")
st.caption("Each pair of texts is a point. Left: the means agree. Up: the token clouds differ. What the mean hides, high "
           "SOCM, lies in the upper left.")

with widgets.sentences():
    corpus_name, model_name = widgets.choose_corpus(), widgets.choose_model()
    options = PairOptions(layer=widgets.choose_layer(model_name), special_tokens=widgets.choose_special())
    request = results.pair_map_request(corpus_name, model_name, options)
    result = results.pair_map(request)

if result is None:
    widgets.compute_or_wait(request)
    st.stop()

corpus = resources.corpus(corpus_name)
headline(result)
figure(result, corpus, theme.current())
st.caption(widgets.map_caption(result, request))
st.markdown(f"**What this shows.** {widgets.plain(map_finding(result))}")
largest_pairs(result, corpus)
caveats(result)
