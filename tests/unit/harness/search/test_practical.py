from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpverify.harness.exact_results import first_and_largest
from dpverify.harness.search.at_point import NoValueError, at_point, read_point
from dpverify.harness.search.practical import (
    is_practical,
    practical_violation,
    roles_of,
    whole_epochs,
)
from dpverify.harness.sides import Probe
from dpverify.ledger import Statement, load_specs
from dpverify.ledger.check_results import Number
from dpverify.ledger.formula import parse
from dpverify.ledger.records import Symbol
from tests.for_each import for_each
from tests.unit.harness.formulas import formula


def statement(claim: str) -> Statement:
    return load_specs().claim(f"tran2022:{claim}").statement()


def test_a_violation_at_a_size_that_is_run_is_found_and_meets_it() -> None:
    said = statement("theorem-9-alpha-proof")
    probe = practical_violation(said, {}, 0)
    assert probe is not None
    assert probe.holds is False
    assert probe.point["N"] >= 1000
    assert Fraction(1, 10) <= probe.point["epsilon"] <= 10
    assert whole_epochs(probe.point)
    assert at_point(said, probe.point).holds is False, "what is shown is replayed"


def test_a_statement_that_holds_there_has_none() -> None:
    true_there = statement("theorem-9-gamma")  # false for T < 4 N only
    assert practical_violation(true_there, {}, 0) is not None
    assert practical_violation(replace(true_there, rhs=parse("1")), {}, 0) is None


def test_without_a_letter_that_has_a_size_nothing_is_searched() -> None:
    assert practical_violation(statement("theorem-10-order"), {}, 0) is None


def test_a_point_is_computed_and_what_it_lacks_is_named() -> None:
    said = statement("proposition-13")
    assert at_point(said, read_point("N=64, alpha=1/64")).holds is True
    with pytest.raises(NoValueError, match="alpha must be given"):
        at_point(said, read_point("N=64"))
    with pytest.raises(NoValueError, match="outside the domain"):
        at_point(said, read_point("N=64, alpha=2"))
    with pytest.raises(NoValueError, match="exact numbers"):
        read_point("N=sixty")
    with pytest.raises(NoValueError, match="in words"):
        at_point(statement("algorithm-1-update"), {})
    with pytest.raises(NoValueError, match="measured by code"):
        at_point(statement("lemma-12"), {})


@for_each(
    ("point", "runs"),
    [
        ({"N": 1000, "T": 3000, "alpha": Fraction(1, 9)}, True),
        ({"N": 1000, "T": 3001}, False),  # not a whole number of epochs
        ({"N": 1000, "T": 1000, "delta": Fraction(1, 100)}, False),
        ({"N": 999}, False),
        ({"alpha": 1}, False),  # nothing says how large it is
        ({"N": 4000, "T": 2000}, False),
        ({"epsilon": 11, "N": 1000}, False),
    ],
)
def test_a_point_that_somebody_runs(
    point: dict[str, int | Fraction], runs: bool
) -> None:
    assert (
        is_practical({name: Fraction(value) for name, value in point.items()}) is runs
    )


def test_of_violations_at_given_points_one_that_somebody_runs_is_shown() -> None:
    def probe(n: int, ratio: float) -> Probe:
        return Probe(
            {"N": Fraction(n)}, False, Number(float=ratio), Number(float=1.0), ratio
        )

    found = first_and_largest(
        [probe(2, 2.0), probe(1000, 3.0), probe(2000, 4.0), probe(5, 9.0)]
    )
    shown = [(example.kind, example.parameters["N"].float) for example in found]
    assert shown == [("smallest", 2.0), ("practical", 1000.0), ("largest-ratio", 5.0)]
    assert [example.kind for example in first_and_largest([probe(2, 2.0)])] == [
        "smallest"
    ]


def test_a_role_in_the_record_says_which_values_are_ordinary() -> None:
    said = formula(
        "sampled_gaussian_delta(e, q, 1/s) <= q**3",
        "e: real, e > 0; q: real, 0 < q <= 1; s: real, s > 0",
    )
    assert practical_violation(said, {}, 0) is None, "no letter has a size"
    roles = {"e": "epsilon", "q": "rate", "s": "sigma"}
    symbols = {
        name: Symbol(latex=name, domain="real", meaning="", role=role)  # type: ignore[arg-type]  # a text
        for name, role in roles.items()
    }
    probe = practical_violation(replace(said, symbols=symbols), {}, 0, drawn=False)
    assert probe is not None
    assert is_practical(probe.point, roles_of(replace(said, symbols=symbols)))
    assert Fraction(1, 10) <= probe.point["e"] <= 10
    assert Fraction(1, 10**6) <= probe.point["q"] <= Fraction(1, 4)
    assert Fraction(1, 2) <= probe.point["s"] <= 100
