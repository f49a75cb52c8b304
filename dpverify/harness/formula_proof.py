"""A proof that nobody wrote: of a claim whose two sides are formulas, where signs and rules suffice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from dpverify.harness.context import Context
from dpverify.harness.derivation_check import Build, DerivationCheck
from dpverify.harness.planted import Planted, moved_side
from dpverify.harness.text_proof import has_text
from dpverify.ledger.formula import Call, to_text, walk
from dpverify.ledger.results import IMPLIED, CheckResult, ControlResult
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.work import Meter

if TYPE_CHECKING:
    from dpverify.symbolic.derive.derivation import Derivation

FUNCTIONS = {"log", "log2", "exp", "sqrt", "abs", "min", "max", "floor", "ceil", "mod", "bit", "popcount", "binomial"}
"""What certificates know."""

WORK = 2_000_000
"""Parts of formulas that are evaluated while a proof is looked for; it ends without one where that is not enough."""

SMOKE_SECONDS = 6.0  # of computing, in a smoke run

NOT_FOUND = "no proof was found by signs and rules"


def searched_for(statement: Statement) -> Derivation:
    """The derivation that is found, or one without a step."""
    from dpverify.symbolic.derive.by_rules import derived_by_rules, from_left_side

    return derived_by_rules(statement, _accepted(statement)) or from_left_side(statement)


def _accepted(statement: Statement) -> Callable[[Derivation], bool]:
    """Whether the stand-alone checker accepts the certificate of a derivation."""

    def accepted(derivation: Derivation) -> bool:
        from dpverify.symbolic.certify.certificates import certify
        from dpverify.symbolic.certify.checker import k, rules

        outcome = certify(statement, derivation)
        if outcome.data is None:
            return False
        try:
            k.run(outcome.data, rules())
        except k.Refused:
            return False
        return True

    return accepted


@dataclass(frozen=True)
class FormulaProof(DerivationCheck):
    """Search for a derivation of a statement of two formulas; a certificate that is accepted is what proves it.

    Where none is found, nothing is said.
    """

    build: Build = field(default=searched_for, kw_only=True)

    def can_judge(self, statement: Statement) -> bool:
        """Whether both sides are formulas in numbers and functions of certificates, and there is no proof as text."""
        if (
            has_text(statement)
            or statement.lhs is None
            or statement.rhs is None
            or statement.relation not in {"<=", ">=", "="}
        ):
            return False
        nodes = (statement.lhs, statement.rhs, *(value for _, value in statement.let), *statement.requires)
        called = {part.name for node in nodes for part in walk(node) if isinstance(part, Call)}
        kinds = {domain.kind for domain in statement.domains.values()}
        return kinds <= {"real", "integer"} and called <= FUNCTIONS

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Search; what is found is checked like any derivation."""
        if context.proof is not None and (recorded := context.proof.checked()) is not None:
            return recorded
        from dpverify.symbolic.derive.by_rules import SECONDS, derived_by_rules

        seconds = SMOKE_SECONDS if context.budget.name == "smoke" else SECONDS
        with Meter(WORK).running():
            derivation = derived_by_rules(context.statement, _accepted(context.statement), seconds)
        if derivation is None:
            return self.result(status="untested", message=NOT_FOUND)
        once = replace(self, build=lambda _: derivation)
        result = super(FormulaProof, once).run_block(replace(context, proof=None), block)
        if result.status != "inconclusive" or result.error:
            return result
        return msgspec.structs.replace(result, status="untested")

    def _controls(self, context: Context, derivation: Derivation) -> tuple[list[ControlResult], list[str]]:
        """Where no factor makes the printed side false, as where a side is 0, set it on the other side of the left."""
        (printed, *remaining), slack = super()._controls(context, derivation)
        if printed.refuted:
            return [printed, *remaining], slack
        from dpverify.symbolic.derive.derivation import conclude

        fault, faulty = _turned(context.statement)
        relation = conclude(derivation, faulty)
        refuted = relation not in IMPLIED
        return [msgspec.structs.replace(printed, fault=fault, refuted=refuted, statistic=relation), *remaining], slack


def _turned(statement: Statement) -> tuple[str, Statement]:
    """A printed side that is false wherever both sides are not equal; of an equality, one that is off by 1%."""
    if statement.relation == "=":
        return "printed + 1/100", moved_side(statement, "+", Fraction(1, 100))
    assert statement.lhs is not None
    left = to_text(statement.lhs)
    return "2*left - printed", Planted("turned", rhs=f"2*({left}) - printed").statement(statement)
