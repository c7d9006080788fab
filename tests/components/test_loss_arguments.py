"""What MICLoss refuses, each in one sentence."""

from __future__ import annotations

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses as st_losses
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from components.errors import DataError
from components.losses import MICLoss
from tests.components import tiny_models
from tests.components.loss_samples import COLUMNS, DIMS, cached, features_of, ranking, sentence_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tiny_models.save("bert", tmp_path_factory.mktemp("bert"))


@pytest.fixture
def model(saved):
    return sentence_model(saved)


def static_model():
    return SentenceTransformer(modules=[StaticEmbedding(tiny_models.tokenizer(), embedding_dim=32)], device="cpu")


def twice_cached(model):
    base = cached(model)
    st_losses.MatryoshkaLoss(model, base, DIMS)
    return base


BAD = {
    "dims descending": ({"matryoshka_dims": [32, 16]}, r"matryoshka_dims must be ascending whole numbers in 1\.\.32"),
    "dims twice": ({"matryoshka_dims": [16, 16]}, "found \\[16, 16\\]"),
    "dims above the model's": ({"matryoshka_dims": [16, 64]}, "in 1..32, the model's dim; found \\[16, 64\\]"),
    "dim 0": ({"matryoshka_dims": [0, 16]}, "matryoshka_dims"),
    "dims of text": ({"matryoshka_dims": "16"}, "matryoshka_dims"),
    "dims not whole": ({"matryoshka_dims": [8.5, 16]}, "matryoshka_dims"),
    "dim true": ({"matryoshka_dims": [True, 16]}, "matryoshka_dims"),
    "no dims": ({"matryoshka_dims": []}, "matryoshka_dims"),
    "layer too high": ({"layers": [3]}, "layers must lie in 0..2 or be 'final'; found 3"),
    "layer negative": ({"layers": [-1]}, "found -1"),
    "layer unknown": ({"layers": ["last"]}, "found 'last'"),
    "layer a list": ({"layers": [[1]]}, "found \\[1\\]"),
    "layer twice": ({"layers": [1, 1]}, "each layer once"),
    "no layers": ({"layers": []}, "layers must be a list"),
    "layers of text": ({"layers": "final"}, "layers must be a list"),
    "mapping to another dim": ({"layers": {1: [8, 24]}}, "dims of layer 1 must be some of the matryoshka_dims"),
    "mapping to nothing": ({"layers": {1: []}}, "dims of layer 1"),
    "mapping to a number": ({"layers": {1: 8}}, "dims of layer 1"),
    "gamma negative": ({"gamma": -1}, "gamma must be a finite number of at least 0; found -1"),
    "gamma nan": ({"gamma": math.nan}, "gamma"),
    "gamma text": ({"gamma": "3"}, "gamma"),
    "tau negative": ({"tau": -0.1}, "tau"),
    "lambda_var infinite": ({"lambda_var": math.inf}, "lambda_var"),
    "t 0": ({"uniformity_t": 0}, "uniformity_t must be a finite number above 0"),
    "weights too few": ({"matryoshka_weights": [1]}, "must be 3 numbers, one a dim"),
    "weights negative": ({"matryoshka_weights": [1, -1, 1]}, "matryoshka_weights must be a finite number of at least 0"),
    "loss a class": ({"loss": lambda m: st_losses.MultipleNegativesRankingLoss}, "loss must be a loss made for the model"),
    "loss Matryoshka": ({"loss": lambda m: st_losses.MatryoshkaLoss(m, ranking(m), DIMS)}, "found MatryoshkaLoss"),
    "loss Matryoshka in two ways": ({"loss": lambda m: st_losses.Matryoshka2dLoss(m, ranking(m), DIMS)}, "found Matryoshka2dLoss"),
    "loss MIC": ({"loss": lambda m: MICLoss(m, ranking(m), DIMS)}, "not cut to dims"),
    "loss cached and cut before": ({"loss": twice_cached}, "found CachedMultipleNegativesRankingLoss"),
    "loss of another model": ({"loss": lambda m: ranking(static_model())}, "same model"),
    "model without token states": ({"model": static_model()}, "first module is a transformer; found StaticEmbedding"),
    "no model": ({"model": None}, "found NoneType"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_arguments_are_refused_in_one_sentence(model, name):
    changed, match = BAD[name]
    arguments = {"matryoshka_dims": DIMS, "model": model, "loss": ranking} | changed
    arguments["loss"] = arguments["loss"](model)
    with pytest.raises(DataError, match=match) as caught:
        MICLoss(**arguments)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_a_base_loss_that_encodes_nothing_is_refused(model):
    class Nothing(torch.nn.Module):
        def forward(self, features, labels):
            return torch.zeros((), requires_grad=True)

    with pytest.raises(DataError, match="must encode its texts by the model given; found Nothing"):
        MICLoss(model, Nothing(), DIMS)(features_of(model, COLUMNS[:2]), None)
