"""Executable checks of papers on differentially private optimization.

Public names are loaded when they are first used, so that ``import dpverify`` costs next to nothing.

Examples
--------
>>> import dpverify as dv
>>> results = dv.verify("tran2022:proposition-18", budget="smoke", seed=0)  # doctest: +SKIP
>>> results[0].status, results[0].slack, results[0].counterexamples  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.api import audit, verify, verify_run
    from dpverify.ledger.errors import SpecError, UnknownClaim
    from dpverify.ledger.load import load_specs
    from dpverify.ledger.results import Result, Run
    from dpverify.privacy.audit.records import AuditError, AuditResult

__version__ = "0.1.0"

__all__ = [
    "AuditError",
    "AuditResult",
    "Result",
    "Run",
    "SpecError",
    "UnknownClaim",
    "__version__",
    "audit",
    "load_specs",
    "verify",
    "verify_run",
]

_HOME = {
    "AuditError": "dpverify.privacy.audit.records",
    "AuditResult": "dpverify.privacy.audit.records",
    "Result": "dpverify.ledger.results",
    "Run": "dpverify.ledger.results",
    "SpecError": "dpverify.ledger.errors",
    "UnknownClaim": "dpverify.ledger.errors",
    "audit": "dpverify.api",
    "load_specs": "dpverify.ledger.load",
    "verify": "dpverify.api",
    "verify_run": "dpverify.api",
}


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOME:
        raise AttributeError(f"module 'dpverify' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, whether loaded yet or not."""
    return sorted(__all__)
