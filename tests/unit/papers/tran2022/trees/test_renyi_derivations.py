"""From a Renyi divergence to (epsilon, delta): complete, not sharper, and nothing of it can be left out."""

from dataclasses import replace

import pytest
from sympy import Integer, Symbol, exp

from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.trees.aggregation_derivations import (
    derive_theorem_4_conversion,
    derive_theorem_10_dp,
    derive_theorem_10_dp_best,
)
from dpverify.symbolic.derive import events
from dpverify.symbolic.derive.cited import cite, derivations_under, taken_for_granted
from dpverify.symbolic.derive.define import known_fact, meant_by, without_letters
from dpverify.symbolic.derive.derivation import Cases, Derivation, DerivationError, Premise, check_derivation
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Build, Variant, proves_nothing_sharper

SPECS = load_specs()
CONVERTED: list[tuple[str, Variant, Build]] = [
    ("theorem-10-rdp-to-dp", "printed", events.derive_conversion),
    ("theorem-10-dp", "printed", derive_theorem_10_dp),
    ("theorem-10-dp-intermediate", "amended", derive_theorem_10_dp_best),
    ("theorem-4-conversion", "printed", derive_theorem_4_conversion),
]


RESTS_ON = {  # that the divergence is at most what is put in: by the claim's own words, or by the theorem before
    "theorem-10-rdp-to-dp": {"x >= D"},
    "theorem-10-dp": {"tran2022:theorem-10 (printed)"},
    "theorem-10-dp-intermediate": {"tran2022:theorem-10 (printed)"},
    "theorem-4-conversion": {"z/(2*sigma**2) >= D"},
}
STATEMENT = SPECS.claim("tran2022:theorem-10-rdp-to-dp").statement()


def complete(derivation: Derivation) -> bool:
    return check_derivation(derivation, points=60).complete


@for_each(("claim", "variant", "build"), CONVERTED, ids=[case[0] for case in CONVERTED])
def test_what_cites_the_conversion_cites_its_derivation(claim: str, variant: Variant, build: Build) -> None:
    statement = SPECS.claim(f"tran2022:{claim}").statement(variant=variant)
    derivation = build(statement)
    assert [chain.name for _, chain in derivations_under(derivation)] == ["an event"]
    fact = known_fact(statement, events.JENSEN)
    assert set(taken_for_granted(derivation)) == {str(fact.meaning)} | RESTS_ON[claim]
    meant = meant_by(statement)  # what the claim's own words say of D is in its definition
    granted = set(taken_for_granted(without_letters(derivation, meant)))
    assert granted - {str(fact.meaning)} <= {"tran2022:theorem-10 (printed)"}


def test_the_chances_of_an_event_mean_that_and_nothing_else() -> None:
    with pytest.raises(DerivationError, match="ratio stands for what the fact"):
        known_fact(STATEMENT, events.JENSEN, ratio=1)
    with pytest.raises(DerivationError, match="ratio has one meaning"):
        cite(events.event(STATEMENT), ratio=Integer(1))


def test_the_conversion_is_proved_and_nothing_sharper() -> None:
    proves_nothing_sharper("theorem-10-rdp-to-dp", "printed", events.derive_conversion, "delta/2")


def test_the_chains_of_the_conversion_are_complete() -> None:
    assert complete(events.event(STATEMENT))


def test_an_event_needs_the_order_above_1_and_both_cases() -> None:
    chain = events.event(STATEMENT)
    assert not complete(replace(chain, assumptions=()))
    (split,) = chain.steps
    assert isinstance(split, Cases)
    assert not complete(replace(chain, steps=(replace(split, cases=split.cases[:1]),)))


def test_an_event_needs_jensen_with_the_whole_power() -> None:
    chain = events.event(STATEMENT)
    z, ratio = Symbol("z", positive=True), Symbol("ratio", nonnegative=True)
    weaker = Premise(events.CHANCE * ratio, "<=", exp((z - 1) * events.DIVERGENCE))
    assert not complete(replace(chain, premises={events.JENSEN: weaker}))
