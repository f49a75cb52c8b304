"""Comparisons of rates are proved on their conditions, and not without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpverify.harness import BUDGETS, Context, DerivationCheck
from dpverify.ledger import load_specs
from dpverify.ledger.records import Status
from dpverify.ledger.statements import Statement, Variant
from dpverify.papers.zhang2021.empirical import rate_derivations as derive
from dpverify.symbolic.derive.derivation import Derivation
from tests.for_each import for_each

SPECS = load_specs()
CASES: list[tuple[str, Variant, Callable[[Statement], Derivation]]] = [
    ("section-1-1-e-2", "amended", derive.logarithm_above_one),
    ("section-1-1-e-3", "amended", derive.few_dimensions),
    ("section-1-1-p-2-ball", "amended", derive.few_dimensions_of_ball),
    ("theorem-3-2-better-e-2", "printed", derive.logarithm_above_one),
    ("theorem-3-4-case", "printed", derive.case_without_privacy),
    ("theorem-3-4-other-case", "printed", derive.case_of_privacy),
    ("section-1-1-gap-p-1", "printed", derive.worse_than_without_privacy),
]


def status(statement: Statement, build: Callable[[Statement], Derivation]) -> Status:
    check = DerivationCheck(statement.key.partition(":")[2], "derivation", build=build)
    result = check.run_block(Context(statement, BUDGETS["smoke"], seed=0, check="derivation"), 0)
    return result.status


@for_each(("claim", "variant", "build"), CASES)
def test_a_comparison_is_proved_on_its_conditions_only(
    claim: str, variant: Variant, build: Callable[[Statement], Derivation]
) -> None:
    statement = SPECS.claim(f"zhang2021:{claim}").statement({}, variant)
    assert status(statement, build) == "proved"
    assert status(replace(statement, requires=()), build) != "proved"


@for_each(
    ("claim", "build"),
    [("theorem-3-2-total", derive.steps_of_all_stages), ("theorem-3-3-momentum", derive.bracket_of_stability)],
)
def test_statements_without_further_conditions_are_proved(claim: str, build: Callable[[Statement], Derivation]) -> None:
    assert status(SPECS.claim(f"zhang2021:{claim}").statement(), build) == "proved"
