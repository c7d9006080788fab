"""Texts, base losses and a tiny model for the tests of MICLoss."""

from __future__ import annotations

from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses as st_losses
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

DIMS = [8, 16, 32]
COLUMNS = [["the cat sat on the mat", "a dog ran", "rain", "the dog runs home in the rain , far far"],
           ["a cat sat", "the zebra ran far", "in the rain", "a dog ran home ."],
           ["the mat", "a mat on a mat", "the cat ran home in rain .", "zebra zebra"]]
"""Texts of many lengths; zebra is a word the tokenizer does not know."""


def sentence_model(folder: Path) -> SentenceTransformer:
    """A saved model with mean pooling, in training mode."""
    return SentenceTransformer(modules=[Transformer(str(folder)), Pooling(32)], device="cpu").train()


def features_of(model, columns):
    return [model.preprocess(texts) for texts in columns]


def ranking(model):
    return st_losses.MultipleNegativesRankingLoss(model)


def cached(model):
    return st_losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=3)


def cosent(model):
    return st_losses.CoSENTLoss(model)
