"""MICLoss on a tiny model: against the same terms taken from a second, plain encoding, and beside MatryoshkaLoss."""

from __future__ import annotations

import copy
import json
import math
import types
from pathlib import Path

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as st_losses

from components import losses
from components.losses import TERMS, MICLoss
from components.mic_terms import SCR, SIR
from components.types import FINAL
from tests.components import tiny_models
from tests.components.loss_samples import COLUMNS, DIMS, cached, cosent, features_of, ranking, sentence_model

pytestmark = pytest.mark.usefixtures("one_torch_thread")

@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tiny_models.save("bert", tmp_path_factory.mktemp("bert"))


@pytest.fixture
def model(saved):
    """Without dropout, so that two passes are one."""
    return sentence_model(saved).eval()


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def same(found, expected, tolerance):
    return found.keys() == expected.keys() and all(torch.allclose(found[k], expected[k], rtol=0, atol=tolerance) for k in expected)


def plain_terms(model, columns, layer_dims, special_tokens=True, tau=0.02, lambda_var=0.0, t=2.0):
    """SCR and SIR over columns, layers and dims, from an encoding of transformers alone."""
    scr, sir, values = SCR(tau, lambda_var), SIR(t), []
    for texts in columns:
        batch = model.tokenizer(texts, padding=True, return_tensors="pt", return_special_tokens_mask=True)
        special = batch.pop("special_tokens_mask").bool()
        mask = batch["attention_mask"].bool() & (special_tokens | ~special)
        hidden = model[0].model(**batch, output_hidden_states=True).hidden_states
        for layer, dims in layer_dims.items():
            states = hidden[-1 if layer == FINAL else layer]
            values += [scr(states, mask, dim).loss + sir(states, mask, dim).loss for dim in dims]
    return torch.stack(values).mean()


LABELS = torch.tensor([0.9, 0.1, 0.5, 0.3])
BASES = pytest.mark.parametrize(("base", "n_columns"), [(ranking, 2), (ranking, 3), (cosent, 2), (cached, 2), (cached, 3)])


@BASES
def test_gamma_0_is_matryoshka_alone(model, base, n_columns):
    columns = COLUMNS[:n_columns]
    alone = st_losses.MatryoshkaLoss(model, base(model), DIMS)(features_of(model, columns), LABELS)
    alone_gradients = gradients(model, alone)
    loss = MICLoss(model, base(model), DIMS, gamma=0)
    value = loss(features_of(model, columns), LABELS)
    assert abs(value.item() - alone.item()) <= 1e-6
    assert same(gradients(model, value), alone_gradients, 1e-6)
    assert max(g.abs().max() for g in alone_gradients.values()) > 1e-3, "gradients that are there to differ"
    assert loss.last_values()["correlation"] > 0, "measured all the same"


SETTINGS = pytest.mark.parametrize("settings", [
    {},
    {"special_tokens": False},
    {"layers": {0: [8], 1: [8, 16], FINAL: [16, 32]}, "gamma": 5.0, "tau": 0.1, "lambda_var": 0.3, "uniformity_t": 1.0},
    {"layers": [1, 2], "special_tokens": False, "lambda_var": 1.0},
], ids=["defaults", "no special tokens", "mapping", "two layers"])


def difference(module, model, base, columns, settings):
    """How far MICLoss lies from its formula in float64: of the value, and of the gradients at most."""
    model.double()
    layers = settings.get("layers", [FINAL])
    layer_dims = layers if isinstance(layers, dict) else dict.fromkeys(layers, DIMS)
    terms = plain_terms(model, columns, layer_dims, settings.get("special_tokens", True), settings.get("tau", 0.02),
                        settings.get("lambda_var", 0.0), settings.get("uniformity_t", 2.0))
    expected = st_losses.MatryoshkaLoss(model, ranking(model), DIMS)(features_of(model, columns), LABELS) \
        + settings.get("gamma", 3.0) * terms
    wanted = gradients(model, expected)
    value = module.MICLoss(model, base(model), DIMS, **settings)(features_of(model, columns), LABELS)
    found = gradients(model, value)
    assert found.keys() == wanted.keys()
    return abs(value.item() - expected.item()), max((found[k] - wanted[k]).abs().max().item() for k in wanted)


