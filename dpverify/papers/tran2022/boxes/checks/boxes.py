"""The algorithm boxes taken at their word: loops, node ranges, anchors, and lines that cannot be run as printed."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, cast

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck, of_variant
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.boxes import box_indices_bounds as box_indices
from dpverify.papers.tran2022.trees.aggregation_bounds import aggregation_renyi
from dpverify.papers.tran2022.trees.compose_bounds import compose_intervals

CHECKS = PaperChecks("tran2022", __name__)

WIDEST = {"smoke": 40, "standard": 120, "full": 300}


def _runs(letter: str) -> Callable[[Budget], Iterable[dict[str, Any]]]:
    """All runs of up to WIDEST steps with up to 9 examples, and long ones."""

    def points(budget: Budget) -> Iterable[dict[str, Any]]:
        for steps in range(1, WIDEST[budget.name] + 1):
            for n in range(1, 10):
                yield {"N": n, letter: steps}
        for n, steps in ((100, 1023), (64, 1024), (701, 1400)):
            yield {"N": n, letter: steps}

    return points


def _intervals(budget: Budget) -> Iterable[dict[str, Any]]:
    return ({"a": a, "b": b} for b in range(1, 2 * WIDEST[budget.name]) for a in range(1, b + 1))


def _lengths(budget: Budget) -> Iterable[dict[str, Any]]:
    return ({"T": steps} for steps in range(1, 4 * WIDEST[budget.name]))


def _loop(point: Point, first: int, last: int) -> Outcome:
    """Whether the loops go through t = 1 .. T once each in order, epoch q having the steps qN + 1 .. (q+1)N."""
    n, steps = int(point["N"]), int(point["T"])
    visited = list(box_indices.epoch_loop(steps, n, first, n + last))
    wanted = [((t - 1) // n, t) for t in range(1, steps + 1)]
    ends = f"t = {visited[0][1]} .. {visited[-1][1]}" if visited else "no step"
    return Outcome(visited == wanted, Fraction(len(visited)), Fraction(steps), f"{ends}, number of steps against T")


def _a_largest(point: Point, as_remainder: bool = False) -> Outcome:
    found = box_indices.node_exponents(int(point["a"]), int(point["b"]), as_remainder=as_remainder)
    return Outcome(bool(found) and found[0] == 0, note=f"k among {found}")


def _recursion(point: Point, skip: int = 0) -> Outcome:
    """Whether the intervals follow on one another from a to b."""
    a, b = int(point["a"]), int(point["b"])
    expected = a
    for y, z in box_indices.algorithm_3(a, b):
        if y != expected or z < y:
            return Outcome(False, Fraction(y), Fraction(expected), "an interval does not begin where the last ended")
        expected = z + 1 + skip
    return Outcome(expected == b + 1, Fraction(expected), Fraction(b + 1), "end of the last interval, plus 1")


def _node_range(point: Point, without_top: bool = False) -> Outcome:
    steps = int(point["T"])
    made = [
        node
        for t in range(1, steps + 1)
        for node in box_indices.made_nodes(t)[: None if not without_top else max(t % 2, 1)]
    ]
    missing = box_indices.dyadic_nodes(steps) - set(made)
    return Outcome(
        not missing and len(made) == len(set(made)) == len(box_indices.dyadic_nodes(steps)), note=f"missing {missing}"
    )


def _delta_available(point: Point, first: int = 1) -> Outcome:
    """Whether every Delta node of the windows begins after step N and ends by step t."""
    n, t = int(point["N"]), int(point["t"])
    for a, b in box_indices.windows_read(t, n, first):
        for y, z in compose_intervals(a, b):
            if not (y > n and z <= t):
                return Outcome(False, Fraction(y), Fraction(n), f"the node [{y}, {z}] at step {t}")
    return Outcome(True)


def _prefix_defined(point: Point, amended: bool) -> Outcome:
    n, t = int(point["N"]), int(point["t"])
    r = t % n
    defined = bool(box_indices.node_exponents(1, r)) or (amended and not compose_intervals(1, r))
    return Outcome(defined, note=f"COMPOSE(1, {r}): Algorithm 3 finds no k")


def _first_window(point: Point, late: int = 0) -> Outcome:
    n, t = int(point["N"]), int(point["t"])
    last = max(z for _, z in compose_intervals(t % n + 1 + late, t % n + n + late))
    return Outcome(last <= t, Fraction(last), Fraction(t), "end of the last node of the window, against t")


def _loop_windows(point: Point, first: int) -> Outcome:
    n, t = int(point["N"]), int(point["t"])
    late = [window for window in box_indices.windows_read(t, n, first) if window[1] > t]
    if not late:
        return Outcome(True)
    return Outcome(False, Fraction(late[0][1]), Fraction(t), "end of the window of i = 0, against t")


def _anchor(point: Point, statement: Statement, shift: int = 0) -> Outcome:
    """Whether the anchor exists, is the iterate at the epoch's first step, and is known at every step of the epoch."""
    epochs = cast(box_indices.Epochs, statement.reading["epochs"])
    n, q = int(point["N"]), int(point["q"])
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
            False, Fraction(anchor), first, "w_0 does not exist: index of the anchor, first step of the epoch"
        )
    if anchor > steps[0] or (statement.variant == "printed" and anchor != steps[0]):
        return Outcome(False, Fraction(anchor), first, "index of the anchor, first step of the epoch")
    return Outcome(epochs == "shifted" or anchor == steps[0], Fraction(anchor), first)


