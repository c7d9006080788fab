from __future__ import annotations

import pytest

from components.pair_findings import Strongest, pair_finding
from components.token_halves import Halves
from components.token_pair import PairNumbers
from components.types import Interval

NUMBERS = PairNumbers(0.1, 0.3, 0.05, 0.25, 0.5)
FAR, NEAR = Halves(0.4, 0.6, 1.0, 8, 40), Halves(0.5, 0.5, 0.4, 8, 40)


def test_what_is_hidden_what_few_tokens_give_and_what_carries_it():
    said = pair_finding(NUMBERS, FAR, Interval(0.83, 0.81, 0.85, 200, "texts"), Strongest("cat", "B", 0.02))
    assert said.startswith("75% of the distance between the two Gaussians lies in the covariances")
    assert "0.500 times as far apart" in said and "(texts of like length: 0.830 [0.810, 0.850])" in said
    assert "few tokens alone give 50% of a covariance distance" in said and "by 0.0200, without “cat” of text B" in said


@pytest.mark.parametrize(("numbers", "halves", "words"), [
    (PairNumbers(0, 0, 0, 0, float("nan")), None, "no number tells them apart"),
    (PairNumbers(0.2, 0, 0, 0, 1), FAR, "the mean keeps all"),
    (NUMBERS, NEAR, "no more than few tokens of one text give"),
    (NUMBERS, None, "the mean does not see"), (NUMBERS, Halves(0, 0, 0, 4, 40), "the mean does not see")])
def test_special_cases(numbers, halves, words):
    said = pair_finding(numbers, halves, None, Strongest("x", "A", -0.1))
    assert words in said and "nan" not in said and "falls most" not in said
