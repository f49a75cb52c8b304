from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpverify.harness import Context
from dpverify.harness.checks import as_point
from dpverify.ledger.statements import Statement


def test_the_same_seed_gives_the_same_numbers(context: Context) -> None:
    assert context.rng(3).random(5).tolist() == context.rng(3).random(5).tolist()


def test_block_stream_seed_check_and_claim_all_change_the_draw(
    context: Context, statements: dict[str, Statement]
) -> None:
    others = [
        context.rng(1),
        context.rng(0, "control"),
        replace(context, seed=1).rng(0),
        replace(context, check="other").rng(0),
        replace(context, statement=statements["root"]).rng(0),
    ]
    draws = {context.rng(0).random(), *(rng.random() for rng in others)}
    assert len(draws) == 6


def test_what_is_not_in_the_seed_does_not_change_the_draw(context: Context) -> None:
    elsewhere = replace(context, share=1.0, point={"x": Fraction(1)})
    assert elsewhere.rng(0).random() == context.rng(0).random()


def test_points_are_exact_and_sorted() -> None:
    point = as_point({"b": "1/3", "a": 2, "c": Fraction(1, 7), "d": "0.1"})
    assert list(point.items()) == [
        ("a", 2),
        ("b", Fraction(1, 3)),
        ("c", Fraction(1, 7)),
        ("d", Fraction(1, 10)),
    ]


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError, match=r"alpha=0\.1"):
        as_point({"alpha": 0.1})  # type: ignore[dict-item]  # what the test is about
