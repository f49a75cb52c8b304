"""The checker's forms of random expressions have their values, and the signs that it reads off are true.

Values are those that the checker gives to every expression: 0**-1, log(-1) and (-8)**(1/3) are 0.
"""

import runpy
from functools import reduce
from random import Random
from typing import Any

from flint import arb, ctx
from mpmath import exp, floor, log, mp, mpf, nint, pi

from dpverify.symbolic.certify.checker import checker_file, k, to_expr
from dpverify.symbolic.exact.numbers import working_precision
from tests.for_each import for_each

KINDS = {"x": "real", "y": "real", "n": "integer", "m": "integer"}
NUMBERS = ["-2", "-1", "0", "1", "2", "3", "1/2", "-1/2", "3/2", "4", "8", "12"]
EXPONENTS: list[Any] = [
    *(["q", t] for t in ("2", "-1", "1/2", "-2", "3", "-1/2")),
    "n",
    "m",
    ["+", "n", "m"],
]
UNARY = ("exp", "log", "floor", "sqrt", "abs", "log2")
DIGITS, TINY = 260, mpf(10) ** -200


class TooLarge(Exception):  # noqa: N818  no error: the point says nothing
    """A number that the digits do not reach."""


def power(base: Any, exponent: Any) -> Any:
    if abs(exponent - nint(exponent)) < TINY:
        count = int(nint(exponent))
        if abs(base) < TINY:
            return mpf(count == 0)
        if abs(count) > 60 or abs(log(abs(base))) * abs(count) > 200:
            raise TooLarge
        return mpf(base) ** count
    if base < TINY:
        return mpf(0)
    if abs(exponent * log(base)) > 200:
        raise TooLarge
    return exp(exponent * log(base))


def value(e: Any, point: dict[str, Any]) -> Any:
    op, *args = e
    if op == "q":
        return mpf(int(args[0].p)) / int(args[0].q)
    if op in ("letter", "pi"):
        return point[args[0]] if args else +pi
    if op == "sum":
        index, lo, hi, body = args
        first, last = (int(nint(value(end, point))) for end in (lo, hi))
        if last - first > 20:
            raise TooLarge
        return sum(
            (value(body, {**point, index: mpf(n)}) for n in range(first, last + 1)),
            mpf(0),
        )
    values = [value(arg, point) for arg in args]
    if op == "*":
        product = mpf(1)
        for one in values:
            product *= one
        return product
    if op == "log":
        return log(values[0]) if values[0] > TINY else mpf(0)
    if op == "floor":
        near = nint(values[0])
        return near if abs(values[0] - near) < TINY else floor(values[0])
    if op in ("^", "exp"):
        return power(*values) if op == "^" else power(exp(1), values[0])
    return sum(values) if op == "+" else max(values)


def expression(rng: Random, depth: int, indices: tuple[str, ...] = ()) -> Any:
    if depth == 0 or rng.random() < 0.12:
        return (
            ["q", rng.choice(NUMBERS)]
            if rng.random() < 0.3
            else rng.choice([*KINDS, *indices, *indices])
        )
    op = rng.choice(
        [
            "+",
            "+",
            "*",
            "*",
            "*",
            "^",
            "^",
            "^",
            "^",
            *UNARY,
            "max",
            "min",
            "mod",
            "sum",
        ]
    )
    if op == "sum" and len(indices) < 2:
        index = "ij"[len(indices)]
        ends = (
            rng.choice([["q", "0"], ["q", "1"], "m", *indices]),
            rng.choice(["n", ["+", "n", "m"], ["q", "9"]]),
        )
        return ["sum", index, *ends, expression(rng, depth - 1, (*indices, index))]
    if op == "^" and rng.random() < 0.5:
        return ["^", expression(rng, depth - 1, indices), rng.choice(EXPONENTS)]
    count = 1 if op in UNARY else 2
    return [
        "*" if op == "sum" else op,
        *(expression(rng, depth - 1, indices) for _ in range(count)),
    ]


