"""The policy that a claim is judged on exactly the conditions it states: what a check assumes, its statement grants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpverify.harness.search.constraints import FLIPPED, Inequality, links
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.statements import Statement


def not_granted(where: Sequence[str], statement: Statement) -> list[str]:
    """List the conditions that do not follow from a statement's own conditions and domains, printed or amended."""
    stated = [c for domain in statement.domains.values() for c in domain.constraints] + list(statement.requires)
    conditions = {_one_way(link) for condition in stated for link in links(condition)}
    links_of = {text: [_one_way(link) for link in links(parse_relation(text))] for text in where}
    return [
        text
        for text, parts in links_of.items()
        if not all(part in conditions for part in parts) and not _implied(text, parts, statement)
    ]


def _one_way(link: Inequality) -> Inequality:
    return Inequality(FLIPPED[link.op], link.right, link.left) if link.op in {">", ">="} else link


def _implied(text: str, parts: Sequence[Inequality], statement: Statement) -> bool:
    if any(part.names - statement.domains.keys() for part in parts):
        return False
    from dpverify.symbolic.expressions.to_sympy import sympy_conditions  # sympy is slow to import
    from dpverify.symbolic.prove.facts import Facts
    from dpverify.symbolic.prove.signs import implied

    granted = sympy_conditions(statement)
    try:
        relations = sympy_conditions(replace(statement, requires=(parse_relation(text),)))
    except ValueError:  # it contradicts a domain
        return False
    facts = Facts().given(granted)
    return all(relation in granted or implied(relation, facts) for relation in relations)
