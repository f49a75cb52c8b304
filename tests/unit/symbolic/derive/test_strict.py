"""A strict statement follows where the printed side is proven to lie beyond the last expression, and nowhere else."""

from __future__ import annotations

from typing import Any

from sympy import Symbol, sympify

from dpverify.symbolic import Derivation, Step, check_derivation, integer, real
from dpverify.symbolic.certify.certificates import certify
from dpverify.symbolic.certify.checker import k, rules
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude

GRANTED = {"q": "real, q >= 0", "N": "integer, N >= 1"}
q, N = Symbol("q", nonnegative=True), Symbol("N", integer=True, positive=True)


def chain(start: Any, *steps: Step) -> Derivation:
    return Derivation(
        "strict",
        "ours",
        {"q": real(0, 3), "N": integer(1, 9)},
        (),
        sympify(start),
        steps,
    )


def up(old: Any, new: Any) -> Derivation:
    return chain(old, Step(new, "<=", "order", {"a": old, "b": new}))


def down(old: Any, new: Any) -> Derivation:
    return chain(old, Step(new, ">=", "order", {"a": new, "b": old}))


def same(start: Any) -> Derivation:
    return chain(start, Step(start, "="))


@for_each(
    ("claim", "derivation"),
    [
        (("q", "<", "2*q + 1"), up(q, 2 * q)),
        (("2*q + 1", ">", "q"), down(2 * q + 1, q + 1)),
        (("N", "<", "2*N"), same(N)),
        (("q", "<", "q + exp(-q)"), same(q)),
    ],
)
def test_beyond_everywhere(
    claim: tuple[str, str, str], derivation: Derivation, make_statement: Any
) -> None:
    said = make_statement(*claim, GRANTED)
    assert conclude(derivation, said) == "weaker"
    assert check_derivation(derivation).complete
    made = certify(said, derivation).data
    assert made is not None
    assert made["statement"]["relation"] == claim[1]
    k.run(made, rules())


@for_each(
    ("claim", "derivation"),
    [
        (("q", "<", "q"), same(q)),  # equal everywhere
        (("q", ">", "q"), same(q)),
        (("q", "<", "2*q"), up(q, 2 * q)),  # equal at 0, which no point need be
        (("2*q", ">", "q"), down(2 * q, q)),
        (("q", "<", "max(2*q, q/2)"), up(q, 2 * q)),
        (("N", "<", "N**2"), up(N, N**2)),  # equal at 1
        (("N", "<", "2*N - 1"), same(N)),
        (("2*q", "<", "q + 1"), same(2 * q)),  # false from 1 on
    ],
)
def test_not_beyond(
    claim: tuple[str, str, str], derivation: Derivation, make_statement: Any
) -> None:
    said = make_statement(*claim, GRANTED)
    assert conclude(derivation, said) not in {"equal", "weaker"}
    assert certify(said, derivation).data is None
