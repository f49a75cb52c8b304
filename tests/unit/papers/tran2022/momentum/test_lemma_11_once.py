"""Lemma 11 under one permutation rests on what is derived, and on records in the very form that they have."""

from dataclasses import replace

from sympy import Symbol, sqrt

from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.momentum import momentum_error_derivations as derive
from dpverify.symbolic.derive.cited import Cited
from dpverify.symbolic.derive.derivation import check_derivation
from dpverify.symbolic.expressions.functions import Moment
from dpverify.symbolic.expressions.to_sympy import sympy_sides
from dpverify.symbolic.prove.equality import are_equal
from dpverify.symbolic.prove.facts import Facts
from tests.for_each import for_each

SPECS = load_specs()
SIDES = {  # what stands for the quantity of a record in the derivation
    "tran2022:lemma-11-sampling": Moment(derive.SAMPLING, 2),
    "tran2022:lemma-11-drift": sqrt(Moment(derive.LAG, 2)),
}


@for_each("ordering", ["fresh", "once"])
def test_every_premise_is_derived_or_says_what_its_record_says(ordering: str) -> None:
    statement = SPECS.claim("tran2022:lemma-11").statement({"ordering": ordering}, "amended")
    for name, premise in derive.lemma_11(statement).premises.items():
        if isinstance(premise, Cited):
            continue
        claim = SPECS.claim(name)
        reading = {"ordering": ordering} if claim.record.reading else {}
        verdict = claim.verdict(reading)
        assert verdict is not None
        assert verdict.amendment is not None
        assert verdict.amendment.status in {"proved", "proved given"}
        _, bound = sympy_sides(claim.statement(reading, "amended"))
        assert premise.lhs == SIDES[name]
        known = {s.name: s for s in bound.free_symbols}
        ours = premise.rhs.xreplace({s: known[s.name] for s in premise.rhs.free_symbols})
        assert are_equal(ours, bound, Facts())


def test_under_one_permutation_the_record_on_sampling_is_not_cited() -> None:
    once = SPECS.claim("tran2022:lemma-11").statement({"ordering": "once"}, "amended")
    assert "tran2022:lemma-11-sampling" not in derive.lemma_11(once).premises


def test_one_step_needs_that_the_oldest_weight_is_the_least() -> None:
    chain = derive.spread_step()
    assert check_derivation(chain, points=60).complete
    without = replace(chain, assumptions=tuple(a for a in chain.assumptions if Symbol("oldest", nonnegative=True)
                                               not in a.free_symbols))  # fmt: skip
    assert not check_derivation(without, points=60).complete
