"""Whether a derivation is complete: as the recorded run found it, where nothing that it rests on has changed since.

Whatever changes in the code or the record, be it a planted fault, gives other evidence: then it is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.recorded_proof import RecordedRun
from dpverify.harness.run.suite import Suite
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.steps import Derivation


@cache
def _recorded() -> tuple[Suite, RecordedRun]:
    return Suite(load_specs(), "standard", 0), RecordedRun()


def found_complete(statement: Statement) -> Iterator[Derivation]:
    """Yield what is derived beside a statement of the record, if it and all below it were found complete."""
    suite, run = _recorded()
    reading, variant = statement.reading, statement.variant
    claim = suite.specs.claim(statement.key)
    if (
        claim.pinned(reading, variant) == "untested"
        or claim.statement(reading, variant) != statement
    ):
        return
    (case,) = (case for case in suite.cases(claim) if case.reading == reading)
    for job in {"printed": case.printed, "amended": case.amended, "held": case.held}[
        variant
    ]:
        result = run.result(claim, statement, job.check, case.evidence_hash)
        if (
            result is not None
            and result.derivation is not None
            and result.derivation.complete
            and not result.error
        ):
            check = job.find()
            assert isinstance(check, DerivationCheck | CitedDerivationCheck)
            yield check.build(statement)


def faulty_steps(
    derivation: Derivation, statement: Statement, points: int
) -> list[tuple[str, str]]:
    """List the steps of a derivation that do not hold, each by its rule, with what is wrong with it.

    ``statement``: beside which it is derived.
    """
    if derivation in found_complete(statement):
        return []
    found = check_derivation(derivation, points=points)
    faulty = [(step.rule, step.note) for step in found.steps if step.status != "proved"]
    return [] if found.complete else [*faulty, ("the whole", found.note)]
