"""Lemma 11 and the order of the examples: what holds under fresh permutations, and what one permutation breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.search.rule_check import RuleCheck, of_variant
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.momentum_error_bounds import Ordering
from dpverify.papers.tran2022.momentum.momentum_error_orders_bounds import (
    pair_anchor,
    pair_bias,
    ridge_gradients,
    ridge_sampling,
)
from dpverify.papers.tran2022.reorder.reorder_lemma_bounds import momentum_once

CHECKS = PaperChecks("tran2022", __name__)

ONCE, FRESH = {"ordering": "once"}, {"ordering": "fresh"}
BY_DEFINITION = (
    "the anchor is a function of what was drawn before the epoch; the order of the epoch is drawn uniformly and "
    "independently of that, so the points only illustrate it"
)


def _pairs(_: Budget) -> Iterable[dict[str, Any]]:
    """Weights at which the order of the pair shows, positions in the epoch."""
    shares = (Fraction(1, 2), Fraction(1, 3), Fraction(3, 5))
    return ({"N": 2, "alpha": alpha, "eta": Fraction(1, 8), "position": i} for alpha in shares for i in (1, 2))


def _order_given_anchor(point: Point, ordering: Ordering, first_epoch: bool = False) -> Outcome:
    """Chance of the order (1, 2) in the second epoch (the first), given the lowest anchor that occurs."""
    seen: list[tuple[Fraction, tuple[int, ...]]] = []
    for before in permutations((0, 1)):
        anchor = Fraction(0) if first_epoch else pair_anchor((before[0], before[1]), point["alpha"], point["eta"])
        orders = permutations((0, 1)) if ordering == "fresh" and not first_epoch else (before,)
        seen += [(anchor, order) for order in orders]
    lowest = min(anchor for anchor, _ in seen)
    there = [order for anchor, order in seen if anchor == lowest]
    chance = Fraction(sum(order == (0, 1) for order in there), len(there))
    return Outcome(chance == Fraction(1, 2), chance, Fraction(1, 2), f"chance of the order (1, 2) at w = {lowest}")


def _bias(point: Point, ordering: Ordering) -> Outcome:
    bias = pair_bias(point["alpha"], point["eta"], int(point["position"]) - 1, ordering)
    return Outcome(bias == 0, bias, Fraction(0), "mean of grad f(w_3, x) - grad F(w_3); gradients 3 + w/2 and -1")


def _first_bias(point: Point, statement: Statement) -> Outcome:
    """At w_1 = 0 the pair has the gradients 3 and -1, each with the chance 1/2 at every position."""
    drawn = (
        sum((Fraction((3, -1)[order[int(point["position"]) - 1]]) for order in permutations((0, 1))), Fraction(0)) / 2
    )
    return Outcome(drawn == 1, drawn - 1, Fraction(0))


def _steps_of_one_epoch(_: Budget) -> Iterable[dict[str, Any]]:
    """Pairs of steps, and the mean square of the centred gradients, 0 for identical examples."""
    return (
        {"N": n, "i": i, "j": j, "t": n, "alpha": alpha, "own": own}
        for own in (Fraction(0), Fraction(1))
        for n in (2, 3, 4)
        for alpha in (Fraction(1, 2), Fraction(2, 7))
        for j in range(2, n + 1)
        for i in range(1, j)
    )


def _cross_fresh(point: Point, strict: bool, factor: Fraction = Fraction(1)) -> Outcome:
    """Mean of c_i c_j <A_i, A_j> over all orders of N centred numbers with the mean square ``own``."""
    n, i, j, t = (int(point[name]) for name in ("N", "i", "j", "t"))
    plain = [Fraction(2 * k - (n - 1)) for k in range(n)]
    square = sum((a * a for a in plain), Fraction(0)) / n
    orders = list(permutations(plain))
    mean = sum((order[i - 1] * order[j - 1] for order in orders), Fraction(0)) / len(orders) * point["own"] / square
    weight = (1 - point["alpha"]) ** (2 * t - i - j)
    if strict:
        return Outcome(weight * mean < 0, weight * mean, Fraction(0), "centred gradients on a line")
    wanted = -factor * weight * point["own"] / (n - 1)
    return Outcome(weight * mean == wanted <= 0, weight * mean, wanted)


def _ridge_steps(_: Budget) -> Iterable[dict[str, Any]]:
    """Two steps of the second epoch among the examples that have not crossed the threshold."""
    sizes = ((3, 2), (4, 2), (6, 3))
    return (
        {"N": n, "i": 2 * n - 1, "j": 2 * n, "t": 2 * n, "alpha": Fraction(1, 2), "late": late} for n, late in sizes
    )


def _cross_once(point: Point, statement: Statement) -> Outcome:
    n, late, alpha = int(point["N"]), int(point["late"]), float(point["alpha"])
    drawn = ridge_gradients(n, alpha, late)
    i, j, t = (int(point[name]) for name in ("i", "j", "t"))
    term = (1 - alpha) ** (2 * t - i - j) * float(drawn[i - n - 1] @ drawn[j - n - 1])
    return Outcome(term < -1e-9, Fraction(term), Fraction(0), "ridges, G = 1; the same for every order")


def _runs_on_ridges(_: Budget) -> Iterable[dict[str, Any]]:
    """Sizes, weights and thresholds at which the aligned gradients weigh most."""
    rows = ((8, "1/2", 3), (16, "2/5", 4), (20, "7/20", 5), (24, "3/10", 6), (32, "1/5", 9), (64, "1/10", 18))
    return ({"N": n, "t": 2 * n, "alpha": Fraction(alpha), "late": late} for n, alpha, late in rows)


def _sampling_once(point: Point, statement: Statement) -> Outcome:
    square = ridge_sampling(int(point["N"]), float(point["alpha"]), int(point["late"]))
    allowed = 4 * point["alpha"]
    return Outcome(square < allowed, Fraction(square), allowed, "ridges, G = 1; the same for every order")


def _line(budget: Budget) -> Iterable[dict[str, Any]]:
    """Runs of losses whose gradients do not depend on w."""
    most = {"smoke": 8, "standard": 16, "full": 32}[budget.name]
    return (
        {"N": n, "t": t, "alpha": alpha}
        for n in range(2, most)
        for alpha in {Fraction(1, n), Fraction(1, 3 * n), Fraction(2, 3), Fraction(1)}
        for t in (1, n - 1, n, n + 1, 2 * n, 5 * n + 2)
        if t >= 1
    )


def _flat_sampling(point: Point, part: Fraction = Fraction(1)) -> Outcome:
    n, alpha = int(point["N"]), point["alpha"]
    square = momentum_once(int(point["t"]), n, alpha, Fraction(1))
    allowed = part * alpha * n / ((n - 1) * (2 - alpha))
    return Outcome(square <= allowed, square, allowed)


def _planted(name: str, holds: Callable[[Point, Statement], Outcome]) -> Sequence[Planted]:
    return [Planted(name, holds=holds, at_declared_size=True)]


CHECKS.add(
    RuleCheck(
        "section-3-anchor-unbiased",
        "independent",
        points=_pairs,
        holds=lambda point, statement: _bias(point, "fresh"),
        why_sufficient=BY_DEFINITION,
        readings=FRESH,
        planted=_planted("one permutation", lambda point, statement: _bias(point, "once")),
    ),
    RuleCheck(
        "section-3-anchor-unbiased",
        "pair",
        points=_pairs,
        holds=of_variant(lambda point, statement: _bias(point, "once"), _first_bias),
        why_sufficient="at w_1 every position draws every example with the same chance",
        readings=ONCE,
        planted=_planted("the second epoch", lambda point, statement: _bias(point, "once")),
        interior=lambda p: p["position"] == 2 and p["alpha"] == Fraction(3, 5),
    ),
    RuleCheck(
        "lemma-11-mean-zero",
        "independent",
        points=_pairs,
        holds=lambda point, statement: _order_given_anchor(point, "fresh"),
        why_sufficient=f"a mean is subtracted, so the sum is 0; {BY_DEFINITION}",
        readings=FRESH,
        planted=_planted("one permutation", lambda point, statement: _order_given_anchor(point, "once")),
    ),
    RuleCheck(
        "lemma-11-mean-zero",
        "pair",
        points=_pairs,
        holds=of_variant(
            lambda point, statement: _order_given_anchor(point, "once"),
            lambda point, statement: _order_given_anchor(point, "once", first_epoch=True),
        ),
        why_sufficient="a mean is subtracted, so the sum is 0; w_1 is fixed before the order is drawn",
        readings=ONCE,
        planted=_planted("the second epoch", lambda point, statement: _order_given_anchor(point, "once")),
        interior=lambda p: p["alpha"] == Fraction(3, 5),
    ),
    RuleCheck(
        "lemma-11-cross-same-epoch",
        "all-orders",
        points=_steps_of_one_epoch,
        holds=of_variant(lambda p, s: _cross_fresh(p, True), lambda p, s: _cross_fresh(p, False)),
        why_sufficient="all ordered pairs of different examples are equally likely, and the products of all pairs add "
        "up to |sum of A|^2 - sum of |A|^2 = - sum of |A|^2",
        planted=_planted("9/10 of it", lambda p, s: _cross_fresh({**p, "own": Fraction(1)}, False, Fraction(9, 10))),
        interior=lambda p: False,
    ),
    RuleCheck(
        "lemma-11-cross-same-epoch",
        "ridges",
        points=_ridge_steps,
        holds=_cross_once,
        readings=ONCE,
        variants=("printed",),
        planted=_planted("no order", lambda p, s: Outcome(False)),
        interior=lambda p: p["N"] >= 4,
        leaves_out="exact arithmetic: floats, with a margin",
    ),
    RuleCheck(
        "lemma-11-sampling",
        "ridges",
        points=_runs_on_ridges,
        holds=_sampling_once,
        readings=ONCE,
        variants=("printed",),
        planted=_planted("nothing allowed", lambda p, s: Outcome(False)),
        interior=lambda p: p["N"] >= 32,
        leaves_out="exact arithmetic: floats, with a margin",
    ),
    RuleCheck(
        "lemma-11-sampling",
        "constant-gradients",
        points=_line,
        holds=lambda point, statement: _flat_sampling(point),
        readings=ONCE,
        variants=("amended",),
        planted=[Planted("four fifths of it", holds=lambda p, s: _flat_sampling(p, Fraction(4, 5)))],
        region="N up to 7, 15, 31; alpha from 1/(3N) to 1; up to five epochs and two steps",
        seconds=0.3,
    ),
)
