"""No derivation calls a letter its own on which a function of the paper depends in one of its premises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Symbol

from dpverify.symbolic.derive.conclude import compare_with
from dpverify.symbolic.derive.steps import Derivation, Premise, Step
from dpverify.symbolic.expressions.ranges import real
from tests.for_each import for_each

q, z = Symbol("q", nonnegative=True), Symbol("z", nonnegative=True)


@dataclass(frozen=True)
class AboutFunction(Premise):
    """A premise about a function that depends on z."""

    @property
    def fixed_names(self) -> frozenset[str]:
        return frozenset({"z"})


@for_each(("premise", "relation"), [(Premise(q, "<=", q), "equal"), (AboutFunction(q, "<=", q), "undecided")])
def test_a_letter_on_which_a_premise_s_function_depends_is_not_local(
    premise: Premise, relation: str, make_statement: Any
) -> None:
    variables = {"q": real(0, 3), "z": real(0, 3)}
    chain = Derivation("local", "ours", variables, (), q, (Step(q, "<=", "premise", {}, ("p",)),), {"p": premise})
    said = make_statement("q", "<=", "q", {"q": "real, q >= 0"})
    found = compare_with(replace(chain, local=("z",)), said)
    assert found.relation == relation
    assert (found.reason != "") == (relation == "undecided")
