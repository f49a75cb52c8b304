"""What a cited chain declares of its vectors and laws must be declared where it is cited."""

from __future__ import annotations

from sympy import Symbol, sqrt

from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.functions import Moment
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    Variable,
    integer,
    real,
)
from tests.for_each import for_each

D, V = Symbol("d", integer=True, positive=True), Symbol("v", nonnegative=True)
X = Symbol("X")
BOUND = sqrt(D) * sqrt(V)


def gaussian_norm() -> Derivation:
    variables: dict[str, Variable] = {
        "d": integer(1, 9),
        "v": real(0, 9),
        "X": GaussianNorm(D, V),
    }
    steps = (
        Step(sqrt(Moment(X, 2)), "<=", "jensen-sqrt", {"X": X}),
        Step(BOUND, "=", "gaussian-second-moment", {"X": X, "d": D, "v": V}),
    )
    return Derivation(
        "Jensen", "ours", variables, (), Moment(X, 1), steps, local=("X",)
    )


@for_each(
    ("declared", "proved"),
    [
        (GaussianNorm(D, V), True),
        (GaussianNorm(2 * D, V), False),
        (GaussianNorm(D, V + 1), False),
        (AnyVector(), False),
    ],
)
def test_the_law_of_a_letter_is_that_of_the_chain_that_is_cited(
    declared: Variable, proved: bool
) -> None:
    variables: dict[str, Variable] = {
        "d": integer(1, 9),
        "v": real(0, 9),
        "X": declared,
    }
    steps = (Step(BOUND, "<=", "premise", {}, ("norm",)),)
    chain = Derivation(
        "cites",
        "ours",
        variables,
        (),
        Moment(X, 1),
        steps,
        {"norm": cite(gaussian_norm())},
        local=("X",),
    )
    assert (check_derivation(chain, points=20).steps[1].status == "proved") is proved
