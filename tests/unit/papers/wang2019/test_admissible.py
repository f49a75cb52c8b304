"""Counterexamples that violate one property each are refused, by the properties that the checks themselves declare."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dpverify.harness.checks import as_point
from dpverify.papers import load
from dpverify.papers.wang2019.estimator.checks import sensitivity
from tests.for_each import for_each

Values = Mapping[str, int | str]
CHECKS = load("wang2019")
GREEDY: Values = {"m": 50, "n_party": 51, "b": 100}
PAIR: Values = {"Delta": 1, "sigma": 1, "alpha": 2, "tau": "1/69"}

CASES: list[tuple[str, str, str, Values, Values]] = [
    ("theorem-4-4", "drowned", "lipschitz", {"G": 2, "L": 1, "gap": 1}, {"gap": 2}),
    ("theorem-5-2", "drowned", "lipschitz", {"G": 5, "L": 3, "gap": 3}, {"G": 4}),
    (
        "theorem-5-1-dp",
        "one-party-in-every-batch",
        "neighbour-replace-one",
        GREEDY,
        {"b": 101},
    ),
    (
        "section-6-1-tracking",
        "orders",
        "subsampled-without-replacement",
        {"n": 9, "b": 9},
        {"b": 10},
    ),
    ("lemma-3-7", "one-pair", "subsampled-without-replacement", PAIR, {"tau": 2}),
]


@for_each(("claim", "check", "name", "point", "change"), CASES)
def test_a_counterexample_that_violates_a_property_is_noticed(
    claim: str, check: str, name: str, point: Values, change: Values
) -> None:
    assert CHECKS is not None
    shown = CHECKS.find(claim, check).meets[name]
    assert shown.is_met(as_point(point))
    assert not shown.is_met(as_point({**point, **change}))


def test_labels_that_differ_twice_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CHECKS is not None
    shown = CHECKS.find("section-6-1-sensitivity", "replay").meets[
        "neighbour-replace-one"
    ]
    point = as_point({"b": 3, "gamma": 1, "C_1": 1, "C_2": 1})
    assert shown.is_met(point)
    own = sensitivity._labels
    monkeypatch.setattr(
        sensitivity, "_labels", lambda examples, sign: own(examples, 1.0) * sign
    )
    assert not shown.is_met(point)
