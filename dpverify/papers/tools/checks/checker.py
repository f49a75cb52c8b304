"""Check the stand-alone checker of certificates: values of its forms, derived signs, and refused certificates."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.recorded_proof import CERTIFICATES
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.ledger.load import bundled
from dpverify.ledger.statements import Statement
from dpverify.papers.tools.checks.checker_values import Undecided, same, sign, value
from dpverify.symbolic.certify.checker import Expr, Form, k, rules, to_expr
from dpverify.symbolic.exact.numbers import working_precision

CHECKS = PaperChecks("tools", __name__)

KINDS = {"x": "real", "y": "real", "n": "integer", "m": "integer"}
NUMBERS = ("-2", "-1", "0", "1", "2", "3", "1/2", "-1/2", "3/2", "4", "8", "12")
EXPONENTS: tuple[Any, ...] = (
    *(["q", number] for number in ("2", "-1", "1/2", "-2", "3", "-1/2", "1/3")),
    "n",
    "m",
    ["+", "n", "m"],
)
UNARY = ("exp", "log", "floor", "sqrt", "abs", "log2")
OPERATORS = (
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
)
EXPRESSIONS = 20  # expressions per draw
POINTS = 8
BITS = 400
RELATIONS: dict[str, Callable[[int], bool]] = {
    ">=": lambda s: s >= 0,
    ">": lambda s: s > 0,
    "!=": lambda s: s != 0,
    "=": lambda s: s == 0,
}


def _expression(rng: Random, depth: int, indices: tuple[str, ...] = ()) -> Any:
    """Return a random expression in the prefix format of certificates."""
    if depth == 0 or rng.random() < 0.12:
        return (
            ["q", rng.choice(NUMBERS)]
            if rng.random() < 0.3
            else rng.choice([*KINDS, *indices, *indices])
        )
    op = rng.choice(OPERATORS)
    if op == "sum" and len(indices) < 2:
        index = "ij"[len(indices)]
        ends = (
            rng.choice([["q", "0"], ["q", "1"], "m", *indices]),
            rng.choice(["n", ["+", "n", "m"], ["q", "9"]]),
        )
        return ["sum", index, *ends, _expression(rng, depth - 1, (*indices, index))]
    if op == "^" and rng.random() < 0.7:
        return ["^", _expression(rng, depth - 1, indices), rng.choice(EXPONENTS)]
    # powers of one base, which the checker merges if their signs allow it
    if op == "*" and rng.random() < 0.4:
        base = _expression(rng, min(depth - 1, 1), indices)
        return [
            "*",
            ["^", base, rng.choice(EXPONENTS)],
            ["^", base, rng.choice(EXPONENTS)],
        ]
    count = 1 if op in UNARY else 2
    return [
        "*" if op == "sum" else op,
        *(_expression(rng, depth - 1, indices) for _ in range(count)),
    ]


def _facts(rng: Random) -> list[tuple[str, Expr]]:
    """Return random conditions on the variables."""
    zero = ["q", "0"]
    conditions: list[Any] = [
        [rng.choice([">=", ">", "<", "!="]), letter, zero]
        for letter in KINDS
        if rng.random() < 0.75
    ]
    candidates = (
        ["<=", "x", ["q", "1"]],
        ["<=", "y", "x"],
        ["<=", "m", "n"],
        ["<", ["*", "x", "y"], zero],
    )
    conditions += [condition for condition in candidates if rng.random() < 0.3]
    return [k.condition(condition, [])[1:] for condition in conditions]


def _points(rng: Random, facts: list[tuple[str, Expr]]) -> list[dict[str, Fraction]]:
    points = []
    for _ in range(200):
        point = {name: Fraction(rng.randint(-3, 4)) for name in ("n", "m")}
        point |= {name: Fraction(rng.randint(-12, 12), 4) for name in ("x", "y")}
        if all(RELATIONS[relation](sign(value(e, point))) for relation, e in facts):
            points.append(point)
    return points[:POINTS]


def _decided_sign(number: Any) -> int | None:
    try:
        return sign(number)
    except Undecided:
        return None


def _wrong_at(
    e: Expr, form: Form, signs: int, is_integer: bool, point: dict[str, Fraction]
) -> str:
    """Return the checker's error for an expression at a point, or an empty string."""
    try:
        exact = value(e, point)
        written_value = value(to_expr(form), point)
    except Undecided:
        return ""
    if not same(exact, written_value):
        return "another value"
    at = _decided_sign(exact)
    if at is not None and ((signs & 1 and at < 0) or (signs & 2 and at == 0)):
        return "another sign"
    if is_integer and isinstance(exact, Fraction) and exact.denominator != 1:
        return "no integer"
    return ""


