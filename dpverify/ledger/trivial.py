"""Statements that are true by their form: both sides are the same formula, or a condition is the claim itself."""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.definitions import Definition
from dpverify.ledger.errors import Place, SpecError
from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    Formula,
    Name,
    Neg,
    Num,
    Sum,
    children,
    free_names,
    to_text,
    walk,
)
from dpverify.ledger.formula.normal import arrangement, is_same_inequality
from dpverify.ledger.formula.tree import Comparison, substitute
from dpverify.ledger.records import HOLDS, ORDERS
from dpverify.ledger.statements import Statement

MOST_ROUNDS = 20  # depth of definitions that use definitions

_COMPARISONS: dict[str, Comparison] = {"<=": "<=", ">=": ">=", "<": "<", ">": ">"}


def identical_sides(statement: Statement) -> str:
    """Return the formula to which both sides are equal after definitions are substituted; empty if they differ.

    Brackets and the order of summands, of factors and of the arguments of min and max do not count as a difference.
    Nothing else is rearranged: the sides of ``(a + b)**2 = a**2 + 2*a*b + b**2`` differ. The result is empty for ``<``
    and ``>`` because these are false for equal sides.
    """
    if statement.rhs is None or statement.relation in {None, "<", ">"}:
        return ""
    left = _left_side(statement)
    if left is None:
        return ""
    left, right = (_expanded(side, statement) for side in (left, statement.rhs))
    return to_text(right) if arrangement(left) == arrangement(right) else ""


def restated_conditions(
    statement: Statement, printed: Statement
) -> tuple[Compare, ...]:
    """Return the conditions that an amendment adds if together they are equivalent to its claim; otherwise nothing.

    A condition is equivalent to an inequality if it is that inequality multiplied by a positive term or raised to a
    positive power. For O and O~, constant factors are ignored. An upper bound on a maximum, or a lower bound on a
    minimum, is replaced by bounds on all arguments.
    """
    is_order = statement.relation in ORDERS
    claimed = "<=" if is_order else _COMPARISONS.get(statement.relation or "")
    if claimed is None or statement.rhs is None or statement.lhs is None:
        return ()
    left, right = (
        _expanded(side, statement) for side in (statement.lhs, statement.rhs)
    )
    conditions = {
        condition: Compare(
            condition.ops,
            tuple(_expanded(side, statement) for side in condition.operands),
        )
        for condition in statement.requires
        if condition not in printed.requires
    }
    positive = _positive_letters(statement)
    equivalent_conditions: list[Compare] = []
    for part in _conjunction(Compare((claimed,), (left, right))):
        equivalent = [
            text
            for text, expanded in conditions.items()
            if is_same_inequality(part, expanded, positive, up_to_constants=is_order)
        ]
        if not equivalent:
            return ()
        equivalent_conditions.append(equivalent[0])
    return tuple(dict.fromkeys(equivalent_conditions))


def trivial_problems(
    claim: ClaimSpec, statement: Statement, place: Place
) -> Iterator[SpecError]:
    """Yield the errors of a verdict that counts a statement as holding although it is true by its form."""
    verdict = claim.verdict(statement.reading)
    if verdict is None:
        return
    if sides := identical_sides(statement):
        field = {"amended": "amendment.formula", "held": "holds"}.get(
            statement.variant, "status"
        )
        if field != "status" or verdict.status in HOLDS:
            rule = "both sides are this formula once definitions are put in: identical sides prove nothing"
            yield place.at(field).error(sides, rule)
    if (
        statement.variant != "amended"
        or verdict.amendment is None
        or verdict.amendment.only_restates
    ):
        return
    if conditions := restated_conditions(statement, claim.statement(statement.reading)):
        rule = "the condition is what the amendment claims: it needs only_restates = true, and is no correction"
        yield place.at("amendment.requires").error(
            ", ".join(map(to_text, conditions)), rule
        )


