"""The library: pure computation, the result store and the figure builders.

Two folders share this project. ``components/`` (here) never imports streamlit and knows nothing of processes or pages;
``app/`` is everything that imports streamlit, and the command line. A computation takes arrays or texts and returns
arrays in frozen dataclasses; progress is a callable ``(done, total, message)``, cancelling is an event.
"""
