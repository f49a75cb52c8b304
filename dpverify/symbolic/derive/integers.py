"""Integers in derivations: premises by induction, and statements in the quotient and remainder of an integer.

An induction proves a premise for all integers from a start on, or from a start to a last integer, by two ordinary
derivations. The base leads from the left to the right side of the premise at the start, and the step does so at
letter + 1. Only the step may use the hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    Formula,
    Name,
    Sum,
    substitute,
    walk,
)
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain
from dpverify.symbolic.derive.steps import (
    Derivation,
    DerivationError,
    Division,
    Premise,
    check_fixed,
    names_of,
    symbol_conditions,
    unsigned_symbol,
)
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_symbols
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.prove.signs import is_implied
from dpverify.symbolic.rules.base import Condition, Holds, Instance, IsInteger


@dataclass(frozen=True)
class Hypothesis(Premise):
    """The hypothesis of an induction: its conclusion at the letter itself. Only the step may use it."""

    letter: Any = field(kw_only=True)  # the integer of the induction
    # letters; the hypothesis is assumed for all their values
    universal_letters: tuple[str, ...] = field(default=(), kw_only=True)

    def instance(self, where: Mapping[str, Any]) -> Instance:
        """Return the hypothesis with expressions substituted for ``universal_letters``."""
        if extra_letters := sorted(where.keys() - set(self.universal_letters)):
            raise DerivationError(
                f"the hypothesis is assumed at {', '.join(extra_letters)} itself, and nowhere else."
            )
        return super().instance(where)

    def sides(self, value: Any) -> tuple[Any, Any]:
        """Return both sides with a value substituted for the letter."""
        return self.lhs.xreplace({self.letter: value}), self.rhs.xreplace(
            {self.letter: value}
        )


@dataclass(frozen=True)
class Induction(Premise):
    """A premise that an induction provides."""

    base: Derivation = field(kw_only=True)
    step: Derivation = field(kw_only=True)
    hypothesis: Hypothesis = field(kw_only=True)
    # the condition that bounds the letter from above, if any
    upper: tuple[Any, ...] = field(default=(), kw_only=True)

    @property
    def subderivations(self) -> tuple[tuple[Derivation, Premise | None], ...]:
        """The base without a hypothesis, and the step with its hypothesis."""
        return (self.base, None), (self.step, self.hypothesis)


def by_induction(
    letter: Any, start: Any, *, base: Derivation, step: Derivation, last: Any = None
) -> Induction:
    """Make a premise for every integer ``letter >= start`` from a derivation at the start and one at ``letter + 1``.

    The step has a `Hypothesis` among its premises, whose sides state what is proved. Assumptions of the two derivations
    about other letters are conditions of every use. About its letter, the step may assume only what follows from
    ``letter >= start``. With ``last`` the premise is only for ``letter <= last``, and the step may also assume
    ``letter + 1 <= last``.
    """
    granted = [
        premise for premise in step.premises.values() if isinstance(premise, Hypothesis)
    ]
    if len(granted) != 1 or granted[0].letter != letter:
        raise DerivationError(
            f"{step.name}: the step of an induction has one hypothesis, about {letter}."
        )
    (hypothesis,) = granted
    start = sympy.sympify(start)
    _check_letter(hypothesis, letter, start)
    _check_ends(base, hypothesis, start)
    _check_ends(step, hypothesis, letter + 1)
    assumed = [
        a
        for a in (*base.assumptions, *step.assumptions)
        if letter.name not in names_of(a)
    ]
    upper = _upper(hypothesis, last)
    next_below = (
        relation.xreplace({unsigned_symbol(letter): letter + 1}) for relation in upper
    )
    _check_assumptions(base, step, hypothesis, [*assumed, letter >= start, *next_below])
    conditions: list[Condition] = [
        IsInteger(letter),
        *map(Holds, [unsigned_symbol(letter) >= start, *upper, *assumed]),
    ]
    ends = (
        hypothesis.lhs,
        hypothesis.rhs,
        start,
        *(relation.rhs for relation in upper),
        *assumed,
    )
    for symbol in sorted(
        set[Any]().union(*(end.free_symbols for end in ends)), key=str
    ):
        conditions += symbol_conditions(symbol)
    sides = hypothesis.lhs, hypothesis.relation, hypothesis.rhs
    distinct_conditions = tuple(dict.fromkeys(conditions))
    return Induction(
        *sides,
        distinct_conditions,
        base=base,
        step=step,
        hypothesis=hypothesis,
        upper=upper,
    )


def _check_letter(hypothesis: Hypothesis, letter: Any, start: Any) -> None:
    """Check that the letter is an integer, that the start implies its assumptions, and that no sum binds it."""
    if not (
        letter.is_Symbol and letter.is_integer and start.is_integer
    ) or letter.name in names_of(start):
        raise DerivationError(
            f"an induction runs over whole numbers from a whole number on: {letter} from {start}."
        )
    facts = Facts().assume(
        [unsigned_symbol(letter) >= start]
        if unsigned_symbol(letter) not in start.free_symbols
        else []
    )
    if not all(condition.is_met(facts, {}) for condition in symbol_conditions(letter)):
        raise DerivationError(
            f"the assumptions about {letter} are not proved from {start} on."
        )
    sums = set[Any]().union(
        *(
            side.atoms(sympy.Sum, sympy.Integral)
            for side in (hypothesis.lhs, hypothesis.rhs)
        )
    )
    bound = {limit[0].name for node in sums for limit in node.limits}
    if shadowed := sorted(bound & (names_of(start) | {letter.name})):
        raise DerivationError(
            f"{', '.join(shadowed)} is the index of a sum in the hypothesis."
        )
    if letter.name in hypothesis.universal_letters:
        raise DerivationError(
            f"the hypothesis is assumed at {letter} itself, and nowhere else."
        )


def _upper(hypothesis: Hypothesis, last: Any) -> tuple[Any, ...]:
    """Return the condition that bounds the letter from above, if any. The bound is the same at every use."""
    if last is None:
        return ()
    if names_of(last) & {hypothesis.letter.name, *hypothesis.universal_letters}:
        raise DerivationError(
            f"an induction runs up to one number: {hypothesis.letter} up to {last}."
        )
    return (sympy.Le(unsigned_symbol(hypothesis.letter), last, evaluate=False),)


def _check_ends(derivation: Derivation, hypothesis: Hypothesis, value: Any) -> None:
    left, right = hypothesis.sides(value)
    if left.has(sympy.nan, sympy.zoo) or right.has(sympy.nan, sympy.zoo):
        raise DerivationError(
            f"{derivation.name}: the hypothesis has no value at {value}."
        )
    if (derivation.start, derivation.last) != (left, right):
        ends = f"from {derivation.start} to {derivation.last}"
        raise DerivationError(
            f"{derivation.name} goes {ends}, and has to go from {left} to {right}."
        )
    if derivation.relation not in {"=", hypothesis.relation}:
        raise DerivationError(
            f"{derivation.name} goes by {derivation.relation}, not by {hypothesis.relation}."
        )
    if derivation.local:
        raise DerivationError(
            f"{derivation.name} must not have local symbols: {', '.join(derivation.local)}."
        )


def _check_assumptions(
    base: Derivation, step: Derivation, hypothesis: Hypothesis, granted: list[Any]
) -> None:
    """Check what the base and the step assume.

    The base may assume nothing about the letter, and the step only its range. The hypothesis must have each granted
    assumption about ``universal_letters`` as a condition, and no premise of the step may fix these letters.
    """
    letter = hypothesis.letter
    facts = Facts().assume(granted)
    for derivation in (base, step):
        for assumption in derivation.assumptions:
            if letter.name in names_of(assumption) and (
                derivation is base or not is_implied(assumption, facts)
            ):
                raise DerivationError(
                    f"{derivation.name} assumes {assumption}, which an induction does not grant."
                )
    check_fixed(
        dict.fromkeys(hypothesis.universal_letters, None),
        frozenset().union(*(p.fixed_names for p in step.premises.values())),
    )
    for assumption in granted:
        if (
            names_of(assumption) & set(hypothesis.universal_letters)
            and Holds(assumption) not in hypothesis.conditions
        ):
            raise DerivationError(
                f"the hypothesis is not assumed of values for which {assumption} may be false."
            )


def divided(statement: Statement, division: Division | None) -> Statement:
    """Replace a letter by ``quotient*divisor + remainder`` in a statement; return it unchanged without a division.

    If the remainder starts at 0, ``floor(letter/divisor)`` and ``mod(letter, divisor)`` are replaced too. A
    DerivationError is raised unless every value of the letter is proved to have this form.
    """
    if division is None:
        return statement
    letter, divisor, quotient, remainder = (
        Name(n)
        for n in (
            division.letter,
            division.divisor,
            division.quotient,
            division.remainder,
        )
    )
    _check_division(statement, division)
    replacements: dict[Formula, Formula] = {}
    if division.first == 0:
        replacements = {
            Call("floor", (Bin("/", letter, divisor),)): quotient,
            Call("mod", (letter, divisor)): remainder,
        }

    def substituted(condition: Compare) -> Compare:
        return Compare(
            condition.ops,
            tuple(substitute(side, replacements) for side in condition.operands),
        )

    domains = dict(statement.domains)
    domains[quotient.id] = parse_domain(
        f"integer, {quotient.id} >= {division.least_quotient}"
    )
    domains[remainder.id] = parse_domain(
        f"integer, {remainder.id} >= {division.first}, {remainder.id} <= {divisor.id} - 1 + {division.first}"
    )
    value = Bin("+", Bin("*", quotient, divisor), remainder)
    return replace(
        statement,
        lhs=None if statement.lhs is None else substitute(statement.lhs, replacements),
        rhs=None if statement.rhs is None else substitute(statement.rhs, replacements),
        requires=tuple(map(substituted, statement.requires)),
        let=(
            (letter.id, value),
            *((name, substitute(node, replacements)) for name, node in statement.let),
        ),
        domains=domains,
    )


def _check_division(statement: Statement, division: Division) -> None:
    """Raise an error if a new name is in use, a letter is not an integer, or one of the letters may be too small."""
    letter = division.letter
    divisor = division.divisor
    symbols = sympy_symbols(statement)
    new = {division.quotient, division.remainder}
    used_names = statement.domains.keys() | _indices(statement)
    if (
        not {letter, divisor} <= symbols.keys()
        or letter == divisor
        or len(new) < 2
        or new & used_names
    ):
        raise DerivationError(
            f"{letter} cannot be {division.quotient}*{divisor} + {division.remainder} in {statement.key}."
        )
    granted = Facts().assume(sympy_conditions(statement))
    conditions = (
        symbols[divisor] >= 1,
        symbols[letter] >= division.least_quotient * symbols[divisor] + division.first,
    )
    is_integer = symbols[letter].is_integer and symbols[divisor].is_integer
    if not is_integer or not all(
        is_implied(relation, granted) for relation in conditions
    ):
        raise DerivationError(
            f"{statement.key} does not grant {', '.join(map(str, conditions))}, all whole."
        )


def _indices(statement: Statement) -> set[str]:
    nodes = (
        statement.lhs,
        statement.rhs,
        *statement.requires,
        *(value for _, value in statement.let),
    )
    return {
        part.index
        for node in nodes
        if node is not None
        for part in walk(node)
        if isinstance(part, Sum)
    }
