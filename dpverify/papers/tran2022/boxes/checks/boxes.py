"""Checks of the algorithm boxes taken literally: loops, node ranges, anchors, and lines that do not run as printed."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, cast

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    TrueNeighbour,
    of_variant,
)
from dpverify.harness.sides import Rule, corrected
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.boxes import box_indices_bounds as box_indices
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    aggregation_renyi,
    compose_intervals,
)

CHECKS = PaperChecks("tran2022", __name__)

Points = Callable[[Budget], Iterable[dict[str, Any]]]
# Arguments: a point, and the parameter that represents a line
BoxRule = Callable[[Point, Any], Outcome]

WIDEST = {"smoke": 40, "standard": 120, "full": 300}


def _runs(letter: str) -> Points:
    """Return a function that yields all runs of up to WIDEST steps with up to 9 examples, and three long runs."""

    def points(budget: Budget) -> Iterable[dict[str, Any]]:
        for steps in range(1, WIDEST[budget.name] + 1):
            for n in range(1, 10):
                yield {"N": n, letter: steps}
        for n, steps in ((100, 1023), (64, 1024), (701, 1400)):
            yield {"N": n, letter: steps}

    return points


def _intervals(budget: Budget) -> Iterable[dict[str, Any]]:
    return (
        {"a": a, "b": b}
        for b in range(1, 2 * WIDEST[budget.name])
        for a in range(1, b + 1)
    )


def _lengths(budget: Budget) -> Iterable[dict[str, Any]]:
    return ({"T": steps} for steps in range(1, 4 * WIDEST[budget.name]))


def _last_steps(budget: Budget) -> Iterable[dict[str, Any]]:
    return ({"t": steps} for steps in range(1, 4 * WIDEST[budget.name]))


def _loop(point: Point, ends: tuple[int, int]) -> Outcome:
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


def _a_largest(point: Point, as_remainder: bool) -> Outcome:
    exponents = box_indices.node_exponents(
        int(point["a"]), int(point["b"]), as_remainder=as_remainder
    )
    return Outcome(bool(exponents) and exponents[0] == 0, note=f"k among {exponents}")


def _recursion(point: Point, skip: int) -> Outcome:
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


def _node_range(point: Point, without_top: bool) -> Outcome:
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


def _delta_available(point: Point, first: int) -> Outcome:
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


def _prefix_defined(point: Point, amended: bool) -> Outcome:
    n = int(point["N"])
    t = int(point["t"])
    r = t % n
    defined = bool(box_indices.node_exponents(1, r)) or (
        amended and not compose_intervals(1, r)
    )
    return Outcome(defined, note=f"COMPOSE(1, {r}): Algorithm 3 finds no k")


def _first_window(point: Point, late: int = 0) -> Outcome:
    n = int(point["N"])
    t = int(point["t"])
    last = max(z for _, z in compose_intervals(t % n + 1 + late, t % n + n + late))
    return Outcome(
        last <= t,
        Fraction(last),
        Fraction(t),
        "end of the last node of the window, against t",
    )


def _loop_windows(point: Point, first: int) -> Outcome:
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


def _anchor(point: Point, statement: Statement, shift: int = 0) -> Outcome:
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


def _order_exists(point: Point, ahead: bool) -> Outcome:
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


def _noise_named(point: Point, drawn: str) -> Outcome:
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


def _all_queries(point: Point, amended: bool) -> Outcome:
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


def _grid(**ranges: Iterable[int]) -> Points:
    """Return a function that yields a grid of integer points; the last coordinate changes fastest."""
    names, values = list(ranges), [list(numbers) for numbers in ranges.values()]
    return lambda _: (
        dict(zip(names, numbers, strict=True)) for numbers in product(*values)
    )


def _line(
    claim: str,
    name: str,
    points: Points,
    rule: BoxRule,
    correct: Any,
    fault: str,
    wrong: Any,
    *,
    printed: Any = None,
    meets: Mapping[str, Property] | None = None,
) -> RuleCheck:
    """Return the check of a line by a rule with a parameter that represents the line.

    ``correct`` is the parameter of the right line and ``wrong`` that of the planted fault. ``printed`` is the parameter
    of the printed line if the statement corrects it.
    """

    def of(saying: Any) -> Rule:
        return lambda point, _: rule(point, saying)

    return RuleCheck(
        claim,
        name,
        points=points,
        is_satisfied=of(correct)
        if printed is None
        else of_variant(of(printed), of(correct)),
        planted=[Planted(fault, is_satisfied=of(wrong), at_declared_size=True)],
        meets=meets or {},
        neighbours=[]
        if printed is None
        else [TrueNeighbour("the corrected line", is_satisfied=of(correct))],
    )


RUNS = _runs("T")
STEPS = _runs("t")
NAMES = _grid(K=range(9))
QUERIES = _grid(N=range(1, 6), queries=range(1, 8))

IN_LOOP = {
    "q <= floor(T/N)": Property(
        "the loops are gone through with q from 0 to floor(T/N)"
    ),
    "r <= min(N - 1, T - q*N)": Property(
        "the loops are gone through with r up to the smaller of N - 1 and T - q N"
    ),
}
IN_TURNS = {
    "turn <= floor(t/N) - 1": Property(
        "the turn i = 0, the first one where there is any",
        lambda point: point["t"] >= point["N"],
    )
}
SECOND_QUERY = {
    "query >= 2": Property(
        "the second of K queries or a later one", lambda point: point["K"] >= 2
    )
}

CHECKS.add(
    _line("algorithm-1-epochs", "loops", RUNS, _loop, (1, 0), "i from 0", (0, 0)),
    _line(
        "algorithm-2-loop",
        "loops",
        RUNS,
        _loop,
        (1, 0),
        "r up to N - 1",
        (1, -1),
        printed=(0, -1),
        meets=IN_LOOP,
    ),
    _line(
        "algorithm-3-k",
        "exponents",
        _intervals,
        _a_largest,
        False,
        "remainder for congruence",
        True,
    ),
    _line(
        "algorithm-3-recursion",
        "intervals",
        _intervals,
        _recursion,
        0,
        "a' one further",
        1,
    ),
    _line(
        "algorithm-2-node-range",
        "nodes",
        _lengths,
        _node_range,
        False,
        "long nodes left out",
        True,
    ),
    _line(
        "algorithm-2-delta-available",
        "windows",
        STEPS,
        _delta_available,
        1,
        "i from 0",
        0,
    ),
    _line(
        "algorithm-4-empty-prefix",
        "compose",
        STEPS,
        _prefix_defined,
        True,
        "nothing said of r = 0",
        False,
        printed=False,
    ),
    _line(
        "algorithm-4-first-window",
        "windows",
        STEPS,
        _first_window,
        0,
        "one step later",
        1,
    ),
    _line(
        "algorithm-4-loop",
        "windows",
        STEPS,
        _loop_windows,
        1,
        "i from 0",
        0,
        printed=0,
        meets=IN_TURNS,
    ),
    RuleCheck(
        "algorithm-2-anchors",
        "anchors",
        points=_grid(q=range(6), N=range(1, 12)),
        is_satisfied=_anchor,
        planted=[
            Planted(
                "two iterates later",
                is_satisfied=partial(_anchor, shift=2),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour("the corrected line", is_satisfied=corrected(_anchor))
        ],
        interior=lambda p: p["q"] >= 2 and p["N"] >= 3,
    ),
    _line(
        "algorithm-2-update",
        "order",
        _last_steps,
        _order_exists,
        True,
        "w_t from m-hat_t",
        False,
        printed=False,
    ),
    _line(
        "algorithm-5-index",
        "names",
        NAMES,
        _noise_named,
        "zeta_t",
        "zeta_1 for all",
        "zeta_1",
        meets=SECOND_QUERY,
    ),
    _line(
        "theorem-10-in",
        "queries",
        QUERIES,
        _all_queries,
        True,
        "i = 1 .. N",
        False,
        printed=False,
    ),
)