def conditions(rng: Random) -> list[Any]:
    zero = ["q", "0"]
    found = [
        [rng.choice([">=", ">", "<", "!="]), letter, zero]
        for letter in KINDS
        if rng.random() < 0.75
    ]
    more = (
        ["<=", "x", ["q", "1"]],
        ["<=", "y", "x"],
        ["<=", "m", "n"],
        ["<", ["*", "x", "y"], zero],
    )
    return found + [one for one in more if rng.random() < 0.3]


def points(rng: Random, scope: Any) -> list[dict[str, Any]]:
    tests = {
        ">=": lambda v: v >= 0,
        ">": lambda v: v > 0,
        "!=": lambda v: v != 0,
        "=": lambda v: v == 0,
    }
    found: list[dict[str, Any]] = []
    for _ in range(200):
        point = {
            n: mpf(rng.randint(-3, 4) if kind == "integer" else rng.randint(-12, 12))
            for n, kind in KINDS.items()
        }
        point |= {name: point[name] / 4 for name in ("x", "y")}
        if all(tests[relation](value(e, point)) for relation, e in scope.facts):
            found.append(point)
    return found[:8]


@for_each("seed", range(6))
def test_forms_have_the_values_of_their_expressions(seed: int) -> None:
    rng, compared = Random(seed), 0
    with mp.workdps(DIGITS):
        for _ in range(12):
            local: dict[str, Any] = {"letters": {}, "conditions": []}
            data = {
                "letters": KINDS,
                "conditions": conditions(rng),
                "local": local,
                "premises": {},
            }
            scope = k.Proof(
                k.Checker([]), data | {"lhs": "x", "relation": "=", "rhs": "x"}
            ).scope
            where = points(rng, scope)
            for _ in range(20):
                compared += compare(
                    scope, k.read(expression(rng, rng.randint(2, 4))), where
                )
    assert compared > 500


def compare(scope: Any, expr: Any, where: list[dict[str, Any]]) -> int:
    try:
        form = scope.form(expr)
        again, sign, whole = to_expr(form), scope.sign(form), scope.integer(form)
    except k.Refused:
        return 0
    compared = 0
    for point in where:
        try:
            a, b = (value(one, point) for one in (expr, again))
        except (TooLarge, OverflowError):
            continue
        near, text = TINY * 1000 * max(1, abs(a)), f"{k.shown(expr)} at {point}"
        assert abs(a - b) < near, text
        assert not sign & 1 or a > -near, text
        assert not sign & 2 or abs(a) > TINY, text
        assert not whole or abs(a - nint(a)) < near, text
        compared += 1
    return compared


@for_each("times", [1, 2, 3])
def test_a_whole_power_of_roots_of_a_product_is_taken_apart(times: int) -> None:
    """The letter x is negative, so that 1/sqrt(-x) is a root of a product; its square is -1/x."""
    local: dict[str, Any] = {"letters": {}, "conditions": []}
    data = {
        "letters": {"x": "real"},
        "conditions": [["<", "x", ["q", "0"]]],
        "local": local,
        "premises": {},
    }
    scope = k.Proof(
        k.Checker([]), data | {"lhs": "x", "relation": "=", "rhs": "x"}
    ).scope
    root = scope.form(k.read(["^", ["*", ["q", "-1"], "x"], ["q", "-1/2"]]))
    whole = k.read(["*", ["q", str((-1) ** times)], ["^", "x", ["q", str(-times)]]])
    assert reduce(scope.product, [root] * (2 * times)) is scope.form(whole)


def test_the_checker_has_a_precision_of_its_own_and_leaves_that_of_others() -> None:
    before = int(ctx.prec)
    fresh = runpy.run_path(str(checker_file()))
    assert ctx.prec == before
    with working_precision(30):
        e = fresh["ball"](fresh["monomial"]([(fresh["row"]("e"), fresh["ONE"])]))
        assert ctx.prec == 30
    assert 0 < e.rad() < arb(2) ** -200
