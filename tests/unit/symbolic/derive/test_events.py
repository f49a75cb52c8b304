"""The conversion of a divergence to delta in a paper's own letters: complete, and what its certificate rests on."""

from __future__ import annotations

from dataclasses import replace

from dpverify.ledger import load_specs
from dpverify.ledger.formula import parse
from dpverify.symbolic.certify.certificates import certify
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.derive.cited import definitions_used, derivations_under
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.derivation import check_derivation
from dpverify.symbolic.derive.events import EventLetters, derive_conversion, event
from tests.for_each import for_each

LETTERS = EventLetters(order="alpha", most="rho", ratio="likelihood")
SAID = load_specs().claim("wang2019:lemma-3-9").statement()


def test_each_chain_is_complete_in_other_letters() -> None:
    derivation = derive_conversion(SAID, LETTERS)
    assert all(check_derivation(one, 40).complete for one in (derivation, event(SAID, LETTERS)))
    assert [name for name, _ in derivations_under(derivation)] == ["an event"]
    assert conclude(derivation, SAID) == "equal"
    made = certify(SAID, derivation).data
    assert made is not None
    k.run(made, rules())
    (given,) = k.given_in(made)
    assert given.startswith("Jensen's inequality for the likelihood ratio")
    assert definitions_used(derivation) == []


@for_each("less", ["delta/2", "99/100*delta", "delta**2"])
def test_nothing_sharper_follows(less: str) -> None:
    sharper = replace(SAID, rhs=parse(less))
    assert conclude(derive_conversion(SAID, LETTERS), sharper) not in {"equal", "weaker"}
    assert certify(sharper, derive_conversion(SAID, LETTERS)).data is None


def test_a_smaller_epsilon_is_not_reached() -> None:
    (epsilon, value), *others = SAID.let
    smaller = replace(SAID, let=((epsilon, parse("rho + log(1/delta)/alpha")), *others))
    assert epsilon == "epsilon"
    assert value != smaller.let[0][1]
    assert certify(smaller, derive_conversion(SAID, LETTERS)).data is None
