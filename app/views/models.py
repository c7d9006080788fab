"""Do models with less collapse score higher?"""

from functools import partial

import streamlit as st

from app import model_data, theme, viewport, widgets
from app.exports.models import models_view
from app.views import models_parts

st.title("Do models with less collapse score higher?")
st.caption("Each mark is a published model: left, the covariances of two texts differ little where their means agree; up, it scores "
           "higher on MTEB. Hollow marks are backbones; arrows lead to what tuning made of them. Click a mark to leave it out.")

with widgets.sentences():
    measure, subset, without = models_parts.controls()
    chosen = model_data.choose(measure, subset, without)
    scored = models_parts.scores_given()

models_parts.headline(chosen)
models_parts.scatter(chosen, measure, scored, theme.current())
st.markdown(f"**What this shows.** {widgets.plain(model_data.finding(chosen))}")
models_parts.left_out(chosen)
models_parts.subsets()
models_parts.changes(chosen, measure, theme.current())
models_parts.known()
models_parts.give_a_score()
models_parts.caveats()
models_parts.exports(chosen, measure, scored, partial(models_view, chosen, measure, subset, scored))
viewport.watch()
