"""The weights that prove an order of growth, for a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flint import fmpq

from dpverify.symbolic.certify.checker import Expr, k
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.prove.certificate import solve


def weighed(goals: Goals, place: FactList, data: dict[str, Any]) -> str:
    """Write the weights of each term of what the chain reaches; why there are none."""
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
    logarithms = {a for entry in (*terms, *right, *bounded) for a in entry if a[0] == "log"}
    spare = [{a: fmpq(1)} for a in sorted(logarithms)] if tilde else []
    spare += [{a: fmpq(-1)} for a in sorted(logarithms) if scope.sign(a[1] - k.constant(2)) & 1]
    weights = []
    for term in terms:
        columns = [*({**entry, None: fmpq(1)} for entry in right), *bounded, *spare]
        rows = {a: row for row, a in enumerate({a: 0 for entry in (*columns, term) for a in entry})}
        matrix = [{rows[a]: x for a, x in entry.items()} for entry in columns]
        solution = solve(matrix, {rows[a]: x for a, x in {**term, None: fmpq(1)}.items()}, [False] * len(columns))
        if solution is None:
            return "a term of what is reached is not proven to be of the order"
        ends = len(right), len(right) + len(bounded)
        weights.append([[str(x) for x in part] for part in (solution[: ends[0]], solution[ends[0] : ends[1]])])
    data["order"] |= {"known": pairs, "weights": weights}
    return ""


def _pairs(place: FactList) -> Iterator[tuple[Expr, Expr]]:
    """What the conditions say is not above something else; 1 is not above any positive whole number."""
    proof = place.proof
    for kind, a, b in (
        condition for condition in proof.data["conditions"] if condition[0] in ("<", "<=", ">", ">=", "=")
    ):
        small = proof.read(a)
        large = proof.read(b)
        yield from [(small, large)] * (kind in "<=") + [(large, small)] * (kind in ">=")
    yield from ((k.rational(1), k.letter(name)) for name, kind in proof.kinds.items() if kind == "integer")


def _bounded(goals: Goals, place: FactList, small: Expr, large: Expr) -> bool:
    """Whether the checker takes such a pair, once signs are known."""
    try:
        for expr in (small, large):
            _signs(goals, place, expr)
        return (
            goals.expr(place, large, True)
            and goals.expr(place, large - small)
            and bool(place.proof.at_most(small, large))
        )
    except (k.Refused, ValueError):
        return False


def _signs(goals: Goals, place: FactList, expr: Expr) -> None:
    prepare(goals, place, expr)
    for log in _logarithms(expr):
        if not goals.expr(place, log) and goals.expr(place, log[1] - k.rational(1)):
            place.fact(">=", log, "instance", "rule", "log-monotone", {"a": k.rational(1), "b": log[1]})
        goals.expr(place, log[1] - k.rational(2))


def _logarithms(expr: Expr) -> dict[Expr, None]:
    """The logarithms of an expression, in the order in which they stand there: no certificate may hang on a set's."""
    logarithms = {expr: None} if expr[0] == "log" else {}
    for part in (a for a in expr if isinstance(a, k.Row)):
        logarithms |= _logarithms(part)
    return logarithms
