"""Formula trees to exact numbers and to sympy; derivations and the catalogue of inequalities that they cite.

The names below load their modules when they are first used: what evaluates and decides does not import sympy.
``evaluate``, ``decide`` and ``conclude`` are also names of modules and come from there:
``from dpverify.symbolic.exact.evaluate import evaluate``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.symbolic.derive.conclude import Conclusion, compare_with
    from dpverify.symbolic.derive.derivation import check_derivation
    from dpverify.symbolic.derive.perturb import Perturbation, perturbations
    from dpverify.symbolic.derive.steps import Case, Cases, Derivation, DerivationError, Premise, Step, premise_of
    from dpverify.symbolic.exact.decide import to_number
    from dpverify.symbolic.exact.evaluate import holds
    from dpverify.symbolic.exact.numbers import DomainError, EvaluationError, Exact, UndecidedError, UnsupportedError
    from dpverify.symbolic.exact.statements import decide_statement, domains_hold, evaluate_statement, requires_hold
    from dpverify.symbolic.expressions.data import AnyVector, GaussianNorm, SetBits
    from dpverify.symbolic.expressions.from_sympy import evaluate_expr
    from dpverify.symbolic.expressions.functions import HOLE, Bit, Inner, Log2, Moment, Norm, PopCount
    from dpverify.symbolic.expressions.ranges import Range, integer, real
    from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols, to_sympy
    from dpverify.symbolic.rules import CATALOGUE, Rule, find_rule

_HOMES = {
    "derive.conclude": "Conclusion compare_with",
    "expressions.data": "AnyVector GaussianNorm SetBits",
    "exact.decide": "to_number",
    "derive.derivation": "check_derivation",
    "exact.evaluate": "holds",
    "expressions.from_sympy": "evaluate_expr",
    "expressions.functions": "HOLE Bit Inner Log2 Moment Norm PopCount",
    "exact.numbers": "DomainError EvaluationError Exact UndecidedError UnsupportedError",
    "derive.perturb": "Perturbation perturbations",
    "expressions.ranges": "Range integer real",
    "rules": "CATALOGUE Rule find_rule",
    "exact.statements": "decide_statement domains_hold evaluate_statement requires_hold",
    "derive.steps": "Case Cases Derivation DerivationError Premise Step premise_of",
    "expressions.to_sympy": "sympy_conditions sympy_sides sympy_symbols to_sympy",
}

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

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
