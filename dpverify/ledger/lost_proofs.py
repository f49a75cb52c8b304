"""Proofs of ours that are gone: a statement that is pinned as proved, and whose derivation is no longer complete."""

from __future__ import annotations

from dpverify.ledger.records import HOLDS
from dpverify.ledger.results import Result

PROVED = HOLDS[:-1]


def lost_proofs(result: Result) -> list[str]:
    """Derivations that are not complete, of statements pinned as proved that nothing else proves as well.

    A pin that a run does not confirm may need a larger budget. What a derivation shows is the same at every budget, so
    that one which fails is an error of ours, as a check that breaks is.
    """
    judged = [(result.pinned, result.status, result.checks)]
    judged += [(said.pinned, said.status, said.checks) for said in (result.amendment, result.holds) if said is not None]
    return [
        f"{check.name}: {check.message}"
        for pinned, status, checks in judged
        if pinned in PROVED and (status not in PROVED or PROVED.index(status) > PROVED.index(pinned))
        for check in checks
        if check.derivation is not None and not check.derivation.complete and not check.error
    ]
