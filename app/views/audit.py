"""Did your pipeline pool as the model declares?"""

import streamlit as st

from app import audit_data, theme, viewport, widgets
from app.views import audit_parts

st.title("Did your pipeline pool as the model declares?")
st.caption("Give an embedding.yaml, or vectors that your pipeline made with the texts they were made from. The page looks for the "
    "pooling, "
           "normalisation, prompt, length, dims and precision that give these vectors. Files stay in memory and go with the session; "
           "what is stored is the report, without texts and vectors.")

with widgets.sentences():
    model_name = widgets.choose_model()
    files = audit_parts.uploads()
    at = audit_data.configured(model_name, files.config)
    options = audit_parts.options(at)
    report = audit_data.checked(at)

if files.complete:
    with widgets.sentences():
        wanted = audit_data.request(at, files.given, options)
    found = audit_data.report(wanted)
    if found is None:
        audit_parts.configuration(report, at)
        widgets.compute_or_wait(wanted, height=220)
        st.stop()
    report = dict(found)

audit_parts.verdict(report, at)
audit_parts.what_to_change(report)
for side in filter(None, (report["vectors"], report["against"])):
    audit_parts.candidates(side, report, theme.current())
audit_parts.configuration(report, at)
audit_parts.files_to_take(report, at)
audit_parts.caveats()
viewport.watch()
