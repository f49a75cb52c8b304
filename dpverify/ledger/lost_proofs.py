"""Proofs of ours that are gone: a statement is pinned as proved, and the derivation that was to prove it does not."""

from __future__ import annotations

from dpverify.ledger.records import HOLDS
from dpverify.ledger.results import CheckResult, Result

PROVED = HOLDS[:3]  # without what is argued in words, or not refuted
DO_NOT_IMPLY = {"stronger", "differs", "undecided"}  # relations of a statement to what was derived


def lost_proofs(result: Result) -> list[str]:
    """Derivations of ours that fail, of statements pinned as proved that nothing else proves.

    A pin that a run does not confirm may need a larger budget. A derivation does not, so that one which fails is an
    error of ours, as a check that breaks is. Nothing is said where another derivation of the statement was not run, or
    where too few points were found to look at a step.
    """
    judged = [(result.pinned, result.status, result.checks)]
    judged += [(said.pinned, said.status, said.checks) for said in (result.amendment, result.holds) if said is not None]
    return [
        f"{check.name}: {check.message}"
        for pinned, status, checks in judged
        if pinned in PROVED and status not in PROVED and not any(map(_not_run, checks))
        for check in checks
        if _fails(check)
    ]


def _not_run(check: CheckResult) -> bool:
    return check.method == "derivation" and check.derivation is None


def _fails(check: CheckResult) -> bool:
    chain = check.derivation
    if chain is None or chain.whose != "ours" or chain.note or check.error:
        return False
    return not chain.complete or check.relation_to_derived in DO_NOT_IMPLY
