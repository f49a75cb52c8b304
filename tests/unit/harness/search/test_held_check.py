"""Where a refuted claim holds: judged on exactly its conditions, and shown beside the verdict."""

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

from dpverify.harness import BUDGETS, Context
from dpverify.harness.run.sources import PAPERS, load_checks
from dpverify.harness.run.suite import Suite, judged
from dpverify.harness.search import derived_checks
from dpverify.harness.search.search import beginnings, search
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.sides import Prober
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.load import load_specs
from dpverify.ledger.records import Relation
from dpverify.report.terminal import amendment_words
from dpverify.symbolic.exact.evaluate import decide_statement
from tests.for_each import for_each

SPECS = load_specs()

HELD = [
    (claim.record.id, reading)
    for claim in SPECS.claims()
    for reading in claim.readings()
    if (verdict := claim.verdict(reading)) is not None and verdict.holds is not None
]

SEARCHED = [  # which condition is left out, by its place among those that are ours
    ("theorem-9", 0),
    ("theorem-9", 1),
    ("theorem-9", 2),
    ("lemma-11", 0),
    ("lemma-12", 1),
    ("lemma-7-count-2", 0),
    ("lemma-7-count-5", 0),
    ("lemma-7-var", 0),
    ("lemma-7-numbers", 0),
    ("theorem-8", 1),
    ("algorithm-2-v-le-2n", 0),
]


@for_each(("name", "reading"), HELD)
def test_a_held_statement_is_the_printed_one_with_more_conditions(
    name: str, reading: dict[str, str]
) -> None:
    claim = next(c for c in SPECS.claims() if c.record.id == name)
    printed, held = claim.statement(reading), claim.statement(reading, "held")
    assert held.requires[: len(printed.requires)] == printed.requires
    assert len(held.requires) > len(printed.requires)
    same = replace(
        held,
        requires=printed.requires,
        domains=printed.domains,
        symbols=printed.symbols,
    )
    assert replace(same, variant="printed") == printed
    assert Suite(SPECS, "smoke", 0).cases(claim)[claim.readings().index(reading)].held


@for_each(("name", "place"), SEARCHED)
def test_without_one_of_its_conditions_a_held_statement_is_refuted(
    name: str, place: int
) -> None:
    claim = SPECS.claim(f"tran2022:{name}")
    reading = next(
        r for r in claim.readings() if (verdict := claim.verdict(r)) and verdict.holds
    )
    held, own = claim.statement(reading, "held"), len(claim.statement(reading).requires)
    fewer = tuple(
        condition for i, condition in enumerate(held.requires) if i != own + place
    )
    checks = load_checks(PAPERS, "tran2022")
    assert checks is not None
    (check,) = [
        c
        for c, _ in checks.entries(name)
        if isinstance(c, SearchCheck) and c.applies(held)
    ]
    context = Context(replace(held, requires=fewer), BUDGETS["smoke"], 0, check.name)
    statement, seed = check._narrowed(context.statement), check._seed(context, 0)
    sampler, prober = check._sampler(statement), Prober(statement, check.lhs)
    begin = beginnings(sampler, check._corners(statement, sampler), 200)
    assert search(sampler, prober, begin, 200, seed, stop=True).violations


@for_each(("relation", "never"), [("<=", "inf"), (">=", "-inf")])
@for_each("condition", ["sqrt(2)**2 <= 2", "N < 0"])  # undecided, and false
def test_where_the_corrected_bound_says_nothing_it_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, condition: str, relation: Relation, never: str
) -> None:
    held = replace(
        SPECS.claim("tran2022:lemma-7-count-2").statement({}, "held"), relation=relation
    )
    said = replace(held, variant="amended", requires=(parse_relation(condition),))
    monkeypatch.setattr(derived_checks, "_corrected", lambda claim, reading: said)
    point = {"N": Fraction(3)}
    assert derived_checks.corrected_side(point, held) == arb(never)
    assert (
        decide_statement(
            held, point, lambda bits: derived_checks.corrected_side(point, held)
        )
        is False
    )


def test_where_a_claim_holds_stands_in_the_line_of_its_verdict() -> None:
    claim = SPECS.claim("tran2022:lemma-7-var-5-plugged")
    (case,) = Suite(SPECS, "smoke", 0).cases(claim)
    found = [
        job.find().finish(job.context, [job.find().run_block(job.context, 0)])
        for job in case.jobs
    ]
    (result,) = judged(SPECS, [case], [found], [""])
    assert result.holds is not None
    assert (result.status, result.holds.status, result.contradicts) == (
        "refuted",
        "proved",
        False,
    )
    assert amendment_words(result) == "holds for T >= N: proved; corrected: proved"
