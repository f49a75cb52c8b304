"""Lemma 11 in runs of Algorithm 1: a loss with a memory, and the worst case of the sampling error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.checks.rule_check import RuleCheck
from dpverify.papers.tran2022.momentum_error_bounds import Ordering
from dpverify.papers.tran2022.momentum_error_memory import Memory, error_at, printed_terms

CHECKS = PaperChecks("tran2022", __name__)

RUNS_WITH_MEMORY: dict[str, tuple[int, ...]] = {
    "smoke": (4000,),
    "standard": (4000, 12000),
    "full": (4000, 12000, 50000),
}
"""Epochs."""

MEMORY_ALPHA, MEMORY_ETA = Fraction(3, 100), Fraction(1, 2000)


def _with_memory(budget: Budget) -> Iterable[dict[str, Any]]:
    n = Memory().examples
    return (
        {"N": n, "T": epochs * n, "t": epochs * n, "alpha": MEMORY_ALPHA, "eta": MEMORY_ETA}
        for epochs in RUNS_WITH_MEMORY[budget.name]
    )


@lru_cache(maxsize=32)
def _memory_error(steps: int, ordering: Ordering) -> float:
    return error_at(Memory(), steps, float(MEMORY_ALPHA), float(MEMORY_ETA), ordering)


def _forgets(ordering: Ordering, part: float = 1.0) -> Callable[[Point, Statement], Outcome]:
    """Printed terms and the start-up term against the error on the loss with a memory, with 1% for floats."""

    def holds(point: Point, statement: Statement) -> Outcome:
        del statement
        problem, steps, alpha = Memory(), int(point["t"]), float(point["alpha"])
        error = _memory_error(steps, ordering)
        allowed = part * printed_terms(problem, alpha, float(point["eta"])) + (1 - alpha) ** steps * problem.lipschitz
        note = (
            f"a loss with a memory, G = {problem.lipschitz:.4f}, L = {problem.smoothness:.2f}; the same for every order"
        )
        return Outcome(error <= 1.01 * allowed, Fraction(error), Fraction(allowed), note)

    return holds


CHECKS.add(
    RuleCheck(
        "lemma-11",
        "memory",
        points=_with_memory,
        holds=_forgets("once"),
        readings={"ordering": "once"},
        variants=("printed",),
        planted=[Planted("nothing allowed", holds=lambda p, s: Outcome(False), at_declared_size=True)],
        interior=lambda p: True,
        region="Algorithm 1 without noise on a loss with a memory, N = 128",
        leaves_out="exact arithmetic: floats, with a margin of 1%",
        seconds=3.0,
    ),
    RuleCheck(
        "lemma-11",
        "memory-fresh",
        points=_with_memory,
        holds=_forgets("fresh"),
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[Planted("one permutation", holds=_forgets("once"))],
        region="the same loss, on which one permutation breaks the printed terms",
        leaves_out="other orders than those of one seed",
        seconds=3.0,
    ),
)
