"""Check Lemma 12 and the steps of its proof: the number of nodes, the variance of a step, the expected norm."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import PaperChecks, Point, Property, SearchCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise.checks import whole_runs
from dpverify.papers.tran2022.noise.noise_bounds import (
    expected_noise_norm,
    tree_noise_variance,
)
from dpverify.papers.tran2022.sensitivity.checks.witnesses import depth_of
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import count_nodes
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import Exact

MEETS = {
    "update-of-algorithm-1": Property(
        "the noise is the sum of Algorithm 1's nodes of COMPOSE(1, t)"
    ),
    "independent-noise": Property(
        "the variance is the sum of those of independent nodes"
    ),
}

CHECKS = PaperChecks("tran2022", __name__, MEETS)


def _expected_norm(point: Point, statement: Statement) -> Exact:
    v = definitions(statement, point)["V"]
    t = int(point["t"])
    d = int(point["d"])
    return expected_noise_norm(t, point["alpha"], point["G"], point["sigma"], v, d)


def _variance(point: Point, statement: Statement) -> Exact:
    v = definitions(statement, point)["V"]
    return tree_noise_variance(
        int(point["t"]), point["alpha"], point["G"], point["sigma"], v
    )


def _no_corner(point: Point) -> bool:
    """Test whether N, T, t and d are at least 3. The edge t = T, where the bound is sharpest, counts as interior."""
    return all(
        value >= 3 for name, value in point.items() if name in {"N", "T", "t", "d"}
    )


# Steps that use a node of every level, the worst case for a count of nodes
ALL_ONES = [2**k - 1 for k in range(1, 20)]

MILD = [  # Steps of ALL_ONES with almost no decay
    {
        "T": steps,
        "t": steps,
        "N": 1000 * steps,
        "alpha": Fraction(1, 1000 * steps),
        "G": 1,
        "sigma": 1,
    }
    for steps in ALL_ONES
]

EPOCHS = [  # The same in runs of one epoch
    {
        "T": steps,
        "t": steps,
        "N": steps,
        "alpha": Fraction(1, steps),
        "G": 1,
        "sigma": 1,
    }
    for steps in ALL_ONES[1:]
]

MILD_ANY_V = [
    {name: value for name, value in corner.items() if name != "N"} for corner in MILD
]

CHECKS.add(
    SearchCheck(
        "lemma-12-count",
        "search",
        lhs=count_nodes("t"),
        corners=[{"T": T, "t": T} for T in ALL_ONES],
        interior=_no_corner,
    ),
    SearchCheck(
        "lemma-12-var",
        "search",
        lhs=_variance,
        corners=MILD,
        where=depth_of,
        interior=_no_corner,
        variants=("printed",),
    ),
    SearchCheck(
        "lemma-12-var",
        "search-held",
        lhs=_variance,
        corners=[*EPOCHS, *MILD],
        where=depth_of,
        variants=("held",),
    ),
    SearchCheck(
        "lemma-12-var",
        "search-amended",
        lhs=_variance,
        corners=MILD_ANY_V,
        variants=("amended",),
    ),
    SearchCheck(
        "lemma-12",
        "search",
        lhs=_expected_norm,
        corners=[corner | {"d": d} for corner in MILD for d in (3, 10000)],
        where=depth_of,
        interior=_no_corner,
        variants=("printed",),
    ),
    SearchCheck(
        "lemma-12",
        "search-held",
        lhs=_expected_norm,
        corners=[corner | {"d": d} for corner in (*EPOCHS, *MILD) for d in (3, 10000)],
        where=depth_of,
        variants=("held",),
    ),
    SearchCheck(
        "lemma-12",
        "search-amended",
        lhs=_expected_norm,
        corners=[corner | {"d": d} for corner in MILD_ANY_V for d in (3, 10000)],
        variants=("amended",),
    ),
    whole_runs.noise_law(
        "lemma-12",
        "noise-law",
        whole_runs.FAST,
        (whole_runs.ROUGH, whole_runs.FINE),
        whole_runs.LARGE_FAULTS,
    ),
)
