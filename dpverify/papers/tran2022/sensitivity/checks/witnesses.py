"""Released nodes and patterns of visits in a search, and problems on a line that attain the sensitivities.

The released nodes are symbols of a search. The patterns are all sets of steps at which one example can be used; a
figure shows them. The problems attain the privacy loss of Algorithms 1 and 2, and meet the assumptions that are
declared for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import cast

from dpverify.harness import Budget, Point, Property
from dpverify.harness.admissible import LineLoss, Witness, linear, witness_properties
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    epoch_of,
    latest_visits,
)
from dpverify.shared_types import Ordering

Corner = Mapping[str, int | Fraction | str]

NODES = {"Block": "integer, Block >= 0", "Level": "integer, Level >= 0"}
"""The released nodes are [Block*2**Level + 1, (Block + 1)*2**Level]. The names begin
with capitals, so that they get values before a and b."""

# Every pattern is tried in nodes of runs up to this length
LONGEST_RUN = {"smoke": 12, "standard": 18, "full": 20}


def ordering_of(statement: Statement) -> Ordering:
    """Return the ordering that a statement's reading says: one permutation per epoch, or one for all."""
    return cast(Ordering, statement.reading["ordering"])


def depth_of(statement: Statement) -> list[str]:
    """Return the formula for the tree's depth R in the statement's reading, or nothing if there is no such reading."""
    meaning = {
        "levels": ["depth == floor(log2(T)) + 1"],
        "height": ["depth == floor(log2(T))"],
    }
    return meaning.get(statement.reading.get("depth", ""), [])


def node_of(point: Point) -> tuple[int, int]:
    """Return the first and last step of the node [Block*2**Level + 1, (Block + 1)*2**Level]."""
    block = int(point["Block"])
    length = 1 << int(point["Level"])
    return block * length + 1, (block + 1) * length


def ends(first: str, last: str) -> list[str]:
    """Return the conditions that make two of a statement's symbols the ends of a released node."""
    return [f"{first} == Block*2**Level + 1", f"{last} == (Block + 1)*2**Level"]


def short_nodes(budget: Budget) -> Iterator[tuple[int, int, int]]:
    """Yield N and the first and last step of every node of a short run, for N up to its length."""
    longest = LONGEST_RUN[budget.name]
    for N in range(1, longest + 1):
        for level in range(longest.bit_length()):
            for block in range(longest >> level):
                yield N, (block << level) + 1, (block + 1) << level


def patterns(start: int, end: int, N: int, ordering: Ordering) -> Iterable[list[int]]:
    """Yield every sorted set of steps in [start, end] at which one example can be used."""
    if ordering == "once":
        yield from (
            [t for t in range(start, end + 1) if (t - 1) % N == place]
            for place in range(N)
        )
        return
    choices: list[list[int | None]] = []
    for epoch in range(epoch_of(start, N), epoch_of(end, N) + 1):
        inside: list[int | None] = list(
            range(max(start, epoch * N + 1), min(end, (epoch + 1) * N) + 1)
        )
        choices.append(inside if len(inside) == N else [None, *inside])
    for choice in product(*choices):
        yield [t for t in choice if t is not None]


# A node that ends one step into an epoch: 4 alpha G fails there
START = 129
END = 144
N = 11
ALPHA = Fraction(3, 32)


def shown_once(statement: Statement) -> dict[str, dict[str, list[float]]]:
    """Return the figure for the printed statement under "fresh" and nothing for all others, so it is shown once."""
    return (
        pattern_figure()
        if (statement.variant, statement.reading["ordering"]) == ("printed", "fresh")
        else {}
    )


