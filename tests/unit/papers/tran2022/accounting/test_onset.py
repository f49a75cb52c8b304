"""Where Theorems 6 and 9 beat the trivial bound: formulas of the specs, and onsets."""

from __future__ import annotations

import math

import pytest

from dpverify.harness.checks import as_point
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.accounting import onset
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.scales import proof_scales
from dpverify.papers.tran2022.utility.checks.onset import corrected_bound
from dpverify.symbolic.exact.evaluate import evaluate_statement
from tests.for_each import for_each

SPECS = load_specs()


READINGS = {
    "theorem-6": {"ordering": "fresh", "depth": "levels"},
    "theorem-9": {"ordering": "fresh"},
}


THEOREMS: tuple[onset.Theorem, ...] = ("theorem-6", "theorem-9")


CELL = onset.Cell(3, 2.0, 1e-5, 0.3, 4.0)


@for_each("theorem", THEOREMS)
@for_each("n", [60, 4321, 10**6])
def test_the_bounds_are_those_of_the_record(theorem: onset.Theorem, n: int) -> None:
    steps = onset.steps_of(theorem, n, CELL)
    point = as_point(
        {
            "N": n,
            "T": steps,
            "d": CELL.d,
            "delta": "1/100000",
            "G": 1,
            "L": "3/10",
            "R": 4,
        }
    )
    claim = SPECS.claim(f"tran2022:{theorem}")
    _, printed = evaluate_statement(
        claim.statement(READINGS[theorem], "printed"), point
    )
    _, corrected = evaluate_statement(
        claim.statement(READINGS[theorem], "amended"), point
    )
    assert onset.printed_bound(theorem, n, CELL) == pytest.approx(
        float(printed), rel=1e-9
    )
    assert corrected_bound(theorem, n, CELL) == pytest.approx(
        float(corrected), rel=1e-9
    )


@for_each("theorem", THEOREMS)
def test_sizes_without_a_run_promise_nothing(theorem: onset.Theorem) -> None:
    for n in (1, 2, 5):
        cell = onset.Cell(100, 0.1)
        assert math.isinf(onset.printed_bound(theorem, n, cell))
        assert math.isinf(onset.needed_bound(theorem, n, cell))


def test_the_guess_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = onset.Cell(100, 10.0)
    found = {onset.needed_onset("theorem-9", cell)}
    for guess in (0.1, 1.0):
        monkeypatch.setattr(onset, "GUESS", guess)
        found.add(onset.needed_onset("theorem-9", cell))
    assert len(found) == 1


@for_each(
    ("theorem", "n", "closeness"),
    [("theorem-6", 1000, 1.001), ("theorem-9", 10**6, 1.01)],
)
def test_the_needed_noise_is_a_quarter_of_the_printed_one_and_known_well(
    theorem: onset.Theorem, n: int, closeness: float
) -> None:
    share = onset.needed_share(theorem, n, onset.Cell(1, 1.0))
    assert 0.2 < share.lower <= share.upper < 0.3
    assert share.upper < closeness * share.lower


def test_the_noise_depends_on_l_over_g_only() -> None:
    n, steps, eta = 1500, 10**6, 1e-5
    found = []
    for scale in (1.0, 10.0):
        scales = proof_scales(
            n, steps, eta=eta, lipschitz=scale, smoothness=0.5 * scale
        )
        parameters = SrParameters(
            steps, 1 / n, eta * n, eta, 1.0, scale, "fresh", scales
        )
        found.append(sr_nsgd_mu(parameters, n, 0.5 * scale).upper)
    assert found[0] == pytest.approx(found[1], rel=1e-12)
