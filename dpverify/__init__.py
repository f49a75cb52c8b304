"""Executable checks of papers on differentially private optimization.

Public names are loaded when they are first used, so that ``import dpverify`` costs next to nothing.

Examples
--------
>>> import dpverify as dv
>>> results = dv.verify("tran2022:proposition-18", budget="smoke", seed=0)  # doctest: +SKIP
>>> results[0].status, results[0].slack, results[0].counterexamples  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.api import audit, verify, verify_run
    from dpverify.calibrate.by_name import calibration
    from dpverify.calibrate.guarantee import epsilon, event, sigma
    from dpverify.conform import PrivateOptimizer, Promise, conformance
    from dpverify.ledger.errors import SpecError, UnknownClaim
    from dpverify.ledger.load import load_specs
    from dpverify.ledger.results import Result, Run
    from dpverify.privacy.audit.records import AuditError, AuditResult

__version__ = "0.1.0"

__all__ = [
    "AuditError",
    "AuditResult",
    "PrivateOptimizer",
    "Promise",
    "Result",
    "Run",
    "SpecError",
    "UnknownClaim",
    "__version__",
    "audit",
    "calibration",
    "conformance",
    "epsilon",
    "event",
    "load_specs",
    "sigma",
    "verify",
    "verify_run",
]

_HOMES = {
    "api": "audit verify verify_run",
    "calibrate.by_name": "calibration",
    "calibrate.guarantee": "epsilon event sigma",
    "conform": "PrivateOptimizer Promise conformance",
    "ledger.errors": "SpecError UnknownClaim",
    "ledger.load": "load_specs",
    "ledger.results": "Result Run",
    "privacy.audit.records": "AuditError AuditResult",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
