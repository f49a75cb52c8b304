from __future__ import annotations

from typing import Any

import pytest
import sympy
from sympy import Abs, Max, Min, Piecewise, Rational, Symbol, exp, floor, log, sqrt

from dpverify.symbolic.exact.numbers import to_value
from dpverify.symbolic.expressions.functions import Bit, Log2, PopCount
from dpverify.symbolic.prove import certificate, signs
from dpverify.symbolic.prove.canonical import facts_between
from dpverify.symbolic.prove.facts import Facts, FalseAssumptionError, with_witnesses
from dpverify.symbolic.prove.signs import (
    is_implied,
    is_nonnegative,
    is_nonzero,
    is_positive,
)
from tests.for_each import for_each

x, y, h = (Symbol(name, real=True) for name in "xyh")
a, g, V, ell, rho = (
    Symbol(name, positive=True) for name in ("alpha", "gamma", "V", "ell", "rho")
)
N, T, t = (Symbol(name, integer=True, positive=True) for name in "NTt")
i = Symbol("i", integer=True)
s = Symbol("s", integer=True, nonnegative=True)
e = exp(-1)

TRUE: list[tuple[Any, list[Any]]] = [
    (1 - a * N, [a * N <= 1]),
    (1 - h, [a * N <= 1, h >= exp(-a * N), h <= 1 - (1 - e) * a * N]),
    (2 * (2**i - 1) - 2**i, [i >= 1]),
    (V - V * rho**2 / ell, [rho**2 <= ell]),
    (
        2 * rho * sqrt(V) * ell
        - (V * rho**2 / 2 + Rational(3, 2) * rho * sqrt(V) * ell),
        [rho * sqrt(V) <= ell],
    ),
    (Log2(T + 1) - Log2(t + 1), [t <= T]),
    (Max(1, 1 / (a * N)) - 1 / (a * N), []),
    (x - Min(x, y), []),
    (Abs(x) - x, []),
    (1 / (1 - e) - 1 / (1 - exp(-a * N)), [a * N >= 1]),
    (sqrt(V + ell) - sqrt(V), []),
    (g ** (2**i) - g ** (2 * (2**i - 1)), [g < 1, i >= 1]),
    (floor(x) - 2, [x >= Rational(5, 2) + Rational(1, 2)]),
    (x**2 + y**2 - 2 * x * y, []),
    ((2 - x) * (x - 1), [x >= 1, x <= 2]),
    (1 - a * V, [a <= 1, V <= 1]),
    (a * N - 1, [a >= 1 / N]),
    (s - PopCount(s), []),
    (1 - Bit(s, i), []),
    (2**i - sympy.Mod(s, 2**i), [i >= 0]),
    (2**N - 1 - sympy.Mod(s, 2**N), []),
    (Piecewise((x, x >= 0), (-x, True)) + 1 - Piecewise((x, x >= 0), (-x, True)), []),
    (x - log(1 + x), [x >= 0]),
    (1 - (1 - a) ** 7, [a <= 1]),
    (sympy.pi - 3, []),
]

FALSE: list[tuple[Any, list[Any]]] = [
    (1 - a, []),
    (2 * (2**i - 1) - 2**i, [i >= 0]),
    (g ** (2**i) - g ** (2 * (2**i - 1)), [g < 1, i >= 0]),
    (1 - 2 * a * V, [a <= 1, V <= 1]),
    (x**2 + y**2 - 3 * x * y, []),
    (Max(1, x) - 2, []),
    (sqrt(x) - 1, [x >= 0]),
    (Log2(T) - Log2(t), [t <= T + 1]),
    (3 - sympy.pi, []),
    (floor(x) - x, []),
    (x, [x >= -Rational(1, 1000)]),
    (1 / x, [x >= -1]),
    (i - Rational(3, 2), [i >= 1]),
]


@for_each(("expr", "assumed"), TRUE)
def test_true_inequalities_are_proven(expr: Any, assumed: list[Any]) -> None:
    assert is_nonnegative(expr, Facts().assume(assumed))


@for_each(("expr", "assumed"), FALSE)
def test_false_inequalities_are_not(expr: Any, assumed: list[Any]) -> None:
    assert not is_nonnegative(expr, Facts().assume(assumed))


@for_each(
    ("expr", "assumed", "strict"),
    [
        (1 - (1 - a) ** N, [a <= 1], True),
        (1 - h**N, [a <= 1, h >= 1 - a, h <= exp(-a)], True),
        (1 - exp(-x), [x > 0], True),
        (1 - exp(-x), [x >= 0], False),
        (x - y, [x >= y], False),
        (x - y, [x > y], True),
        ((x - y) ** 2, [], False),
        (N, [], True),
        (N - 1, [], False),
        (x + 1 - floor(x), [], True),
    ],
)
def test_strict_and_weak_inequalities_are_told_apart(
    expr: Any, assumed: list[Any], strict: bool
) -> None:
    facts = Facts().assume(assumed)
    assert is_nonnegative(expr, facts)
    assert is_positive(expr, facts) is strict


