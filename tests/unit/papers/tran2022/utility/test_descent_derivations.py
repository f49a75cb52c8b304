from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpverify.harness.planted import moved_side
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility import descent_derivations as derive
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.define import reworded
from dpverify.symbolic.derive.derivation import Derivation, check_derivation
from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.for_each import for_each

PRINTED = [
    ("lemma-5-case-1", derivation_of),
    ("lemma-5-cases", derivation_of),
    ("lemma-5-telescoped", derive.telescoped),
    ("lemma-5", derive.telescoped),
]


@for_each(("claim", "build"), PRINTED)
def test_the_derivation_ends_at_the_print_and_no_sharper(claim: str, build: Callable[[Statement], Derivation]) -> None:
    statement = reworded(load_specs().claim(f"tran2022:{claim}").statement({}, "printed"))
    derivation = build(statement)
    assert check_derivation(derivation, points=40).complete
    assert conclude(derivation, statement) == "equal"
    assert conclude(derivation, moved_side(statement, "*", Fraction(99, 100))) not in {"equal", "weaker"}
