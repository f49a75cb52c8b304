"""Check Propositions 13, 14, 16 and 18: the geometric series, and the nodes of COMPOSE with their decay.

Propositions 13 and 14, Corollary 15 and equation 7 are the geometric series that bound every sensitivity. Propositions
16 and 18 are about Algorithm 3: the nodes that COMPOSE returns, their number, and their decay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
)
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    count_nodes,
    squared_decay_sum,
)
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("tran2022", __name__)


CHECKS.add(
    SearchCheck(
        "proposition-13",
        "search",
        # in closed form, independent of the ledger's evaluation of the sum
        lhs=lambda point, _: 1 / (1 - (1 - point["alpha"]) ** int(point["N"])),
        region={"N": (1, 4096)},
        corners=[
            {"alpha": 1, "N": 1},
            {"alpha": "1/2", "N": 2},
            {"alpha": "1/1000000", "N": 3},
            {"alpha": "1/1023", "N": 1023},
        ],
    ),
    SearchCheck("proposition-13-chord", "search"),
    SearchCheck("proposition-13-case-1", "search"),
    SearchCheck("proposition-13-case-2", "search"),
    SearchCheck("equation-7", "search"),
    SearchCheck("proposition-14", "search"),
    SearchCheck("proposition-14-special", "search"),
    SearchCheck("proposition-14-proof-1", "search"),
    SearchCheck("proposition-14-proof-2", "search"),
    SearchCheck("proposition-14-special-step", "search"),
    SearchCheck("corollary-15", "search", region={"window": (1, 64)}),
)


WIDEST = {"smoke": 64, "standard": 256, "full": 512}


def _squared_decays(point: Point, statement: Statement) -> Exact:
    """Return the left side of Proposition 16: the noise variance of a step s under decay gamma."""
    s = int(point["s"])
    return squared_decay_sum(s, 1 - point["gamma"]) if s else Fraction(0)


def _intervals(budget: Budget) -> Iterable[dict[str, int]]:
    widest = WIDEST[budget.name]
    return ({"a": a, "b": b} for b in range(1, widest + 1) for a in range(1, b + 1))


def _prefixes(budget: Budget) -> Iterable[dict[str, int]]:
    return ({"b": b} for b in range(1, 64 * WIDEST[budget.name]))


def _literal_count(point: Point, statement: Statement) -> Fraction:
    """Return the number of nodes that the kernel of Algorithm 3 returns, not the closed form."""
    return Fraction(len(compose(int(point.get("a", Fraction(1))), int(point["b"]))))


def _covers(point: Point, statement: Statement, until: int | None = None) -> Outcome:
    """Test whether COMPOSE's nodes are dyadic and fill the interval in order; ``until`` leaves out the last ones."""
    a = int(point["a"])
    b = int(point["b"])
    return is_cover(compose(a, b).tolist()[:until], a, b)


def is_cover(nodes: Sequence[Sequence[int]], a: int, b: int) -> Outcome:
    """Test whether nodes are dyadic and fill an interval in order, without gaps or overlaps."""
    expected = a
    for y, z in nodes:
        length = z - y + 1
        if length < 1 or length & (length - 1) or (y - 1) % length:
            return Outcome(
                False, note=f"[{y}, {z}] is not of the form [q 2^k + 1, (q+1) 2^k]"
            )
        if y != expected:
            return Outcome(
                False,
                note=f"a node starts at {y} where {expected} is the next step to cover",
            )
        expected = z + 1
    return Outcome(
        expected == b + 1, note=f"the nodes end at {expected - 1}, the interval at {b}"
    )


CHECKS.add(
    SearchCheck(
        "proposition-16",
        "search",
        lhs=_squared_decays,
        region={"top_bit": (0, 24)},
        corners=[
            {"gamma": "999/1000", "s": 1023, "top_bit": 9},
            {"gamma": "1/2", "s": 0, "top_bit": 0},
        ],
    ),
    SearchCheck("proposition-16-mod", "search", region={"top_bit": (0, 200)}),
    SearchCheck("proposition-16-step-1", "search", region={"top_bit": (0, 24)}),
    SearchCheck(
        "proposition-16-step-2",
        "search",
        lhs=_squared_decays,
        region={"top_bit": (0, 24)},
    ),
    SearchCheck(
        "proposition-18",
        "search",
        lhs=count_nodes("b", "a"),
        corners=[{"a": 2, "b": 2**k - 1} for k in range(2, 21)],
    ),
    ExhaustiveCheck(
        "proposition-18", "algorithm-3", points=_intervals, lhs=_literal_count
    ),
    SearchCheck(
        "proposition-18-prefix",
        "search",
        lhs=count_nodes("b"),
        corners=[{"b": 2**k - 1} for k in range(1, 21)],
    ),
    ExhaustiveCheck(
        "proposition-18-prefix", "algorithm-3", points=_prefixes, lhs=_literal_count
    ),
    ExhaustiveCheck(
        "proposition-18-cover",
        "algorithm-3",
        points=_intervals,
        is_satisfied=_covers,
        planted=[
            Planted(
                "the last node is left out",
                is_satisfied=partial(_covers, until=-1),
                at_declared_size=True,
            )
        ],
    ),
)
