"""Batches: every text once, none too large, of one length each where asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.batches import batches, mixes_padding


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 9), st.booleans())
def test_every_text_once_longest_first(lengths, size, equal):
    found = batches(lengths, size, equal=equal)
    assert sorted(int(i) for batch in found for i in batch) == list(range(len(lengths)))
    assert all(0 < len(batch) <= size for batch in found)
    assert [lengths[i] for batch in found for i in batch] == sorted(lengths, reverse=True)
    if equal:
        assert all(len({lengths[i] for i in batch}) == 1 for batch in found)


@pytest.mark.parametrize(("spread", "expected"), [(0.0, False), (1e-6, False), (1e-2, True)])
def test_mixing_is_a_difference_above_rounding(spread, expected):
    def states(ids, real):
        out = np.repeat(ids[:, :, None].astype(float), 3, axis=2)
        return out * (1 + spread * (1 - real.mean()))

    assert mixes_padding(states, np.array([5, 6, 7]), 0, None) is expected


def test_without_room_for_padding_there_is_none_to_mix():
    def never(ids, real):
        raise AssertionError("not to be run")

    assert not mixes_padding(never, np.array([5, 6]), 0, 2) and not mixes_padding(never, np.array([], dtype=np.int64), 0, None)
