from __future__ import annotations

from dpverify.papers.tran2022.trees.series_derivations import (
    derive_corollary_15,
    derive_proposition_14,
)
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Build, Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, Build, str]] = [
    ("proposition-14", "printed", derive_proposition_14, "max(1, 1/(alpha*N - log(1/(1-gamma))))"),
    (
        "corollary-15",
        "printed",
        derive_corollary_15,
        "(1-gamma)**window/(1-exp(-1))*max(1, 1/(alpha*N - log(1/(1-gamma))))",
    ),
]


@for_each(("claim", "variant", "build", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_derivation_proves_the_statement_and_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    proves_nothing_sharper(claim, variant, build, sharper)
