"""Checks of the momentum as a sum of nodes: section 3's tree, Algorithm 4, and the recursion that replaces it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
)
from dpverify.harness.search.derived_checks import compare_arrays, compare_coefficients
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.algorithms.reconstruction import (
    literal as reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction import (
    nodes as reconstruct_nodes,
)
from dpverify.papers.tran2022.identities.combinations_bounds import (
    Ordering,
    in_gradients,
    in_words,
    left_over,
    literal_output,
    paper_functions,
    printed_output,
    streaming_outputs,
)
from dpverify.papers.tran2022.trees.checks.compose import is_cover
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals
from dpverify.symbolic.exact.combinations import Combination, kronecker_point
from dpverify.symbolic.exact.evaluate import to_number
from dpverify.symbolic.exact.numbers import ONE, ZERO, Value, to_value

CHECKS = PaperChecks("tran2022", __name__)

LONGEST = {"smoke": 9, "standard": 16, "full": 24}
# Larger than all integer coefficients, as in ``identities.checks.identities``
HEIGHT = 4095

PLAIN = Fraction(1, 2), Fraction(1, 2)
FORGETFUL = Fraction(1), Fraction(1, 2)
INTERIOR = Fraction(2, 5), Fraction(1, 3)
LARGE = {
    "smoke": [(12, 131)],
    "standard": [(12, 131), (64, 256), (100, 473)],
    "full": [(100, 1023), (64, 1024)],
}


def _prefixes(budget: Budget) -> Iterable[dict[str, Any]]:
    for t in range(1, {"smoke": 70, "standard": 300, "full": 600}[budget.name]):
        yield {"t": t, "alpha": Fraction(1, 2)}
        yield {"t": t, "alpha": Fraction(1)}
        yield {"t": t, "alpha": kronecker_point(t + 1, 1, 3)[0]}


def _node_ends(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield the points of ``_prefixes`` with the last step of each node of the prefix."""
    for point in _prefixes(budget):
        for _, z in compose_intervals(1, point["t"]):
            yield {**point, "node_end": z}


def _runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield small runs with simple weights and a Kronecker point, which decides for all weights, then large runs."""
    for t in range(1, LONGEST[budget.name] + 1):
        for n in range(1, 5):
            every = kronecker_point(t + 1, t // n + 1, HEIGHT)
            for alpha, gamma in (PLAIN, INTERIOR, FORGETFUL, every):
                yield {"N": n, "t": t, "alpha": alpha, "gamma": gamma}
    for n, t in LARGE[budget.name]:
        yield {"N": n, "t": t, "alpha": INTERIOR[0], "gamma": INTERIOR[1]}


def _tree_momentum(point: Point, statement: Statement, decay_to: int = 1) -> Outcome:
    """Compare m_t with the sum over COMPOSE(1, t); the decay of node [y, z] is from z (``decay_to`` 1) or y (0)."""
    t = int(point["t"])
    alpha = point["alpha"]
    functions = paper_functions(Ordering("free", 3), alpha)
    beta = to_value(1 - alpha)
    total = Combination({})
    for node in compose(1, t).tolist():
        y, z = node
        # the sum of (1-alpha)^(z - i) grad(i)
        value = functions["G_win"](y, z) + functions["r_win"](y, z)
        total = total + beta ** (t - node[decay_to]) * (to_value(alpha) * value)
    return compare_coefficients(functions["momentum"](t), total, in_words)


def _noise(point: Point, weight: Value = ONE) -> Outcome:
    """Compare the coefficient of a node's noise in NOISE_t of Algorithm 1 with the weight in the statement."""
    t = int(point["t"])
    z = int(point["node_end"])
    beta = to_value(1 - point["alpha"])
    box = Combination({("zeta", z): beta ** (t - z) if t > z else ONE})
    return compare_coefficients(box, Combination({("zeta", z): weight}), in_words)


def _orderings(statement: Statement, n: int) -> list[Ordering]:
    if statement.reading.get("ordering") == "once" or n == 1:
        return [Ordering("once", n, 1), Ordering("once", n, 0)]
    return (
        [Ordering("reversed", n, 1)]
        if statement.variant == "printed"
        else [Ordering("free", n, 1)]
    )


def _sizes(point: Point) -> tuple[int, int, Fraction, Fraction]:
    return int(point["N"]), int(point["t"]), point["alpha"], point["gamma"]


