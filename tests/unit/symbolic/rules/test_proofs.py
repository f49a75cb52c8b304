"""The engine's rules say what ``specs/proofs/rules.json`` says, which is what was proved."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import sympy

from dpverify.symbolic.expressions.functions import (
    Binomial,
    Bit,
    Inner,
    Log2,
    Moment,
    Norm,
    PopCount,
)
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import CATALOGUE, Condition, Rule
from dpverify.symbolic.rules.base import (
    AreSetBits,
    ForAll,
    Holds,
    IsGaussianNorm,
    IsInteger,
    IsRandom,
    IsVector,
)
from dpverify.symbolic.rules.sequences import AreEqual, BernsteinOrder
from tests.for_each import for_each

PROOFS = Path(__file__).parents[4] / "specs" / "proofs"
RULES: list[dict[str, Any]] = json.loads(
    (PROOFS / "rules.json").read_text(encoding="utf-8")
)["rules"]
BY_NAME = {rule["name"]: rule for rule in RULES}

FUNCTIONS = {
    sympy.exp: "exp",
    sympy.log: "log",
    Log2: "log2",
    sympy.Abs: "abs",
    sympy.floor: "floor",
    sympy.Max: "max",
    sympy.Min: "min",
    sympy.Mod: "mod",
    Bit: "bit",
    PopCount: "popcount",
    Binomial: "binomial",
    Moment: "moment",
    Norm: "norm",
    Inner: "inner",
}
ATOMS = {sympy.oo: "oo", -sympy.oo: "-oo", sympy.pi: "pi", sympy.E: ["exp", ["q", "1"]]}
RELATIONS = {
    sympy.Le: "<=",
    sympy.Lt: "<",
    sympy.Ne: "!=",
    sympy.Ge: "<=",
    sympy.Gt: "<",
}


def neutral(e: Any) -> Any:
    """Write an expression of the engine as ``rules.json`` does, the parts of sums and products in a fixed order."""
    if e in ATOMS:
        return ATOMS[e]
    if e.is_Rational:
        return ["q", str(e)]
    if e.is_Symbol:
        return e.name
    if e.is_Add or e.is_Mul:
        return ["+" if e.is_Add else "*", *sorted(map(neutral, e.args), key=json.dumps)]
    if e.is_Pow:
        return neutral_power(e.base, e.exp)
    if isinstance(e, sympy.Sum | sympy.Integral):
        ((index, lo, hi),) = e.limits
        kind = "sum" if isinstance(e, sympy.Sum) else "integral"
        return [kind, index.name, neutral(lo), neutral(hi), neutral(e.function)]
    if isinstance(e, sympy.Piecewise):
        (first, when), (second, otherwise) = e.args
        assert otherwise == sympy.true
        return ["if", neutral_relation(when), neutral(first), neutral(second)]
    if isinstance(e, sympy.core.function.AppliedUndef):
        return ["apply", str(e.func), *map(neutral, e.args)]
    return [FUNCTIONS[type(e)], *map(neutral, e.args)]


def neutral_power(base: Any, exponent: Any) -> Any:
    if exponent == sympy.Rational(1, 2):
        return ["sqrt", neutral(base)]
    if exponent == sympy.Rational(-1, 2):
        return ["^", ["sqrt", neutral(base)], ["q", "-1"]]
    return ["^", neutral(base), neutral(exponent)]


def neutral_relation(relation: Any) -> Any:
    small, large = relation.args
    if isinstance(relation, sympy.Ge | sympy.Gt):
        small, large = large, small
    return [RELATIONS[type(relation)], neutral(small), neutral(large)]


def neutral_condition(c: Condition) -> Any:
    match c:
        case Holds():
            return neutral_relation(c.relation)
        case ForAll():
            return [
                "forall",
                c.index.name,
                neutral(c.lo),
                neutral(c.hi),
                neutral_relation(c.relation),
            ]
        case IsInteger():
            return ["integer", neutral(c.expr)]
        case AreEqual():
            return ["=", neutral(c.left), neutral(c.right)]
        case IsRandom():
            return ["declared", "random", neutral(c.variable)]
        case IsVector():
            return ["declared", "vector", neutral(c.variable)]
        case IsGaussianNorm():
            return [
                "declared",
                "gaussian-norm",
                *map(neutral, (c.variable, c.dimension, c.variance)),
            ]
        case AreSetBits():
            return ["declared", "set-bits", str(c.position.func), neutral(c.of)]
        case BernsteinOrder():
            return [
                "declared",
                "bernstein",
                *map(neutral, (c.small, c.large, c.variable, c.low, c.high)),
            ]
    raise TypeError(f"no form in rules.json for {c!r}")


def in_order(e: Any) -> Any:
    """Put the parts of sums and products into a fixed order; a rational number stays as it is."""
    if not isinstance(e, list) or e[:1] == ["q"]:
        return e
    parts = [in_order(part) for part in e]
    return (
        [parts[0], *sorted(parts[1:], key=json.dumps)]
        if parts[0] in ("+", "*")
        else parts
    )


def whole_letters(rule: Rule) -> set[str]:
    """Letters that are integers in the engine's statement or conditions."""
    sides = [
        rule.sides.lhs,
        rule.sides.rhs,
        *(c.expr for c in rule.conditions if isinstance(c, IsInteger)),
    ]
    return {
        s.name
        for side in sides
        for s in side.free_symbols
        if s.is_integer and not isinstance(s, sympy.Dummy)
    }


