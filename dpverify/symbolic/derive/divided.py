"""A statement about a whole letter as one about its quotient and its rest."""

from __future__ import annotations

from dataclasses import replace

from dpverify.ledger.formula import Bin, Call, Compare, Formula, Name, Sum, substitute, walk
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain
from dpverify.symbolic.derive.steps import DerivationError, Division
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.prove.signs import implied


def divided(statement: Statement, division: Division | None) -> Statement:
    """Define a letter by its quotient and its rest; ``floor(letter/by)`` is the quotient.

    A DerivationError where not every value of the letter is proven to be of that form.
    """
    if division is None:
        return statement
    letter, by, quotient, remainder = (
        Name(n) for n in (division.letter, division.by, division.quotient, division.rest)
    )
    _possible(statement, division)
    replacements: dict[Formula, Formula] = {}
    if division.first == 0:
        replacements = {Call("floor", (Bin("/", letter, by),)): quotient, Call("mod", (letter, by)): remainder}

    def compared(one: Compare) -> Compare:
        return Compare(one.ops, tuple(substitute(side, replacements) for side in one.operands))

    domains = dict(statement.domains)
    domains[quotient.id] = parse_domain(f"integer, {quotient.id} >= {division.least}")
    domains[remainder.id] = parse_domain(
        f"integer, {remainder.id} >= {division.first}, {remainder.id} <= {by.id} - 1 + {division.first}"
    )
    value = Bin("+", Bin("*", quotient, by), remainder)
    return replace(
        statement,
        lhs=None if statement.lhs is None else substitute(statement.lhs, replacements),
        rhs=None if statement.rhs is None else substitute(statement.rhs, replacements),
        requires=tuple(map(compared, statement.requires)),
        let=((letter.id, value), *((name, substitute(node, replacements)) for name, node in statement.let)),
        domains=domains,
    )


def _possible(statement: Statement, division: Division) -> None:
    """Refuse a division by what may be below 1, of what may be too small, or into letters that are taken."""
    letter = division.letter
    by = division.by
    symbols = sympy_symbols(statement)
    new = {division.quotient, division.rest}
    used_names = statement.domains.keys() | _indices(statement)
    if not {letter, by} <= symbols.keys() or letter == by or len(new) < 2 or new & used_names:
        raise DerivationError(f"{letter} cannot be {division.quotient}*{by} + {division.rest} in {statement.key}.")
    granted = Facts().given(sympy_conditions(statement))
    conditions = (symbols[by] >= 1, symbols[letter] >= division.least * symbols[by] + division.first)
    is_integer = symbols[letter].is_integer and symbols[by].is_integer
    if not is_integer or not all(implied(relation, granted) for relation in conditions):
        raise DerivationError(f"{statement.key} does not grant {', '.join(map(str, conditions))}, all whole.")


def _indices(statement: Statement) -> set[str]:
    nodes = (statement.lhs, statement.rhs, *statement.requires, *(value for _, value in statement.let))
    return {part.index for node in nodes if node is not None for part in walk(node) if isinstance(part, Sum)}
