"""Check parts of the privacy proofs: conversion from Renyi bounds, laws of a node's noise and m^_t, OUT(s), section 2.

The algebra of the conversion to (epsilon, delta) and sigma is checked step by step, and the cited conversion on laws
near its worst case.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Final

from flint import arb

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import from_lemma
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.harness.sides import Rule, corrected
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.sides import tail_points
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    ancestor_count,
    momentum_sensitivity,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals
from dpverify.privacy.conversions import near_worst_laws, two_point_delta
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.symbolic.exact.numbers import ball, to_exact, to_value

CHECKS = PaperChecks("tran2022", __name__)


def _laws(budget: Budget) -> Iterator[dict[str, Fraction]]:
    for order, divergence, delta, p, q in near_worst_laws():
        yield {"z": order, "x": divergence, "delta": delta, "p": p, "q": q}


def _converted(share: Fraction) -> Rule:
    """Return the rule that x + log(share/delta)/(z - 1) is a sufficient epsilon for delta; the paper's share is 1."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        x, z, delta = (ball(point[name]) for name in ("x", "z", "delta"))
        epsilon = x + (ball(share) / delta).log() / (z - 1)
        exact = two_point_delta(point["p"], point["q"], epsilon)
        ok = True if exact <= delta else False if exact > delta else None
        return Outcome(ok, exact, point["delta"])

    return is_satisfied


CHECKS.add(
    SearchCheck("theorem-4-order", "search"),
    SearchCheck("theorem-4-quadratic", "search"),
    SearchCheck("theorem-4-root", "search"),
    SearchCheck("theorem-4-sufficient", "search"),
    SearchCheck("theorem-4-condition", "search"),
    SearchCheck(
        "theorem-4-geometric",
        "search",
        region={"node_start": (1, 2048), "node_end": (1, 2048)},
        corners=[
            {"node_start": 1, "node_end": 2048, "N": N, "alpha": f"1/{N}", "G": 1}
            for N in (1, 2, 3, 16, 100)
        ],
    ),
    SearchCheck("theorem-8-order", "search"),
    SearchCheck("theorem-8-condition", "search"),
    SearchCheck("theorem-8-count-first-log", "search"),
    SearchCheck("theorem-8-count-later-log", "search"),
    *(
        SearchCheck(
            "theorem-6-v",
            f"search-{depth}",
            readings={"depth": depth},
            where=[f"depth == {value}"],
        )
        for depth, value in (
            ("levels", "floor(log2(T)) + 1"),
            ("height", "floor(log2(T))"),
        )
    ),
    CitedDerivationCheck(
        "theorem-10-rdp-to-dp", "premise-event", build=from_lemma("an-event")
    ),
    ExhaustiveCheck(
        "theorem-10-rdp-to-dp",
        "two-point-laws",
        points=_laws,
        is_satisfied=_converted(Fraction(1)),
        planted=[
            Planted(
                "log(1/(3 delta)) instead of log(1/delta)",
                is_satisfied=_converted(Fraction(1, 3)),
            )
        ],
        region="two-point laws near the worst, orders from 1.01 to 200, delta from 1e-12 to 1/2",
    ),
)


# Section 2, corrected: deviation 7 G sqrt(log(1/delta)) log2(t)/epsilon
CONSTANT: Final = 7
# constant, t, epsilon: too large an epsilon for each constant; a tree without noise
NOT_PRIVATE: Final = [
    (CONSTANT, 2, 32),
    *((constant, 4, 6 * constant**2) for constant in (CONSTANT, 100, 10**4, 10**6)),
    (CONSTANT, 1, 1),
]


