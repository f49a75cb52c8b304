"""Executable checks of papers on differentially private optimization.

Public names are loaded on first use, so ``import dpverify`` is fast.

Examples
--------
>>> import dpverify as dv
>>> dv.recorded("tran2022").filter(claim="theorem-4-root")[0].status
'proved'
>>> [result.status for result in dv.verify("tran2022:theorem-4-root")]
['proved']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.api import (
        ClaimFormula,
        ConditionError,
        Explanation,
        Verdicts,
        audit,
        explain,
        figure,
        formula,
        recorded,
        used_conditions,
        verify,
        verify_run,
    )
    from dpverify.calibrate.by_name import calibration
    from dpverify.calibrate.guarantee import epsilon, event, sigma
    from dpverify.conform import PrivateOptimizer, Promise, conformance
    from dpverify.conform.training import conformance_of_training
    from dpverify.ledger.errors import SpecError, UnknownClaim
    from dpverify.ledger.load import load_specs
    from dpverify.ledger.results import Result, Run
    from dpverify.privacy.audit.auditor_coverage import audit_auditor
    from dpverify.privacy.audit.one_run import OneRunAudit, audit_one_run
    from dpverify.privacy.audit.records import AuditError, AuditorCoverage, AuditResult
    from dpverify.privacy.audit.sequential import SequentialAudit, audit_sequential
    from dpverify.privacy.matrix import MatrixMechanism
    from dpverify.privacy.selection import selected_epsilon
    from dpverify.symbolic.laws.mechanism import Mechanism

__version__ = "0.1.0"

__all__ = [
    "AuditError",
    "AuditResult",
    "AuditorCoverage",
    "ClaimFormula",
    "ConditionError",
    "Explanation",
    "MatrixMechanism",
    "Mechanism",
    "OneRunAudit",
    "PrivateOptimizer",
    "Promise",
    "Result",
    "Run",
    "SequentialAudit",
    "SpecError",
    "UnknownClaim",
    "Verdicts",
    "__version__",
    "audit",
    "audit_auditor",
    "audit_one_run",
    "audit_sequential",
    "calibration",
    "conformance",
    "conformance_of_training",
    "epsilon",
    "event",
    "explain",
    "figure",
    "formula",
    "load_specs",
    "recorded",
    "selected_epsilon",
    "sigma",
    "used_conditions",
    "verify",
    "verify_run",
]

_HOMES = {
    "api": "ClaimFormula ConditionError Explanation Verdicts audit explain figure formula recorded verify verify_run",
    "api.conditions_met": "used_conditions",
    "calibrate.by_name": "calibration",
    "calibrate.guarantee": "epsilon event sigma",
    "conform": "PrivateOptimizer Promise conformance",
    "conform.training": "conformance_of_training",
    "ledger.errors": "SpecError UnknownClaim",
    "ledger.load": "load_specs",
    "ledger.results": "Result Run",
    "privacy.audit.auditor_coverage": "audit_auditor",
    "privacy.audit.one_run": "OneRunAudit audit_one_run",
    "privacy.audit.records": "AuditError AuditResult AuditorCoverage",
    "privacy.audit.sequential": "SequentialAudit audit_sequential",
    "privacy.matrix": "MatrixMechanism",
    "privacy.selection": "selected_epsilon",
    "symbolic.laws.mechanism": "Mechanism",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
