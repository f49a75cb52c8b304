"""Formula trees to exact numbers and to sympy; derivations and the catalogue of inequalities that they cite.

The names below load their modules when they are first used: what evaluates and decides does not import sympy.
``evaluate``, ``decide`` and ``conclude`` are also names of modules and come from there:
``from dpverify.symbolic.evaluate import evaluate``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.symbolic.conclude import Conclusion, compare_with
    from dpverify.symbolic.data import AnyVector, GaussianNorm, SetBits
    from dpverify.symbolic.decide import to_number
    from dpverify.symbolic.derivation import check_derivation
    from dpverify.symbolic.evaluate import holds
    from dpverify.symbolic.from_sympy import evaluate_expr
    from dpverify.symbolic.functions import HOLE, Bit, Inner, Log2, Moment, Norm, PopCount
    from dpverify.symbolic.numbers import DomainError, EvaluationError, Exact, UndecidedError, UnsupportedError
    from dpverify.symbolic.perturb import Perturbation, perturbations
    from dpverify.symbolic.ranges import Range, integer, real
    from dpverify.symbolic.rules import CATALOGUE, Rule, find_rule
    from dpverify.symbolic.statements import decide_statement, domains_hold, evaluate_statement, requires_hold
    from dpverify.symbolic.steps import Case, Cases, Derivation, DerivationError, Premise, Step, premise_of
    from dpverify.symbolic.to_sympy import sympy_conditions, sympy_sides, sympy_symbols, to_sympy

_HOMES = {
    "conclude": ("Conclusion", "compare_with"),
    "data": ("AnyVector", "GaussianNorm", "SetBits"),
    "decide": ("to_number",),
    "derivation": ("check_derivation",),
    "evaluate": ("holds",),
    "from_sympy": ("evaluate_expr",),
    "functions": ("HOLE", "Bit", "Inner", "Log2", "Moment", "Norm", "PopCount"),
    "numbers": ("DomainError", "EvaluationError", "Exact", "UndecidedError", "UnsupportedError"),
    "perturb": ("Perturbation", "perturbations"),
    "ranges": ("Range", "integer", "real"),
    "rules": ("CATALOGUE", "Rule", "find_rule"),
    "statements": ("decide_statement", "domains_hold", "evaluate_statement", "requires_hold"),
    "steps": ("Case", "Cases", "Derivation", "DerivationError", "Premise", "Step", "premise_of"),
    "to_sympy": ("sympy_conditions", "sympy_sides", "sympy_symbols", "to_sympy"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOGUE",
    "HOLE",
    "AnyVector",
    "Bit",
    "Case",
    "Cases",
    "Conclusion",
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
    "Perturbation",
    "PopCount",
    "Premise",
    "Range",
    "Rule",
    "SetBits",
    "Step",
    "UndecidedError",
    "UnsupportedError",
    "check_derivation",
    "compare_with",
    "decide_statement",
    "domains_hold",
    "evaluate_expr",
    "evaluate_statement",
    "find_rule",
    "holds",
    "integer",
    "perturbations",
    "premise_of",
    "real",
    "requires_hold",
    "sympy_conditions",
    "sympy_sides",
    "sympy_symbols",
    "to_number",
    "to_sympy",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
