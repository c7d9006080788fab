"""Batches of like length: nothing twice, nothing lost, less padding; bfloat16 only while a model trains."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset

from components.batch_order import LikeLengthBatches, batches_of_like_length, in_bfloat16


def texts(n, seed=0, same=()):
    rng = np.random.default_rng(seed)
    found = [f"{i} " + "x" * int(length) for i, length in enumerate(rng.geometric(0.05, n))]
    return [found[dict(same).get(i, i)] for i in range(n)]


def padding(batches, a, b):
    return sum(len(batch) * max(max(len(a[i]), len(b[i])) for i in batch) for batch in batches)


@pytest.mark.parametrize(("n", "batch"), [(1000, 32), (64, 64), (65, 64), (7, 2), (3000, 8)])
def test_every_pair_once_in_whole_batches(n, batch):
    a, b = texts(n), texts(n, 1)
    found = batches_of_like_length(a, b, batch, torch.Generator().manual_seed(0))
    flat = [i for one in found for i in one]
    assert len(found) == n // batch and all(len(one) == batch for one in found) and len(set(flat)) == len(flat)


def test_no_text_stands_twice_in_a_batch_and_what_waited_comes_later():
    n = 400
    a, b = texts(n, same=[(i, 0) for i in range(1, 20)]), texts(n, 1, same=[(300, 301)])
    b[5] = a[77]  # an answer that is another pair's question
    found = batches_of_like_length(a, b, 16, torch.Generator().manual_seed(0))
    for batch in found:
        sides = [{a[i], b[i]} for i in batch]
        assert sum(map(len, sides)) == len(set().union(*sides))
    assert sum(a[i] == a[0] for batch in found for i in batch) >= 15, "spread over the batches, not thrown away"


def test_padding_is_less_than_at_random_and_epochs_differ():
    a, b = texts(4000), texts(4000, 1)
    data = Dataset.from_dict({"anchor": a, "positive": b})
    sampler = LikeLengthBatches(data, batch_size=32, drop_last=True, seed=3)
    first, again = list(sampler), list(sampler)
    sampler.set_epoch(1)
    other = list(sampler)
    assert first == again and first != other and len(sampler) == len(first) == 125
    shuffled = np.random.default_rng(0).permutation(4000).reshape(-1, 32).tolist()
    assert padding(first, a, b) < 0.6 * padding(shuffled, a, b)
    lengths = [max(len(a[i]) for i in batch) for batch in first]
    assert abs(np.corrcoef(np.arange(125), lengths)[0, 1]) < 0.3, "batches are shuffled, long ones do not come last"


def test_an_epoch_has_as_many_batches_as_it_says_whatever_is_left_out():
    a, b = texts(160, same=[(i, 0) for i in range(1, 30)]), texts(160, 1)
    one_pass = batches_of_like_length(a, b, 16, torch.Generator().manual_seed(0))
    sampler = LikeLengthBatches(Dataset.from_dict({"anchor": a, "positive": b}), batch_size=16, drop_last=True)
    assert len(one_pass) < 10 == len(sampler) == len(list(sampler)), "equal texts cost a batch, and another pass fills it"


def test_one_text_over_and_over_still_gives_a_batch():
    assert batches_of_like_length(["x"] * 6, ["y"] * 6, 4, torch.Generator()) in [[[i]] for i in range(6)]


def test_bfloat16_while_training_only_and_results_in_float32():
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig(vocab_size=20, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                 hidden_dropout_prob=0, attention_probs_dropout_prob=0))
    ids = torch.arange(12).reshape(2, 6)
    exact = model.eval()(ids).last_hidden_state
    model.forward = in_bfloat16(model.forward, model, "cpu")
    assert torch.equal(model(ids).last_hidden_state, exact)
    model.train()
    out = model(ids, output_hidden_states=True)
    apart = (out.last_hidden_state - exact).abs().max()
    assert out.last_hidden_state.dtype == torch.float32 and {h.dtype for h in out.hidden_states} == {torch.float32}
    assert 1e-5 < apart < 0.1
    out.last_hidden_state.sum().backward()
    assert {p.grad.dtype for p in model.parameters() if p.grad is not None} == {torch.float32}
