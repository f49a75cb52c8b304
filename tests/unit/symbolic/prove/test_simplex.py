from __future__ import annotations

from random import Random

from flint import fmpq
from scipy.optimize import linprog

from dpverify.symbolic.prove.certificate import solve
from tests.for_each import for_each

Columns = list[dict[int, fmpq]]


def sparse(column: list[int]) -> dict[int, fmpq]:
    return {r: fmpq(v) for r, v in enumerate(column) if v}


def test_a_solution_adds_up_exactly() -> None:
    columns = [sparse([1, 2]), sparse([0, 3]), sparse([-1, 0])]
    weights = solve(columns, sparse([2, 5]), [False] * 3)
    assert weights is not None
    assert all(w >= 0 for w in weights)
    assert weights[0] - weights[2] == 2
    assert 2 * weights[0] + 3 * weights[1] == 5


def test_infeasible_programs_have_no_solution() -> None:
    assert solve([sparse([1, 1])], sparse([1, -1]), [False]) is None
    assert solve([], sparse([1]), []) is None


def test_a_wanted_column_is_used_where_it_can_be() -> None:
    columns = [sparse([1]), sparse([1]), sparse([-1])]
    weights = solve(columns, sparse([1]), [False, True, False])
    assert weights is not None
    assert weights[1] > 0


def test_an_unbounded_wanted_direction_is_taken() -> None:
    columns = [sparse([1]), sparse([-1])]
    weights = solve(columns, {}, [True, True])
    assert weights is not None
    assert weights[0] == weights[1] > 0


@for_each("seed", range(40))
def test_agrees_with_scipy(seed: int) -> None:
    rng = Random(seed)
    rows, count = rng.randint(1, 7), rng.randint(1, 14)
    dense = [[rng.randint(-3, 3) for _ in range(rows)] for _ in range(count)]
    mix = [rng.randint(0, 2) for _ in range(count)]
    target = [
        sum(w * c[r] for w, c in zip(mix, dense, strict=True)) for r in range(rows)
    ]
    if seed % 2:
        target = [rng.randint(-5, 5) for _ in range(rows)]
    wanted = [rng.random() < 0.3 for _ in range(count)]
    weights = solve([sparse(c) for c in dense], sparse(target), wanted)
    oracle = linprog(
        [-1.0 if w else 0.0 for w in wanted],
        A_eq=[[c[r] for c in dense] for r in range(rows)],
        b_eq=target,
        bounds=(0, 1e6),
    )
    assert (weights is None) == (oracle.status == 2)
    if weights is not None:
        assert all(w >= 0 for w in weights)
        for r in range(rows):
            assert (
                sum((w * c[r] for w, c in zip(weights, dense, strict=True)), fmpq(0))
                == target[r]
            )
        used = sum(
            (w for w, flag in zip(weights, wanted, strict=True) if flag), fmpq(0)
        )
        assert (used > 0) == (oracle.fun is not None and oracle.fun < -1e-7)