@SETTINGS
@pytest.mark.parametrize(("base", "n_columns"), [(ranking, 2), (ranking, 3), (cached, 3)])
def test_value_and_gradients_equal_the_formula_on_a_second_encoding(model, base, n_columns, settings):
    value, gradient = difference(losses, model, base, COLUMNS[:n_columns], settings)
    assert value <= 1e-10 and gradient <= 1e-10


FAULTS = [
    ("base + self.gamma * (terms[0] + terms[3])", "base - self.gamma * (terms[0] + terms[3])", {}),
    ("base + self.gamma * (terms[0] + terms[3])", "base + self.gamma * terms[0]", {}),
    ("base + self.gamma * (terms[0] + terms[3])", "base + self.gamma * (terms[0] + terms[3]).detach()", {}),
    ("torch.stack(rows).mean(dim=0)", "torch.stack(rows).sum(dim=0)", {}),
    ("return mask & ~torch.isin", "return mask & torch.isin", {"special_tokens": False}),
    ("if self.special_tokens:\n            return mask", "if True:\n            return mask", {"special_tokens": False}),
    ("if self.special_tokens:\n            return mask", "if self.special_tokens:\n            return mask | True", {}),
    ("set(tokenizer.all_special_ids) - unknown", "set(tokenizer.all_special_ids)", {"special_tokens": False}),
    ("if layer == FINAL else hidden[layer]", "if layer == FINAL else hidden[layer - 1]", {"layers": [1]}),
    ("if layer == FINAL else hidden[layer]", "if True else hidden[layer]", {"layers": [1]}),
    ("((wide[k:k + batch], mask[k:k + batch]) for k in range(0, len(mask), batch))", "((wide, mask),)", {}),
    ("torch.promote_types(states[layer].dtype, torch.float32)", "torch.float32", {}),
    ("SCR(tau, lambda_var), SIR(uniformity_t)", "SCR(tau), SIR(uniformity_t)", {"lambda_var": 1.0}),
    ("SCR(tau, lambda_var), SIR(uniformity_t)", "SCR(tau, lambda_var), SIR()", {"uniformity_t": 1.0}),
]


@pytest.mark.parametrize(("fragment", "replacement", "settings"), FAULTS)
def test_a_fault_put_into_the_loss_is_seen(model, fragment, replacement, settings):
    source = Path(losses.__file__).read_text("utf-8")
    assert source.count(fragment) == 1, "the fault must have one place to go"
    module = types.ModuleType("faulty_losses")
    exec(compile(source.replace(fragment, replacement), "faulty_losses", "exec"), module.__dict__)
    assert max(difference(module, model, ranking, COLUMNS, settings)) > 1e-8


def test_nothing_is_encoded_twice(model):
    calls = []
    handle = model[0].model.embeddings.register_forward_hook(lambda *_: calls.append(1))
    MICLoss(model, ranking(model), DIMS, layers=[1, FINAL])(features_of(model, COLUMNS[:2]), LABELS)
    assert len(calls) == 2, "two columns"
    handle.remove()


@pytest.mark.parametrize("base", [ranking, cached])
def test_the_model_is_left_as_it_was(model, base):
    def state():
        return (dict(vars(model)).keys(), dict(vars(model[0])).keys(), len(model[0]._forward_hooks),
                model[0].config.output_hidden_states, model.forward.__func__)

    before, weights = state(), copy.deepcopy(model.state_dict())
    loss = MICLoss(model, base(model), DIMS, layers=[0, 1])
    columns = features_of(model, COLUMNS[:2])
    loss(columns, LABELS).backward()
    assert state() == before and not any("all_layer_embeddings" in column for column in columns)
    loss.matryoshka.loss.forward = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        loss(features_of(model, COLUMNS[:2]), LABELS)
    assert state() == before
    assert all(torch.equal(weights[k], v) for k, v in model.state_dict().items())


def test_hidden_states_that_were_asked_for_stay(model):
    model[0].config.output_hidden_states = True
    columns = features_of(model, COLUMNS[:2])
    MICLoss(model, ranking(model), DIMS)(columns, LABELS)
    assert model[0].config.output_hidden_states and all(len(column["all_layer_embeddings"]) == 3 for column in columns)


