"""What the verdicts say in numbers of section 6.1's settings: the printed noise, what it buys, and what is needed."""

from __future__ import annotations

import itertools

from dpverify.papers.wang2019.accounting.runs import (
    BatchRun,
    account_noise,
    least_noise,
    lemma_condition,
    printed_noise,
)
from tests.for_each import for_each

SETTINGS = [
    (n, b, epsilon, passes)
    for n, (epsilon, passes) in [
        (32561, (0.2, 4)),
        (32561, (0.5, 5)),
        (49990, (0.2, 5)),
        (49990, (0.5, 5)),
    ]
    for b in (50, 100, 200)
]


@for_each(("n", "b", "epsilon", "passes"), SETTINGS)
def test_theorem_4_1_at_the_settings_of_section_6_1(
    n: int, b: int, epsilon: float, passes: int
) -> None:
    run = BatchRun("recursive", n, round(passes * n / (2 * b)), b, b, 0.01, 0.01, 1.0)
    box, theorem = (
        printed_noise(run, epsilon, 1e-5, 0.5, box=box) for box in (True, False)
    )
    least = least_noise(run, epsilon, 1e-5)
    assert least.epsilon.ratio < 1.25
    assert 1.6 < theorem / least.noise < 3.2
    assert box > theorem
    ends = account_noise(run, theorem, 1e-5).epsilon
    low, high = (0.045, 0.053) if epsilon == 0.2 else (0.128, 0.187)
    assert low < ends.lower < ends.upper < high
    assert ends.ratio < 1.25
    for noise, order in itertools.product(
        (box, theorem, least.noise, 10 * box), (1.0 + 11.5 / epsilon, 1e3)
    ):
        assert not lemma_condition(run, b, noise, order).holds
