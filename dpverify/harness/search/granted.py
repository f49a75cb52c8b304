"""The policy that a claim is judged on exactly the conditions it states: what a check assumes, its statement grants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpverify.harness.search.constraints import FLIPPED, Inequality, links
from dpverify.ledger.formula import Name, Num, parse_relation
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain


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


def unreached_ends(points: Iterable[Mapping[str, Fraction]], domains: Mapping[str, Domain]) -> list[str]:
    """List the letters that never reach an end of their domain which is a number and belongs to it.

    Points that are enough for a proof are chosen by an argument, and where they stop short of such an end the argument
    may have a condition that nobody wrote down.
    """
    least: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for point in points:
        for name, value in point.items():
            least[name], largest[name] = min(value, least.get(name, value)), max(value, largest.get(name, value))
    texts = []
    for name in sorted(least.keys() & domains.keys()):
        for constraint in domains[name].constraints:
            for link in map(_one_way, links(constraint)):
                match link.op, link.left, link.right:
                    case "<=", Num(end), Name(letter) if letter == name and least[name] > end:
                        texts.append(f"{name} from {least[name]} on, the domain from {end}")
                    case "<=", Name(letter), Num(end) if letter == name and largest[name] < end:
                        texts.append(f"{name} up to {largest[name]}, the domain up to {end}")
    return texts


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
