"""Check Theorem 8, its families and its (epsilon, delta) form by exact sums over Algorithm 2's released nodes.

``squares`` uses the node sums as Algorithm 2's box prints them, and adds up the squared movements of one example in all
nodes. In these sums, a node that ends in epoch q uses, for each of its steps i, the anchors of q and the example at the
position of i in the permutation of q. So the movement depends only on the position of the example in that permutation,
and the worst run has the worst position in each epoch. Gradients of r are evaluated up to ``|i - qN - 1|`` steps from
their anchor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.harness.sides import LeftSide, Rule
from dpverify.ledger.statements import Statement, Variant
from dpverify.papers.tran2022.accounting.algorithm_2_sums import Nodes, exact_sums
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_layout
from dpverify.papers.tran2022.privacy.checks.counterexamples import (
    BROKEN,
    MEETS,
    NEARBY,
    REGIONS,
    Corner,
    broken,
)
from dpverify.papers.tran2022.privacy.checks.sides import (
    divergence,
    second_step_delta,
    second_step_divergence,
    trade_off,
)
from dpverify.papers.tran2022.sensitivity.checks.witnesses import ordering_of
from dpverify.privacy.participation import pattern_count, patterns
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import ball, to_ball

CHECKS = PaperChecks("tran2022", __name__)

Places: TypeAlias = NDArray[np.float64]
PROMISED = 3  # Theorem 8: z/(2 sigma^2) times this
ROUNDING = 1e-9


def _sizes(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    longest = {"smoke": 256, "standard": 2048, "full": 16384}[budget.name]
    for n in (2, 3, 4, 5, 8, 17, 64):
        for steps in sorted({1, n, n + 1, 2 * n + 1, 7 * n, longest - 1, longest}):
            yield {"N": n, "T": steps, "alpha": Fraction(1, n)}


def squares(steps: int, n: int, alpha: float) -> float:
    """Return the largest sum over all nodes of squared movements over the noise's variance, times sigma^2."""
    first = 3 * np.log2(n)
    later = 4 * steps / n * np.log2(n)
    total = 0.0
    for epoch in range(-(-steps // n)):
        moved: Places = np.zeros(n)
        for t in range(epoch * n + 1, min(steps, (epoch + 1) * n) + 1):
            for level in range((t & -t).bit_length()):
                moved += _node(
                    t, 2**level, n, epoch, alpha, first if t <= 2 * n else later, later
                )
        total += float(moved.max())
    return total


def _node(
    t: int, length: int, n: int, epoch: int, alpha: float, of_g: float, later: float
) -> Places:
    """Return the squares of G, Delta and r of the node of ``length`` steps that ends at t, for each position."""
    i = np.arange(t - length + 1, t + 1)
    weights = (1 - alpha) ** (t - i)
    visits = np.bincount((i - 1) % n, weights, n).astype(np.float64)
    drift = np.bincount((i - 1) % n, weights * np.abs(i - epoch * n - 1) / n, n).astype(
        np.float64
    )
    delta = visits**2 / later if t - length + 1 > n else 0.0
    return visits**2 / (4 * of_g) + delta + drift**2 / later


def _private(point: Point, statement: Statement, times: int = 1) -> Outcome:
    """Test an upper bound: the sum of squares over all nodes, read or not, and over all three families at once."""
    total = times * squares(int(point["T"]), int(point["N"]), float(point["alpha"]))
    exact = Fraction(total).limit_denominator(10**9)
    return Outcome(
        total <= PROMISED - ROUNDING,
        exact,
        Fraction(PROMISED),
        "sum of squares over all nodes",
    )


CHECKS.add(
    RuleCheck(
        "algorithm-2-printed-sums",
        "all-nodes",
        points=_sizes,
        is_satisfied=_private,
        planted=[
            Planted(
                "squares 4 times as large",
                is_satisfied=partial(_private, times=4),
                at_declared_size=True,
            )
        ],
        region="N from 2 to 64, T up to 256 (smoke), 2048, 16384, alpha = 1/N, where every node moves most",
        leaves_out="other sizes; floats, not real arithmetic",
        seconds=1.0,
    )
)

EVERYTHING = (0, 1, 2, 3, 4)
USED: Mapping[str, tuple[int, ...]] = {  # The sums, of five, that a record covers
    "theorem-8": EVERYTHING,
    "theorem-8-family-first": (0, 2),
    "theorem-8-family-later": (1, 3),
    "theorem-8-family-r": (4,),
}

# Both sides scale with z/sigma^2; G is large so that L decides
UNITS: Mapping[str, tuple[int | str, int | str]] = {
    "z": (2, 2),
    "sigma": (1, 1),
    "eta": ("1/1000", 1),
    "G": (10**6, 10**6),
    "T": (1, 12),
    "N": (1, 8),
    "L": (0, 64),
    "alpha": ("1/64", 1),
}

LONG: list[Corner] = [
    {"T": T, "N": N, "alpha": f"1/{N}"}
    for T, N in ((33, 2), (50, 4), (27, 9), (65, 33))
]


def _region(claim: str) -> dict[str, tuple[int | str, int | str]]:
    """Return the search region of the symbols that the record has."""
    missing = {"theorem-8-family-r": {"G"}, "theorem-8-dp": {"z", "sigma"}}.get(
        claim, set()
    )
    return {name: ends for name, ends in UNITS.items() if name not in missing}


def _short_runs(fewest: int) -> Callable[[Budget], Iterator[Corner]]:
    """Return runs that are short enough to try every pattern."""

    def points(budget: Budget) -> Iterator[Corner]:
        longest = {"smoke": 10, "standard": 12, "full": 14}[budget.name]
        for N in range(fewest, longest):
            for T in range(1, longest + 1):
                if pattern_count(T, N, "fresh") <= 400:
                    yield {"T": T, "N": N, "alpha": Fraction(1, N)}

    return points


def _defined(claim: str, share: int) -> Rule:
    """Return the rule that no pattern's sum of squares exceeds the record's ``moved``, divided by ``share``."""
    nodes: Nodes = "all" if claim == "theorem-8-family-r" else "read"

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        meaning = statement.definition("moved")
        if meaning is None or meaning.statement.rhs is None:
            return Outcome(None, note="no record says how far nodes move")
        T = int(point["T"])
        N = int(point["N"])
        first = Fraction(3)
        later = Fraction(4 * T, N) * (N > 1)
        constants = {
            "sigma": 1,
            "G": 1,
            "delta_G": 4,
            "V_first": first,
            "V_later": later,
        }
        defined_value = ball(evaluate(meaning.statement.rhs, {**point, **constants}))
        over = [
            4 * first,
            4 * later,
            first if claim == "theorem-8-family-first" else later,
            later,
            later,
        ]
        for pattern in patterns(T, N, ordering_of(statement)):
            sums = exact_sums(T, N, point["alpha"], pattern, nodes)
            moved = sum(
                (to_ball(sums[i]) / ball(over[i]) for i in USED[claim] if over[i]),
                arb(0),
            )
            if moved > defined_value / share:
                return Outcome(False, moved, defined_value, f"the visits {pattern}")
        return Outcome(True, defined_value, defined_value)

    return is_satisfied


def _groups(all_groups: bool) -> Rule:
    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        """Test whether each released node is in exactly one of the three groups."""
        T = int(point["T"])
        N = int(point["N"])
        for family, start, end in tape_layout(N, T).tolist():
            groups = [
                family != 2 and end <= 2 * N,
                family != 2 and end > 2 * N,
                family == 2 and all_groups,
            ]
            if sum(groups) != 1:
                return Outcome(
                    False,
                    note=f"family {family}, node [{start}, {end}] is in {sum(groups)} groups",
                )
        return Outcome(True)

    return is_satisfied


def _exact(claim: str, what: str) -> LeftSide:
    """Return the delta or divergence of a claim's nodes, as far as the losses of a counterexample move them."""
    is_dp = claim == "theorem-8-dp"
    if what == "smoothness":
        return second_step_delta if is_dp else second_step_divergence
    linear = [place for place in USED.get(claim, EVERYTHING) if place in {0, 1}]
    return (trade_off if is_dp else divergence)(linear)


def _with(claim: str, what: str, **changed: Fraction) -> LeftSide:
    """Return the left side of ``_exact`` with other values of some symbols."""
    return lambda point, statement: _exact(claim, what)({**point, **changed}, statement)


def _held(claim: str) -> tuple[Variant, ...]:
    """Return the variants of a record's statement that hold."""
    if claim == "theorem-8-family-r":
        return ("printed",)
    return ("amended", "held") if claim == "theorem-8" else ("amended",)


CHECKS.add(
    *(
        check
        for claim, used in USED.items()
        for check in (
            SearchCheck(
                claim,
                "search",
                lhs=divergence(
                    used, "all" if claim == "theorem-8-family-r" else "read"
                ),
                region=_region(claim),
                also={"T": "integer, T >= 1"},
                corners=LONG,
                variants=_held(claim),
                seconds_each=0.05,
            ),
            ExhaustiveCheck(
                claim,
                "definition",
                points=_short_runs(1 if claim == "theorem-8-family-r" else 2),
                is_satisfied=_defined(claim, 1),
                planted=[Planted("half of it", is_satisfied=_defined(claim, 2))],
                region="every pattern of every short run",
                variants=_held(claim)[:1],
            ),
        )
    ),
    *(
        ExhaustiveCheck(
            claim,
            what,
            points=broken(claim, what),
            lhs=_exact(claim, what),
            meets=MEETS[what],
            neighbours=[
                TrueNeighbour(words, lhs=_with(claim, what, **changed))
                for words, changed in [NEARBY[what]]
            ],
            region=REGIONS[what],
            variants=("printed",),
        )
        for claim, cases in BROKEN.items()
        for what in cases
    ),
    SearchCheck(
        "theorem-8-dp",
        "search",
        lhs=trade_off(EVERYTHING),
        region={
            **_region("theorem-8-dp"),
            "epsilon": ("1/100", 400),
            "delta": ("1/1000000000000", "99/100"),
        },
        corners=[
            {**corner, "epsilon": 1, "delta": "1/100000", "sigma": 14}
            for corner in LONG[:2]
        ],
        variants=("amended", "held"),
        seconds_each=0.05,
    ),
    ExhaustiveCheck(
        "theorem-8-composition",
        "groups",
        points=lambda budget: [
            {"N": N, "T": T} for N in (1, 2, 3, 5, 8, 33) for T in (1, 2, 7, 64, 100)
        ],
        is_satisfied=_groups(True),
        why_sufficient="Renyi divergences of adaptively composed mechanisms add up, order by order, and every "
        "released node is in exactly one of the three groups: G or Delta inside [1, 2N], G or Delta elsewhere, r",
        planted=[Planted("the r nodes are forgotten", is_satisfied=_groups(False))],
        region="every node that Algorithm 2 releases in short runs",
    ),
)
