"""Each condition of a rule is needed: ``specs/proofs/needed.toml`` has values at which the rule is false without it."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sympy
from flint import fmpq

from dpverify.symbolic.exact.numbers import DomainError, compare
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    Range,
    SetBits,
    Variable,
    Vector,
)
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules import CATALOGUE, Condition, Rule
from dpverify.symbolic.rules.base import Holds, IsInteger, IsVector, substitute
from tests.for_each import for_each

FILE = Path(__file__).parents[4] / "specs" / "proofs" / "needed.toml"
NEEDED: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
POINTS = [
    (rule, text)
    for rule, texts in NEEDED.items()
    for text, why in texts.items()
    if isinstance(why, dict)
]
BITS = 200
INDEX = sympy.Symbol("i", integer=True)


class Setting:
    """A rule with values for its letters: as the engine takes them, and as numbers."""

    def __init__(self, rule: Rule, given: dict[str, Any]) -> None:
        self.rule, self.facts, self.declared = rule, Facts(), dict[str, Variable]()
        self.where, self.env, self.functions = (
            dict[str, Any](),
            dict[str, Any](),
            dict[str, Any](),
        )
        formulas = {
            name: sympy.sympify(
                value,
                {s: sympy.Symbol(s, real=True) for s in rule.ranges} | {"i": INDEX},
            )
            for name, value in given.items()
            if not isinstance(value, list)
        }
        inside = {
            s.name: s
            for formula in formulas.values()
            for s in formula.free_symbols - {INDEX}
        }
        for name in (*given, *sorted(rule.variables - given.keys())):
            self._take(name, given.get(name), formulas.get(name), inside)

    def _take(
        self, name: str, value: Any, formula: Any, symbols: dict[str, Any]
    ) -> None:
        if value is None:
            self._declare(name)
        elif isinstance(value, list):
            self.declared[name] = AnyVector(len(value))
            self.where[name] = sympy.Symbol(name)
            self.env[name] = Vector(tuple(fmpq(entry) for entry in value))
        elif name in self.rule.functions or isinstance(
            self.rule.ranges.get(name), SetBits
        ):
            self.where[name] = self.functions[name] = sympy.Lambda(INDEX, formula)
        elif name in symbols:
            self.where[name] = symbols[name]
            self.env[name] = compile_expr(formula)({}, BITS)
            self.facts = self.facts.assume([sympy.Eq(symbols[name], formula)])
        else:
            self.where[name] = formula
            self.env[name] = compile_expr(formula)(dict(self.env), BITS)

    def _declare(self, name: str) -> None:
        """Declare a letter as the rule does."""
        declared = self.rule.ranges[name]
        values = {n: self.where[n] for n in self.rule.ranges if n in self.where}
        if isinstance(declared, GaussianNorm):
            parts = (
                substitute(part, values)
                for part in (declared.dimension, declared.variance)
            )
            self.declared[name], self.where[name] = (
                GaussianNorm(*parts),
                sympy.Symbol(name),
            )
        else:
            assert isinstance(declared, SetBits), f"{name} has no value"
            self.declared[name] = SetBits(substitute(declared.of, values))
            self.where[name] = sympy.Function(name)
        self.env[name] = self.declared[name].draw(None, self.env)  # type: ignore[arg-type]  # nothing is random

    def met(self) -> dict[str, bool]:
        """Which conditions the engine takes for proven."""
        asked = self.rule.instance(self.where).conditions
        return {
            str(general): condition.is_met(self.facts, self.declared)
            for general, condition in zip(self.rule.conditions, asked, strict=True)
        }

    def value(self, side: Any) -> Any:
        """Value of one side; raises a DomainError where it has none."""
        return compile_expr(substitute(side, self.functions))(dict(self.env), BITS)

    def certainly_false(self, condition: Condition) -> bool:
        """Whether a relation between numbers, or that one is whole, fails by exact arithmetic."""
        if isinstance(condition, IsInteger):
            return bool(self.value(condition.expr).q != 1)
        if not isinstance(condition, Holds):
            return True  # the engine's word is what there is
        relation = condition.relation
        left, right = self.value(relation.lhs), self.value(relation.rhs)
        if isinstance(relation, sympy.Ne):
            return compare(left, "=", right) is True
        return compare(left, relation.rel_op, right) is False


def fault(rule: Rule, text: str, why: dict[str, Any]) -> str | None:
    """Say what is wrong with a point that should show that a condition is needed; None if it does show it."""
    why = dict(why)
    side = why.pop("no_value", None)
    setting = Setting(rule, why)
    if not all(setting.certainly_false(c) for c in rule.conditions if str(c) == text):
        return "the condition is not certainly false"
    met = setting.met()
    wrong = [other for other, holds in met.items() if holds is (other == text)]
    if wrong:
        return f"met or unmet, against what is said: {', '.join(wrong)}"
    says = rule.sides
    if side is not None:
        try:
            return f"the {side} has the value {setting.value(getattr(says, side))}"
        except (DomainError, AttributeError):  # the latter: a number has no coordinates
            return None
    lhs, rhs = setting.value(says.lhs), setting.value(says.rhs)
    return (
        None
        if compare(lhs, says.relation, rhs) is False
        else f"{lhs} {says.relation} {rhs} is not false"
    )


def test_every_condition_of_every_rule_is_in_the_file_and_nothing_else() -> None:
    stated = {
        name: [str(c) for c in rule.conditions]
        for name, rule in CATALOGUE.items()
        if rule.conditions
    }
    assert {name: list(conditions) for name, conditions in NEEDED.items()} == stated
    assert all(len(set(texts)) == len(texts) for texts in stated.values())


@for_each(("name", "text"), POINTS)
def test_without_the_condition_the_rule_is_false_there(name: str, text: str) -> None:
    assert fault(CATALOGUE[name], text, NEEDED[name][text]) is None


def test_a_point_that_shows_nothing_is_refused() -> None:
    bernoulli = CATALOGUE["bernoulli"]
    assert fault(bernoulli, "x >= -1", {"n": 3, "x": -4}) is None
    assert "is not false" in str(fault(bernoulli, "x >= -1", {"n": 2, "x": -4}))
    assert "n is an integer" in str(fault(bernoulli, "x >= -1", {"n": "5/2", "x": -4}))
    assert "not certainly false" in str(fault(bernoulli, "x >= -1", {"n": 3, "x": 4}))
    assert "has the value" in str(
        fault(bernoulli, "x >= -1", {"n": 3, "x": -4, "no_value": "lhs"})
    )


@for_each(
    ("name", "kind"),
    [("norm-triangle", IsVector), ("power-monotone", Holds), ("bernoulli", IsInteger)],
)
def test_a_condition_that_is_met_by_anything_is_noticed(
    name: str, kind: type[Condition], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "is_met", lambda *_: True)
    rule = CATALOGUE[name]
    assert all(
        fault(rule, str(c), NEEDED[name][str(c)])
        for c in rule.conditions
        if isinstance(c, kind)
    )


NUMBERS = ("-2", "-1", "0", "1/2", "1", "2")
ARGUED = [
    (rule, text)
    for rule, texts in NEEDED.items()
    for text, why in texts.items()
    if isinstance(why, str)
    and all(isinstance(kind, Range) for kind in CATALOGUE[rule].ranges.values())
]


@for_each(("name", "text"), ARGUED)
def test_where_words_say_that_a_condition_is_not_needed_no_small_point_says_otherwise(
    name: str, text: str
) -> None:
    rule = CATALOGUE[name]
    functions = {
        letter: str(example.expr).replace("_i", "i")
        for letter, example in rule.functions.items()
    }
    for values in product(NUMBERS, repeat=len(rule.ranges)):
        point = dict(zip(rule.ranges, values, strict=True)) | functions
        # an expression has no real value there
        with suppress(ArithmeticError, TypeError, ValueError):
            assert fault(rule, text, point) is not None, f"false at {point}"
