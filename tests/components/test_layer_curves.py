"""What is read from stored layers: layers that there are, means that leave out 0/0, factors that multiply to the change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from components.errors import DataError
from components.layer_curves import PER_BLOCK, PER_LAYER, QUANTITIES
from components.layer_findings import layer_finding, tuning_finding
from components.published import layer_curves as published
from tests.components.layer_samples import layer_curves


def test_layers_and_means_over_the_texts_that_have_a_value():
    curves = layer_curves()
    assert curves.layers("r") == (1, 2, 3) and curves.layers("normalized_spread") == (0, 1, 2, 3, "final")
    values = curves.values["C"].copy()
    values[:4, 1] = np.nan
    curves = type(curves)(**{**vars(curves), "values": {**curves.values, "C": values}})
    mean = curves.mean("C", 2)
    kept = values[4:, 1]
    half = stats.t.ppf(0.975, 15) * kept.std(ddof=1) / 4
    assert mean.n == 16 and mean.value == pytest.approx(kept.mean()) and mean.high == pytest.approx(kept.mean() + half)
    assert np.array_equal(curves.per_text("lambda", 3), curves.lambda_[:, 2].mean(axis=1))


@pytest.mark.parametrize(("quantity", "layer"), [("r", 0), ("r", "final"), ("lambda", 4), ("normalized_spread", 4), ("nonsense", 1)])
def test_a_layer_that_is_not_there_is_one_sentence(quantity, layer):
    with pytest.raises(DataError, match=f"must be one where {quantity} is known"):
        layer_curves().per_text(quantity, layer)


def test_the_three_factors_multiply_to_the_change_exactly():
    curves = layer_curves(seed=3)
    for block in (1, 2, 3):
        parts = sum(logs[block - 1].value for logs in curves.factors.values())
        spread = curves.values["normalized_spread"]
        assert curves.change(block).value == pytest.approx(parts, abs=1e-12) == pytest.approx(
            np.log(spread[:, block] / spread[:, block - 1]).mean(), abs=1e-12)


def test_the_factors_of_the_embedded_model_multiply_too(embedded):
    from components.concentration import layer_statistics

    texts = ["The cat sat on the mat.", "Rain.", "Light from the Sun takes about eight minutes to reach Earth."]
    got = layer_statistics(embedded, texts)
    spread = got.normalized_spread
    product = got.residual_gain * (got.r / spread[:, :embedded.n_layers]) * got.c
    assert np.allclose(product, spread[:, 1:embedded.n_layers + 1] / spread[:, :embedded.n_layers], rtol=1e-5)


def test_the_long_table_holds_every_number_once():
    curves = layer_curves(5)
    table = curves.long()
    assert {len(column) for column in table.values()} == {5 * (3 * 2 + 4 * 3 + 3 * 5)}
    at = (table["quantity"] == "lambda") & (table["layer"] == "2") & (table["head"] == 1) & (table["text"] == 3)
    assert table["value"][at].tolist() == [curves.lambda_[3, 1, 0]]
    final = (table["layer"] == "final") & (table["quantity"] == "mean_cosine")
    assert np.array_equal(table["value"][final], curves.values["mean_cosine"][:, -1])
    assert set(table["quantity"]) == set(QUANTITIES) - {"scale"} and (table["head"][table["quantity"] != "lambda"] == 0).all()


def test_without_attention_what_needs_it_is_missing_and_the_rest_stays():
    curves = layer_curves(available=False)
    assert not any(curves.layers(name) for name in ("lambda", *PER_BLOCK)) and all(curves.layers(name) for name in PER_LAYER)
    assert set(curves.long()["quantity"]) == set(PER_LAYER)
    assert "cannot be told for this model" in layer_finding("m", curves)


def test_layers_of_other_models_by_relative_depth():
    six, twelve, four = (layer_curves(layers=k) for k in (6, 12, 4))
    assert [twelve.nearest(k, six) for k in (0, 1, 3, 6)] == [0, 2, 6, 12]
    assert [four.nearest(k, six) for k in (0, 1, 2, 3, 6, "final")] == [0, 1, 1, 2, 4, "final"]
    assert six.final_differs is False and layer_curves(end_norm=True).final_differs


def test_the_sentence_names_the_block_the_part_and_the_factors():
    curves = layer_curves()
    changes = [curves.change(block).value for block in (1, 2, 3)]
    at = int(np.argmin(changes))
    said = layer_finding("m", curves)
    assert said.startswith(f"m: normalised spread falls most in block {at + 1} of 3, to {np.exp(changes[at]):.3f} [")
    assert "mostly through the residual sum, which lengthens the mean" in said
    assert f"times {np.exp(curves.factors['mean_growth'][at].value):.3f}" in said and "attention 1." in said


def test_the_sentence_where_nothing_falls_and_where_nothing_can_be_said():
    curves = layer_curves()
    spread = np.repeat(np.arange(1.0, 5.0)[None], 20, axis=0)
    rising = type(curves)(**{**vars(curves), "values": {**curves.values, "normalized_spread": np.c_[spread, spread[:, -1]]}})
    assert "falls in no block" in layer_finding("m", rising)
    single = type(curves)(**{**vars(curves), "values": {**curves.values, "normalized_spread": np.zeros((20, 5))}})
    assert "no text has two tokens that differ" in layer_finding("m", single)


def test_tuned_against_backbone_is_paired_over_texts():
    before, after = layer_curves(seed=1), layer_curves(seed=1)
    halved = {**after.values, "normalized_spread": after.values["normalized_spread"] * 0.5}
    after = type(after)(**{**vars(after), "values": halved})
    assert tuning_finding("t", after, "b", before) == \
        "At its last layer t has 0.500 [0.500, 0.500] times the normalised spread of b."
    other = layer_curves(seed=2)
    assert "cannot tell from none" in tuning_finding("t", other, "b", type(before)(**{**vars(before), "values": {
        **before.values, "normalized_spread": other.values["normalized_spread"][::-1]}}))


def test_published_curves_are_those_of_the_file():
    curves = published()
    assert set(curves) == {"lambda", "r", "C", "normalized_spread", "mean_cosine"}
    assert curves["lambda"]["google-bert/bert-base-uncased"][:2] == ((1, 0.194), (2, 0.268))
    assert all(len(points) == 12 for models in curves.values() for points in models.values())
