"""Checks of the algorithm boxes taken literally: loops, node ranges, anchors, and lines that do not run as printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from typing import Any

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
from dpverify.papers.tran2022.boxes.checks.box_rules import (
    a_largest,
    all_queries,
    anchor_exists,
    delta_available,
    first_window,
    loop,
    loop_windows,
    node_range,
    noise_named,
    order_exists,
    prefix_defined,
    recursion,
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
    _line("algorithm-1-epochs", "loops", RUNS, loop, (1, 0), "i from 0", (0, 0)),
    _line(
        "algorithm-2-loop",
        "loops",
        RUNS,
        loop,
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
        a_largest,
        False,
        "remainder for congruence",
        True,
    ),
    _line(
        "algorithm-3-recursion",
        "intervals",
        _intervals,
        recursion,
        0,
        "a' one further",
        1,
    ),
    _line(
        "algorithm-2-node-range",
        "nodes",
        _lengths,
        node_range,
        False,
        "long nodes left out",
        True,
    ),
    _line(
        "algorithm-2-delta-available",
        "windows",
        STEPS,
        delta_available,
        1,
        "i from 0",
        0,
    ),
    _line(
        "algorithm-4-empty-prefix",
        "compose",
        STEPS,
        prefix_defined,
        True,
        "nothing said of r = 0",
        False,
        printed=False,
    ),
    _line(
        "algorithm-4-first-window",
        "windows",
        STEPS,
        first_window,
        0,
        "one step later",
        1,
    ),
    _line(
        "algorithm-4-loop",
        "windows",
        STEPS,
        loop_windows,
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
        is_satisfied=anchor_exists,
        planted=[
            Planted(
                "two iterates later",
                is_satisfied=partial(anchor_exists, shift=2),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour("the corrected line", is_satisfied=corrected(anchor_exists))
        ],
        interior=lambda p: p["q"] >= 2 and p["N"] >= 3,
    ),
    _line(
        "algorithm-2-update",
        "order",
        _last_steps,
        order_exists,
        True,
        "w_t from m-hat_t",
        False,
        printed=False,
    ),
    _line(
        "algorithm-5-index",
        "names",
        NAMES,
        noise_named,
        "zeta_t",
        "zeta_1 for all",
        "zeta_1",
        meets=SECOND_QUERY,
    ),
    _line(
        "theorem-10-in",
        "queries",
        QUERIES,
        all_queries,
        True,
        "i = 1 .. N",
        False,
        printed=False,
    ),
)
