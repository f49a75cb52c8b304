"""A claim is judged on exactly the conditions that it states: no proof by points assumes a narrower domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache

from dpverify.harness import BUDGETS, ExhaustiveCheck, SearchCheck
from dpverify.harness.checks import Check, as_point
from dpverify.harness.search.constraints import links
from dpverify.harness.search.exhaustive_check import unimplied_conditions
from dpverify.ledger.formula import Compare, Name, Num, free_names, parse_relation
from dpverify.ledger.load import load_specs
from dpverify.ledger.records import Status
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain, parse_domain
from dpverify.papers import load
from tests.for_each import for_each

SPECS = load_specs()

ILLUSTRATED = {  # proofs by definition; their points are two examples
    "tran2022:section-3-anchor-unbiased": {"N", "alpha"},
    "tran2022:lemma-11-mean-zero": {"N", "alpha"},
}
# definitions of symbols of the tree
READINGS = ("depth ==", "node_start ==", "node_end ==", "a ==", "b ==", "Block*")


def unreached_ends(
    points: Iterable[Mapping[str, Fraction]], domains: Mapping[str, Domain]
) -> list[str]:
    """Return the symbols that never reach a closed numeric end of their domain.

    An argument shows that the points are enough for a proof. If they do not reach such an end, the argument may use a
    condition that is not recorded.
    """
    least: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for point in points:
        for name, value in point.items():
            least[name], largest[name] = (
                min(value, least.get(name, value)),
                max(value, largest.get(name, value)),
            )
    texts = []
    for name in sorted(least.keys() & domains.keys()):
        for constraint in domains[name].constraints:
            for link in links(constraint):
                sides = (
                    (link.left, link.right)
                    if link.op in {"<", "<="}
                    else (link.right, link.left)
                )
                match len(link.op), *sides:
                    case 2, Num(end), Name(letter) if (
                        letter == name and least[name] > end
                    ):
                        texts.append(
                            f"{name} from {least[name]} on, the domain from {end}"
                        )
                    case 2, Name(letter), Num(end) if (
                        letter == name and largest[name] < end
                    ):
                        texts.append(
                            f"{name} up to {largest[name]}, the domain up to {end}"
                        )
    return texts


@cache
def judged() -> list[tuple[Check, Statement, Status]]:
    """Return every check with every statement that it can judge, and the pinned status of the statement."""
    return list(_judged())


def _judged() -> Iterator[tuple[Check, Statement, Status]]:
    for key, paper in SPECS.papers.items():
        checks = load(key)
        assert checks is not None
        for name, claim in paper.claims.items():
            for reading in claim.readings():
                verdict = claim.verdict(reading)
                if verdict is None:
                    continue
                pins = [("printed", verdict.status)]
                if verdict.amendment is not None:
                    pins.append(("amended", verdict.amendment.status))
                for variant, pin in pins:
                    statement = claim.statement(
                        reading, "amended" if variant == "amended" else "printed"
                    )
                    yield from (
                        (check, statement, pin)
                        for check in checks.of(name)
                        if check.applies(statement)
                    )


def proofs() -> list[tuple[ExhaustiveCheck, Statement]]:
    """Return the checks that prove by points, with the statements that are pinned as proved."""
    return [
        (check, statement)
        for check, statement, pin in judged()
        if pin in {"proved", "argued"}
        and isinstance(check, ExhaustiveCheck)
        and check.why_sufficient
    ]


def domains_of(statement: Statement) -> dict[str, Domain]:
    """Return the domains of all symbols of the paper; a statement in words names only some of its points' symbols."""
    symbols = SPECS.papers[statement.key.partition(":")[0]].vocabulary.symbols
    return {name: parse_domain(symbol.domain) for name, symbol in symbols.items()}


def faults_of(check: ExhaustiveCheck, statement: Statement) -> list[str]:
    """Return the assumptions of a proof by points that its statement does not have."""
    if check.reads_conditions:
        return []
    found = [
        f"needs {text}, which is not granted"
        for text in unimplied_conditions(check.where, statement)
    ]
    points = [as_point(values) for values in check.points(BUDGETS["smoke"])]
    if (
        statement.requires
        and not check.where
        and any(set(statement.free) - point.keys() for point in points)
    ):
        found.append(
            "does not say on which of the statement's conditions it rests, and its points cannot show it"
        )
    conditions = [*statement.requires, *(parse_relation(text) for text in check.where)]
    stated = {name for condition in conditions for name in _letters(condition)}
    domains = {
        name: domain
        for name, domain in domains_of(statement).items()
        if name not in stated
    }
    for name in ILLUSTRATED.get(statement.key, ()):
        domains.pop(name, None)
    return found + unreached_ends(points, domains)


def _letters(condition: Compare) -> set[str]:
    return {name for operand in condition.operands for name in free_names(operand)}


def test_there_are_proofs_by_points() -> None:
    assert len(proofs()) > 10


def test_no_proof_by_points_takes_more_for_granted_than_its_statement() -> None:
    found = {
        f"{s.key}{s.reading or ''}|{s.variant}|{c.name}": faults_of(c, s)
        for c, s in proofs()
    }
    assert {key: faults for key, faults in found.items() if faults} == {}


def test_no_verdict_rests_on_a_search_of_a_narrower_domain_alone() -> None:
    """A search under an additional condition may only support a refutation, or accompany a proof."""
    narrowed = set()
    for check, statement, pin in judged():
        if isinstance(check, SearchCheck) and pin == "not refuted":
            where = check.where(statement) if callable(check.where) else check.where
            own = [text for text in where if not text.startswith(READINGS)]
            narrowed |= {
                f"{statement.key}|{check.name}: {text}"
                for text in unimplied_conditions(own, statement)
            }
    assert narrowed == set()


@for_each(
    ("claim", "name", "condition"),
    [
        ("section-5-run-time", "bounds", "T >= 4*N"),
    ],
)
def test_a_proof_is_refused_where_its_amendment_loses_a_condition(
    claim: str, name: str, condition: str
) -> None:
    amended = SPECS.claim(f"tran2022:{claim}").statement(variant="amended")
    checks = load("tran2022")
    assert checks is not None
    check = checks.find(claim, name)
    assert isinstance(check, ExhaustiveCheck)
    assert faults_of(check, amended) == []
    kept = tuple(c for c in amended.requires if c != parse_relation(condition))
    assert len(kept) == len(amended.requires) - 1
    assert faults_of(check, replace(amended, requires=kept)) == [
        f"needs {condition}, which is not granted"
    ]


def test_points_that_stop_short_of_their_domain_are_seen() -> None:
    domains = {
        "t": parse_domain("integer, t >= 1"),
        "alpha": parse_domain("real, 0 < alpha <= 1"),
    }
    short = [as_point({"t": 2, "alpha": "1/2"}), as_point({"t": 9, "alpha": "3/4"})]
    found = ["alpha up to 3/4, the domain up to 1", "t from 2 on, the domain from 1"]
    assert unreached_ends(short, domains) == found
    assert unreached_ends([*short, as_point({"t": 1, "alpha": 1})], domains) == []
