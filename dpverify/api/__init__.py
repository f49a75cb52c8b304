"""The Python interface: judge claims, read recorded verdicts, explain, draw and evaluate claims, audit mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.api.conditions import ConditionError
    from dpverify.api.conditions_met import used_conditions
    from dpverify.api.explanation import Explanation, explain, figure
    from dpverify.api.formulas import ClaimFormula, formula
    from dpverify.api.judge import audit, verify, verify_run
    from dpverify.api.verdicts import Verdicts, recorded

__all__ = [
    "ClaimFormula",
    "ConditionError",
    "Explanation",
    "Verdicts",
    "audit",
    "explain",
    "figure",
    "formula",
    "recorded",
    "used_conditions",
    "verify",
    "verify_run",
]

_HOMES = {
    "conditions": "ConditionError",
    "conditions_met": "used_conditions",
    "explanation": "Explanation explain figure",
    "formulas": "ClaimFormula formula",
    "judge": "audit verify verify_run",
    "verdicts": "recorded Verdicts",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
