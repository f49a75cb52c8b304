"""Where laws and pairs of neighbours may stand in a formula."""

from __future__ import annotations

from dpverify.ledger.formula.errors import FormulaError
from dpverify.ledger.formula.signatures import SIGNATURES, Kind
from dpverify.ledger.formula.tree import Call, Compare, Formula, Name, children


def kind_of(node: Formula) -> Kind:
    """Whether a formula gives a number, a law or a pair of laws."""
    return SIGNATURES[node.name].value if isinstance(node, Call) and node.name in SIGNATURES else "number"


def check_kinds(text: str, node: Formula | Compare) -> None:
    """Refuse laws where numbers belong, and the other way round; raises `FormulaError`."""
    if not isinstance(node, Compare) and kind_of(node) != "number":
        rule = f"a formula is a number; {_name(node)} is a {kind_of(node)}: take a divergence or a moment of it"
        raise FormulaError(text, rule)
    _check_inside(text, node)


def _check_inside(text: str, node: Formula | Compare) -> None:
    parts = children(node)
    signature = SIGNATURES.get(node.name) if isinstance(node, Call) else None
    wanted: list[Kind] = ["number"] * len(parts)
    if signature is not None:
        extra = len(parts) - len(signature.arguments)
        wanted = [*signature.arguments, *(signature.arguments[-1:] * extra)]
    for i, (part, kind) in enumerate(zip(parts, wanted, strict=True), 1):
        if kind_of(part) != kind:
            where = f"argument {i} of {node.name}" if isinstance(node, Call) else "an operand"
            raise FormulaError(text, f"{where} is a {kind}, got {_name(part)}, which is a {kind_of(part)}")
        _check_inside(text, part)


def _name(node: Formula) -> str:
    return node.name if isinstance(node, Call) else node.id if isinstance(node, Name) else "a formula"
