"""Check where Lemma 11 fails under one permutation, and where section 3's error rate fails in the first steps.

The rules for the sampling error are in ``sampling_errors``, those for section 3's rate in ``stated_orders``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

from dpverify.harness import (
    Budget,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    TrueNeighbour,
)
from dpverify.harness.search.derived_checks import RuleCheck, of_variant
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.checks.momentum_error import RIDGES, SLOPE
from dpverify.papers.tran2022.momentum.checks.sampling_errors import (
    cross_fresh,
    cross_once,
    flat_sampling,
    line,
    ridge_steps,
    runs_on_ridges,
    sampling_once,
    steps_of_one_epoch,
)
from dpverify.papers.tran2022.momentum.checks.stated_orders import (
    corrected,
    printed,
    runs,
)
from dpverify.papers.tran2022.momentum.permutation_bounds import pair_anchor, pair_bias
from dpverify.shared_types import Ordering

ALGORITHM = {
    "update-of-algorithm-1": Property(
        "the iterates of Algorithm 1 without noise, over all its orders"
    )
}

CHECKS = PaperChecks("tran2022", __name__, ALGORITHM)

ONCE = {"ordering": "once"}
FRESH = {"ordering": "fresh"}
BY_DEFINITION = (
    "the anchor is a function of what was drawn before the epoch; the order of the epoch is drawn uniformly and "
    "independently of that, so the points only illustrate it"
)


def _pairs(_: Budget) -> Iterable[dict[str, Any]]:
    """Return momentum weights for which the anchor depends on the order of the pair, with positions in the epoch."""
    shares = (Fraction(1, 2), Fraction(1, 3), Fraction(3, 5))
    return (
        {"N": 2, "alpha": alpha, "eta": Fraction(1, 8), "position": i}
        for alpha in shares
        for i in (1, 2)
    )


def _order_given_anchor(
    point: Point, statement: Statement, ordering: Ordering, first_epoch: bool = False
) -> Outcome:
    """Test whether the order (1, 2) has probability 1/2 in the second (or first) epoch, given the lowest anchor."""
    pairs: list[tuple[Fraction, tuple[int, ...]]] = []
    for before in permutations((0, 1)):
        anchor = (
            Fraction(0)
            if first_epoch
            else pair_anchor((before[0], before[1]), point["alpha"], point["eta"])
        )
        orders = (
            permutations((0, 1))
            if ordering == "fresh" and not first_epoch
            else (before,)
        )
        pairs += [(anchor, order) for order in orders]
    lowest = min(anchor for anchor, _ in pairs)
    orders_at_lowest = [order for anchor, order in pairs if anchor == lowest]
    chance = Fraction(
        sum(order == (0, 1) for order in orders_at_lowest), len(orders_at_lowest)
    )
    return Outcome(
        chance == Fraction(1, 2),
        chance,
        Fraction(1, 2),
        f"chance of the order (1, 2) at w = {lowest}",
    )


def _bias(point: Point, statement: Statement, ordering: Ordering) -> Outcome:
    bias = pair_bias(point["alpha"], point["eta"], int(point["position"]) - 1, ordering)
    return Outcome(
        bias == 0,
        bias,
        Fraction(0),
        "mean of grad f(w_3, x) - grad F(w_3); gradients 3 + w/2 and -1",
    )


def _first_bias(point: Point, statement: Statement) -> Outcome:
    """Test the bias at w_1 = 0, where the gradients 3 and -1 have probability 1/2 each at every position."""
    drawn = (
        sum(
            (
                Fraction((3, -1)[order[int(point["position"]) - 1]])
                for order in permutations((0, 1))
            ),
            Fraction(0),
        )
        / 2
    )
    return Outcome(drawn == 1, drawn - 1, Fraction(0))


def _planted(
    name: str, rule: Callable[[Point, Statement], Outcome]
) -> Sequence[Planted]:
    return [Planted(name, is_satisfied=rule, at_declared_size=True)]


for claim, rule, first_epoch, centred, at_first, interior in (
    (
        "section-3-anchor-unbiased",
        _bias,
        _first_bias,
        "",
        "at w_1 every position draws every example with the same chance",
        lambda p: p["position"] == 2 and p["alpha"] == Fraction(3, 5),
    ),
    (
        "lemma-11-mean-zero",
        _order_given_anchor,
        partial(_order_given_anchor, ordering="once", first_epoch=True),
        "a mean is subtracted, so the sum is 0; ",
        "w_1 is fixed before the order is drawn",
        lambda p: p["alpha"] == Fraction(3, 5),
    ),
):
    CHECKS.add(
        RuleCheck(
            claim,
            "independent",
            points=_pairs,
            is_satisfied=partial(rule, ordering="fresh"),
            why_sufficient=centred + BY_DEFINITION,
            readings=FRESH,
            planted=_planted("one permutation", partial(rule, ordering="once")),
        ),
        RuleCheck(
            claim,
            "pair",
            points=_pairs,
            is_satisfied=of_variant(partial(rule, ordering="once"), first_epoch),
            why_sufficient=centred + at_first,
            readings=ONCE,
            planted=_planted("the second epoch", partial(rule, ordering="once")),
            neighbours=[
                TrueNeighbour(
                    "fresh permutations", is_satisfied=partial(rule, ordering="fresh")
                )
            ],
            interior=interior,
        ),
    )
CHECKS.add(
    RuleCheck(
        "lemma-11-cross-same-epoch",
        "all-orders",
        points=steps_of_one_epoch,
        is_satisfied=of_variant(
            lambda p, s: cross_fresh(p, True), lambda p, s: cross_fresh(p, False)
        ),
        planted=_planted(
            "9/10 of it",
            lambda p, s: cross_fresh({**p, "own": Fraction(1)}, False, Fraction(9, 10)),
        ),
        interior=lambda p: False,
    ),
    *(
        RuleCheck(
            claim,
            "ridges",
            points=points,
            is_satisfied=is_satisfied,
            meets=RIDGES,
            readings=ONCE,
            variants=("printed",),
            planted=_planted(*fault),
            neighbours=[TrueNeighbour(true, is_satisfied=true_rule)],
            interior=interior,
            leaves_out="exact arithmetic: floats, with a margin",
        )
        for claim, points, is_satisfied, fault, (true, true_rule), interior in (
            (
                "lemma-11-cross-same-epoch",
                ridge_steps,
                cross_once,
                ("half of the product", partial(cross_once, times=0.5)),
                ("one of the gradients turned round", partial(cross_once, times=-1.0)),
                lambda p: p["N"] >= 4,
            ),
            (
                "lemma-11-sampling",
                runs_on_ridges,
                sampling_once,
                (
                    "nine tenths of the bound",
                    partial(sampling_once, part=Fraction(9, 10)),
                ),
                ("ten times the bound", partial(sampling_once, part=Fraction(10))),
                lambda p: p["N"] >= 32,
            ),
        )
    ),
    RuleCheck(
        "lemma-11-sampling",
        "constant-gradients",
        points=line,
        is_satisfied=lambda point, statement: flat_sampling(point),
        why_sufficient="the centred gradients are vectors that add up to 0, and two positions of one order draw "
        "different examples: the mean square is own N/(N-1) times the spread of the examples' weights, own <= G^2. "
        "That is 0 at t = 0, and every step keeps it at alpha/(2-alpha) at most (check premise-one-step): the example "
        "drawn N steps ago has the fewest visits and the least weight",
        readings=ONCE,
        variants=("amended",),
        planted=[
            Planted(
                "four fifths of it",
                is_satisfied=lambda p, s: flat_sampling(p, Fraction(4, 5)),
            )
        ],
        region="N up to 7, 15, 31; alpha from 1/(3N) to 1; up to five epochs and two steps",
        seconds=0.3,
    ),
)

CHECKS.add(
    RuleCheck(
        "section-3-error-rate",
        "start",
        points=runs,
        is_satisfied=of_variant(printed, corrected),
        meets=SLOPE,
        planted=[
            Planted("1 for 16", is_satisfied=lambda p, s: corrected(p, s, factor=1.0))
        ],
        interior=lambda p: p["N"] > 10**9 and p["t"] >= 3,
        region="T up to N^2, alpha down to 1/100000, and the first steps of runs with N up to 10^300",
        leaves_out="exact arithmetic: floats, with a margin",
    )
)
