"""Stability on quadratics against runs over all sequences of batches, and generalization where it is known."""

from __future__ import annotations

import itertools
from fractions import Fraction

from flint import arb

from dpverify.papers.zhang2021.stability.exact_stability import (
    Table,
    generalization_error,
    mean_difference,
    mean_exchange_difference,
    stability,
    table_of,
)
from tests.for_each import for_each

RHO, ETA, CURVATURE, N = Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), 2


def run(
    b: Fraction,
    batches: tuple[int, ...],
    start: Fraction,
    eta: Fraction,
    on: int,
    first: int,
) -> list[Fraction]:
    """Algorithm 2 with B = 1 on examples of b and 0: the iterates omega_1, ..., omega_T, and the last one."""
    w = old = start
    found = [w] if first == 1 else []
    for t, drawn in enumerate(batches, start=first):
        gradient = CURVATURE * w + (b if drawn == 0 else 0)
        w, old = w - eta * gradient + (RHO if 1 <= t <= on else 0) * (w - old), w
        found.append(w)
    return found


@for_each(("steps", "on"), [(1, 0), (1, 1), (2, 1), (2, 2)])
@for_each("output", ["loop", "arguments", "last"])
@for_each("stages", [1, 2])
def test_mean_difference_is_the_mean_over_all_batches(
    steps: int, on: int, output: str, stages: int
) -> None:
    total = Fraction(0)
    first = 1 if output == "loop" else 0
    starts = [Fraction(0)]
    # the recursion is linear: a stage may begin at the mean of what it is handed
    for k in range(1, stages + 1):
        length, eta = steps << k, ETA / 2**k
        found = []
        for batches in itertools.product(range(N), repeat=length):
            one = run(Fraction(-1, 2), batches, starts[-1], eta, on << k, first)
            other = run(Fraction(1, 2), batches, Fraction(0), eta, on << k, first)
            gaps = [x - y for x, y in zip(one, other, strict=True)]
            found.append(
                gaps[-1]
                if output == "last"
                else sum(gaps[:length], Fraction(0)) / length
            )
        total = sum(found, Fraction(0)) / len(found)
        starts.append(total)
    exact = mean_difference(CURVATURE, stages, steps, on, RHO, arb(1) / 3, output)
    assert abs(float(exact) - float(N * total)) < 1e-12


def test_an_algorithm_that_remembers_its_example() -> None:
    """The loss is 1 on any other kind: alpha is 1, and the error is the chance of another kind."""
    code = sum(
        1 << place
        for place, (x, z) in enumerate(itertools.product(range(3), repeat=2))
        if x != z
    )
    table = table_of(code, 1, 3)
    assert stability(table, 1, 3) == 1
    assert generalization_error(table, 1, [Fraction(1, 3)] * 3) == Fraction(2, 3)
    assert mean_exchange_difference(table, 1, [Fraction(1, 3)] * 3) == Fraction(2, 3)


def test_exchanges_change_the_loss_by_the_generalization_error_in_three_places() -> (
    None
):
    table = table_of(0b1011001011010010, 3, 2)
    chances = [Fraction(1, 10), Fraction(9, 10)]
    assert (
        mean_exchange_difference(table, 3, chances)
        == generalization_error(table, 3, chances)
        != 0
    )


def test_an_algorithm_that_reads_nothing() -> None:
    table: Table = {((x, y), z): z for x, y, z in itertools.product(range(2), repeat=3)}
    assert stability(table, 2, 2) == 0
    assert generalization_error(table, 2, [Fraction(1, 10), Fraction(9, 10)]) == 0
