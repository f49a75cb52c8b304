from __future__ import annotations

from dpverify.papers.tran2022.privacy.conversion_derivations import (
    derive_quadratic,
    derive_sufficient,
    derive_theorem_8_condition,
)
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Build, Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, Build, str]] = [
    ("theorem-4-quadratic", "printed", derive_quadratic, "epsilon*99/100"),
    ("theorem-4-sufficient", "printed", derive_sufficient, "sqrt(2*log(1/delta) + epsilon)/epsilon"),
    ("theorem-8-condition", "amended", derive_theorem_8_condition, "epsilon/2"),
]


@for_each(("claim", "variant", "build", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_derivation_proves_the_statement_and_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    proves_nothing_sharper(claim, variant, build, sharper)