def test_last_values_and_settings_can_be_logged(model):
    loss = MICLoss(model, ranking(model), DIMS, lambda_var=0.5, matryoshka_weights=[3, 2, 1.0])
    assert loss.last_values() == {}
    total = loss(features_of(model, COLUMNS[:2]), LABELS)
    values = loss.last_values()
    assert list(values) == ["total", "mrl", *TERMS] and all(type(x) is float and math.isfinite(x) for x in values.values())
    assert values["total"] == pytest.approx(total.item(), rel=1e-6)
    assert values["scr"] == pytest.approx(values["correlation"] + 0.5 * values["variance"], rel=1e-5)
    assert values["sir"] == pytest.approx((values["cv"] + values["uniformity"]) / 2, rel=1e-5)
    settings = json.loads(json.dumps(loss.get_config_dict()))
    assert settings["matryoshka_dims"] == DIMS and settings["matryoshka_weights"] == [3, 2, 1]
    assert settings["layers"] == {"final": DIMS} and settings["loss"] == "MultipleNegativesRankingLoss"


def test_terms_are_float32_under_autocast_and_measured_without_gradients(model):
    loss = MICLoss(model, ranking(model), DIMS)
    with torch.autocast("cpu", torch.bfloat16):
        heard = []
        loss.scr.register_forward_hook(lambda _module, given, _out: heard.append((given[0].dtype, torch.is_autocast_enabled("cpu"))))
        value = loss(features_of(model, COLUMNS[:2]), LABELS)
    value.backward()
    assert set(heard) == {(torch.float32, False)} and value.isfinite()
    with torch.no_grad():
        assert not loss(features_of(model, COLUMNS[:2]), LABELS).requires_grad
    assert loss.last_values()["mrl"] > 0


@pytest.mark.parametrize("base", [ranking, cached])
def test_one_pair_and_a_text_without_words_stay_finite(model, base):
    loss = MICLoss(model, base(model), DIMS, special_tokens=False, lambda_var=1.0)
    for columns in ([["the cat"], ["a cat"]], [["", "the cat"], ["rain", ""]], [[""], [""]]):
        value = loss(features_of(model, columns), None)
        assert value.isfinite() and all(g.isfinite().all() for g in gradients(model, value).values())


def test_training_lowers_what_it_punishes(saved):
    def trained(gamma):
        torch.manual_seed(0)
        model = sentence_model(saved)
        loss = MICLoss(model, ranking(model), DIMS, gamma=gamma)
        optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
        for _ in range(40):
            optimiser.zero_grad()
            loss(features_of(model, COLUMNS[:2]), LABELS).backward()
            optimiser.step()
        model.eval()
        loss(features_of(model, COLUMNS[:2]), LABELS)
        return loss.last_values()

    without, with_terms = trained(0), trained(10)
    assert with_terms["correlation"] < 0.8 * without["correlation"]
    assert with_terms["sir"] < without["sir"]


def test_a_step_of_the_trainer_is_the_same_with_gamma_0_as_with_matryoshka_alone(saved, tmp_path):
    datasets = pytest.importorskip("datasets")
    pytest.importorskip("accelerate")
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    def stepped(make):
        torch.manual_seed(0)
        model = sentence_model(saved)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        loss = make(model)
        arguments = SentenceTransformerTrainingArguments(str(tmp_path), max_steps=3, per_device_train_batch_size=4, learning_rate=1e-3,
                                                         report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=True, seed=1)
        data = datasets.Dataset.from_dict({"anchor": COLUMNS[0], "positive": COLUMNS[1]})
        SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss).train()
        return model.state_dict(), loss

    alone, _ = stepped(lambda model: st_losses.MatryoshkaLoss(model, ranking(model), DIMS))
    zero, _ = stepped(lambda model: MICLoss(model, ranking(model), DIMS, gamma=0))
    three, loss = stepped(lambda model: MICLoss(model, ranking(model), DIMS))
    assert same(zero, alone, 1e-6) and not same(three, alone, 1e-4)
    assert loss.last_values()["correlation"] > 0