def _left_side(statement: Statement) -> Formula | None:
    """Return the left side as a formula; for a measured quantity its definition, or None without a definition."""
    if statement.lhs is not None or statement.quantity is None:
        return statement.lhs
    meaning = statement.definition(statement.quantity)
    if meaning is None or meaning.statement.rhs is None:
        return None
    return _with_let(meaning.statement.rhs, meaning.statement)


def _expanded(node: Formula, statement: Statement) -> Formula:
    """Return a formula after the definitions of the statement and of the paper's functions are substituted."""
    for _ in range(MOST_ROUNDS):
        previous = node
        node = _with_functions(_with_let(node, statement), statement)
        if node == previous:
            break
    return node


def _with_let(node: Formula, statement: Statement) -> Formula:
    for name, value in reversed(statement.let):
        node = substitute(node, {Name(name): value})
    return node


def _with_functions(node: Formula, statement: Statement) -> Formula:
    """Substitute the definitions of the paper's functions that are equations without conditions."""
    match node:
        case Call(name, args):
            inner = tuple(_with_functions(arg, statement) for arg in args)
            meaning = (
                statement.definition(name) if name in statement.functions else None
            )
            record = None if meaning is None else meaning.record
            if (
                meaning is None
                or not isinstance(record, Definition)
                or record.at is None
                or record.requires
            ):
                return Call(name, inner)
            definition = meaning.statement
            if (
                not isinstance(definition.lhs, Call)
                or definition.rhs is None
                or _captures(definition.rhs, inner)
            ):
                return Call(name, inner)
            return substitute(
                _with_let(definition.rhs, definition),
                dict(zip(definition.lhs.args, inner, strict=True)),
            )
        case Neg(arg):
            return Neg(_with_functions(arg, statement))
        case Bin(op, left, right):
            return Bin(
                op, _with_functions(left, statement), _with_functions(right, statement)
            )
        case Sum(body, index, lo, hi):
            inner_body, low, high = (
                _with_functions(part, statement) for part in (body, lo, hi)
            )
            return type(node)(inner_body, index, low, high)
        case _:
            return node


def _captures(body: Formula, args: tuple[Formula, ...]) -> bool:
    """Test whether a substitution would capture a letter: a sum's index in `body` occurs in the arguments."""
    indices = {part.index for part in walk(body) if isinstance(part, Sum)}
    return any(indices & free_names(arg) for arg in args)


def _conjunction(claimed: Compare) -> Iterator[Compare]:
    """Yield inequalities that are together equivalent to an inequality about a maximum or a minimum."""
    small, large = claimed.operands
    if claimed.ops[0] in {">=", ">"}:
        small, large = large, small
    smaller = (
        children(small) if isinstance(small, Call) and small.name == "max" else (small,)
    )
    larger = (
        children(large) if isinstance(large, Call) and large.name == "min" else (large,)
    )
    for left in smaller:
        for right in larger:
            yield Compare(("<=",), (left, right))


def _positive_letters(statement: Statement) -> frozenset[str]:
    """Return the letters that are positive by their domains, which bound them by numbers or other positive letters."""
    previous: frozenset[str] = frozenset()
    while True:
        domains = statement.domains.items()
        positive = {
            name
            for name, domain in domains
            if any(_bounds_below(c, name, previous) for c in domain.constraints)
        }
        if positive == previous:
            return previous
        previous = frozenset(positive)


def _bounds_below(condition: Compare, name: str, positive: frozenset[str]) -> bool:
    """Test whether a chain of comparisons implies that a letter is positive."""
    letter = Name(name)
    for op, left, right in zip(
        condition.ops, condition.operands, condition.operands[1:], strict=False
    ):
        small, large = (right, left) if op in {">=", ">"} else (left, right)
        if (
            large == letter
            and op != "=="
            and _is_positive(small, positive, strict=op in {"<", ">"})
        ):
            return True
    return False


def _is_positive(bound: Formula, positive: frozenset[str], *, strict: bool) -> bool:
    """Test whether everything that is at least the bound (or above it, if ``strict``) is positive."""
    if isinstance(bound, Num):
        return bound.value > 0 or (bound.value == 0 and strict)
    return isinstance(bound, Name) and bound.id in positive