def pattern_figure() -> dict[str, dict[str, list[float]]]:
    """Return the columns of the figure "pattern": steps of the node with weights, and the visits of each pattern."""
    printed = [END - j * N for j in range(-(-(END - START) // N))]
    columns = {
        "x": [float(t) for t in range(START, END + 1)],
        "weight": _weights(range(START, END + 1)),
    }
    for name, visits in (
        ("printed", printed),
        ("once", _visits("once")),
        ("fresh", _visits("fresh")),
    ):
        columns[f"{name}-x"], columns[name] = (
            [float(t) for t in visits],
            _weights(visits),
        )
    epochs = range(epoch_of(START, N) + 1, epoch_of(END, N) + 1)
    columns["epoch-x"], columns["epoch"] = (
        [float(e * N + 1) for e in epochs],
        [float(e) for e in epochs],
    )
    return {"pattern": {**columns, "at:N": [float(N)], "at:alpha": [float(ALPHA)]}}


def _visits(ordering: Ordering) -> list[int]:
    return latest_visits(START, END, N, ordering)


def _weights(steps: list[int] | range) -> list[float]:
    return [float((1 - ALPHA) ** (END - t)) for t in steps]


ONE = Fraction(1)
# names of a node's first and last step
ENDS = (("node_start", "node_end"), ("a", "b"), ("start", "end"))


def is_released_node(point: Point) -> bool:
    """Test whether the steps [first, last] of a point are a node of the tree; a point without them passes."""
    for first, last in ENDS:
        if first in point and last in point:
            length = point[last] - point[first] + 1
            is_integer = length.denominator == 1 and length >= 1
            return (
                is_integer
                and int(length).bit_count() == 1
                and (point[first] - 1) % length == 0
            )
    return True


def opposed(point: Point) -> Witness:
    """Return N linear losses (t for a sum of t vectors) of slope G; the neighbour has one of slope -G."""
    examples = int(point.get("N", point.get("t", ONE)))
    G = point.get("G", ONE)
    return Witness({linear(G): examples}, {linear(G): examples - 1, linear(-G): 1})


def bent(point: Point, reach: Fraction) -> Witness:
    """Return two data sets: one loss has curvature L or -L within ``reach``, then flattens; all other losses are 0."""
    examples = int(point["N"])
    top = point.get("L", ONE) * reach
    places = (-2 * reach, -reach, reach, 2 * reach)
    up = LineLoss(tuple(zip(places, (0 * top, -top, top, 0 * top), strict=True)))
    down = LineLoss(tuple(zip(places, (0 * top, top, -top, 0 * top), strict=True)))
    flat = linear(Fraction(0))
    return Witness({flat: examples - 1, up: 1}, {flat: examples - 1, down: 1})


def turning(point: Point, reach: Fraction) -> Witness:
    """Return losses along a path: one slope rises by L to 0, the neighbour's falls from 0, all others are constant.

    All losses pull to the right, so a path of normalized steps without noise is straight.
    """
    examples = int(point["N"])
    top = point.get("L", ONE) * reach
    ahead = linear(-top)
    rises = LineLoss(((Fraction(0), -top), (reach, Fraction(0))))
    falls = LineLoss(((Fraction(0), Fraction(0)), (reach, -top)))
    return Witness({ahead: examples - 1, rises: 1}, {ahead: examples - 1, falls: 1})


def _until_node_end(point: Point) -> Witness:
    last = next((point[name] for _, name in ENDS if name in point), None)
    steps = Fraction(node_of(point)[1]) if last is None else last
    return turning(point, point["eta"] * steps)


def _first_step(point: Point) -> Witness:
    return bent(point, point["eta"])


def has_second_step(point: Point) -> bool:
    """Test whether a run has a second step in its first epoch."""
    return point["T"] >= 2 and point["N"] >= 2


UPDATE_1 = {
    "update-of-algorithm-1": Property(
        "Algorithm 1 visits each example once in an epoch and releases nodes of its tree",
        is_released_node,
    )
}
UPDATE_2 = {
    "update-of-algorithm-2": Property(
        "Algorithm 2 visits each example once in an epoch and releases nodes of its tree",
        is_released_node,
    )
}
OPPOSED = witness_properties(
    opposed, "linear losses of slope G, of which one is turned round"
)
TURNING = witness_properties(
    _until_node_end,
    "losses along a straight path, of which one bends up or down with L",
)
WHATEVER_THE_NOISE = Property(
    "the first step has the length eta whatever the noise, and the example is used at the second",
    has_second_step,
)
SECOND_STEP = {
    **witness_properties(
        _first_step,
        "losses of which one bends up or down with L, as far as one step goes",
    ),
    "update-of-algorithm-2": WHATEVER_THE_NOISE,
}
