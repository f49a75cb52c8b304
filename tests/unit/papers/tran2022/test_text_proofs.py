"""Proofs as text prove their statement and nothing sharper."""

from __future__ import annotations

import pytest

from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.unit.papers.tran2022.sharpness import Variant, proves_nothing_sharper

CASES: list[tuple[str, Variant, str]] = [
    ("theorem-4-quadratic", "printed", "epsilon*99/100"),
    ("theorem-4-sufficient", "printed", "sqrt(2*log(1/delta) + epsilon)/epsilon"),
    ("theorem-4-geometric", "printed", "3*alpha*G"),
    ("theorem-8-condition", "amended", "epsilon/2"),
    ("theorem-8-count-first-log", "amended", "2*log2(N)"),
    ("theorem-10-factor-bound", "printed", "exp((z-1)*rho**2/2)"),
    ("proposition-13-chord", "printed", "1 - x*(1-exp(-1)) - 1/100"),
    ("proposition-14-special", "printed", "1"),
    ("proposition-14-special-step", "printed", "N*alpha - 1/100"),
    ("proposition-16-mod", "printed", "2**low_bits"),
]


@pytest.mark.parametrize(("claim", "variant", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_a_proof_proves_its_statement_and_nothing_sharper(claim: str, variant: Variant, sharper: str) -> None:
    proves_nothing_sharper(claim, variant, derivation_of, sharper)
