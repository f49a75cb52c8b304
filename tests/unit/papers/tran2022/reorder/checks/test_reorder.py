from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.harness import BUDGETS, Context, MonteCarloCheck
from dpverify.ledger import load_specs
from dpverify.papers.tran2022.reorder.checks import reorder, reorder_runs
from tests.for_each import for_each

STATEMENT = (
    load_specs().claim("tran2022:algorithm-4-output").statement({"ordering": "fresh"})
)


POINT = {name: Fraction(value) for name, value in reorder_runs.POINT.items()}


CONTEXT = Context(STATEMENT, BUDGETS["smoke"], 0, "test", POINT)


@for_each("which", ["difference", "estimate"])
def test_sample_stays_below_its_bound_and_near_its_mean(which: Any) -> None:
    sample = reorder_runs._simulate(which)(CONTEXT, np.random.default_rng(1), 2000)
    assert sample.shape == (2000,)
    assert 0 < sample.max() <= reorder_runs._largest(which, CONTEXT) * (1 + 1e-12)
    exact = reorder_runs._exact(which, CONTEXT)
    assert abs(sample.mean() - exact) < 6 * sample.std() / np.sqrt(2000)


def test_one_permutation_leaves_nothing_over_in_the_kernel() -> None:
    sample = reorder_runs._simulate("difference", "once")(
        CONTEXT, np.random.default_rng(1), 50
    )
    assert sample.max() < 1e-25


def test_orders_are_permutations_or_not() -> None:
    rng = np.random.default_rng(0)
    fresh, once, loose = (
        reorder_runs._orders(rng, 7, kind) for kind in ("fresh", "once", "replacement")
    )
    n = reorder_runs.EXAMPLES
    assert (np.sort(fresh[:n], axis=0) == np.arange(n)[:, None]).all()
    assert (once[:n] == once[n : 2 * n]).all()
    assert not (fresh[:n] == fresh[n : 2 * n]).all()
    assert (np.sort(loose[:n], axis=0) != np.arange(n)[:, None]).any()


def test_laws_fit_into_the_smoke_budget() -> None:
    for law in reorder.CHECKS.of("algorithm-4-output"):
        if isinstance(law, MonteCarloCheck):
            assert law.cost(CONTEXT) < 5.0