def _order_exists(point: Point, ahead: bool) -> Outcome:
    """Whether the lines of a run can be done in some order."""
    try:
        order = list(graphlib.TopologicalSorter(box_indices.dependencies(int(point["T"]), ahead=ahead)).static_order())
    except graphlib.CycleError as error:
        return Outcome(False, note="a circle: " + " needs ".join(reversed(error.args[1])))
    return Outcome(bool(order))


def _noise_named(point: Point, drawn: str) -> Outcome:
    """Whether the noise that Algorithm 5 adds to f_i has been drawn under its name."""
    known = {"zeta_1"}
    for i in range(2, int(point["K"]) + 1):
        known.add(drawn.replace("_i", f"_{i}"))
        if f"zeta_{i}" not in known:
            return Outcome(False, note=f"zeta_{i} is used and {', '.join(sorted(known))} were drawn")
    return Outcome(True)


def _all_queries(point: Point, amended: bool) -> Outcome:
    """K queries that all touch example 1: their number against V = |IN(1)|, and what Theorem 10 makes of V."""
    n, queries = int(point["N"]), int(point["K"])
    counted = queries if amended else min(n, queries)
    if not amended and n > queries:
        return Outcome(False, Fraction(n), Fraction(queries), f"S_{n} is asked for, and there are {queries} queries")
    order, rho = Fraction(2), Fraction(1)
    exact = aggregation_renyi(order, rho, [Fraction(1)] * queries)
    bound = counted * order * rho**2 / 2
    return Outcome(exact <= bound, exact, bound, "divergence of order 2 at rho = 1, against V z rho^2/2")


def _grid(**ranges: Iterable[int]) -> Callable[[Budget], Iterable[dict[str, Any]]]:
    """Grid of two integers."""
    (one, first), (other, second) = ((name, list(values)) for name, values in ranges.items())
    return lambda _: ({one: a, other: b} for a in first for b in second)


