"""Facts that cited derivations prove are used in every step, and only where they follow from what the chain assumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Symbol, exp, sympify

from dpverify.symbolic import (
    HOLE,
    Derivation,
    DerivationError,
    Step,
    check_derivation,
    premise_of,
    real,
)
from dpverify.symbolic.certify.certificates import certify
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.derive.cited import DerivedPremise, all_subderivations, cite
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude, refusal

GRANTED = {"q": "real, q >= 0"}
q = Symbol("q", nonnegative=True)
NAME = "the peak"


def chain(
    start: Any, *steps: Step, given: Any = (), shown: Any = None, **more: Any
) -> Derivation:
    used = {} if shown is None else {"premises": {NAME: shown}, "cited_facts": (NAME,)}
    of = {"variables": {"q": real(1, 3)}} | used | more
    return Derivation(
        "ours",
        "ours",
        assumptions=tuple(given),
        start=sympify(start),
        steps=steps,
        **of,
    )


def peak(*given: Any) -> Derivation:
    """q exp(-q) <= exp(-1), by 1 - x <= exp(-x) at x = 1 - q."""
    tangent = Step(
        exp(q - 1) * exp(-q),
        "<=",
        "one-minus-exp",
        {"x": 1 - q},
        context=HOLE * exp(-q),
    )
    return chain(q * exp(-q), tangent, Step(exp(-1), "="), given=given)


LEFT, RIGHT = "1/(1 - q*exp(-q))", "1/(1 - exp(-1))"
START, END = 1 / (1 - q * exp(-q)), 1 / (1 - exp(-1))
STEP = Step(END, "<=", "reciprocal-monotone", {"a": 1 - exp(-1), "b": 1 - q * exp(-q)})


def test_a_fact_gives_a_divisor_its_sign(make_statement: Any) -> None:
    said = make_statement(LEFT, "<=", RIGHT, GRANTED)
    without, proof = chain(START, STEP), chain(START, STEP, shown=cite(peak()))
    assert not check_derivation(without).complete
    assert check_derivation(proof).complete
    assert conclude(proof, said) == "equal"
    assert [name for name, _ in all_subderivations(proof)] == [NAME]
    made = certify(said, proof).data
    assert made is not None
    k.run(made, rules())  # raises where the checker refuses it
    assert [lemma["name"] for lemma in made["lemmas"]] == ["ours 1"]
    assert "'ours 1'" in repr(made["statement"]["body"])


@for_each("given", [q >= 1, q <= 1])
def test_a_fact_whose_condition_is_not_assumed(given: Any, make_statement: Any) -> None:
    narrow = chain(START, STEP, shown=cite(peak(given)))
    with pytest.raises(DerivationError, match="used as a fact, and not proven"):
        check_derivation(narrow)
    assert certify(make_statement(LEFT, "<=", RIGHT, GRANTED), narrow).data is None


def test_a_fact_does_not_grant_what_it_rests_on(make_statement: Any) -> None:
    """From q <= 1 it is shown that q <= 1: the chain assumes it, and the statement has to grant it."""
    narrow = chain(q, Step(sympify(1), "<=", "order", {"a": q, "b": 1}), given=[q <= 1])
    around = chain(
        q,
        Step(sympify(1), "<=", "order", {"a": q, "b": 1}),
        given=[q <= 1],
        shown=cite(narrow),
    )
    said = make_statement("q", "<=", "1", GRANTED)
    assert check_derivation(replace(around, variables={"q": real(0, 1)})).complete
    assert "does not grant" in refusal(around, said)


def test_a_false_chain_is_no_fact(make_statement: Any) -> None:
    false = chain(q, Step(q / 2, "<=", "order", {"a": q, "b": q / 2}))
    user = chain(
        q, Step(sympify(0), "<=", "order", {"a": q, "b": 0}), shown=cite(false)
    )
    assert not all(
        check_derivation(one).complete for _, one in all_subderivations(user)
    )
    assert certify(make_statement("q", "<=", "0", GRANTED), user).data is None


def test_what_is_typed_is_no_fact(make_statement: Any) -> None:
    typed = premise_of(make_statement("q", "<=", "0", GRANTED))
    forged = DerivedPremise(q, "<=", sympify(0), (), peak())
    for premise in (typed, forged, replace(cite(peak()), lhs=q)):
        user = chain(
            q, Step(sympify(0), "<=", "order", {"a": q, "b": 0}), shown=premise
        )
        with pytest.raises(DerivationError, match="no derivation that is cited"):
            check_derivation(user)


def test_a_fact_is_of_no_local_letter() -> None:
    p = Symbol("p", positive=True)
    other = Derivation(
        "ours",
        "ours",
        {"p": real(1, 3)},
        (),
        p,
        (Step(2 * p, "<=", "order", {"a": p, "b": 2 * p}),),
    )
    user = chain(
        q,
        Step(q, "="),
        shown=cite(other),
        variables={"q": real(1, 3), "p": real(1, 3)},
        local=("p",),
    )
    with pytest.raises(DerivationError, match="which is local"):
        check_derivation(user)
