"""Rules for the lines of the algorithm boxes: loops, node ranges, windows, anchors, and the order of the steps.

A rule has a parameter that represents a line as printed, as corrected, or with a planted fault.
"""

from __future__ import annotations

import graphlib
from fractions import Fraction
from typing import cast

from dpverify.harness import Outcome, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.boxes import box_indices_bounds as box_indices
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    aggregation_renyi,
    compose_intervals,
)


def loop(point: Point, ends: tuple[int, int]) -> Outcome:
    """Test whether the loops visit t = 1 .. T once each in order, with steps qN + 1 .. (q+1)N in epoch q."""
    n = int(point["N"])
    steps = int(point["T"])
    visited = list(box_indices.epoch_loop(steps, n, ends[0], n + ends[1]))
    expected = [((t - 1) // n, t) for t in range(1, steps + 1)]
    span = f"t = {visited[0][1]} .. {visited[-1][1]}" if visited else "no step"
    return Outcome(
        visited == expected,
        Fraction(len(visited)),
        Fraction(steps),
        f"{span}, number of steps against T",
    )


def a_largest(point: Point, as_remainder: bool) -> Outcome:
    """Test whether Algorithm 3 finds a largest k, and whether it is 0."""
    exponents = box_indices.node_exponents(
        int(point["a"]), int(point["b"]), as_remainder=as_remainder
    )
    return Outcome(bool(exponents) and exponents[0] == 0, note=f"k among {exponents}")


def recursion(point: Point, skip: int) -> Outcome:
    """Test whether the intervals are consecutive from a to b."""
    a = int(point["a"])
    b = int(point["b"])
    expected = a
    for y, z in box_indices.algorithm_3(a, b):
        if y != expected or z < y:
            return Outcome(
                False,
                Fraction(y),
                Fraction(expected),
                "an interval does not begin where the last ended",
            )
        expected = z + 1 + skip
    return Outcome(
        expected == b + 1,
        Fraction(expected),
        Fraction(b + 1),
        "end of the last interval, plus 1",
    )


def node_range(point: Point, without_top: bool) -> Outcome:
    """Test whether the steps make every dyadic node."""
    steps = int(point["T"])
    nodes = [
        node
        for t in range(1, steps + 1)
        for node in box_indices.made_nodes(t)[
            : None if not without_top else max(t % 2, 1)
        ]
    ]
    missing = box_indices.dyadic_nodes(steps) - set(nodes)
    return Outcome(
        not missing
        and len(nodes) == len(set(nodes)) == len(box_indices.dyadic_nodes(steps)),
        note=f"missing {missing}",
    )


def delta_available(point: Point, first: int) -> Outcome:
    """Test whether every Delta node of the windows begins after step N and ends by step t."""
    n = int(point["N"])
    t = int(point["t"])
    for a, b in box_indices.windows_read(t, n, first):
        for y, z in compose_intervals(a, b):
            if not (y > n and z <= t):
                return Outcome(
                    False, Fraction(y), Fraction(n), f"the node [{y}, {z}] at step {t}"
                )
    return Outcome(True)


def prefix_defined(point: Point, amended: bool) -> Outcome:
    """Test whether COMPOSE(1, t mod N) is defined."""
    n = int(point["N"])
    t = int(point["t"])
    r = t % n
    defined = bool(box_indices.node_exponents(1, r)) or (
        amended and not compose_intervals(1, r)
    )
    return Outcome(defined, note=f"COMPOSE(1, {r}): Algorithm 3 finds no k")


def first_window(point: Point, late: int = 0) -> Outcome:
    """Test whether the nodes of the first window end by step t."""
    n = int(point["N"])
    t = int(point["t"])
    last = max(z for _, z in compose_intervals(t % n + 1 + late, t % n + n + late))
    return Outcome(
        last <= t,
        Fraction(last),
        Fraction(t),
        "end of the last node of the window, against t",
    )


def loop_windows(point: Point, first: int) -> Outcome:
    """Test whether every window that a step reads ends by that step."""
    n = int(point["N"])
    t = int(point["t"])
    late = [window for window in box_indices.windows_read(t, n, first) if window[1] > t]
    if not late:
        return Outcome(True)
    return Outcome(
        False,
        Fraction(late[0][1]),
        Fraction(t),
        "end of the window of i = 0, against t",
    )


def anchor_exists(point: Point, statement: Statement, shift: int = 0) -> Outcome:
    """Test whether the anchor exists, is the epoch's first iterate, and is known at every step of the epoch."""
    epochs = cast(box_indices.Epochs, statement.reading["epochs"])
    n = int(point["N"])
    q = int(point["q"])
    steps = [t for t in box_indices.epoch_steps(epochs, q, n) if t >= 1]
    anchor = q * n
    if statement.variant == "amended":
        anchor = max(q * n, 1) if epochs != "one-based" else q * n + 1
    anchor += shift
    if not steps:
        return Outcome(True)
    first = Fraction(steps[0])
    if anchor < 1:
        return Outcome(
            False,
            Fraction(anchor),
            first,
            "w_0 does not exist: index of the anchor, first step of the epoch",
        )
    if anchor > steps[0] or (statement.variant == "printed" and anchor != steps[0]):
        return Outcome(
            False,
            Fraction(anchor),
            first,
            "index of the anchor, first step of the epoch",
        )
    return Outcome(epochs == "shifted" or anchor == steps[0], Fraction(anchor), first)


def order_exists(point: Point, ahead: bool) -> Outcome:
    """Test whether the lines of a run of t steps can be executed in some order."""
    try:
        order = list(
            graphlib.TopologicalSorter(
                box_indices.dependencies(int(point["t"]), ahead=ahead)
            ).static_order()
        )
    except graphlib.CycleError as error:
        return Outcome(
            False, note="a circle: " + " needs ".join(reversed(error.args[1]))
        )
    return Outcome(bool(order))


def noise_named(point: Point, drawn: str) -> Outcome:
    """Test whether the noise zeta_i that Algorithm 5 adds to f_i has been drawn under this name."""
    drawn_names = {"zeta_1"}
    for i in range(2, int(point["K"]) + 1):
        drawn_names.add(drawn.replace("_i", f"_{i}"))
        if f"zeta_{i}" not in drawn_names:
            return Outcome(
                False,
                note=f"zeta_{i} is used and {', '.join(sorted(drawn_names))} were drawn",
            )
    return Outcome(True)


def all_queries(point: Point, amended: bool) -> Outcome:
    """Compare the divergence of K queries that all use example 1 with Theorem 10's bound for V = |IN(1)|."""
    n = int(point["N"])
    queries = int(point["queries"])
    counted = queries if amended else min(n, queries)
    if not amended and n > queries:
        return Outcome(
            False,
            Fraction(n),
            Fraction(queries),
            f"S_{n} is asked for, and there are {queries} queries",
        )
    order = Fraction(2)
    rho = Fraction(1)
    exact = aggregation_renyi(order, rho, [Fraction(1)] * queries)
    bound = counted * order * rho**2 / 2
    return Outcome(
        exact <= bound,
        exact,
        bound,
        "divergence of order 2 at rho = 1, against V z rho^2/2",
    )