def test_every_rule_is_in_the_file_once() -> None:
    assert [rule["name"] for rule in RULES] == list(CATALOGUE)


@for_each("name", CATALOGUE)
def test_the_engine_says_what_was_proved(name: str) -> None:
    engine, proved = CATALOGUE[name], BY_NAME[name]
    assert neutral(engine.sides.lhs) == in_order(proved["lhs"])
    assert engine.sides.relation == proved["relation"]
    assert neutral(engine.sides.rhs) == in_order(proved["rhs"])
    assert [neutral_condition(c) for c in engine.conditions] == [
        in_order(c) for c in proved["conditions"]
    ]
    assert set(proved["letters"]) == engine.variables


@for_each("name", CATALOGUE)
def test_a_letter_is_whole_only_where_a_condition_asks_for_it(name: str) -> None:
    proved = BY_NAME[name]
    whole = {letter for letter, kind in proved["letters"].items() if kind == "integer"}
    assert whole == {c[1] for c in proved["conditions"] if c[0] == "integer"}
    assert whole_letters(CATALOGUE[name]) <= whole


WHOLE = [
    (rule["name"], c[1])
    for rule in RULES
    for c in rule["conditions"]
    if c[0] == "integer"
]


@for_each(("name", "letter"), WHOLE)
def test_a_number_that_may_be_a_fraction_is_refused_where_a_whole_one_is_needed(
    name: str, letter: str
) -> None:
    rule = CATALOGUE[name]
    where: dict[str, Any] = {
        key: sympy.Symbol(key, integer=True) for key in rule.ranges
    } | dict(rule.functions)
    where |= {"pos": sympy.Function("pos")} if "pos" in where else {}
    asked = [c for c in rule.instance(where).conditions if isinstance(c, IsInteger)]
    assert all(c.is_met(Facts(), {}) for c in asked)
    fraction = rule.instance(where | {letter: sympy.Symbol("z", positive=True)})
    assert not all(
        c.is_met(Facts(), {}) for c in fraction.conditions if isinstance(c, IsInteger)
    )


def test_a_rule_has_a_proof_or_a_citation() -> None:
    proved = 0
    for rule in RULES:
        basis = rule["basis"]
        if "coq" in basis:
            text = (PROOFS / basis["coq"]).read_text(encoding="utf-8")
            theorem = rule["name"].replace("-", "_")
            assert basis == {"coq": basis["coq"], "theorem": theorem}
            assert f"Theorem {theorem} : {theorem}_statement.\n" in text
            proved += 1
        else:
            assert len(basis["axiom"]) > 40
            assert set(basis) == {"axiom"}
    assert proved == len(RULES)


def test_no_proof_is_left_out() -> None:
    for path in PROOFS.glob("*.v"):
        bare = re.sub(
            r"\(\*.*?\*\)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        assert not re.search(
            r"\b(Admitted|admit|Abort|Axiom|Parameter|Conjecture)\b", bare
        ), path.name


def test_the_propositions_are_made_from_the_file() -> None:
    done = subprocess.run(
        [sys.executable, PROOFS / "statements.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_changed_statement_is_noticed() -> None:
    bernoulli = CATALOGUE["bernoulli"]
    assert neutral(bernoulli.sides.rhs) == in_order(BY_NAME["bernoulli"]["rhs"])
    assert neutral(bernoulli.sides.rhs + 1) != in_order(BY_NAME["bernoulli"]["rhs"])
