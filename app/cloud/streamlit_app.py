"""Entry point for Streamlit Community Cloud: the pages on stored results alone, in an installation without torch.

Its folder's ``requirements.txt`` and ``.streamlit/config.toml`` are the ones that the Cloud reads.
"""

import os
import runpy
import sys
from pathlib import Path

APP = Path(__file__).resolve().parents[1]

os.environ.setdefault("POOLSCOPE_HOSTED", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
if str(APP.parent) not in sys.path:  # the Cloud installs requirements, not the project
    sys.path.insert(0, str(APP.parent))
runpy.run_path(str(APP / "main.py"), run_name="__main__")
