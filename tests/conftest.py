"""Nothing here reaches a network: models come from a package or are made in the test."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
# The small matrices of these tests gain nothing from BLAS threads, and on busy cores lose tenfold by their spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

from components.types import TokenStates

# A busy machine is no failure: properties are checked, not how long an example takes.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(scope="module")
def one_torch_thread():
    """For modules of many small matrices, for the same reason."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def embedded():
    """The real embedded model, loaded once."""
    from components.encoders import load_encoder
    from components.models import resolve_model

    return load_encoder(resolve_model("all-MiniLM-L6-v2"), device="cpu")


@pytest.fixture(scope="session")
def embedded_states(embedded) -> TokenStates:
    """Final-layer token states of the first 120 encyclopedia sentences under the real model."""
    from components.corpora import load_corpus

    return embedded.token_states(load_corpus("encyclopedia").texts[:120], ["final"]).states["final"]
