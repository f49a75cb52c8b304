"""Terms of a formula: its addends, and the addends of a sum inside a product."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpverify.ledger.formula import Bin, Formula, Neg, Num


class TermError(LookupError):
    """A formula does not have the term that was asked for."""


def term(node: Formula, path: Sequence[int]) -> Formula:
    """A term by its path: ``[1, 3]`` is the third addend of the first sum inside the first addend, without factor."""
    found = node
    for depth, number in enumerate(path):
        terms = addends(found if depth == 0 else _sum_in(found))
        if not 1 <= number <= len(terms):
            raise TermError(f"there are {len(terms)} terms, not {number}")
        found = terms[number - 1]
    if not path:
        raise TermError("the path is empty")
    return found


def common_factor(node: Formula, path: Sequence[int]) -> Formula:
    """What multiplies the sum inside a term; arguments and errors as for :func:`term`."""
    return _without(found := term(node, path), _sum_in(found))


def addends(node: Formula) -> list[Formula]:
    """What is added up, in order; what is taken away comes with its minus."""
    if isinstance(node, Bin) and node.op in "+-":
        last: Formula = node.right if node.op == "+" else Neg(node.right)
        return [*addends(node.left), last]
    return [node]


def _sum_in(node: Formula) -> Formula:
    """The first sum among the factors of a product."""
    if isinstance(node, Bin) and node.op in "+-":
        return node
    if isinstance(node, Bin) and node.op in "*/":
        for side in (node.left, node.right) if node.op == "*" else (node.left,):
            try:
                return _sum_in(side)
            except TermError:
                continue
    raise TermError("there is no sum among the factors")


def _without(node: Formula, factor: Formula) -> Formula:
    """A product without one of its factors."""
    if node is factor:
        return Num(Fraction(1))
    if isinstance(node, Bin) and node.op == "*":
        if node.left is factor:
            return node.right
        if node.right is factor:
            return node.left
    if isinstance(node, Bin) and node.op in "*/":
        return Bin(node.op, _without(node.left, factor), node.right)
    return node
