"""Premises that are statements of other claims: read from their records, never typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Dummy
from sympy.core.function import AppliedUndef

from dpverify.ledger.errors import SpecError
from dpverify.ledger.statements import Reference, Statement, Variant
from dpverify.symbolic.derive.define import fixed_names, unguarded
from dpverify.symbolic.derive.steps import DerivationError, Premise, check_fixed, premise_of
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules.base import Holds, Instance


@dataclass(frozen=True)
class Referenced(Premise):
    """A premise that the record of a claim provides."""

    reference: Reference = field(kw_only=True)  # the statement whose sides, relation, domains and conditions these are
    statement: Statement = field(kw_only=True)
    where: Mapping[str, Any] = field(default_factory=dict, kw_only=True)  # what its letters become
    measured: bool = field(default=False, kw_only=True)  # whether the left side stands for what the record measures
    names: frozenset[str] = field(default=frozenset(), kw_only=True)

    @property
    def fixed(self) -> frozenset[str]:
        """The functions that the record is about, and the letters on which they may depend without showing it."""
        return self.names

    def instance(self, where: Mapping[str, Any]) -> Instance:
        """The premise as it stands: its letters have been replaced, and what stands for the quantity stays."""
        if where:
            raise DerivationError(f"what the letters of {self.reference} become is said where it is referred to.")
        return super().instance(where)


def refer(
    statement: Statement,
    claim: str,
    letter: Any = None,
    variant: Variant = "printed",
    reading: Mapping[str, str] | None = None,
    **where: Any,
) -> Referenced:
    """Refer to a statement of a claim, by its id, on which the claim of ``statement`` rests by its record.

    ``letter`` stands for what the record measures, and ``where`` says what its symbols become; others stay themselves.
    All its conditions are proven of every use. A choice of readings that is not given is that of ``statement``.
    """
    paper, _, claim_id = statement.key.partition(":")
    claims = (
        statement.siblings[claim_id].below | {claim_id: statement.siblings[claim_id]}
        if claim_id in statement.siblings
        else {}
    )
    claim = claim.removeprefix(f"{paper}:")
    if claim not in claims:
        raise DerivationError(f"{statement.key} does not rest on {paper}:{claim}, so that it cannot refer to it.")
    choices = {item.name for item in claims[claim].record.reading}
    chosen = {name: choice for name, choice in statement.reading.items() if name in choices} | dict(reading or {})
    try:
        record = claims[claim].statement(chosen, variant)
    except SpecError as error:
        raise DerivationError(f"{statement.key} refers to what is not there: {error}") from None
    if (record.lhs is None) == (letter is None):
        raise DerivationError(f"{record.reference} has {'no formula' if letter is None else 'a formula'} on its left.")
    symbols = sympy_symbols(record)
    if unknown := sorted(where.keys() - symbols.keys()):
        raise DerivationError(f"{record.reference} has no symbol {', '.join(unknown)} that could become anything.")
    measured = None if letter is None else Dummy(str(record.quantity))
    premise = premise_of(record, measured).instance(symbols | where)
    names = fixed_names(statement, premise.lhs, premise.rhs)
    if names:  # a function without a definition may depend on all but its arguments
        free = {s for side in sympy_sides(record) for item in side.atoms(AppliedUndef) for s in item.args}
        names |= {name for name, symbol in symbols.items() if symbol not in free}
    check_fixed(where, names)
    facts = Facts().given(
        c.relation for c in premise.conditions if isinstance(c, Holds) and c.relation is not sympy.true
    )
    left = unguarded(premise.lhs, facts) if letter is None else letter
    sides = (left, premise.relation, unguarded(premise.rhs, facts), premise.conditions)
    return Referenced(
        *sides, reference=record.reference, statement=record, where=where, measured=letter is not None, names=names
    )
