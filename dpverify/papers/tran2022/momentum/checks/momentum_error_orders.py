"""Check where Lemma 11 fails under one permutation, and where section 3's error rate fails in the first steps."""

from __future__ import annotations

import math
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
from dpverify.harness.search.exhaustive_check import RuleCheck, of_variant
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.checks.momentum_error import RIDGES, SLOPE
from dpverify.papers.tran2022.momentum.momentum_error_bounds import (
    pair_anchor,
    pair_bias,
    ridge_gradients,
    ridge_sampling,
)
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    momentum_once,
    spread_of,
    weights_once,
)
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


def _steps_of_one_epoch(_: Budget) -> Iterable[dict[str, Any]]:
    """Return pairs of steps, with the mean square of the centred gradients (0 for identical examples)."""
    return (
        {"N": n, "i": i, "j": j, "t": n, "alpha": alpha, "own": mean_square}
        for mean_square in (Fraction(0), Fraction(1))
        for n in (2, 3, 4)
        for alpha in (Fraction(1, 2), Fraction(2, 7), Fraction(1))
        for j in range(2, n + 1)
        for i in range(1, j)
    )


def _cross_fresh(point: Point, strict: bool, factor: Fraction = Fraction(1)) -> Outcome:
    """Test the mean of c_i c_j <A_i, A_j> over all orders of N centred numbers with the mean square ``own``."""
    n, i, j, t = (int(point[name]) for name in ("N", "i", "j", "t"))
    plain = [Fraction(2 * k - (n - 1)) for k in range(n)]
    square = sum((a * a for a in plain), Fraction(0)) / n
    orders = list(permutations(plain))
    mean = (
        sum((order[i - 1] * order[j - 1] for order in orders), Fraction(0))
        / len(orders)
        * point["own"]
        / square
    )
    weight = (1 - point["alpha"]) ** (2 * t - i - j)
    if strict:
        return Outcome(
            weight * mean < 0, weight * mean, Fraction(0), "centred gradients on a line"
        )
    expected = -factor * weight * point["own"] / (n - 1)
    return Outcome(weight * mean == expected <= 0, weight * mean, expected)


def _ridge_steps(_: Budget) -> Iterable[dict[str, Any]]:
    """Return the last two steps of the second epoch, whose examples have not crossed the threshold."""
    sizes = ((3, 2), (4, 2), (6, 3))
    return (
        {
            "N": n,
            "i": 2 * n - 1,
            "j": 2 * n,
            "t": 2 * n,
            "alpha": Fraction(1, 2),
            "late": late,
        }
        for n, late in sizes
    )


def _cross_once(point: Point, statement: Statement, times: float = 1.0) -> Outcome:
    n = int(point["N"])
    late = int(point["late"])
    alpha = float(point["alpha"])
    drawn = ridge_gradients(n, alpha, late)
    i, j, t = (int(point[name]) for name in ("i", "j", "t"))
    term = (
        times
        * (1 - alpha) ** (2 * t - i - j)
        * float(drawn[i - n - 1] @ drawn[j - n - 1])
    )
    return Outcome(
        term < -1e-9,
        Fraction(term),
        Fraction(0),
        "ridges, G = 1; the same for every order",
    )


def _runs_on_ridges(_: Budget) -> Iterable[dict[str, Any]]:
    """Return sizes, momentum weights and thresholds at which the aligned gradients have the largest weight."""
    rows = (
        (8, "1/2", 3),
        (16, "2/5", 4),
        (20, "7/20", 5),
        (24, "3/10", 6),
        (32, "1/5", 9),
        (64, "1/10", 18),
    )
    return (
        {"N": n, "t": 2 * n, "alpha": Fraction(alpha), "late": late}
        for n, alpha, late in rows
    )


def _sampling_once(
    point: Point, statement: Statement, part: Fraction = Fraction(1)
) -> Outcome:
    square = ridge_sampling(int(point["N"]), float(point["alpha"]), int(point["late"]))
    allowed = part * 4 * point["alpha"]
    return Outcome(
        square < allowed,
        Fraction(square),
        allowed,
        "ridges, G = 1; the same for every order",
    )