def _forms(scope_class: Any) -> Callable[[Point, Statement], Outcome]:
    """Return the rule that all forms, signs and integrality of random expressions under random facts are correct."""

    def is_satisfied(at: Point, statement: Statement) -> Outcome:
        rng = Random(int(at["draw"]))
        facts = _facts(rng)
        with working_precision(BITS):
            points = _points(rng, facts)
            scope = scope_class(KINDS, facts)
            for _ in range(EXPRESSIONS):
                e = k.read(_expression(rng, rng.randint(2, 4)))
                try:
                    form = scope.form(e)
                    signs, is_integer = scope.sign(form), scope.integer(form)
                except k.Refused:
                    continue
                for point in points:
                    if wrong := _wrong_at(e, form, signs, is_integer, point):
                        assignment = ", ".join(
                            f"{name} = {number}" for name, number in point.items()
                        )
                        return Outcome(
                            False, note=f"{wrong}: {k.shown(e)} at {assignment}"
                        )
        return Outcome(True)

    return is_satisfied


class MergesPowers(k.Scope):  # type: ignore[misc]  # the checker has no types
    """A fault: b**x*b**y = b**(x+y) for every sign of b."""

    def may_merge(self, atom: Any, x: Form, y: Form) -> bool:
        """Allow every merge."""
        return True


class DropsContent(k.Scope):  # type: ignore[misc]  # the checker has no types
    """A fault: log(2 x) = log(x)."""

    def logarithm(self, u: Form) -> Form:
        """Return the logarithm without the numeric factor."""
        return super().logarithm(u.times(1 / u.content()) if u else u)


class FloorsNothing(k.Scope):  # type: ignore[misc]  # the checker has no types
    """A fault: floor(x) = x."""

    def floor(self, u: Form) -> Form:
        """Return the argument."""
        return u


class SmallerOfTwo(k.Scope):  # type: ignore[misc]  # the checker has no types
    """A fault: max(a, b) = min(a, b)."""

    def maximum(self, values: list[Form]) -> Form:
        """Return minus the maximum of the negated values, their minimum."""
        return -super().maximum([-value for value in values])


class OneTermMore(k.Scope):  # type: ignore[misc]  # the checker has no types
    """A fault: a finite sum has an additional term."""

    def span(self, op: str, index: str, lo: Expr, hi: Expr, body: Expr) -> Any:
        """Return the length of the range plus 1."""
        length = super().span(op, index, lo, hi, body)
        return length if isinstance(length, str) else length + k.rational(1)


FAULTS = (
    ("powers of what may be negative merged", MergesPowers),
    ("the factor in a logarithm dropped", DropsContent),
    ("floors dropped", FloorsNothing),
    ("minimum for maximum", SmallerOfTwo),
    ("sums with a term more", OneTermMore),
)


def _draws(budget: Budget) -> Iterator[PointLike]:
    for draw in range({"smoke": 60, "standard": 1000}.get(budget.name, 10_000)):
        yield {"draw": draw}


def _certificates() -> list[Any]:
    folder = bundled("reports") / CERTIFICATES
    return sorted(folder.glob("*.json"))


def _false_variants(data: Any) -> Iterator[Any]:
    """Yield the certificate with a statement that is false at every point: one side is the other, shifted by 1."""
    statement = data["statement"]
    step = "-1" if statement["relation"] in ("<=", "<") else "1"
    moved = {
        "rhs": ["+", statement["lhs"], ["q", step]],
        "lhs": ["+", statement["rhs"], ["q", "-1" if step == "1" else "1"]],
    }
    for side, false_side in moved.items():
        changed = copy.deepcopy(data)
        changed["statement"][side] = false_side
        yield changed


def _sealed(data: Any) -> Any:
    data["statement"]["seal"] = k.seal(data["statement"], data["table"])
    return data


def _is_accepted(data: Any) -> bool:
    try:
        k.run(_sealed(data), rules())
    except k.Refused:
        return False
    return True


def _accepted(variants: Callable[[Any], Iterator[Any]]) -> LeftSide:
    """Return the left side: the number of variants of a certificate that the checker accepts."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        data = json.loads(
            _certificates()[int(point["draw"])].read_text(encoding="utf-8")
        )
        if data["statement"]["relation"] in k.ORDERS:
            return Fraction(0)
        return Fraction(sum(map(_is_accepted, variants(data))))

    return lhs


def _files(budget: Budget) -> Iterator[PointLike]:
    step = {"smoke": 40, "standard": 4}.get(budget.name, 1)
    for place in range(0, len(_certificates()), step):
        yield {"draw": place}


CHECKS.add(
    RuleCheck(
        "checker-arithmetic",
        "values",
        points=_draws,
        is_satisfied=_forms(k.Scope),
        planted=[Planted(name, is_satisfied=_forms(scope)) for name, scope in FAULTS],
        region="expressions of up to four operations in two real and two whole letters, 20 a draw, at up to 8 points",
        seconds=2.0,
    ),
    RuleCheck(
        "checker-refuses",
        "false-statements",
        points=_files,
        lhs=_accepted(_false_variants),
        planted=[
            Planted("the statement itself", lhs=_accepted(lambda data: iter([data])))
        ],
        region="the certificates of the committed verdicts, each with a statement that is false at all points",
        seconds=2.0,
    ),
)
