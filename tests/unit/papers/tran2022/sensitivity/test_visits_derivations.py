from __future__ import annotations

from dpverify.papers.tran2022.sensitivity.visits_derivations import (
    derive_6_v,
    derive_count_later_log,
)
from tests.for_each import for_each
from tests.unit.papers.tran2022.sharpness import Build, Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, Build, str]] = [
    ("theorem-6-v", "amended", derive_6_v, "(T/N)*log2(T)"),
    ("theorem-8-count-later-log", "amended", derive_count_later_log, "(T/N)*log2(N)"),
]


@for_each(("claim", "variant", "build", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_derivation_proves_the_statement_and_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    proves_nothing_sharper(claim, variant, build, sharper)