def test_integers_are_tightened() -> None:
    assert is_nonnegative(i - 1, Facts().assume([i > 0]))
    assert is_nonnegative(i - 2, Facts().assume([i >= Rational(3, 2)]))
    assert not is_nonnegative(x - 1, Facts().assume([x > 0]))


def test_relations() -> None:
    facts = Facts().assume([x >= 1, sympy.Eq(y, x + 1)])
    assert is_implied(y >= 2, facts)
    assert is_implied(sympy.And(y > 1, x <= y), facts)
    assert is_implied(sympy.Ne(y, 0), facts)
    assert is_implied(sympy.Eq(y - x, 1), facts)
    assert not is_implied(y >= 3, facts)
    assert is_nonzero(-x, facts)


def test_a_false_assumption_is_refused() -> None:
    with pytest.raises(FalseAssumptionError):
        Facts().assume([sympy.false])
    with pytest.raises(ValueError, match="And"):
        Facts().assume([sympy.Or(x > 0, y > 0)])


def test_a_case_with_an_unreadable_condition_is_not_skipped() -> None:
    odd = Piecewise((-1, sympy.Or(x < -1, x > 1)), (1, True))
    assert not is_nonnegative(odd)


def test_a_negative_denominator_turns_the_sign_where_no_witness_helps() -> None:
    """No point that is tried lies in so thin a slab: the proof has to be refused by itself."""
    thin = Facts().assume([x >= Rational(17, 100), x <= Rational(18, 100)])
    assert not with_witnesses(thin, {x}).witnesses
    assert not is_nonnegative(1 / (-1 - x), thin)
    assert not is_nonnegative((1 + x) / (-1 - x**2) + Rational(1, 10), thin)
    assert is_nonnegative(-1 / (-1 - x), thin)


def test_witnesses_do_not_make_true_what_is_not() -> None:
    """Witnesses only refute. Here every witness agrees with a false claim."""
    five = ({"x": to_value(5), "y": to_value(7)},)
    assert not is_nonnegative(x, Facts(witnesses=five))
    assert not is_nonnegative(y - x, Facts(witnesses=five))
    assert not is_nonnegative(x - 5, Facts(witnesses=five).assume([x >= 4]))


def test_witnesses_satisfy_the_facts() -> None:
    facts = Facts().assume([a * N <= 1, x > 0, i >= 2])
    found = with_witnesses(facts, {y}).witnesses
    assert found
    for point in found:
        assert point.keys() == {"alpha", "N", "x", "y", "i"}
        assert point["alpha"] * point["N"] <= 1
        assert point["x"] > 0
        assert point["i"] >= 2


def test_what_is_known_of_the_letters_is_put_together_once_for_all_ways(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    between, r = facts_between, Symbol("r_asked_once", nonnegative=True)

    def counted(atoms: Any, prove: Any) -> Any:
        asked.append(tuple(atoms))
        return between(atoms, prove)

    monkeypatch.setattr(signs, "facts_between", counted)
    # true, and not found: both kinds of certificate are tried
    assert not is_nonnegative(2 * exp(r) - 2 - 2 * r - r**2)
    assert asked.count((exp(r),)) == 1


def test_what_is_known_above_a_bound_is_kept_for_the_next_proof() -> None:
    u, misses = Symbol("u_measured_from_2", real=True), []
    for constant in (1, 3):  # true, and not found: everything is tried
        assert not is_nonnegative(
            2 * exp(u) - 2 - 2 * u - u**2 + constant, Facts().assume([u >= 2])
        )
        misses.append(certificate._columns.cache_info().misses)
    assert misses[0] == misses[1]


def test_letters_above_other_bounds_are_others() -> None:
    u = Symbol("u_of_two_bounds", real=True)
    for bound, proven in ((3, True), (2, False), (3, True), (4, True)):
        facts = Facts().assume([u >= bound])
        assert is_nonnegative(u**3 - 27, facts) == proven
        assert is_positive(u**3 - 27, facts) == (bound > 3)
    letters = {signs._above(u, bound) for bound in map(sympy.Integer, (2, 3))}
    # no letter is measured by itself
    letters |= {signs._above(letter, sympy.Integer(2)) for letter in letters}
    letters |= {signs._above(Symbol(u.name, integer=True), sympy.Integer(2))}
    assert len(letters) == 5
