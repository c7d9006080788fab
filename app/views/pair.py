"""Which two texts are these, and how far apart do they lie among all pairs of their corpus?"""

import streamlit as st

from app import map_data, state, widgets
from components.charts.style import caption_number
from components.pair_map import PairOptions

st.title("How far apart do these two texts lie?")
st.caption("The numbers of one pair of a corpus, and the share of the corpus's pairs that lie below each of them.")

with widgets.sentences():
    corpus_name, model_name = widgets.choose_corpus(), widgets.choose_model()
    options = PairOptions(layer=widgets.choose_layer(model_name), special_tokens=widgets.choose_special())
    data = map_data.load(corpus_name, model_name, options)

if not isinstance(data, map_data.MapData):
    widgets.compute_or_wait(data)
    st.stop()

last = len(data.corpus.texts) - 1
a = widgets.choose_row("Row of text A", last, state.ROW_A, key="a")
b = widgets.choose_row("Row of text B", last, state.ROW_B, key="b")
for column, name, row in zip(st.columns(2), "AB", (a, b), strict=True):
    column.caption(f"Text {name}, row {row}, {data.result.n_tokens[row]} tokens")
    column.text(data.corpus.texts[row])
if a == b:
    st.info("Both rows are one text: choose two.")
    st.stop()

found = data.one(a, b)
if found is None:
    st.info("This map does not hold every pair (it was streamed or estimated), and this one is not among those it kept.")
    st.stop()
with st.container(key="headline"):
    for column, (label, value, below) in zip(st.columns(4), (
            ("SOCM", found["socm"], found.below("socm")), ("Mean distance $d_\\mu$", found["d_mu"], found.below("d_mu")),
            ("Covariance distance $d_\\Sigma$", found["d_sigma"], found.below("d_sigma")),
            ("Alignment", found["align"], found.below("align"))), strict=True):
        widgets.number(column, label, value, below, "The share says how many of the corpus's pairs have a smaller value.")
st.caption(f"Covariance distance = size {caption_number(found['size'])} + shape {caption_number(found['shape'])}; "
           f"{data.request.key.model_id}, {'final layer' if options.layer == 'final' else f'layer {options.layer}'}, "
           f"{data.result.n_pairs:,} pairs.")
