"""The formula language of ``specs/README.md``: text to tree, tree to LaTeX and back to text. Nothing is evaluated."""

from dpverify.ledger.formula.errors import FormulaError
from dpverify.ledger.formula.latex import latex
from dpverify.ledger.formula.names import check_names
from dpverify.ledger.formula.parse import parse, parse_relation
from dpverify.ledger.formula.text import decimal_text, to_text
from dpverify.ledger.formula.tree import (
    BUILTINS,
    RESERVED,
    Bin,
    Call,
    Compare,
    Comparison,
    Formula,
    Inf,
    Integral,
    Name,
    Neg,
    Node,
    Num,
    Operator,
    Sum,
    children,
    free_names,
    substitute,
    walk,
    with_pi,
)

__all__ = [
    "BUILTINS",
    "RESERVED",
    "Bin",
    "Call",
    "Compare",
    "Comparison",
    "Formula",
    "FormulaError",
    "Inf",
    "Integral",
    "Name",
    "Neg",
    "Node",
    "Num",
    "Operator",
    "Sum",
    "check_names",
    "children",
    "decimal_text",
    "free_names",
    "latex",
    "parse",
    "parse_relation",
    "substitute",
    "to_text",
    "walk",
    "with_pi",
]
