"""Premises that are derivations of ours: what they ask of a use, and which derivations a chain rests on."""

from __future__ import annotations

from sympy import Integer, Rational, Symbol

from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.cited import all_subderivations, cite
from dpverify.symbolic.derive.steps import Derivation, Premise, Step
from dpverify.symbolic.expressions.ranges import real

UNIT = real(0, 1, open_lo=True)


def _demo(
    conclusion: Rational, name: str = "demo", premises: dict[str, Premise] | None = None
) -> Derivation:
    x = Symbol("x", positive=True)
    steps = (Step(conclusion, "<=", "order", {"a": x, "b": conclusion}),)
    return Derivation(name, "ours", {"x": UNIT}, (x <= 1,), x, steps, premises or {})


def test_the_conditions_of_a_cited_derivation_are_proven_of_every_use() -> None:
    y = Symbol("y", positive=True)
    given = cite(_demo(Integer(1)), x=y)
    assert (given.lhs, given.rhs) == (y, 1)

    def use(*assumed: object) -> Derivation:
        steps = (Step(Integer(2), "<=", "premise", {}, ("demo",)),)
        return Derivation(
            "use", "ours", {"y": UNIT}, assumed, 2 * y, steps, {"demo": given}
        )

    assert check_derivation(use(y <= 1), points=12).complete
    assert not check_derivation(use(), points=12).complete


def test_a_letter_may_stand_for_the_first_expression() -> None:
    letter, y = Symbol("E", real=True), Symbol("y", real=True)
    given = cite(_demo(Integer(1)), letter, x=y)
    assert (given.lhs, given.relation, given.rhs) == (letter, "<=", 1)
    assert [str(condition) for condition in given.conditions] == ["y <= 1", "y > 0"]


def test_what_is_assumed_of_a_local_letter_is_no_condition() -> None:
    x, y, t = (
        Symbol("x", positive=True),
        Symbol("y", real=True),
        Symbol("t", positive=True),
    )
    chain = Derivation(
        "local", "ours", {"x": UNIT, "t": UNIT}, (x <= 1, t <= x), x, (), local=("t",)
    )
    assert [str(condition) for condition in cite(chain, x=y).conditions] == [
        "y <= 1",
        "y > 0",
    ]


def test_derivations_are_walked_once() -> None:
    granted = Premise(Symbol("E", real=True), "<=", Integer(1))
    deepest = _demo(Integer(1), "deepest", {"as the paper says": granted})
    middle = _demo(Integer(2), "middle", {"a lemma": cite(deepest)})
    whole = _demo(
        Integer(3),
        "whole",
        {"b": cite(middle), "c": cite(deepest), "a remark": granted},
    )
    assert [(name, chain.name) for name, chain in all_subderivations(whole)] == [
        ("b", "middle"),
        ("c", "deepest"),
    ]
