from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from dpverify.harness import BUDGETS, Context
from dpverify.harness.replay_check import OutputDistance, ReplayCheck, ReplayControl
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.statements import Statement


def moved(statement: Statement, scale: float = 1.0) -> Iterator[OutputDistance]:
    """A mechanism whose output number s moves by s."""
    for s in (1, 2, 3):
        yield OutputDistance(
            {"s": Fraction(s)}, scale * s, partial(Fraction, s), f"output {s}"
        )


def random(most: float) -> ReplayCheck:
    return ReplayCheck(
        "bits",
        "replay",
        replays=moved,
        controls=[
            ReplayControl(
                "scaled",
                "a billionth more",
                partial(moved, scale=1 + 1e-9),
                at_declared_size=True,
            )
        ],
        random=lambda _, rng: (most * rng.random(), "of a random size"),
        random_runs={"smoke": 20},
        share=1e-9,
    )


def judged(check: ReplayCheck, statement: Statement, bound: str) -> CheckResult:
    printed = replace(statement, rhs=parse(bound))
    assert check.applies(printed)
    return check.run_block(Context(printed, BUDGETS["smoke"], 0, check.name), 0)


def test_outputs_that_follow_the_law_leave_a_true_bound_standing(
    statements: dict[str, Statement],
) -> None:
    result = judged(random(1.0), statements["bits"], "s + 1")
    assert (result.status, result.n) == ("not refuted", 23)
    assert [(control.name, control.refuted) for control in result.controls] == [
        ("scaled", True)
    ]
    assert "output 1: measured" in result.controls[0].statistic


def test_measured_output_beyond_the_bound_refutes_it(
    statements: dict[str, Statement],
) -> None:
    result = judged(random(1.0), statements["bits"], "2 - s/4")
    assert result.status == "refuted"
    found = [
        (c.kind, c.parameters["s"].exact, c.lhs.exact, c.note)
        for c in result.counterexamples
    ]
    assert found[0] == ("smallest", "2", "2", "measured on the kernels: 2")
    assert found[1][:2] == ("largest-ratio", "3")


def test_an_output_that_moves_by_less_than_the_law_is_a_disagreement_too(
    statements: dict[str, Statement],
) -> None:
    result = judged(
        replace(random(1.0), replays=partial(moved, scale=1 - 1e-9)),
        statements["bits"],
        "s + 1",
    )
    assert (result.status, result.kernel_disagrees) == ("inconclusive", True)


def test_an_output_that_moves_where_it_should_not_is_a_disagreement(
    statements: dict[str, Statement],
) -> None:
    def still(statement: Statement) -> Iterator[OutputDistance]:
        yield OutputDistance({"s": Fraction(1)}, 1e-9, lambda: Fraction(0), "output 1")

    result = judged(replace(random(1.0), replays=still), statements["bits"], "s + 1")
    assert (result.status, result.kernel_disagrees) == ("inconclusive", True)


def test_outputs_that_do_not_certainly_meet_the_conditions_refute_nothing(
    statements: dict[str, Statement],
) -> None:
    for condition in ("sqrt(2)**2 <= 2", "s <= 1"):  # undecided, and false beyond 1
        narrower = replace(statements["bits"], requires=(parse_relation(condition),))
        assert judged(random(1.0), narrower, "2 - s/4").status == "not refuted"


def test_kernel_that_does_not_follow_the_law_says_nothing_of_the_paper(
    statements: dict[str, Statement],
) -> None:
    off = replace(random(1.0), replays=partial(moved, scale=2.0))
    result = judged(off, statements["bits"], "0")
    assert (result.status, result.kernel_disagrees) == ("inconclusive", True)
    assert result.message.startswith("output 1: measured 2.0, exact 1.0")


def test_random_run_beyond_the_law_is_a_disagreement(
    statements: dict[str, Statement],
) -> None:
    result = judged(random(2.0), statements["bits"], "s + 1")
    assert result.kernel_disagrees
    assert "a random run (of a random size)" in result.message


def test_fault_that_is_missed_makes_the_check_worthless(
    statements: dict[str, Statement],
) -> None:
    blind = replace(
        random(1.0), controls=[ReplayControl("nothing", "nothing is wrong", moved)]
    )
    result = judged(blind, statements["bits"], "s + 1")
    assert result.status == "inconclusive"
    assert "cannot fail" in result.message


def test_the_draw_depends_on_the_seed_alone(statements: dict[str, Statement]) -> None:
    first, again = (
        judged(random(1.0), statements["bits"], "s + 1").statistic for _ in range(2)
    )
    assert first == again
    assert np.isfinite(float(first.split("at most ")[1].split(" ")[0]))
