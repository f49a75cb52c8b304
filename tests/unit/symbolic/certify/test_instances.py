"""What a certificate says of premises and of letters that only a derivation has: no condition is lost."""

from __future__ import annotations

from sympy import Integer, Symbol

from dpverify.symbolic.certify.header import local_part
from dpverify.symbolic.certify.prefix import premise_data
from dpverify.symbolic.derive.steps import Derivation, Premise, Step
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.rules.base import Holds

X, Z, N = Symbol("x", positive=True), Symbol("z", real=True), Symbol("n", integer=True)
ZERO, ONE = ["q", "0"], ["q", "1"]


def test_a_premise_is_written_with_its_conditions_and_kinds() -> None:
    premise = Premise(X, "<=", Z * N, (Holds(Z >= 1),))
    found = premise_data(premise, {"x", "n"})
    assert found["letters"] == {"x": "real", "n": "integer"}
    said = [[">=", "z", ONE], ["integer", "n"], [">", "x", ZERO]]
    assert sorted(map(str, found["conditions"])) == sorted(map(str, said))
    assert (found["lhs"], found["relation"], found["rhs"]) == (
        "x",
        "<=",
        ["*", "z", "n"],
    )
    assert premise_data(premise, set())["letters"] == {}


def test_what_is_assumed_of_letters_of_its_own_is_written() -> None:
    step = Step(Integer(1), "<=", "order", {"a": X, "b": Integer(1)})
    chain = Derivation(
        "own",
        "ours",
        {"x": real(0, 1, open_lo=True)},
        (X <= Z,),
        X,
        (step,),
        local=("z",),
    )
    found = local_part(chain, {"x"}, [X, Z], strict=True)
    assert found == {
        "local": {"letters": {"z": "real"}, "conditions": [["<=", "x", "z"]]}
    }
