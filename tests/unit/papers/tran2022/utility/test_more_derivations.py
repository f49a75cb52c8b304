"""Derivations of claims that were only searched before: complete, and refused where the printed side is sharpened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pytest

from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.conversion_derivations import (
    derive_quadratic,
    derive_sufficient,
    derive_theorem_8_condition,
)
from dpverify.papers.tran2022.sensitivity.level_sum_derivations import derive_6_v, derive_count_later_log
from dpverify.papers.tran2022.trees.aggregation_derivations import derive_gaussian_divergence, derive_theorem_10
from dpverify.papers.tran2022.trees.one_step_derivations import (
    derive_chord,
    derive_count_first_log,
    derive_factor,
    derive_factor_bound,
    derive_geometric,
    derive_mod,
    derive_special_step,
)
from dpverify.papers.tran2022.trees.series_derivations import derive_corollary_15, derive_proposition_14, derive_special
from dpverify.symbolic.derive.derivation import Derivation, check_derivation, conclude

Variant = Literal["printed", "amended"]
Build = Callable[[Statement], Derivation]

CASES: list[tuple[str, Variant, Build, str]] = [
    ("proposition-13-chord", "printed", derive_chord, "1 - x*(1-exp(-1)) - 1/100"),
    ("proposition-14", "printed", derive_proposition_14, "max(1, 1/(alpha*N - log(1/(1-gamma))))"),
    ("proposition-14-special", "printed", derive_special, "1"),
    ("proposition-14-special-step", "printed", derive_special_step, "N*alpha - 1/100"),
    (
        "corollary-15",
        "printed",
        derive_corollary_15,
        "(1-gamma)**window/(1-exp(-1))*max(1, 1/(alpha*N - log(1/(1-gamma))))",
    ),
    ("theorem-4-quadratic", "printed", derive_quadratic, "epsilon*99/100"),
    ("theorem-4-sufficient", "printed", derive_sufficient, "sqrt(2*log(1/delta) + epsilon)/epsilon"),
    ("theorem-8-condition", "amended", derive_theorem_8_condition, "epsilon/2"),
    ("theorem-8-count-first-log", "amended", derive_count_first_log, "2*log2(N)"),
    ("proposition-16-mod", "printed", derive_mod, "2**low_bits"),
    ("theorem-4-geometric", "printed", derive_geometric, "3*alpha*G"),
    ("theorem-6-v", "amended", derive_6_v, "(T/N)*log2(T)"),
    ("theorem-8-count-later-log", "amended", derive_count_later_log, "(T/N)*log2(N)"),
    ("gaussian-divergence-multi", "printed", derive_gaussian_divergence, "z*mu_norm**2/(3*sigma**2)"),
    ("theorem-10-integration", "printed", derive_theorem_10, "touched*z*rho**2/3"),
    ("theorem-10-factor", "printed", derive_factor, "exp((z-1)*rho**2*query_gap**2/(2*query_sensitivity**2))"),
    ("theorem-10-factor-bound", "printed", derive_factor_bound, "exp((z-1)*rho**2/2)"),
]


@pytest.mark.parametrize(("claim", "variant", "build", "sharper"), CASES, ids=[case[0] for case in CASES])
def test_derivation_proves_the_statement_and_nothing_sharper(
    claim: str, variant: Variant, build: Build, sharper: str
) -> None:
    spec = load_specs().claim(f"tran2022:{claim}")
    statement = spec.statement(spec.readings()[0], variant=variant)
    derivation = build(statement)
    checked = check_derivation(derivation, points=40)
    assert checked.complete, [(step.rule, step.note) for step in checked.steps if step.status != "proved"]
    assert conclude(derivation, statement) in {"equal", "weaker"}
    assert conclude(derivation, replace(statement, rhs=parse(sharper))) not in {"equal", "weaker"}
