"""Two texts' stored tokens: what is in them, that they are kept, what is refused, and the transport plan."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

from components.encoders import load_encoder
from components.errors import DataError
from components.models import resolve_model
from components.socm import pair_statistics
from components.store import ResultStore
from components.token_pair import pair_numbers
from components.token_pipeline import TokenOptions, compute_tokens, one_pair, run_tokens, tokens_key
from components.transport import transport_plan
from components.types import FINAL
from tests.components import tiny_models


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_models.save("bert", tmp_path_factory.mktemp("tokens") / "tiny")


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path)


PAIR = one_pair("the cat sat on the mat .", "a dog ran")


def test_states_tokens_and_numbers_are_those_of_the_encoder(model, store):
    ref = resolve_model(str(model))
    found = compute_tokens(PAIR, ref, TokenOptions(), store=store)
    encoder = load_encoder(ref, device="cpu")
    states = encoder.token_states([PAIR.texts_a[0], PAIR.texts_b[0]], encoder.layers).states
    n = found.meta["n_a"]
    assert found.meta["tokens"][:n] == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", ".", "[SEP]"]
    assert found.arrays["special"].tolist() == [True, *[False] * 7, True, True, False, False, False, True]
    for layer in encoder.layers:
        both = found.arrays[f"layer_{layer}"]
        assert np.allclose(both[:n], states[layer][0], atol=1e-6) and np.allclose(both[n:], states[layer][1], atol=1e-6)
    theirs = pair_statistics(states[FINAL][0], states[FINAL][1])
    ours = pair_numbers(found.arrays["layer_final"][:n], found.arrays["layer_final"][n:])
    assert ours.d_sigma == pytest.approx(float(theirs.d_sigma[0]), abs=1e-6)


def test_it_is_computed_once_and_named_by_both_texts_in_order(model, store):
    ref = resolve_model(str(model))
    assert compute_tokens(PAIR, ref, TokenOptions(), store=store).key == compute_tokens(PAIR, ref, TokenOptions(), store=store).key
    assert len(store.entries()) == 1
    assert tokens_key(one_pair("a dog ran", PAIR.texts_a[0]), ref, TokenOptions()) != tokens_key(PAIR, ref, TokenOptions())


def test_the_workers_task_refuses_what_the_page_did_not_see(model, store):
    key = tokens_key(PAIR, resolve_model(str(model)), TokenOptions())
    args = {"text_a": PAIR.texts_a[0], "text_b": PAIR.texts_b[0], "model": str(model), "options": {"prompt": ""}, "digest": key.digest,
            "device": "cpu"}
    how = {"store": store, "progress": lambda *_: None, "cancelled": None}
    assert run_tokens(args, **how) == key.digest
    with pytest.raises(DataError, match="must stay as they are"):
        run_tokens({**args, "text_b": "another"}, **how)


@pytest.mark.parametrize(("a", "b", "rule"), [("", "x", "text A must not be empty"), ("x", " \n", "text B must not be empty"),
                                              ("x" * 20_001, "x", "at most 20,000 characters; found 20,001")])
def test_what_cannot_be_a_text_is_one_sentence(a, b, rule):
    with pytest.raises(DataError, match=rule):
        one_pair(a, b)


def test_a_plan_moves_all_mass_at_the_least_cost_of_a_linear_program():
    rng = np.random.default_rng(0)
    x, y = rng.normal(1, 1, (5, 8)), rng.normal(0.5, 1, (7, 8))
    plan = transport_plan(x, y)
    assert np.allclose(plan.sum(axis=1), 1 / 5) and np.allclose(plan.sum(axis=0), 1 / 7)
    a, b = (t / np.linalg.norm(t.mean(axis=0)) for t in (x, y))
    cost = np.square(a[:, None] - b[None]).sum(axis=2)
    rows = np.kron(np.eye(5), np.ones(7)), np.kron(np.ones(5), np.eye(7))
    best = linprog(cost.ravel(), A_eq=np.concatenate(rows), b_eq=np.r_[np.full(5, 1 / 5), np.full(7, 1 / 7)]).fun
    assert (plan * cost).sum() == pytest.approx(best, abs=1e-9)
    assert best >= 4 * pair_numbers(x, y).distance - 1e-9, "at least the distance of the Gaussians"
    square = transport_plan(x, y[:5])
    i, j = linear_sum_assignment(np.square(x[:, None] / np.linalg.norm(x.mean(0)) - y[None, :5] / np.linalg.norm(y[:5].mean(0))).sum(2))
    assert np.allclose(square[i, j], 1 / 5), "as many tokens on both sides: a matching"