CHECKS.add(
    RuleCheck(
        "algorithm-1-epochs",
        "loops",
        points=_runs("T"),
        holds=lambda p, _: _loop(p, 1, 0),
        why_sufficient="with T = qN + r the loops give N steps to each of the q whole epochs and r to the last one, "
        "in order, whatever q, N and r are; a permutation is drawn before the steps of its epoch",
        planted=[Planted("i from 0", holds=lambda p, _: _loop(p, 0, 0), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-2-loop",
        "loops",
        points=_runs("T"),
        holds=of_variant(lambda p, _: _loop(p, 0, -1), lambda p, _: _loop(p, 1, 0)),
        why_sufficient="as algorithm-1-epochs",
        planted=[Planted("r up to N - 1", holds=lambda p, _: _loop(p, 1, -1), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-3-k",
        "exponents",
        points=_intervals,
        holds=lambda p, _: _a_largest(p),
        why_sufficient="k = 0 is always among them, since a = 1 mod 1 and a <= b, and 2^k <= b - a + 1 bounds them",
        planted=[Planted("remainder for congruence", holds=lambda p, _: _a_largest(p, True), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-3-recursion",
        "intervals",
        points=_intervals,
        holds=lambda p, _: _recursion(p),
        why_sufficient="a' = a + 2^k is one beyond the interval's end and at most b + 1, so b - a falls until a' = b "
        "+ 1",
        planted=[Planted("a' one further", holds=lambda p, _: _recursion(p, 1), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-2-node-range",
        "nodes",
        points=_lengths,
        holds=lambda p, _: _node_range(p),
        why_sufficient="2^k divides t exactly if t = (a+1) 2^k, and then t - 2^k + 1 = a 2^k + 1: the two sets are "
        "the same by renaming, and a node is made at t, its last step",
        planted=[Planted("long nodes left out", holds=lambda p, _: _node_range(p, True), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-2-delta-available",
        "windows",
        points=_runs("t"),
        holds=lambda p, _: _delta_available(p),
        why_sufficient="for i <= q - 1 the window begins at t - iN + 1 >= r + N + 1 > N, for i >= 1 it ends by t, and "
        "COMPOSE stays inside it",
        planted=[Planted("i from 0", holds=lambda p, _: _delta_available(p, 0), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-4-empty-prefix",
        "compose",
        points=_runs("t"),
        holds=of_variant(lambda p, _: _prefix_defined(p, False), lambda p, _: _prefix_defined(p, True)),
        why_sufficient="r = 0 is the only case in which Algorithm 3 has no k (algorithm-3-k)",
        planted=[Planted("nothing said of r = 0", holds=lambda p, _: _prefix_defined(p, False), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-4-first-window",
        "windows",
        points=_runs("t"),
        holds=lambda p, _: _first_window(p),
        where=["t >= N"],
        why_sufficient="r + N <= t exactly if q >= 1, that is t >= N",
        planted=[Planted("one step later", holds=lambda p, _: _first_window(p, 1), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-4-loop",
        "windows",
        points=_runs("t"),
        holds=of_variant(lambda p, _: _loop_windows(p, 0), lambda p, _: _loop_windows(p, 1)),
        why_sufficient="t - (i-1)N <= t exactly if i >= 1",
        planted=[Planted("i from 0", holds=lambda p, _: _loop_windows(p, 0), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-2-anchors",
        "anchors",
        points=_grid(q=range(6), N=range(1, 12)),
        holds=_anchor,
        why_sufficient="the index of the anchor and that of the epoch's first step differ by a constant for q >= 1, "
        "and q = 0 is looked at apart",
        planted=[
            Planted("two iterates later", holds=lambda p, s: _anchor(p, s, 2), at_declared_size=True),
        ],
        interior=lambda p: p["q"] >= 2 and p["N"] >= 3,
    ),
    RuleCheck(
        "algorithm-2-update",
        "order",
        points=_lengths,
        holds=of_variant(lambda p, _: _order_exists(p, False), lambda p, _: _order_exists(p, True)),
        why_sufficient="w_{t+1} needs step t only, so the steps can be done one after the other",
        planted=[Planted("w_t from m-hat_t", holds=lambda p, _: _order_exists(p, False), at_declared_size=True)],
    ),
    RuleCheck(
        "algorithm-5-index",
        "names",
        points=lambda _: ({"K": K} for K in range(9)),
        holds=of_variant(lambda p, _: _noise_named(p, "zeta_t"), lambda p, _: _noise_named(p, "zeta_i")),
        why_sufficient="the two names are the same for every i",
        planted=[Planted("zeta_t", holds=lambda p, _: _noise_named(p, "zeta_t"), at_declared_size=True)],
    ),
    RuleCheck(
        "theorem-10-in",
        "queries",
        points=_grid(N=range(1, 6), K=(*range(1, 8), 0)),
        holds=of_variant(lambda p, _: _all_queries(p, False), lambda p, _: _all_queries(p, True)),
        why_sufficient="with i = 1 .. K every query is counted, which is how the proof of Theorem 10 uses IN(s)",
        planted=[Planted("i = 1 .. N", holds=lambda p, _: _all_queries(p, False), at_declared_size=True)],
    ),
)
