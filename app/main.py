"""Entry point of the pages: page settings and navigation, nothing else."""

from pathlib import Path

import streamlit as st

from app import links, navigation, private, widgets

STATIC = Path(__file__).parent / "static"

st.set_page_config(page_title="Poolscope", page_icon=str(STATIC / "favicon.png"), layout="wide")
page = st.navigation(navigation.pages())
private.session().page = page.url_path or "home"
widgets.house_style()
links.copy_link()
widgets.hosted_notice()
page.run()
