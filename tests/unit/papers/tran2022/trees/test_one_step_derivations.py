from __future__ import annotations

from dpverify.papers.tran2022.trees.one_step_derivations import (
    derive_chord,
    derive_count_first_log,
    derive_factor,
    derive_factor_bound,
    derive_geometric,
    derive_mod,
    derive_special_step,
)
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Build, Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, Build, str]] = [
    ("proposition-13-chord", "printed", derive_chord, "1 - x*(1-exp(-1)) - 1/100"),
    ("proposition-14-special-step", "printed", derive_special_step, "N*alpha - 1/100"),
    ("theorem-8-count-first-log", "amended", derive_count_first_log, "2*log2(N)"),
    ("proposition-16-mod", "printed", derive_mod, "2**low_bits"),
    ("theorem-4-geometric", "printed", derive_geometric, "3*alpha*G"),
    ("theorem-10-factor", "printed", derive_factor, "exp((z-1)*rho**2*query_gap**2/(2*query_sensitivity**2))"),
    ("theorem-10-factor-bound", "printed", derive_factor_bound, "exp((z-1)*rho**2/2)"),
]


@for_each(("claim", "variant", "build", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_derivation_proves_the_statement_and_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    proves_nothing_sharper(claim, variant, build, sharper)
