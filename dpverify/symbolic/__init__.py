"""Evaluate formula trees, convert them to sympy, and check derivations and the catalogue's rules that they cite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.symbolic.certify.judge import check_derivation
    from dpverify.symbolic.derive.steps import (
        Case,
        Cases,
        Derivation,
        DerivationError,
        Premise,
        Step,
        premise_of,
    )
    from dpverify.symbolic.exact.evaluate import evaluate_statement
    from dpverify.symbolic.exact.numbers import (
        DomainError,
        EvaluationError,
        Exact,
        UndecidedError,
        UnsupportedError,
    )
    from dpverify.symbolic.expressions.functions import (
        HOLE,
        Bit,
        Inner,
        Log2,
        Moment,
        Norm,
        PopCount,
    )
    from dpverify.symbolic.expressions.ranges import (
        AnyVector,
        GaussianNorm,
        Range,
        SetBits,
        integer,
        real,
    )
    from dpverify.symbolic.expressions.translation import (
        sympy_conditions,
        sympy_sides,
        sympy_symbols,
    )
    from dpverify.symbolic.rules import CATALOGUE, Rule

# Modules are loaded when a name is first used,
# so that evaluation does not import sympy.
_HOMES = {
    "certify.judge": "check_derivation",
    "expressions.functions": "HOLE Bit Inner Log2 Moment Norm PopCount",
    "exact.numbers": "DomainError EvaluationError Exact UndecidedError UnsupportedError",
    "expressions.ranges": "AnyVector GaussianNorm Range SetBits integer real",
    "rules": "CATALOGUE Rule",
    "exact.evaluate": "evaluate_statement",
    "derive.steps": "Case Cases Derivation DerivationError Premise Step premise_of",
    "expressions.translation": "sympy_conditions sympy_sides sympy_symbols",
}

__all__ = [
    "CATALOGUE",
    "HOLE",
    "AnyVector",
    "Bit",
    "Case",
    "Cases",
    "Derivation",
    "DerivationError",
    "DomainError",
    "EvaluationError",
    "Exact",
    "GaussianNorm",
    "Inner",
    "Log2",
    "Moment",
    "Norm",
    "PopCount",
    "Premise",
    "Range",
    "Rule",
    "SetBits",
    "Step",
    "UndecidedError",
    "UnsupportedError",
    "check_derivation",
    "evaluate_statement",
    "integer",
    "premise_of",
    "real",
    "sympy_conditions",
    "sympy_sides",
    "sympy_symbols",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