def _line(budget: Budget) -> Iterable[dict[str, Any]]:
    """Return runs of losses whose gradients do not depend on w."""
    size_limit = {"smoke": 8, "standard": 16, "full": 32}[budget.name]
    return (
        {"N": n, "t": t, "alpha": alpha}
        for n in range(1, size_limit)
        for alpha in {Fraction(1, n), Fraction(1, 3 * n), Fraction(2, 3), Fraction(1)}
        for t in (1, n - 1, n, n + 1, 2 * n, 5 * n + 2)
        if t >= 1
    )


def _flat_sampling(point: Point, part: Fraction = Fraction(1)) -> Outcome:
    """Test the bound on the mean square at t, G = 1, and the last step of the induction that proves it."""
    n = int(point["N"])
    t = int(point["t"])
    alpha = point["alpha"]
    square = momentum_once(t, n, alpha, Fraction(1))
    allowed = part * alpha * n / (max(1, n - 1) * (2 - alpha))
    before = weights_once(t - 1, n, alpha)
    after = weights_once(t, n, alpha)
    beta = 1 - alpha
    oldest = before[-1]
    total = sum(before, Fraction(0))
    if oldest > min(before) or after != [
        beta * oldest + alpha,
        *(beta * w for w in before[:-1]),
    ]:
        return Outcome(False, note="the weights do not grow as the induction says")
    grown = (
        beta**2 * (spread_of(before) + total**2 / n)
        + 2 * alpha * beta * oldest
        + alpha**2
    )
    if spread_of(after) != grown - (beta * total + alpha) ** 2 / n:
        return Outcome(False, note="the spread does not grow as the induction says")
    return Outcome(square <= allowed, square, allowed)


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
        points=_steps_of_one_epoch,
        is_satisfied=of_variant(
            lambda p, s: _cross_fresh(p, True), lambda p, s: _cross_fresh(p, False)
        ),
        planted=_planted(
            "9/10 of it",
            lambda p, s: _cross_fresh(
                {**p, "own": Fraction(1)}, False, Fraction(9, 10)
            ),
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
                _ridge_steps,
                _cross_once,
                ("half of the product", partial(_cross_once, times=0.5)),
                ("one of the gradients turned round", partial(_cross_once, times=-1.0)),
                lambda p: p["N"] >= 4,
            ),
            (
                "lemma-11-sampling",
                _runs_on_ridges,
                _sampling_once,
                (
                    "nine tenths of the bound",
                    partial(_sampling_once, part=Fraction(9, 10)),
                ),
                ("ten times the bound", partial(_sampling_once, part=Fraction(10))),
                lambda p: p["N"] >= 32,
            ),
        )
    ),
    RuleCheck(
        "lemma-11-sampling",
        "constant-gradients",
        points=_line,
        is_satisfied=lambda point, statement: _flat_sampling(point),
        why_sufficient="the centred gradients are vectors that add up to 0, and two positions of one order draw "
        "different examples: the mean square is own N/(N-1) times the spread of the examples' weights, own <= G^2. "
        "That is 0 at t = 0, and every step keeps it at alpha/(2-alpha) at most (check premise-one-step): the example "
        "drawn N steps ago has the fewest visits and the least weight",
        readings=ONCE,
        variants=("amended",),
        planted=[
            Planted(
                "four fifths of it",
                is_satisfied=lambda p, s: _flat_sampling(p, Fraction(4, 5)),
            )
        ],
        region="N up to 7, 15, 31; alpha from 1/(3N) to 1; up to five epochs and two steps",
        seconds=0.3,
    ),
)


# Constant, and power of log2(2N), that the O~ may hide
CONSTANT = 1000
LOGARITHMS = 10


