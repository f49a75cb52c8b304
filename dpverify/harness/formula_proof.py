"""Automatic proofs: a search looks for a proof of a claim with two formulas, and the checker decides it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpverify.harness.checks import Context, missed_controls
from dpverify.harness.derivation_check import (
    Build,
    DerivationCheck,
    changed_printed_side,
    has_text,
)
from dpverify.ledger.check_results import CheckResult, DerivationResult, StepResult
from dpverify.ledger.formula import Call, walk
from dpverify.ledger.statements import Statement

if TYPE_CHECKING:
    from dpverify.symbolic.certify.certificates import Certificate
    from dpverify.symbolic.derive.steps import Derivation

FUNCTIONS = {
    "log",
    "log2",
    "exp",
    "sqrt",
    "abs",
    "min",
    "max",
    "floor",
    "ceil",
    "mod",
    "bit",
    "popcount",
    "binomial",
}
"""Functions that certificates can express."""

RELATIONS = {"<=", ">=", "=", "<", ">"}

SMOKE_EFFORT = 6_000  # goals in a smoke run, which take a few seconds

NOT_FOUND = "no proof was found"
NAME = "found automatically"


def left_side(statement: Statement) -> Derivation:
    """Return a derivation that consists of the left side only. The facts of the certificate replace its steps."""
    from dpverify.symbolic.automatic.proofs import from_left_side

    return from_left_side(statement)


@dataclass(frozen=True)
class FormulaProof(DerivationCheck):
    """Search for a proof of a statement of two formulas. The stand-alone checker decides whether it is a proof."""

    build: Build = field(default=left_side, kw_only=True)

    def can_judge(self, statement: Statement) -> bool:
        """Return whether both sides are formulas that certificates can express, and ``proofs.toml`` has no proof."""
        if (
            has_text(statement)
            or statement.lhs is None
            or statement.rhs is None
            or statement.relation not in RELATIONS
        ):
            return False
        nodes = (
            statement.lhs,
            statement.rhs,
            *(value for _, value in statement.let),
            *statement.requires,
        )
        called = {
            part.name for node in nodes for part in walk(node) if isinstance(part, Call)
        }
        kinds = {domain.kind for domain in statement.domains.values()}
        return kinds <= {"real", "integer"} and called <= FUNCTIONS

    def certificate(self, statement: Statement) -> Certificate:
        """Return the certificate that a search finds."""
        from dpverify.symbolic.automatic.proofs import prove
        from dpverify.symbolic.certify.certificates import Certificate

        outcome = prove(statement)
        return Certificate(outcome.certificate, "; ".join(outcome.tried))

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Search for a certificate that the checker accepts."""
        if (
            context.proof is not None
            and (recorded := context.proof.checked()) is not None
        ):
            return recorded
        from dpverify.symbolic.automatic.proofs import EFFORT, prove

        del block
        statement = context.statement
        outcome = prove(
            statement, SMOKE_EFFORT if context.budget.name == "smoke" else EFFORT
        )
        if outcome.certificate is None:
            return self.result(
                status="untested", message="; ".join([NOT_FOUND, *outcome.tried])
            )
        controls = [changed_printed_side(statement, outcome.certificate)]
        missed = missed_controls(controls)
        return self.result(
            status="inconclusive" if missed else "proved",
            message="; ".join(filter(None, [f"{NAME}, {outcome.way}", missed])),
            detects="a printed side that does not follow",
            derivation=_as_result(statement, outcome.certificate, outcome.way),
            relation_to_derived="equal",
            controls=controls,
        )


def _as_result(
    statement: Statement, certificate: dict[str, Any], method: str
) -> DerivationResult:
    """Return the proof as a chain of one step, with the facts that it uses as a note."""
    import sympy

    from dpverify.symbolic.automatic.argument import argument_lines
    from dpverify.symbolic.expressions.translation import sympy_sides

    left, right = sympy_sides(statement)
    note = "; ".join(argument_lines(certificate, method))
    relation = str(statement.relation)
    steps = [
        StepResult(
            expression=str(left),
            latex=sympy.latex(left),
            relation="",
            rule="start",
            status="proved",
        ),
        StepResult(
            expression=str(right),
            latex=sympy.latex(right),
            relation=relation,
            rule=NAME,
            status="proved",
            note=note,
        ),
    ]
    return DerivationResult(name=NAME, whose="ours", steps=steps, complete=True)
