"""What a guarantee says: nothing is certified that is not finite, or that rests on the data."""

from __future__ import annotations

import math

import numpy as np

from dpverify.problems.data import Dataset
from dpverify.train.records import guarantee
from tests.for_each import for_each


@for_each(
    ("epsilon", "standardised", "words"),
    [
        (
            math.inf,
            False,
            "not certified: no epsilon can be certified for this sigma at delta = 1e-05",
        ),
        (
            1.0,
            True,
            "not certified: epsilon = 1, delta = 1e-05 would hold had the columns not been standardised",
        ),
        (math.inf, True, "not certified: epsilon = inf"),
    ],
)
def test_what_is_not_certified_has_no_numbers(
    epsilon: float, standardised: bool, words: str
) -> None:
    data = Dataset("x", np.zeros((2, 1)), np.arange(2.0), ("a", "b"), standardised)
    found = guarantee(epsilon, 1e-5, data, "by nobody")
    assert found.words.startswith(words)
    assert (found.epsilon, found.delta) == (None, None)