def _nodes(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    longest = {"smoke": 16, "standard": 32, "full": 64}[budget.name]
    for N in (1, 2, 3, 5, 8):
        for level in range(longest.bit_length()):
            for block in range(longest >> level):
                yield {
                    "N": N,
                    "alpha": Fraction(1, N),
                    "start": (block << level) + 1,
                    "end": (block + 1) << level,
                }


def _node_noise(of_box: Fraction) -> Rule:
    """Return the rule that a node's noise has the stated variance, over sigma^2 V; the box has (4 alpha G)^2."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        alpha = point["alpha"]
        box = of_box * point["alpha"] ** 2
        if statement.variant == "amended":
            return Outcome(box == 16 * alpha**2, box, 16 * alpha**2)
        start = int(point["start"])
        end = int(point["end"])
        sensitivity = momentum_sensitivity(
            start, end, alpha, int(point["N"]), Fraction(1), "fresh"
        )
        squared = to_exact(to_value(sensitivity) * to_value(sensitivity))
        note = "variance of Algorithm 1 over G^2 sigma^2 V, and that of Algorithm 5 with the node's own sensitivity"
        return Outcome(
            bool(squared == box), box, squared, "" if squared == box else note
        )

    return is_satisfied


def _runs(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    longest = {"smoke": 24, "standard": 48, "full": 96}[budget.name]
    for N in (1, 2, 3, 8):
        for alpha in sorted({Fraction(1, N), Fraction(1)}):
            yield from ({"N": N, "alpha": alpha, "T": T} for T in (1, 2, longest))


def _same_law(decay_off: int) -> Rule:
    """Return the rule that both sides have the same coefficients of every gradient and of every node's noise."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        N = int(point["N"])
        T = int(point["T"])
        alpha = point["alpha"]
        decay = 1 - alpha
        for t in range(1, T + 1):
            gradients: dict[int, Fraction] = {}
            for start, end in compose_intervals(1, t):
                if end > t:
                    return Outcome(
                        False,
                        note=f"step {t} needs the node [{start}, {end}], which is later",
                    )
                for i in range(start, end + 1):
                    gradients[i] = gradients.get(i, Fraction(0)) + decay ** (
                        t - end + decay_off
                    ) * alpha * decay ** (end - i)
                if statement.variant == "printed":
                    sensitivity = momentum_sensitivity(
                        start, end, alpha, N, Fraction(1), "fresh"
                    )
                    squared = to_exact(to_value(sensitivity) * to_value(sensitivity))
                    if squared != 16 * alpha**2:
                        note = f"noise of the node [{start}, {end}] in m^_{t}: variances over G^2 sigma^2 V"
                        return Outcome(False, 16 * alpha**2, squared, note)
            if (
                any(
                    gradients.get(i) != alpha * decay ** (t - i)
                    for i in range(1, t + 1)
                )
                or len(gradients) != t
            ):
                return Outcome(False, note=f"m_{t} has other coefficients")
        return Outcome(True)

    return is_satisfied


def _queries(budget: Budget) -> Iterator[dict[str, int]]:
    """Yield every pair of subsets of three examples, and the example in which the data sets differ."""
    for first, second in product(range(8), repeat=2):
        for s in range(3):
            yield {"first": first, "second": second, "s": s}


def _same_density(leak: int) -> Rule:
    """Return the rule: if a query's subset omits s, its mean is equal on both data sets, for every earlier answer."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        subsets = (int(point["first"]), int(point["second"]))
        s = int(point["s"])
        data = (Fraction(3), Fraction(-5), Fraction(7))
        neighbour = tuple(value + 11 * (i == s) for i, value in enumerate(data))
        for answer in (Fraction(-2), Fraction(0), Fraction(13, 3)):
            for i, subset in enumerate(subsets):
                if subset >> s & 1:
                    continue
                members = subset | leak
                means = [
                    _query(i, members, values, answer) for values in (data, neighbour)
                ]
                if means[0] != means[1]:
                    return Outcome(
                        False,
                        means[0],
                        means[1],
                        f"query {i + 1}, subset {subset:03b}, earlier {answer}",
                    )
        return Outcome(True)

    return is_satisfied


def _query(
    i: int, subset: int, data: tuple[Fraction, ...], answer: Fraction
) -> Fraction:
    """Answer a query on its subset; the second query also multiplies by the earlier answer and adds its square."""
    total = sum((value for n, value in enumerate(data) if subset >> n & 1), Fraction(0))
    return total if i == 0 else total * answer + answer**2


NOISY_TREE = {
    **witnesses.OPPOSED,
    "gaussian-mechanism": Property(
        "every node of the tree is released with spherical Gaussian noise"
    ),
    "adaptive-queries": Property(
        "the t vectors are fixed, which adaptive queries may be"
    ),
}
DELTAS = [Fraction(1, 10**exponent) for exponent in (1, 2, 5, 10, 100)]
SHARES = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(2)]


def _trees(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
    for constant, t, epsilon in NOT_PRIVATE:
        yield {
            "constant": constant,
            "t": t,
            "epsilon": epsilon,
            "delta": Fraction(1, 10),
            "G": 1,
        }
    for t in (2, 3, 4, 5, 7, 8, 9, 16, 100, 1023, 1024, 1025, 10**6, 10**9):
        yield from (
            {"constant": CONSTANT, "t": t, "G": 1, **at}
            for at in tail_points(DELTAS, SHARES)(budget)
        )


def _tree_private(share: Fraction) -> Rule:
    """Return the rule: the tree with deviation ``share constant G sqrt(log(1/delta)) log2(t)/epsilon`` meets delta."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        t = int(point["t"])
        epsilon = ball(point["epsilon"])
        delta = ball(point["delta"])
        if t == 1:
            return Outcome(False, Fraction(1), point["delta"], "log(1) = 0: no noise")
        deviation = (
            ball(share * point["constant"])
            * (1 / delta).log().sqrt()
            * arb(t).log()
            / arb(2).log()
            / epsilon
        )
        exact = delta_ball(2 * arb(ancestor_count(t)).sqrt() / deviation, epsilon)
        note = "delta of noise with deviation constant*G*sqrt(log(1/delta))*log2(t)/epsilon"
        return Outcome(
            True if exact <= delta else False if exact > delta else None,
            exact,
            delta,
            note,
        )

    return is_satisfied


CHECKS.add(
    ExhaustiveCheck(
        "theorem-4-node-noise",
        "nodes",
        points=_nodes,
        is_satisfied=_node_noise(Fraction(16)),
        planted=[
            Planted(
                "15 for 16",
                is_satisfied=_node_noise(Fraction(15)),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour(
                "the corrected statement",
                is_satisfied=corrected(_node_noise(Fraction(16))),
            )
        ],
        region="every node of a short run",
    ),
    ExhaustiveCheck(
        "theorem-4-same-law",
        "coefficients",
        points=_runs,
        is_satisfied=_same_law(0),
        why_sufficient="both are linear in the nodes and in independent noises: COMPOSE(1, t) tiles 1 .. t, and a "
        "gradient at step i has the coefficient alpha (1-alpha)^(end-i) (1-alpha)^(t-end) whatever node it is in; "
        "every node of COMPOSE(1, t) ends by t, so what was released before determines w_1 .. w_t on both sides",
        planted=[
            Planted(
                "decay off by one", is_satisfied=_same_law(1), at_declared_size=True
            )
        ],
        neighbours=[
            TrueNeighbour(
                "the corrected statement", is_satisfied=corrected(_same_law(0))
            )
        ],
        region="all steps of short runs",
    ),
    ExhaustiveCheck(
        "theorem-10-out",
        "subsets",
        points=_queries,
        is_satisfied=_same_density(0),
        why_sufficient="a local query is a function of the examples in its subset and of earlier answers; neither "
        "differs, so the mean is the same, and the noise does not depend on the data",
        planted=[
            Planted(
                "a query that sees one example more",
                is_satisfied=_same_density(1),
                at_declared_size=True,
            ),
        ],
        region="two adaptive queries over every pair of subsets of three examples",
    ),
    RuleCheck(
        "section-2-tree-private",
        "constants",
        points=_trees,
        is_satisfied=_tree_private(Fraction(1)),
        meets=NOISY_TREE,
        planted=[
            Planted(
                "a seventh of the noise", is_satisfied=_tree_private(Fraction(1, 7))
            )
        ],
        region="constant 7, t from 2 to 10^9, delta down to 1e-100, epsilon up to 2 log(1/delta); epsilon above it, "
        "for constants up to 10^6; t = 1",
    ),
)
