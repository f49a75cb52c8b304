from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from dpverify.symbolic.exact.evaluate import (
    decide_statement,
    domains_hold,
    evaluate_statement,
    requires_hold,
)
from dpverify.symbolic.exact.numbers import DomainError
from tests.for_each import for_each

DOMAINS = {
    "N": "integer, N >= 1",
    "alpha": "real, 0 < alpha <= 1",
    "T": "integer, T >= N",
}


@pytest.fixture
def statement(make_statement: Any) -> Any:
    return make_statement(
        "sum((1 - alpha)**(N*i), i, 0, oo)",
        "<=",
        "V/(1 - exp(-1))",
        DOMAINS,
        requires=("alpha >= 1/N", "V >= 1"),
        let=(("x", "alpha*N"), ("V", "max(1, 1/x)")),
    )


def test_definitions_are_resolved_in_order(statement: Any) -> None:
    lhs, rhs = evaluate_statement(statement, {"alpha": Fraction(1, 4), "N": 2, "T": 9})
    assert lhs == 1 / (1 - Fraction(9, 16))
    assert isinstance(rhs, arb)
    assert float(rhs.mid()) == pytest.approx(2 / 0.6321205588285577)


def test_conditions_may_use_definitions(statement: Any) -> None:
    assert requires_hold(statement, {"alpha": Fraction(1, 2), "N": 2}) is True
    assert requires_hold(statement, {"alpha": Fraction(1, 3), "N": 2}) is False


@for_each(
    ("let", "requires", "x", "met"),
    [
        ((), ("1/x >= 0",), 0, False),  # not defined
        # more than the 64 bits that are tried first
        ((), ("exp(x) > 1",), Fraction(1, 10**100), True),
        ((("V", "exp(x)"),), ("V > 1",), Fraction(1, 10**100), True),
        ((("V", "1/x"),), ("V > 1",), 0, False),
        ((), ("sqrt(2)**2 <= 2", "x > 1"), 0, False),  # the first is never decided
        ((), ("sqrt(2)**2 <= 2", "x >= 0"), 0, None),
    ],
)
def test_conditions_are_decided_together_as_each_alone(
    make_statement: Any, let: Any, requires: Any, x: Any, met: bool | None
) -> None:
    claim = make_statement("x", "<=", "1", {"x": "real"}, requires=requires, let=let)
    assert requires_hold(claim, {"x": x}) is met


def test_statements_are_decided(statement: Any, make_statement: Any) -> None:
    assert decide_statement(statement, {"alpha": Fraction(1, 4), "N": 2}) is True
    tight = make_statement(
        "sqrt(2)*sqrt(alpha)", "<=", "sqrt(2*alpha)", {"alpha": DOMAINS["alpha"]}
    )
    assert decide_statement(tight, {"alpha": Fraction(1, 3)}) is None
    wrong = make_statement("alpha**(1/2)", "<=", "alpha", {"alpha": DOMAINS["alpha"]})
    assert decide_statement(wrong, {"alpha": Fraction(1, 3)}) is False


def test_a_measured_left_side_is_handed_in(make_statement: Any) -> None:
    claim = make_statement(None, "<=", "log2(N)", {"N": DOMAINS["N"]})
    assert decide_statement(claim, {"N": 3}, lambda bits: Fraction(1)) is True
    assert decide_statement(claim, {"N": 3}, lambda bits: Fraction(2)) is False
    with pytest.raises(ValueError, match="left side"):
        decide_statement(claim, {"N": 3})
    assert evaluate_statement(claim, {"N": 8}) == (None, Fraction(3))


def test_undefined_sides_are_errors(make_statement: Any) -> None:
    claim = make_statement("1/(alpha - 1)", "<=", "alpha", {"alpha": DOMAINS["alpha"]})
    with pytest.raises(DomainError, match="division by zero"):
        decide_statement(claim, {"alpha": Fraction(1)})


def test_domains(statement: Any) -> None:
    assert (
        domains_hold(statement.domains, {"N": 3, "alpha": Fraction(1), "T": 3}) is True
    )
    assert (
        domains_hold(statement.domains, {"N": 3, "alpha": Fraction(1), "T": 2}) is False
    )
    assert domains_hold(statement.domains, {"N": Fraction(5, 2)}) is False
    assert domains_hold(statement.domains, {"alpha": Fraction(0)}) is False