def _runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield the first steps of runs with huge N, alpha = 1/N and T = N, then a grid of ordinary runs."""
    for digits in (60, 100, 300):
        n = 10**digits
        for t in (1, 3):
            yield {
                "N": n,
                "T": n,
                "t": t,
                "alpha": Fraction(1, n),
                "eta": Fraction(1, n**3),
                "d": 3,
                "epsilon": 1,
            }
    for n in (1, 2, 7, 100, 10**6):
        for top in (1, 3, n, 5 * n + 2, n * n):
            for alpha in (Fraction(1), Fraction(1, 2 * n), Fraction(1, 10**5)):
                for t in {1, max(1, top // 2), top}:
                    eta = Fraction(1, n * top)
                    yield {
                        "N": n,
                        "T": top,
                        "t": t,
                        "alpha": alpha,
                        "eta": eta,
                        "d": 3,
                        "epsilon": Fraction(1, 2),
                    }


def _printed(point: Point, statement: Statement) -> Outcome:
    """Test the printed rate on a slope, G = 1: the noise has mean 0, so the error is at least (1-alpha)^t G."""
    n = float(point["N"])
    top = float(point["T"])
    alpha = float(point["alpha"])
    noise = alpha * math.sqrt(float(point["d"]) * top / n) / float(point["epsilon"])
    terms = (
        math.sqrt(alpha)
        + float(point["eta"] * point["N"])
        + float(point["eta"] / point["alpha"])
        + noise
    )
    allowed = CONSTANT * (1 + math.log2(n)) ** LOGARITHMS * terms
    error = (1 - alpha) ** min(int(point["t"]), 10**9)
    return Outcome(
        error <= allowed,
        Fraction(error),
        Fraction(allowed),
        "slope, G = 1, O~ with 1000 log2(2N)^10",
    )


def _visits(n: int, top: int) -> int:
    """Return V as corrected in algorithm-1-v: partial epochs count as whole ones, the depth is floor(log2 T) + 1."""
    depth = top.bit_length()
    small = n.bit_length() - 1
    return (min(depth, small) + 1) * -(-top // n) + sum(
        top >> j for j in range(small + 1, depth + 1)
    )


def _corrected(point: Point, statement: Statement, factor: float = 16.0) -> Outcome:
    """Compare corrected Lemmas 11 and 12 with the corrected rate, G = L = 1, sigma = 2 sqrt(log(1/delta))/epsilon."""
    if point["N"] > 10**9:
        return Outcome(True)
    once = statement.reading["ordering"] == "once"
    n = int(point["N"])
    top = int(point["T"])
    t = int(point["t"])
    alpha, eta, d, epsilon = (
        float(point[name]) for name in ("alpha", "eta", "d", "epsilon")
    )
    log_delta = math.log(1e6)
    v = _visits(n, top)
    steps = t - 1 if once else n - 1
    begin = (1 - alpha) ** t
    lemma_11 = (
        math.sqrt((1 + once) * alpha / (2 - alpha))
        + 2 * eta * steps * (n - 1) / n
        + eta * (1 - alpha) / alpha
    )
    lemma_12 = (
        4
        * alpha
        * 2
        * math.sqrt(log_delta)
        / epsilon
        * math.sqrt(d * v * math.log2(top + 1))
    )
    error = lemma_11 + begin + lemma_12
    noise = (
        alpha * math.sqrt(d * (1 + top / n) * log_delta) * math.log2(2 * top) / epsilon
    )
    terms = math.sqrt(alpha) + eta * (t if once else n) + eta / alpha + begin + noise
    return Outcome(
        error <= factor * terms * (1 + 1e-12), Fraction(error), Fraction(factor * terms)
    )


CHECKS.add(
    RuleCheck(
        "section-3-error-rate",
        "start",
        points=_runs,
        is_satisfied=of_variant(_printed, _corrected),
        meets=SLOPE,
        planted=[
            Planted("1 for 16", is_satisfied=lambda p, s: _corrected(p, s, factor=1.0))
        ],
        interior=lambda p: p["N"] > 10**9 and p["t"] >= 3,
        region="T up to N^2, alpha down to 1/100000, and the first steps of runs with N up to 10^300",
        leaves_out="exact arithmetic: floats, with a margin",
    )
)
