from __future__ import annotations

from dpverify.papers.tran2022.trees.aggregation_derivations import (
    derive_factor,
    derive_gaussian_divergence,
)
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Build, Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, Build, str]] = [
    ("gaussian-divergence-multi", "printed", derive_gaussian_divergence, "z*mu_norm**2/(3*sigma**2)"),
    ("theorem-10-factor", "printed", derive_factor, "exp((z-1)*rho**2*query_gap**2/(2*query_sensitivity**2))"),
]


@for_each(("claim", "variant", "build", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_derivation_proves_the_statement_and_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    proves_nothing_sharper(claim, variant, build, sharper)
