"""Check Theorems 4 and 8's bounds on the movement of each node of the tree by one example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    SearchCheck,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity import sensitivity_bounds as bounds
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.sensitivity.checks.replay_runs import replayed
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import Exact

UPDATE = {**witnesses.UPDATE_1, **witnesses.UPDATE_2}
STRAIGHT = {
    "normalized-update": Property(
        "all v_t are the same vector, so that the walk is straight"
    )
}

CHECKS = PaperChecks("tran2022", __name__, {**UPDATE, **STRAIGHT})

Law = Callable[[int, int, Point, Ordering], Exact]
Region = Mapping[str, tuple[int | str, int]]

LARGE: Region = {
    "N": (1, 2**12),
    "Level": (0, 20),
    "Block": (0, 2**12),
    "alpha": ("1/65536", 1),
}
SMALL: Region = {
    "N": (1, 24),
    "Level": (0, 6),
    "Block": (0, 24),
    "alpha": ("1/4096", 1),
}
"""Region in which both sides of an equation are short enough to be compared exactly."""

# Both sides are proportional to G, or to eta
UNITS: Region = {"G": (1, 1), "eta": (1, 1)}

SHARP: list[witnesses.Corner] = [
    *(
        {"N": 2**k - 1, "alpha": Fraction(1, 2**k - 1), "Level": 2 * k, "Block": 0}
        for k in range(3, 11)
    ),
    {"N": 5, "alpha": "1/5", "Level": 3, "Block": 1},
    {"N": 3, "alpha": "1/3", "Level": 3, "Block": 1},
    {"N": 11, "alpha": "1/7", "Level": 6, "Block": 4},
    {"N": 3, "alpha": "1/10", "Level": 6, "Block": 4},
]
"""In runs of 2**k - 1 examples, the last step of [1, 4**k] is the first of its epoch,
so the previous visit can be one step earlier. The shortest node at which 4 alpha G
fails is [9, 16] with N = 5."""

# Nodes that end with an epoch: the last visit is farthest from its anchor
ALIGNED: list[witnesses.Corner] = [
    {"N": 2**k, "alpha": Fraction(1, 2**k), "Level": k + 3, "Block": 1}
    for k in range(1, 12)
]


def _law(of: Callable[..., Exact], *names: str) -> Law:
    """Return the law of a node from its closed form, which takes these symbols besides alpha and N."""
    return lambda start, end, point, ordering: of(
        start,
        end,
        point["alpha"],
        int(point["N"]),
        *(point[name] for name in names),
        ordering,
    )


momentum = _law(bounds.momentum_sensitivity, "G")
gradient = _law(bounds.gradient_sensitivity, "G")
difference = _law(bounds.difference_sensitivity, "eta", "L")
drift = _law(bounds.drift_sensitivity, "eta", "L")


def _search(
    claim: str,
    law: Law,
    where: Sequence[str],
    corners: Sequence[witnesses.Corner],
    region: Region,
) -> SearchCheck:
    """Return a search over released nodes, N and alpha; a symbol of UNITS that the record has is set to 1."""
    units = {
        name: UNITS[name]
        for name in (("G",) if law in {momentum, gradient} else ("eta",))
    }
    return SearchCheck(
        claim,
        "search",
        lhs=lambda point, statement: law(
            *witnesses.node_of(point), point, witnesses.ordering_of(statement)
        ),
        also={
            **witnesses.NODES,
            "alpha": "real, 0 < alpha <= 1",
            "N": "integer, N >= 1",
        },
        where=where,
        region={**region, **units},
        corners=corners,
        meets=witnesses.OPPOSED if law in {momentum, gradient} else witnesses.TURNING,
        leaves_out="real arithmetic, not floats; released (dyadic) nodes only",
        seconds_each=0.005,
    )


def _all_patterns_check(
    claim: str, first: str, last: str, step_change: Callable[[int, int], int]
) -> ExhaustiveCheck:
    """Return a check of every pattern of visits in short runs, without closed forms; a term moves by ``away``."""
    of_gradients, of_differences = (
        step_change is _constant_change,
        claim.endswith("delta"),
    )

    def largest(point: Point, statement: Statement) -> Fraction:
        N = int(point["N"])
        start = int(point[first])
        end = int(point[last])
        decay = 1 - point["alpha"]
        sums = (
            sum((decay ** (end - t) * step_change(t, N) for t in steps), Fraction(0))
            for steps in witnesses.patterns(
                start, end, N, witnesses.ordering_of(statement)
            )
        )
        alpha = point["alpha"] if statement.quantity == "node_sensitivity" else 1
        return 2 * alpha * max(sums)

    def points(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
        units = {"G": 1} if of_gradients else {"eta": 1, "L": 1}
        for N, start, end in witnesses.short_nodes(budget):
            for alpha in sorted({Fraction(1), Fraction(2, 3), Fraction(1, N)}):
                if alpha >= Fraction(1, N) and (start > N or not of_differences):
                    yield {"N": N, first: start, last: end, "alpha": alpha, **units}

    region = "every node of a short run, N up to its length, three values of alpha, every pattern of visits"
    meets = witnesses.OPPOSED if of_gradients else witnesses.TURNING
    return ExhaustiveCheck(
        claim, "all-patterns", points=points, lhs=largest, region=region, meets=meets
    )


def _constant_change(t: int, N: int) -> int:
    """Return 1: a term of gradients moves by 2G at every step."""
    return 1


def _anchors(t: int, N: int) -> int:
    """Return the number of steps between two anchors."""
    return N


def _since_anchor(t: int, N: int) -> int:
    """Return the number of steps since the anchor."""
    return (t - 1) % N


def _distance(
    claim: str, steps_apart: Callable[[int, Mapping[str, str]], int]
) -> SearchCheck:
    """Return a check of the distance of two iterates: a straight path attains eta for each step between them."""

    def law(point: Point, statement: Statement) -> Fraction:
        slope = point["L"] if "L" in statement.free else Fraction(1)
        return slope * point["eta"] * steps_apart(int(point["N"]), statement.reading)

    return SearchCheck(
        claim, "search", lhs=law, region={"N": (1, 2**20)}, corners=[{"N": 1}, {"N": 2}]
    )


def _small_terms(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    largest = {"smoke": 24, "standard": 60, "full": 120}[budget.name]
    for N in range(1, largest):
        for place in range(1, N + 1):
            for eta in (Fraction(1), Fraction(1, 1024)):
                yield {"N": N, "place": place, "eta": eta, "L": 3}
        yield {"N": N, "place": N, "eta": Fraction(1), "L": 0}


def _terms_are_small(
    steps_apart: Callable[[int], int],
) -> Callable[[Point, Statement], Outcome]:
    """Return the rule that a term of Delta, or of r at a place of its epoch, moves by at most a multiple of 2 L eta."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        N = int(point["N"])
        place = int(point["place"])
        eta = point["eta"]
        slope = point["L"]
        ordering = witnesses.ordering_of(statement)
        delta = bounds.difference_sensitivity(
            N + place, N + place, Fraction(1), N, eta, slope, ordering
        )
        drifted = bounds.drift_sensitivity(
            place, place, Fraction(1), N, eta, slope, ordering
        )
        allowed = 2 * slope * eta * steps_apart(N)
        inside = all(
            isinstance(moved, Fraction) and moved <= allowed
            for moved in (delta, drifted)
        )
        return Outcome(inside, delta, allowed)

    return is_satisfied


