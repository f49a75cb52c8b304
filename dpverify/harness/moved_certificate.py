"""Control of a certificate: with the printed side moved, its facts must not prove the statement."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpverify.harness.derivation_check import FACTORS, moves
from dpverify.harness.planted import Planted, moved_side
from dpverify.ledger.formula import to_text
from dpverify.ledger.results import ControlResult
from dpverify.ledger.statements import Statement


def printed_moved(statement: Statement, certificate: dict[str, Any], start: Any = None) -> ControlResult:
    """Move the printed side until the facts of a certificate do not prove it; say how far that was.

    ``start``: what stands for a quantity that no record defines.
    """
    from dpverify.symbolic.automatic.proofs import also_proves

    for number, (fault, moved) in enumerate(_faults(statement)):
        if not also_proves(certificate, moved, start):
            return ControlResult(name="printed moved", fault=fault, at_declared_size=number < 2, refuted=True)
    return ControlResult(name="printed moved", fault="every fault", at_declared_size=True, refuted=False)


def _faults(statement: Statement) -> Iterator[tuple[str, Statement]]:
    """Printed sides that are wrong; where no factor changes one, it is set on the other side of the left."""
    for factor in FACTORS:
        yield from moves(statement, factor)
    if statement.relation == "=":
        yield "printed + 1/100", moved_side(statement, "+", Fraction(1, 100))
    else:
        assert statement.lhs is not None
        left = to_text(statement.lhs)
        yield "2*left - printed", Planted("turned", rhs=f"2*({left}) - printed").statement(statement)
