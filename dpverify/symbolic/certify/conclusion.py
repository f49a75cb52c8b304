"""Compare the last expression of a derivation with the printed side of its statement."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dpverify.ledger.records import ORDERS, RelationToDerived
from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.chains import read
from dpverify.symbolic.derive.define import expand_definition
from dpverify.symbolic.derive.integers import divided
from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.derive.unnamed import without_local_names
from dpverify.symbolic.exact.numbers import EvaluationError, compare
from dpverify.symbolic.expressions.ranges import Variable
from dpverify.symbolic.expressions.translation import (
    compile_expr,
    sympy_conditions,
    sympy_sides,
    sympy_symbols,
)

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
