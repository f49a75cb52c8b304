"""Lost proofs: statements recorded as proved that no derivation proves any more, or only with more premises."""

from __future__ import annotations

import re

from dpverify.ledger.records import HOLDS
from dpverify.ledger.results import IMPLIED, INTERRUPTED, CheckResult, Result

REFUTED = re.compile(r", (pinned )?refuted\b")  # in the text of a premise
PROVED = HOLDS[:2]  # "proved" and "proved given"


def lost_proofs(result: Result) -> list[str]:
    """Return our failing derivations of statements that are recorded as proved and that no other check proves.

    A recorded verdict that a run does not confirm may need a larger budget. A derivation does not depend on the budget,
    so its failure is our error, like a check that raises. A statement is skipped if another derivation of it was not
    run. A derivation is skipped if too few sample points were found to check one of its steps. A proof is also lost if
    all remaining proofs assume a fact of the literature. Premises that are statements of our records do not count,
    because this run may not have judged them.
    """
    judged = [(result.pinned, result.status, result.checks)]
    judged += [
        (statement.pinned, statement.status, statement.checks)
        for statement in result.beside
    ]
    lost = list[str]()
    for pinned, status, checks in judged:
        if any(map(_was_not_run, checks)):
            continue
        if pinned in PROVED and status not in PROVED:
            lost += [
                f"{check.name}: {check.message}" for check in checks if _fails(check)
            ]
        proofs = [check for check in checks if check.status == status]
        if (pinned, status) == ("proved", "proved given") and all(
            map(_unrecorded_premises, proofs)
        ):
            lost += [
                f"{check.name}: given {', '.join(_unrecorded_premises(check))}"
                for check in proofs
            ]
    return lost


def _was_not_run(check: CheckResult) -> bool:
    return check.message == INTERRUPTED or (
        check.method == "derivation" and check.derivation is None
    )


def _fails(check: CheckResult) -> bool:
    chain = check.derivation
    if chain is None or chain.whose != "ours" or chain.note or check.error:
        return False
    return not chain.complete or check.relation_to_derived not in (*IMPLIED, None)


def _unrecorded_premises(check: CheckResult) -> list[str]:
    """Return the premises of a proof that are not statements of our records, or that are refuted."""
    ours = tuple(str(reference).removesuffix(")") for reference in check.references)
    return [
        premise
        for premise in check.given
        if not premise.startswith(ours) or REFUTED.search(premise)
    ]
