"""Proofs of ours that are gone: a statement is pinned as proved, and no derivation proves it, or only given more."""

from __future__ import annotations

import re

from dpverify.ledger.records import HOLDS
from dpverify.ledger.results import IMPLIED, INTERRUPTED, CheckResult, Result

REFUTED = re.compile(r", (pinned )?refuted\b")  # what is said of a premise
PROVED = HOLDS[:2]  # without what is argued in words, or not refuted


def lost_proofs(result: Result) -> list[str]:
    """Derivations of ours that fail, of statements pinned as proved that nothing else proves.

    A pin that a run does not confirm may need a larger budget. A derivation does not, so that one which fails is an
    error of ours, as a check that breaks is. Nothing is said where another derivation of the statement was not run, or
    where too few points were found to look at a step. A proof is lost as well where all that are left take something of
    the literature for granted; premises that are other statements may only not have been judged in this run.
    """
    judged = [(result.pinned, result.status, result.checks)]
    judged += [(statement.pinned, statement.status, statement.checks) for statement in result.beside]
    lost = list[str]()
    for pinned, status, checks in judged:
        if any(map(_not_run, checks)):
            continue
        if pinned in PROVED and status not in PROVED:
            lost += [f"{check.name}: {check.message}" for check in checks if _fails(check)]
        proofs = [check for check in checks if check.status == status]
        if (pinned, status) == ("proved", "proved given") and all(map(_granted, proofs)):
            lost += [f"{check.name}: given {', '.join(_granted(check))}" for check in proofs]
    return lost


def _not_run(check: CheckResult) -> bool:
    return check.message == INTERRUPTED or (check.method == "derivation" and check.derivation is None)


def _fails(check: CheckResult) -> bool:
    chain = check.derivation
    if chain is None or chain.whose != "ours" or chain.note or check.error:
        return False
    return not chain.complete or check.relation_to_derived not in (*IMPLIED, None)


def _granted(check: CheckResult) -> list[str]:
    """Premises of a proof that are no statements of ours, or refuted."""
    ours = tuple(str(reference).removesuffix(")") for reference in check.references)
    return [premise for premise in check.given if not premise.startswith(ours) or REFUTED.search(premise)]
