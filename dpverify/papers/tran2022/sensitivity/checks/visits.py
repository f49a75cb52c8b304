"""Check Theorems 4 and 8's bounds on the number of terms and nodes to which one example contributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

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
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity import sensitivity_bounds as bounds
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    epoch_of,
    most_visits,
)

CHECKS = PaperChecks("tran2022", __name__, {**witnesses.UPDATE_1, **witnesses.UPDATE_2})

Law = Callable[[Point, Statement], int]

RUNS: list[
    witnesses.Corner
] = [  # Extreme runs: shorter than an epoch, one step into one, all levels of the tree in use
    {"T": 1, "N": 1},
    {"T": 1, "N": 2},
    {"T": 3, "N": 2},
    {"T": 5, "N": 3},
    {"T": 7, "N": 8},
    {"T": 7, "N": 100},
    {"T": 1023, "N": 64},
    {"T": 1023, "N": 1024},
    {"T": 4097, "N": 1024},
    {"T": 2**20 - 1, "N": 1000},
]


def _terms(point: Point, statement: Statement) -> int:
    return most_visits(
        *witnesses.node_of(point), int(point["N"]), witnesses.ordering_of(statement)
    )


def _terms_of_patterns(point: Point, statement: Statement) -> Fraction:
    """Return the largest number of visits over all patterns, without the closed form."""
    start = int(point["node_start"])
    end = int(point["node_end"])
    return Fraction(
        max(
            len(steps)
            for steps in witnesses.patterns(
                start, end, int(point["N"]), witnesses.ordering_of(statement)
            )
        )
    )


def _count(of: Callable[..., int], *names: str) -> Law:
    return lambda point, _: of(*(int(point[name]) for name in names))


def _used(point: Point, statement: Statement) -> int:
    """Return the count of only those nodes that some COMPOSE(1, t) uses."""
    return bounds.reached_nodes(int(point["T"]), int(point["N"]), used_only=True)


def _later(point: Point, statement: Statement) -> int:
    return bounds.visits_later(
        int(point["T"]), int(point["N"]), witnesses.ordering_of(statement)
    )


def _search(
    claim: str,
    law: Law,
    corners: Sequence[witnesses.Corner] = (),
    *,
    also: Mapping[str, str] | None = None,
    name: str = "search",
    largest: int = 2**20,
    extra_conditions: Sequence[str] = (),
    neighbours: Sequence[TrueNeighbour] = (),
) -> SearchCheck:
    symbols = {"N": "integer, N >= 1"} if also is None else also
    ends_of = {
        "T": (1, largest),
        "N": (1, largest),
        "Level": (0, 20),
        "Block": (0, 2**12),
    }
    region = {symbol: ends_of[symbol] for symbol in ends_of if symbol in symbols}
    return SearchCheck(
        claim,
        name,
        lhs=lambda point, statement: Fraction(law(point, statement)),
        also=symbols,
        where=lambda statement: [*extra_conditions, *witnesses.depth_of(statement)],
        region=region,
        corners=corners,
        neighbours=neighbours,
        seconds_each=0.004,
    )


_RUN = {"T": "integer, T >= 1", "N": "integer, N >= 1"}


def _node_points(budget: Budget) -> Iterator[dict[str, int]]:
    return (
        {"N": N, "node_start": start, "node_end": end}
        for N, start, end in witnesses.short_nodes(budget)
    )


def _decay(point: Point, statement: Statement, extra_steps: int = 0) -> Outcome:
    """Test, over all patterns, the least number of steps from the j-th visit back to the end of the node."""
    N, start, end = (int(point[name]) for name in ("N", "node_start", "node_end"))
    amended = (
        statement.variant == "amended" and statement.reading["ordering"] == "fresh"
    )
    for steps in witnesses.patterns(start, end, N, witnesses.ordering_of(statement)):
        for j, t in enumerate(reversed(steps)):
            needed = (j - 1) * N + 1 if amended and j else j * N
            needed += extra_steps if j else 0
            if end - t < needed:
                note = f"the example is used at the steps {steps}; j = {j}: both sides are exponents of 1 - alpha"
                return Outcome(False, Fraction(end - t), Fraction(needed), note)
    return Outcome(True)


def _wide_nodes(budget: Budget) -> Iterator[dict[str, int]]:
    """Yield nodes of the two levels above floor(log2 N), 2N consecutive ones for each N."""
    for N in range(1, {"smoke": 24, "standard": 48, "full": 96}[budget.name]):
        for level in range(N.bit_length(), N.bit_length() + 2):
            yield from ({"N": N, "level": level, "a": a} for a in range(2 * N))


def _touched(point: Point, statement: Statement) -> Outcome:
    """Test whether every example contributes to the node."""
    N = int(point["N"])
    length = 1 << int(point["level"])
    return _unavoidable(int(point["a"]) * length, length, N, statement)


def _unavoidable(before: int, length: int, N: int, statement: Statement) -> Outcome:
    if statement.reading["ordering"] == "once":
        return Outcome(
            length >= N,
            note="a node shorter than N steps misses a place of the permutation",
        )
    # the first epoch that begins after the step `before`
    first_whole = epoch_of(before + N, N) if before else 0
    inside = (first_whole + 1) * N <= before + length
    missed = f"[{before + 1}, {before + length}] holds no whole epoch of {N} steps, so an example can lie beside it"
    return Outcome(inside, note="" if inside else missed)


def _touched_if_half(point: Point, statement: Statement) -> Outcome:
    """Planted fault: the rule of ``_touched`` for nodes one level below N."""
    N = int(point["N"])
    length = 1 << max(int(point["N"]).bit_length() - 2, 0)
    return _unavoidable(int(point["a"]) * length, length, N, statement)


CHECKS.add(
    _search(
        "theorem-4-terms",
        _terms,
        also={**witnesses.NODES, "N": "integer, N >= 1"},
        extra_conditions=witnesses.ends("node_start", "node_end"),
    ),
    ExhaustiveCheck(
        "theorem-4-terms", "all-patterns", points=_node_points, lhs=_terms_of_patterns
    ),
    *(
        ExhaustiveCheck(
            "theorem-4-decay",
            f"all-patterns-{ordering}",
            readings={"ordering": ordering},
            points=_node_points,
            is_satisfied=_decay,
            planted=[
                Planted(
                    "earlier visits one step further",
                    is_satisfied=partial(_decay, extra_steps=1),
                    at_declared_size=True,
                )
            ],
            region="every node of a short run, N up to its length, every pattern of visits",
        )
        for ordering in ("fresh", "once")
    ),
    *(
        ExhaustiveCheck(
            "theorem-4-high-levels",
            f"nodes-{ordering}",
            readings={"ordering": ordering},
            points=_wide_nodes,
            is_satisfied=_touched,
            planted=[
                Planted("nodes shorter than an epoch", is_satisfied=_touched_if_half)
            ],
            region="two levels above floor(log2 N), 2N nodes in a row on each",
        )
        for ordering in ("fresh", "once")
    ),
    _search(
        "theorem-4-level-count",
        _count(bounds.level_visits, "T", "N", "level"),
        RUNS,
        also=_RUN,
    ),
    *(
        _search(claim, _count(bounds.visits, "T", "N"), RUNS, also=_RUN)
        for claim in ("theorem-4-v", "algorithm-1-v")
    ),
    _search("algorithm-1-v", _used, RUNS[:6], also=_RUN, name="used-nodes", largest=48),
    *(
        _search(
            claim,
            _count(bounds.visits_first, "N"),
            [{"N": n} for n in range(1, 10)],
            neighbours=[TrueNeighbour("twice as many", rhs="2*printed")]
            if claim == "theorem-8-count-first"
            else [],
        )
        for claim in ("theorem-8-count-first", "algorithm-2-v-le-2n")
    ),
    _search("theorem-8-count-later", _later, RUNS, also=_RUN),
    _search("algorithm-2-v-gt-2n", _later, [*RUNS, {"T": 3, "N": 1}], also=_RUN),
    _search(
        "section-2-ancestors",
        _count(bounds.ancestor_count, "t"),
        [{"t": t} for t in (1, 2, 3, 4, 5, 1023, 1024, 1025)],
        also={},
    ),
)
