"""Records of tested optimizers and audited mechanisms for the page peers.md."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from dpverify.conform.peers import says_of, short_target, versions_of
from dpverify.report.peer_records import SEVERITIES, Peer, PeerTest

if TYPE_CHECKING:
    from dpverify.privacy.audit.records import AuditResult

FINDINGS = "FINDINGS"  # in an adapter: function -> (severity, what the library documents), of what is known to be found


def annotated(peer: Peer, target: str, module: ModuleType) -> Peer:
    """Add the severity of a known finding and what the library documents of it, both from the adapter."""
    severity, documented = getattr(module, FINDINGS, {}).get(target.rpartition(":")[2], ("", ""))
    if severity and severity not in SEVERITIES:
        raise ValueError(f"severity must be one of {', '.join(SEVERITIES)}, got {severity!r}.")
    return msgspec.structs.replace(peer, severity=severity, documented=documented)


def audited(target: str, module: ModuleType, result: AuditResult) -> Peer:
    """Return the record of an audit whose claim is in its result."""
    claim = result.claim
    bound = f"epsilon is at least {result.epsilon:.4g} at delta = {result.bound.delta:g} ({result.n} outputs)"
    limit = result.power.largest_epsilon if result.power else 0.0
    test = PeerTest(
        name="audit",
        passed=result.verdict != "refuted",
        found=bound,
        sees=f"no epsilon above {float(limit):.3g}" if claim else "a lower bound, without a claim",
    )
    peer = Peer(
        target=short_target(target),
        says=says_of(getattr(module, target.rpartition(":")[2]), target),
        promise=f"epsilon {claim.epsilon:g}, delta {claim.delta:g}" if claim else "nothing",
        epsilon=[],
        versions=versions_of(module),
        tests=[test],
    )
    return annotated(peer, target, module)
