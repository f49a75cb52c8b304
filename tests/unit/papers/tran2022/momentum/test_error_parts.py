"""The parts of the momentum's error: each as enumeration or unrolling has it, and the check that bounds them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.momentum.checks.error_parts import CHECKS, RUN, error_figure
from dpverify.papers.tran2022.momentum.error_parts_bounds import PARTS, Run, error_parts, lag_error
from dpverify.report.pages.figures import svg

SPECS = load_specs()
F = Fraction
SMALL = Run(2, 8, F(1, 2), F(1, 4), F(1, 8), F(1), F(12), lipschitz=F(3), smoothness=F(2))


def test_the_lag_is_that_of_a_momentum_that_starts_right() -> None:
    alpha, eta, smoothness, momentum = F(1, 5), F(1, 7), F(3), F(0)
    for t in range(1, 20):
        gradient = -(t - 1) * eta * smoothness
        momentum = (1 - alpha) * momentum + alpha * gradient
        assert lag_error(t, alpha, eta, smoothness) == momentum - gradient


@pytest.mark.parametrize("t", range(1, 9))
def test_sampling_is_the_root_mean_square_over_all_orders(t: int) -> None:
    squares = []
    for first in product((3, -3), repeat=4):
        gradients = [sign for one in first for sign in (one, -one)]
        squares.append(sum((F(1, 2) ** (t - i) * g / 2 for i, g in enumerate(gradients[:t], 1)), F(0)) ** 2)
    exact = sqrt(sum(squares, F(0)) / len(squares))
    assert float(error_parts(t, SMALL)["sampling"].attained) == pytest.approx(exact, rel=1e-12)


def test_the_first_step_has_a_start_up_and_noise_and_nothing_else_but_its_example() -> None:
    parts = {name: float(part.attained) for name, part in error_parts(1, SMALL).items()}
    assert parts["start-up"] == parts["sampling"] == 1.5
    assert parts["drift"] == parts["lag"] == 0
    assert parts["noise"] == pytest.approx(4 * 0.5 * 3 * sqrt(12) * sqrt(2 / 3.141592653589793))


def test_the_check_holds_at_every_step_and_sees_each_fault() -> None:
    check = CHECKS.find("lemma-11", "error-parts")
    statement = SPECS.claim("tran2022:lemma-11").statement({"ordering": "fresh"}, "amended")
    assert check.applies(statement)
    found = check.run_block(Context(statement, BUDGETS["smoke"], 0), 0)
    assert found.status == "not refuted"
    assert found.n == RUN.steps
    assert len(found.controls) == len(PARTS) + 1
    assert all(control.refuted for control in found.controls)


def test_bounds_that_are_not_the_lemma_s_are_seen_and_are_no_verdict() -> None:
    check = CHECKS.find("lemma-11", "error-parts")
    printed = SPECS.claim("tran2022:lemma-11").statement({"ordering": "fresh"}, "printed")
    found = check.run_block(Context(printed, BUDGETS["smoke"], 0), 0)
    assert found.status == "inconclusive"
    assert found.kernel_disagrees


def test_the_figure_is_drawn_with_each_part_below_its_bounds() -> None:
    ((name, columns),) = error_figure().items()
    assert svg(name, columns).startswith(b"<?xml")
    for part in PARTS:
        for kind in {"corrected", "printed"} & {column.split("-")[0] for column in columns if column.endswith(part)}:
            pairs = zip(columns[f"attained-{part}"], columns[f"{kind}-{part}"], strict=True)
            assert all(attained <= bound for attained, bound in pairs)
