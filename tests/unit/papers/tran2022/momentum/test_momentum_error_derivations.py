from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dpverify.harness.planted import moved_side
from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum import momentum_error_derivations as derive
from dpverify.papers.tran2022.momentum.momentum_error_derivations import lemma_11
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.derivation import Derivation
from tests.for_each import for_each
from tests.unit.papers.derived import faulty_steps

SPECS = load_specs()


FRESH = "G*sqrt(alpha/(2-alpha)) + 2*eta*L*((N-1)/N)*(N-1) + eta*L*(1-alpha)/alpha + (1-alpha)**t*G"


ONCE = "G*sqrt(2*alpha/(2-alpha)) + 2*eta*L*((N-1)/N)*(t-1) + eta*L*(1-alpha)/alpha + (1-alpha)**t*G"


def _statement(claim: str, reading: dict[str, str] | None = None, formula: str | None = None) -> Statement:
    printed = SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")
    if formula is None:
        return printed
    whole = SPECS.claim("tran2022:lemma-11").statement({}, "printed")
    return replace(
        printed,
        rhs=parse(formula),
        variant="amended",
        domains={**whole.domains, **printed.domains},
        symbols={**whole.symbols, **printed.symbols},
    )


DERIVED: list[tuple[str, dict[str, str], str | None, Callable[[Statement], Derivation]]] = [
    ("lemma-11-alpha-sum", {}, None, derive.alpha_sum),
    ("lemma-11-alpha-sum", {}, "4*G**2*alpha/(2-alpha)", derive.alpha_sum),
    ("lemma-11-norm-bound", {}, None, derive.norm_bound),
    ("lemma-11-anchor-drift", {"epochs": "shifted"}, None, derive.anchor_drift),
    ("lemma-11-sampling", {"ordering": "fresh"}, None, derive.sampling),
    ("lemma-11-sampling", {"ordering": "fresh"}, "alpha*G**2/(2-alpha)", derive.sampling),
    ("lemma-11-drift", {}, "eta*L*(1-alpha)/alpha + (1-alpha)**t*G", derive.lag),
    ("lemma-11", {"ordering": "fresh"}, FRESH, lemma_11),
    ("lemma-11", {"ordering": "once"}, ONCE, lemma_11),
]


@for_each(("claim", "reading", "formula", "build"), DERIVED)
def test_the_derivation_ends_where_it_says(
    claim: str, reading: dict[str, str], formula: str | None, build: Callable[[Statement], Derivation]
) -> None:
    statement = _statement(claim, reading, formula)
    derivation = build(statement)
    assert faulty_steps(derivation, statement, points=40) == []
    assert conclude(derivation, statement) == "equal"
    assert conclude(derivation, moved_side(statement, "*", Fraction(99, 100))) not in {"equal", "weaker"}


def test_the_corrected_lemma_needs_its_start_up_term() -> None:
    short = FRESH.replace(" + (1-alpha)**t*G", "")
    statement = _statement("lemma-11", {"ordering": "fresh"}, FRESH)
    assert conclude(lemma_11(statement), replace(statement, rhs=parse(short))) not in {"equal", "weaker"}
