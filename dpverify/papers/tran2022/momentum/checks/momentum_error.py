"""Check Lemma 11, its terms, and the steps of its proof that are formulas.

Linear losses and a few curved ones are the witnesses against Lemmas 7 and 11 and against statements of sections 3 and
4.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, cast

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
from dpverify.harness.admissible import LineLoss, Witness, linear, witness_properties
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import from_lemma
from dpverify.harness.search.derived_checks import RuleCheck, of_variant
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum import momentum_error_bounds as bounds
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    constant_spread,
    mean_square,
)
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import Exact


def same(point: Point) -> Witness:
    """Return identical examples of slope G."""
    return Witness({linear(point.get("G", Fraction(1))): int(point["N"])})


def two(point: Point) -> Witness:
    """Return two examples of slopes G and -G."""
    G = point["G"]
    return Witness({linear(G): 1, linear(-G): 1})


def _around_anchor(point: Point) -> Witness:
    return witnesses.bent(point, point["eta"] * point["N"])


def _clipped_line(_: Point) -> Witness:
    """Return a ridge along its unit vector; the claims that use it allow a curvature as large as needed."""
    unit = Fraction(1)
    return Witness({LineLoss(((0 * unit, -unit), (unit, unit))): 1})


RIDGES = witness_properties(_clipped_line, "ridges of height G = 1")
SLOPE = witness_properties(
    lambda _: Witness({linear(Fraction(1)): 1}), "the slope G = 1"
)
SAME = {
    **witness_properties(same, "identical linear losses"),
    "update-of-algorithm-2": Property(
        "the momentum is exact for identical losses, so that the noise is all"
    ),
}
TWO = {
    **witness_properties(two, "two linear losses of slopes G and -G"),
    "update-of-algorithm-2": Property(
        "the mean over all orders of two examples", lambda point: point["N"] == 2
    ),
}
AT_STEP_3N = {
    **witness_properties(
        _around_anchor, "losses of which one bends up or down with L around the anchor"
    ),
    "update-of-algorithm-2": Property(
        "an odd number of steps on a line ends at least one step from where it began, whatever the noise",
        lambda point: point["N"] % 2 == 1 and point["t"] == 3 * point["N"],
    ),
}


CHECKS = PaperChecks("tran2022", __name__)

RUNS: list[dict[str, Any]] = [
    {"N": 1, "T": 1, "t": 1, "alpha": "1/10", "eta": "1/1000", "G": 1, "L": 0},
    {"N": 3, "T": 9, "t": 3, "alpha": "1/50", "eta": "1/1000", "G": 1, "L": "1/10"},
    {"N": 2, "T": 4, "t": 2, "alpha": 1, "eta": "1/1000", "G": 1, "L": 0},
    {"N": 2, "T": 8, "t": 7, "alpha": "1/3", "eta": "1/1000", "G": 1, "L": 0},
    {"N": 1, "T": 16, "t": 16, "alpha": "1/4", "eta": "1/16", "G": 1, "L": 1},
    {
        "N": 1000,
        "T": 5000,
        "t": 1023,
        "alpha": "1/300",
        "eta": "1/1023",
        "G": 1,
        "L": 1,
    },
    {
        "N": 1000,
        "T": 100_000,
        "t": 1,
        "alpha": "1/1000",
        "eta": "1/10000",
        "G": 1,
        "L": 1,
    },
]
"""Start-up (the second run is away from every boundary), antipodes, short ramp, long ramp, start-up in a long run."""
REACHED: dict[str, Any] = {
    "N": 1,
    "T": 1,
    "t": 1,
    "alpha": "1/100000000",
    "eta": "1/1000",
    "G": 1,
    "L": 0,
}
"""Almost only start-up: the error reaches the amended bound up to 2 sqrt(alpha)."""


def _error(point: Point, statement: Statement) -> Exact:
    alpha, eta, smooth, G = (point[name] for name in ("alpha", "eta", "L", "G"))
    ordering = cast(Ordering, statement.reading["ordering"])
    return bounds.attained_error(
        int(point["t"]), int(point["N"]), alpha, eta, smooth, G, ordering
    )


def lag_losses(point: Point) -> Witness:
    """Return the slope, and the ramp if it is not steeper than G."""
    G = point["G"]
    L = point["L"]
    reach = (point["t"] - 1) * point["eta"]
    losses = {linear(G): 1}
    if 0 < L * reach <= G:
        losses[LineLoss(((-reach, Fraction(0)), (Fraction(0), L * reach)))] = 1
    return Witness(losses)


def error_losses(point: Point) -> Witness:
    """Return the losses of :func:`lag_losses` and, for N = 2, the antipode of the slope."""
    antipodes = {linear(-point["G"]): 1} if point["N"] == 2 else {}
    return Witness({**lag_losses(point).data, **antipodes})


WITHOUT_NOISE = (
    "the lemma is about the momentum without noise, of Algorithm 1 on these losses"
)
ERROR = {
    **witness_properties(error_losses, "slope, ramp and antipodes"),
    "update-of-algorithm-1": Property(WITHOUT_NOISE),
}
LAG = {
    **witness_properties(lag_losses, "slope and ramp"),
    "normalized-update": Property("steps of length eta straight down"),
}


def _lag(point: Point, statement: Statement) -> Exact:
    t, (alpha, eta, smooth, G) = (
        int(point["t"]),
        (point[name] for name in ("alpha", "eta", "L", "G")),
    )
    return max(
        bounds.slope_error(t, alpha, G), bounds.ramp_error(t, alpha, eta, smooth, G)
    )


def _drift(point: Point, statement: Statement) -> Exact:
    t = int(point["t"])
    n = int(point["N"])
    epochs = cast(bounds.Epochs, statement.reading["epochs"])
    return bounds.attained_drift(t, n, point["alpha"], point["eta"], point["L"], epochs)


def _largest_square(point: Point, statement: Statement) -> Exact:
    """Return |A|^2 of the one example whose gradient opposes those of the N - 1 others."""
    return (2 * point["G"] * (1 - 1 / point["N"])) ** 2


def _sampling(point: Point, statement: Statement) -> Exact:
    """Return the exact mean square under fresh permutations, for centred gradients of length G that add up to 0."""
    spread = constant_spread(point["G"] ** 2)
    return mean_square(
        "momentum",
        int(point["t"]),
        int(point["N"]),
        point["alpha"],
        Fraction(1, 2),
        spread,
    )


def _slopes(_: Budget) -> Iterable[dict[str, Any]]:
    """Return points for gradients on a line, which begin at 1 and change by ``change`` per step."""
    shares = (Fraction(1), Fraction(1, 2), Fraction(1, 7))
    return (
        {"alpha": alpha, "t": t, "change": change}
        for change in (Fraction(0), Fraction(1, 3), Fraction(-2))
        for t in (1, 2, 3, 5)
        for alpha in shares
    )


def _weights(point: Point, add: bool) -> Outcome:
    """Compare both sides of lemma-11-split, with the start-up term if ``add`` is set."""
    t = int(point["t"])
    alpha = point["alpha"]
    gradients = [1 + point["change"] * step for step in range(t)]
    weights = [alpha * (1 - alpha) ** (t - 1 - step) for step in range(t)]
    left = abs(
        sum((w * g for w, g in zip(weights, gradients, strict=True)), Fraction(0))
        - gradients[-1]
    )
    right = abs(
        sum(
            (w * (g - gradients[-1]) for w, g in zip(weights, gradients, strict=True)),
            Fraction(0),
        )
    )
    right += (1 - alpha) ** t * abs(gradients[-1]) if add else 0
    return Outcome(left <= right, left, right)


def _half_start(point: Point, statement: Statement) -> Outcome:
    """Planted fault: the start-up term decays by one step more."""
    full = _weights(point, True)
    none = _weights(point, False)
    sides = full.lhs, full.rhs, none.rhs
    left, upper, least = (
        side if isinstance(side, Fraction) else Fraction(0) for side in sides
    )
    right = least + (upper - least) * (1 - point["alpha"])
    return Outcome(left <= right, left, right)


CHECKS.add(
    *(
        SearchCheck(
            "lemma-11",
            name,
            lhs=_error,
            meets=ERROR,
            region={"t": (1, 16)},
            corners=[*RUNS, REACHED],
            readings={"ordering": ordering},
            variants=variants,
        )
        for name, ordering, variants in (
            ("slope-ramp-antipodes", "fresh", ("printed", "amended")),
            ("slope-ramp-antipodes-once", "once", ("amended",)),
        )
    ),
    ExhaustiveCheck(
        "lemma-11",
        "slope",
        points=lambda budget: RUNS,
        lhs=_error,
        meets=ERROR,
        readings={"ordering": "once"},
        variants=("printed",),
        region="a few runs",
    ),
    CitedDerivationCheck(
        "lemma-11",
        "premise-change-from-the-anchors",
        build=from_lemma("change-from-the-anchors"),
        variants=("amended",),
    ),
    *(
        CitedDerivationCheck(
            "lemma-11-sampling",
            f"premise-{lemma}",
            build=from_lemma(lemma),
            readings={"ordering": "once"},
            variants=("amended",),
            least_budget="smoke",
        )
        for name, lemma in (
            ("one-step", "one-step-of-the-weights"),
            ("at-the-first-iterate", "sampling-at-the-first-iterate"),
        )
    ),
    SearchCheck(
        "lemma-11-anchor-drift",
        "ramp",
        lhs=_drift,
        region={"N": (1, 16)},
        also={"t": "integer, 1 <= t, t <= 40", "alpha": "real, 0 < alpha <= 1"},
        corners=[
            {"N": n, "t": 2 * n, "alpha": 1, "eta": "1/3", "L": 2} for n in (1, 3, 16)
        ],
    ),
    RuleCheck(
        "lemma-11-split",
        "weights",
        points=_slopes,
        is_satisfied=of_variant(
            lambda p, s: _weights(p, False), lambda p, s: _weights(p, True)
        ),
        planted=[Planted("one step of decay more", is_satisfied=_half_start)],
        region="gradients on a line, t up to 5",
        interior=lambda p: p["t"] >= 3 and p["alpha"] < 1,
    ),
    SearchCheck(
        "lemma-11-drift",
        "slope-and-ramp",
        lhs=_lag,
        meets=LAG,
        region={"t": (1, 16)},
        also={"G": "real, G > 0"},
        corners=RUNS,
    ),
    SearchCheck(
        "lemma-11-norm-bound",
        "one-against-all",
        lhs=_largest_square,
        also={"N": "integer, N >= 1"},
        corners=[{"N": 2, "G": 1}, {"N": 1000, "G": 1}],
    ),
    SearchCheck(
        "lemma-11-alpha-sum",
        "search",
        region={"t": (1, 64)},
        corners=[{"alpha": 1, "t": 1, "G": 1}],
    ),
    SearchCheck(
        "lemma-11-sampling",
        "exact-law",
        lhs=_sampling,
        also={"N": "integer, 1 <= N, N <= 16", "t": "integer, 1 <= t, t <= 60"},
        corners=[
            {"N": 2, "t": 1, "alpha": 1, "G": 1},
            {"N": 16, "t": 60, "alpha": "1/16", "G": 1},
        ],
        readings={"ordering": "fresh"},
    ),
)
