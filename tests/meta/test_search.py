"""The search on planted inequalities always finds some kinds of counterexamples, and refutes no true inequality."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from dpverify.harness.search.domain import make_sampler
from dpverify.selftest.checks import PlantedInequality, judge_search, read_inequalities
from dpverify.symbolic.exact.evaluate import decide_statement
from tests.for_each import for_each

PLANTED = read_inequalities(Path(__file__).parents[2])
ALWAYS = [
    "closed end of a real",
    "two whole numbers equal, both large",
    "corner of three",
    "2**k - 1",
    "2**k - 1 above 1e4",
    "one less than a multiple",
    "about 1/N",
    "a ridge of two letters",
    "towards 1/e",
    "above 1e4",
    "small and yet many",
]
TRUE = ["1/e from below", "two means", "a remainder", "a ridge"]


@for_each("inequality", PLANTED.false, ids=lambda each: each.name)
def test_each_planted_inequality_is_false_at_its_point(
    inequality: PlantedInequality,
) -> None:
    statement, point = (
        PLANTED.statement(inequality),
        {name: Fraction(value) for name, value in inequality.at.items()},
    )
    assert inequality.kind in PLANTED.kinds
    assert make_sampler(statement, {}, {}).in_domain(point)
    assert decide_statement(statement, point, None) is False


def test_there_are_enough_of_each_kind_and_no_two_with_one_name() -> None:
    kinds = [each.kind for each in PLANTED.false]
    assert all(kinds.count(kind) >= 5 for kind in PLANTED.kinds)
    assert len({each.name for each in PLANTED.false}) == len(PLANTED.false) >= 30


def test_what_is_always_found_in_the_smoke_budget_and_nothing_true_is_refuted() -> None:
    run = judge_search(PLANTED, {"smoke": 1}, [*ALWAYS, *TRUE])
    assert [each.name for each in run.false if not each.found("smoke")] == []
    assert run.wrong == []
    assert [each.name for each in run.false] == ALWAYS
    assert [each.name for each in run.inequalities if not each.kind] == TRUE
    for hunted in run.false:
        (planted,) = (each for each in PLANTED.false if each.name == hunted.name)
        (trial,) = hunted.trials["smoke"]
        point = {name: Fraction(value) for name, value in trial.found.items()}
        assert decide_statement(PLANTED.statement(planted), point, None) is False
        assert trial.bits <= hunted.bits + 4