PRINTED = ("printed",)
_SMOOTH: Region = {**LARGE, "L": ("1/16", 16)}  # With L = 0 both sides are 0
# With N = 1 no step is away from its anchor: both sides are 0
_LARGE_EPOCHS: Region = {**_SMOOTH, "N": (2, 2**12)}

CHECKS.add(
    _search(
        "theorem-4-sensitivity-sum",
        momentum,
        witnesses.ends("node_start", "node_end"),
        SHARP,
        SMALL,
    ),
    _all_patterns_check(
        "theorem-4-sensitivity-sum", "node_start", "node_end", _constant_change
    ),
    _search(
        "theorem-4-sensitivity",
        momentum,
        witnesses.ends("node_start", "node_end"),
        SHARP,
        LARGE,
    ),
    _all_patterns_check(
        "theorem-4-sensitivity", "node_start", "node_end", _constant_change
    ),
    _search("algorithm-2-delta-g", gradient, [], SHARP, LARGE),
    _search(
        "theorem-8-sensitivity-g-sum", gradient, witnesses.ends("a", "b"), SHARP, SMALL
    ),
    _search(
        "theorem-8-sensitivity-g", gradient, witnesses.ends("a", "b"), SHARP, LARGE
    ),
    _search(
        "algorithm-2-delta-delta",
        difference,
        ["Block*2**Level + 1 > N"],
        SHARP,
        _SMOOTH,
    ),
    _search(
        "theorem-8-sensitivity-delta",
        difference,
        witnesses.ends("a", "b"),
        [*SHARP, *ALIGNED],
        _SMOOTH,
    ),
    _all_patterns_check("theorem-8-sensitivity-delta", "a", "b", _anchors),
    _search("algorithm-2-delta-r", drift, [], [*SHARP, *ALIGNED], _LARGE_EPOCHS),
    _search(
        "theorem-8-sensitivity-r",
        drift,
        witnesses.ends("a", "b"),
        [*SHARP, *ALIGNED],
        _LARGE_EPOCHS,
    ),
    _all_patterns_check("theorem-8-sensitivity-r", "a", "b", _since_anchor),
    _distance("section-4-distance", lambda N, _: N),
    _distance(
        "section-4-same-example-distance",
        lambda N, reading: N if reading["ordering"] == "once" else 2 * N - 1,
    ),
    _distance("theorem-8-delta-term", lambda N, _: N),
    _distance(
        "theorem-8-r-term",
        lambda N, reading: N if reading["epochs"] == "shifted" else N - 1,
    ),
    ExhaustiveCheck(
        "section-4-term-sensitivity",
        "terms",
        points=_small_terms,
        is_satisfied=_terms_are_small(lambda N: N),
        planted=[
            Planted(
                "one step less than an epoch",
                is_satisfied=_terms_are_small(lambda N: N - 1),
                at_declared_size=True,
            )
        ],
        region="every place of an epoch of N steps",
    ),
)
CHECKS.add(
    replayed(
        "theorem-4-sensitivity",
        "f",
        ("node_start", "node_end"),
        figures=witnesses.shown_once,
    ),
    replayed("theorem-8-sensitivity-g", "g", ("a", "b")),
    replayed("theorem-8-sensitivity-delta", "delta", ("a", "b")),
    replayed("theorem-8-sensitivity-r", "r", ("a", "b")),
    replayed(
        "theorem-4-sensitivity-sum", "f", ("node_start", "node_end"), variants=PRINTED
    ),
    replayed("algorithm-2-delta-g", "g", variants=PRINTED),
    replayed("algorithm-2-delta-delta", "delta", variants=PRINTED),
    replayed("algorithm-2-delta-r", "r", variants=PRINTED),
)