def _output(
    point: Point,
    statement: Statement,
    output: Callable[..., Combination] = literal_output,
) -> Outcome:
    """Compare m_hat_t of Algorithm 4, in gradients, with m_t, or with the corrected right side ``m_t + left_over``.

    Under one permutation the printed variant uses the printed algorithm. Under fresh permutations it uses the repaired
    algorithm, which is refuted as well.
    """
    n, t, alpha, gamma = _sizes(point)
    if statement.variant == "printed" and statement.reading["ordering"] == "once":
        output = printed_output
    nodes = output(t, n, alpha, gamma)
    for ordering in _orderings(statement, n):
        functions = paper_functions(ordering, alpha)
        expected = functions["momentum"](t)
        if statement.variant == "amended":
            missing = left_over(t, n, alpha, gamma, functions)
            if not _has_mean_zero(missing, ordering):
                return Outcome(False, note="what is left over has a mean")
            expected = expected + missing
        comparison = compare_coefficients(
            in_gradients(nodes, functions), expected, in_words
        )
        if comparison.ok is False:
            return comparison
    return Outcome(True)


def _delta_off(t: int, n: int, alpha: Fraction, gamma: Fraction) -> Combination:
    """Return m_hat_t with a planted fault: Delta of the latest window has the weight 1 instead of 1 - gamma."""
    nodes = literal_output(t, n, alpha, gamma)
    if t < 2 * n:
        return nodes
    missing = {
        ("Delta", y, z): (1 - alpha) ** (t - z)
        for y, z in compose_intervals(t - n + 1, t)
    }
    return nodes + to_value(alpha * gamma) * Combination(
        {name: to_value(value) for name, value in missing.items()}
    )


def _streams(point: Point, statement: Statement, fault: str = "") -> Outcome:
    """Compare m_hat_t of the recursion with that of Algorithm 4, node by node."""
    n, t, alpha, gamma = _sizes(point)
    return compare_coefficients(
        streaming_outputs(t, n, alpha, gamma, fault=fault)[-1],
        literal_output(t, n, alpha, gamma),
        in_words,
    )


def _has_mean_zero(difference: Combination, ordering: Ordering) -> bool:
    """Return whether the coefficients at each anchor sum to 0, and no anchor is later than the epoch of the example.

    Such an anchor is independent of the order of the epoch, so that the mean of a gradient there is the full gradient.
    Under the ordering "free" the number of an example is its step.
    """
    sums: dict[int, Value] = {}
    for (_, epoch, step), value in (
        (name, value) for name, value in difference.terms.items() if len(name) == 3
    ):
        if ordering.name == "free" and epoch > ordering.epoch(step):
            return False
        sums[epoch] = sums.get(epoch, ZERO) + value
    return all(total == 0 for total in sums.values())


def _latest_twice(t: int, n: int, alpha: Fraction, gamma: Fraction) -> Combination:
    """Return m_hat_t with a planted fault: one node of the latest window is added again with the weight gamma."""
    extra = Combination({("G", t, t): to_value(gamma)}) if t >= n else Combination({})
    return literal_output(t, n, alpha, gamma) + extra


def _kernel(point: Point, statement: Statement, gamma_off: float = 0.0) -> Outcome:
    """Compare the kernel's coefficient of every node, from runs on unit vectors, with the exact one, to 1e-12."""
    n, t, alpha, gamma = _sizes(point)
    rows = reconstruct_nodes.node_intervals(t)
    unit = np.eye(len(rows))
    none = np.zeros((len(rows), len(rows)))
    families = [
        np.concatenate([unit if k == family else none for k in range(3)], axis=1)
        for family in range(3)
    ]
    nodes = reconstruct_nodes.Nodes(*families)
    out, _ = reconstruct_literal.reconstruct_literal(
        nodes, examples=n, alpha=float(alpha), gamma=float(gamma) + gamma_off
    )
    exact = literal_output(t, n, alpha, gamma)
    names = [
        (family, int(y), int(z)) for family in ("G", "Delta", "r") for y, z in rows
    ]
    expected = np.array(
        [float(to_number(exact.coefficient(name)).float) for name in names]
    )
    return compare_arrays(
        out[-1],
        expected,
        lambda i: f"node {names[i]}: kernel and algebra",
        rtol=1e-12,
        atol=1e-15,
    )


