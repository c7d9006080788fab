"""Figure builders: arrays in, ``plotly.graph_objects.Figure`` out, one file per figure.

Builders are pure and know nothing of pages or of the viewer: colours come in as a ``ChartTheme`` (style.py). Show a
figure with ``st.plotly_chart(..., theme=None)``, or Streamlit's own theme paints over ours.
"""
