"""The last expression of a derivation: its comparison with the printed side, and weights that prove its order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from flint import fmpq

from dpverify.ledger.records import ORDERS, RelationToDerived
from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.checker import Expr, k
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prefix import read
from dpverify.symbolic.certify.side_conditions import prepare
from dpverify.symbolic.derive.define import expand_definition
from dpverify.symbolic.derive.integers import divided
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.derive.unnamed import without_local_names
from dpverify.symbolic.exact.numbers import EvaluationError, compare
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.ranges import Variable
from dpverify.symbolic.expressions.translation import (
    sympy_conditions,
    sympy_sides,
    sympy_symbols,
)
from dpverify.symbolic.prove.certificate import solve

_POINTS = 100
_BITS = 170


def relation_to_derived(
    statement: Statement, derivation: Derivation, checker: Any
) -> RelationToDerived:
    """Return the relation of the printed side of a statement to the last expression of its derivation.

    ``checker`` has accepted the certificate of the derivation, or is None. With a certificate, the sides are ``equal``
    if its facts imply this, otherwise the printed side is ``weaker``. Without one, sample points decide: the sides
    ``differ`` if each is certainly better at some point, and the printed side is ``stronger`` if only it is.
    """
    if checker is None:
        return _at_points(
            expand_definition(divided(statement, derivation.division)), derivation
        )
    if statement.relation in ORDERS:
        return "weaker"
    proof = _proof_of_chain(checker, derivation)
    gap = proof.rhs - read(prepared(without_local_names(derivation)).last)
    return "equal" if proof.scope.holds("=", proof.scope.form(gap)) else "weaker"


def _proof_of_chain(checker: Any, derivation: Derivation) -> Any:
    """Return the lemma or the statement of a certificate that the chain of a derivation proves."""
    if derivation.division is not None:
        return checker.lemmas[derivation.division.equation]
    name = checker.statement.data["name"]
    for lemma_name, lemma in checker.lemmas.items():
        if lemma_name.startswith(f"{name}, for all "):
            return lemma
    return checker.statement


def _at_points(statement: Statement, derivation: Derivation) -> RelationToDerived:
    """Return how the printed side compares with the derived side at sample points of the statement's domain."""
    printed = sympy_sides(statement)[1]
    if printed is None or statement.relation in ORDERS:
        return "undecided"
    symbols = tuple(sympy_symbols(statement).values())
    points = _points(
        tuple(derivation.variables.items()), symbols, sympy_conditions(statement)
    )
    below, above = _certain_differences(derivation.last, printed, points)
    if (below and above) or (statement.relation == "=" and (below or above)):
        return "differs"
    is_better = above if statement.relation in {">=", ">"} else below
    return "stronger" if is_better else "undecided"


@lru_cache(maxsize=64)
def _points(
    variables: tuple[tuple[str, Variable], ...],
    symbols: tuple[Any, ...],
    conditions: tuple[Any, ...],
) -> list[dict[str, Any]]:
    """Return sample points of a domain. They are cached, since readings of a claim often have the same domain."""
    return Setting(dict(variables), symbols, conditions, _POINTS, 0).points.samples


def _certain_differences(
    derived: Any, printed: Any, points: list[dict[str, Any]]
) -> tuple[bool, bool]:
    """Test whether the printed side is certainly below, and certainly above, the derived one at some point."""
    below = above = False
    try:
        derived_value = compile_expr(derived)
        printed_value = compile_expr(printed)
    except TypeError:
        return False, False
    for point in points:
        try:
            left = printed_value(dict(point), _BITS)
            right = derived_value(dict(point), _BITS)
        except EvaluationError:
            continue
        below = below or compare(left, "<", right) is True
        above = above or compare(left, ">", right) is True
    return below, above


def write_order_weights(goals: Goals, place: FactList, data: dict[str, Any]) -> str:
    """Write the weights of each term of the last expression. Return why there are none, or an empty text."""
    proof = place.proof
    scope = place.scope
    printed = proof.read(data["rhs"])
    tilde = data["relation"] == "O~"
    pairs = [entry for entry in _pairs(place) if _bounded(goals, place, *entry)]
    for expr in (printed, proof.rhs):
        _signs(goals, place, expr)
    terms = proof.rates(proof.rhs, frozenset(data["hides"]))
    right = proof.rates(printed)
    bounded = [entry for pair in pairs for entry in proof.at_most(*pair)]
    logarithms = {
        a for entry in (*terms, *right, *bounded) for a in entry if a[0] == "log"
    }
    spare = [{a: fmpq(1)} for a in sorted(logarithms)] if tilde else []
    spare += [
        {a: fmpq(-1)}
        for a in sorted(logarithms)
        if scope.sign(a[1] - k.constant(2)) & 1
    ]
    weights = []
    for term in terms:
        columns = [*({**entry, None: fmpq(1)} for entry in right), *bounded, *spare]
        rows = {
            a: row
            for row, a in enumerate({a: 0 for entry in (*columns, term) for a in entry})
        }
        matrix = [{rows[a]: x for a, x in entry.items()} for entry in columns]
        solution = solve(
            matrix,
            {rows[a]: x for a, x in {**term, None: fmpq(1)}.items()},
            [False] * len(columns),
        )
        if solution is None:
            return "a term of what is reached is not proven to be of the order"
        ends = len(right), len(right) + len(bounded)
        weights.append(
            [
                [str(x) for x in part]
                for part in (solution[: ends[0]], solution[ends[0] : ends[1]])
            ]
        )
    data["order"] |= {"known": pairs, "weights": weights}
    return ""


def _pairs(place: FactList) -> Iterator[tuple[Expr, Expr]]:
    """Yield pairs whose first part is at most the second: by the conditions, and 1 with each integer letter."""
    proof = place.proof
    for kind, a, b in (
        condition
        for condition in proof.data["conditions"]
        if condition[0] in ("<", "<=", ">", ">=", "=")
    ):
        small = proof.read(a)
        large = proof.read(b)
        yield from [(small, large)] * (kind in "<=") + [(large, small)] * (kind in ">=")
    yield from (
        (k.rational(1), k.letter(name))
        for name, kind in proof.kinds.items()
        if kind == "integer"
    )


def _bounded(goals: Goals, place: FactList, small: Expr, large: Expr) -> bool:
    """Test whether the checker accepts such a pair after signs are proved."""
    try:
        for expr in (small, large):
            _signs(goals, place, expr)
        return (
            goals.prove_expr(place, large, True)
            and goals.prove_expr(place, large - small)
            and bool(place.proof.at_most(small, large))
        )
    except (k.Refused, ValueError):
        return False


def _signs(goals: Goals, place: FactList, expr: Expr) -> None:
    prepare(goals, place, expr)
    for log in _logarithms(expr):
        if not goals.prove_expr(place, log) and goals.prove_expr(
            place, log[1] - k.rational(1)
        ):
            place.fact(
                ">=",
                log,
                "instance",
                "rule",
                "log-monotone",
                {"a": k.rational(1), "b": log[1]},
            )
        goals.prove_expr(place, log[1] - k.rational(2))


def _logarithms(expr: Expr) -> dict[Expr, None]:
    """Return the logarithms of an expression in the order in which it contains them.

    Certificates must not depend on the order of a set.
    """
    logarithms = {expr: None} if expr[0] == "log" else {}
    for part in (a for a in expr if isinstance(a, k.Row)):
        logarithms |= _logarithms(part)
    return logarithms
