from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from dpverify.harness import BUDGETS, Context, MonteCarloCheck
from dpverify.ledger import load_specs
from dpverify.papers.tran2022.identities.checks import momentum_sums
from dpverify.papers.tran2022.identities.gradient_combinations_bounds import Ordering, left_over, paper_functions
from dpverify.papers.tran2022.reorder.checks import reorder, reorder_runs
from dpverify.symbolic.exact.combinations import Combination

STATEMENT = load_specs().claim("tran2022:algorithm-4-output").statement({"ordering": "fresh"})
POINT = {name: Fraction(value) for name, value in reorder.POINT.items()}
CONTEXT = Context(STATEMENT, BUDGETS["smoke"], 0, "test", POINT)


@pytest.mark.parametrize("which", ["difference", "estimate"])
def test_sample_stays_below_its_bound_and_near_its_mean(which: Any) -> None:
    sample = reorder._simulate(which)(CONTEXT, np.random.default_rng(1), 2000)
    assert sample.shape == (2000,)
    assert 0 < sample.max() <= reorder._largest(which, CONTEXT) * (1 + 1e-12)
    exact = reorder._exact(which, CONTEXT)
    assert abs(sample.mean() - exact) < 6 * sample.std() / np.sqrt(2000)


def test_one_permutation_leaves_nothing_over_in_the_kernel() -> None:
    sample = reorder._simulate("difference", "once")(CONTEXT, np.random.default_rng(1), 50)
    assert sample.max() < 1e-25


def test_orders_are_permutations_or_not() -> None:
    rng = np.random.default_rng(0)
    fresh, once, loose = (reorder._orders(rng, 7, kind) for kind in ("fresh", "once", "replacement"))
    n = reorder.EXAMPLES
    assert (np.sort(fresh[:n], axis=0) == np.arange(n)[:, None]).all()
    assert (once[:n] == once[n : 2 * n]).all()
    assert not (fresh[:n] == fresh[n : 2 * n]).all()
    assert (np.sort(loose[:n], axis=0) != np.arange(n)[:, None]).any()


def test_laws_fit_into_the_smoke_budget() -> None:
    for law in reorder.CHECKS.of("algorithm-4-output"):
        if isinstance(law, MonteCarloCheck):
            assert law.cost(CONTEXT) < 5.0


def test_what_is_left_over_has_mean_zero_and_half_of_it_has_not() -> None:
    order = Ordering("free", 3)
    rest = left_over(11, 3, Fraction(2, 5), Fraction(1, 3), paper_functions(order, Fraction(2, 5)))
    assert momentum_sums._has_mean_zero(rest, order)
    first = next(iter(rest.terms))
    assert not momentum_sums._has_mean_zero(Combination({first: rest.terms[first]}), order)
    late = Combination({("anchor", 2, 1): fmpq(1), ("anchor", 2, 2): fmpq(-1)})
    assert not momentum_sums._has_mean_zero(late, order), "the anchor is later than the draw"


def test_runs_differ_by_what_is_left_over() -> None:
    point = {"N": Fraction(5), "T": Fraction(31), "alpha": Fraction(1, 5), "gamma": Fraction(1, 7)}
    assert reorder_runs._follows(point, STATEMENT).ok
    off = reorder_runs._follows(point, STATEMENT, gamma_off=1e-6)
    assert not off.ok
    assert "off by" in off.note
    run = reorder_runs._run(point, "fresh")
    gap = np.abs(run.released - run.momenta).max(axis=1)
    assert (gap[:9] < 1e-15).all(), "for t < 2N"
    assert gap[9:].max() > 1e-3