def _kernel_runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield sizes for which the coefficients of all nodes fit in memory."""
    for n, t in [
        (1, 7),
        (2, 9),
        (3, 20),
        (5, 34),
        (8, 64),
        *([(7, 100)] if budget.name != "smoke" else []),
    ]:
        yield {"N": n, "t": t, "alpha": Fraction(1, 4), "gamma": Fraction(1, 3)}


def _intervals(budget: Budget) -> Iterable[dict[str, Any]]:
    widest = {"smoke": 72, "standard": 200, "full": 400}[budget.name]
    return ({"a": a, "b": b} for b in range(1, widest) for a in range(1, b + 1))


def _covered(point: Point, statement: Statement, fewer: int = 0) -> Outcome:
    """Test whether COMPOSE covers the n steps of [a, b] by at most 2 log2(1 + n/2) disjoint dyadic intervals."""
    a = int(point["a"])
    b = int(point["b"])
    nodes = compose_intervals(a, b)
    covered = is_cover(nodes, a, b)
    # count <= 2 log2(1 + n/2), without a logarithm
    few = 4 * 2 ** len(nodes) <= (b - a + 3 - fewer) ** 2
    return (
        Outcome(covered.ok and few, Fraction(len(nodes)), note=f"{len(nodes)} nodes")
        if covered.ok
        else covered
    )


WITHOUT_NOISE = {
    "update-of-algorithm-2": Property(
        "the nodes are combined as Algorithm 4 prints it, which Algorithm 2 calls"
    ),
    "noise-off": Property(
        "the coefficients are those of the nodes; no noise is added to any"
    ),
}
OUTPUT_ENOUGH = (
    "COMPOSE(a, b) covers [a, b] once (proposition-18-cover), so that a sum over it is the window's; with this the "
    "lines of the box are the right side of equation 3, which is proved, as equation 2 is"
)

CHECKS.add(
    RuleCheck(
        "section-3-momentum-tree",
        "coefficients",
        points=_prefixes,
        is_satisfied=_tree_momentum,
        why_sufficient="the powers (t - z) + (z - t') add up to t - t' in whatever node t' lies, and COMPOSE(1, t) is "
        "one node that ends at t behind COMPOSE(1, t - lowbit(t)), so it covers [1, t] once (NOTES.md)",
        planted=[
            Planted(
                "decay back to a node's first step",
                is_satisfied=lambda p, s: _tree_momentum(p, s, 0),
                at_declared_size=True,
            )
        ],
        region="t < 70 (smoke), 300, 600; for all alpha by a Kronecker point",
    ),
    RuleCheck(
        "lemma-12-noise",
        "coefficients",
        points=_node_ends,
        is_satisfied=lambda p, _: _noise(p),
        planted=[
            Planted(
                "the weight 2",
                is_satisfied=lambda p, _: _noise(p, 2 * ONE),
                at_declared_size=True,
            )
        ],
    ),
    RuleCheck(
        "section-3-cover",
        "compose",
        points=_intervals,
        is_satisfied=_covered,
        planted=[
            Planted(
                "a bound for one step fewer",
                is_satisfied=lambda p, s: _covered(p, s, 1),
                at_declared_size=True,
            )
        ],
    ),
    RuleCheck(
        "algorithm-4-output",
        "coefficients",
        points=_runs,
        is_satisfied=_output,
        why_sufficient=OUTPUT_ENOUGH,
        meets=WITHOUT_NOISE,
        planted=[
            Planted(
                "one node taken twice",
                is_satisfied=lambda p, s: _output(p, s, _latest_twice),
                at_declared_size=True,
            ),
            Planted(
                "Delta with the weight 1",
                is_satisfied=lambda p, s: _output(p, s, _delta_off),
            ),
        ],
        interior=lambda p: (
            p["N"] >= 3 and p["t"] % p["N"] != 0 and p["alpha"] != p["gamma"]
        ),
    ),
    RuleCheck(
        "algorithm-4-output",
        "streaming",
        points=_runs,
        is_satisfied=_streams,
        readings={"ordering": "once"},
        variants=("amended",),
        planted=[
            Planted(
                fault,
                is_satisfied=partial(_streams, fault=fault),
                at_declared_size=fault == "ring-off",
            )
            for fault in ("base-late", "gamma-swapped", "decay-off", "ring-off")
        ],
        region="the recursion over epochs against the box, node by node",
    ),
    RuleCheck(
        "algorithm-4-output",
        "kernel",
        points=_kernel_runs,
        is_satisfied=_kernel,
        about_kernel=True,
        readings={"ordering": "once"},
        variants=("amended",),
        planted=[
            Planted(
                "gamma off by 1e-9",
                is_satisfied=partial(_kernel, gamma_off=1e-9),
                at_declared_size=True,
            )
        ],
        leaves_out="floats: coefficients to 1e-12",
    ),
)
