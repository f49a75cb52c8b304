"""The rates of Theorems 6 and 9 and what abstract and section 1 say of them: exponents, and a walk that goes uphill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.trees.compose_bounds import squared_decay_sum
from dpverify.papers.tran2022.utility import rates_bounds as rates
from dpverify.papers.tran2022.utility import uphill_bounds as uphill
from dpverify.papers.tran2022.utility.rates_bounds import Vector
from dpverify.symbolic.exact.numbers import to_ball, to_value

CHECKS = PaperChecks("tran2022", __name__)

RAYS = "the exponents of both sides are piecewise linear in the direction, and these are the rays of the pieces"

FASTER = Fraction(1, 100)  # The planted fault: a rate that falls faster in N by this exponent.


def _exponents(
    claim: str, terms: Sequence[Vector], rate: Sequence[Vector], cone: Sequence[Vector], variant: str, capped: bool
) -> RuleCheck:
    """Compare exponents along every direction of a cone; capped: the trivial bound G is there as well."""

    def points(budget: Budget) -> Iterable[dict[str, Fraction]]:
        decisive = rates.rays((*terms, *rate, rates.NONE), cone)
        return ({"log_N": u[0], "log_d": u[1], "log_epsilon": u[2]} for u in decisive)

    def rule(faster: Fraction) -> Callable[[Point, Statement], Outcome]:
        def compare(point: Point, statement: Statement) -> Outcome:
            along = (point["log_N"], point["log_d"], point["log_epsilon"])
            bound = rates.exponent(terms, along)
            if capped:
                bound = min(bound, Fraction(0))
            most = max(rates.dot((term[0] - faster, term[1], term[2]), along) for term in rate)
            note = "exponents of the bound and of the rate along (N, d, epsilon) = n^(log_N, log_d, log_epsilon)"
            return Outcome(bound <= most, bound, most, note=note)

        return compare

    return RuleCheck(
        claim,
        "exponents" if variant == "printed" else "exponents-amended",
        points=points,
        holds=rule(Fraction(0)),
        why_sufficient=RAYS,
        planted=[Planted("a faster rate", holds=rule(FASTER), at_declared_size=True)],
        variants=(variant,),
        interior=lambda point: all(value != 0 for value in point.values()),
        region="all directions in which N and d do not shrink and the theorem's conditions hold",
        leaves_out="logarithms, G, L, R and delta, which O~ hides",
    )


def _runs(budget: Budget) -> Iterable[dict[str, Any]]:
    """N = 3 and growing epsilon, through the printed T."""
    return ({"N": 3, "T": 2**k, "delta": Fraction(1, 10**6)} for k in (20, 40, 80, 160, 320, 640, 1280))


def _hidden(point: Point, rate: arb, slower: Fraction) -> arb:
    """What O~ may hide: a million, and the tenth power of every logarithm; the rate may be planted slower in T."""
    steps, delta = arb(int(point["T"])), to_ball(to_value(point["delta"]))
    return 10**6 * (steps.log() * (1 / delta).log()) ** 10 * rate * steps ** to_ball(to_value(slower))


def _uphill_1(point: Point, statement: Statement, slower: Fraction = Fraction(0)) -> Outcome:
    """Algorithm 1 with fresh permutations, against d^(1/4)/sqrt(epsilon N)."""
    steps = int(point["T"])
    left = uphill.uphill_bound("fresh", steps, uphill.noise_variance_1(steps))
    log_steps, log_delta = arb(steps).log() / arb(2).log(), (1 / to_ball(to_value(point["delta"]))).log()
    rate = (arb(3) / steps).sqrt() / (log_steps.sqrt() * log_delta.sqrt().sqrt())
    return _against(left, _hidden(point, rate, slower))


def _uphill_2(point: Point, statement: Statement, slower: Fraction = Fraction(0)) -> Outcome:
    """Algorithm 2 with one permutation, against d^(1/3)/(epsilon N)^(2/3)."""
    steps = int(point["T"])
    left = uphill.uphill_bound("once", steps, uphill.noise_variance_2(steps, Fraction(1), point["delta"]))
    return _against(left, _hidden(point, (arb(3) / steps).sqrt(), slower))


def _against(left: arb, right: arb) -> Outcome:
    note = "gradient that is left at least; right side: the rate times 10^6 and the tenth power of every logarithm"
    return Outcome(not left > right, left, right, note=note)


def _noise(point: Point, statement: Statement, excess: int = 1) -> Outcome:
    """Standard deviation of a coordinate of Algorithm 1's noise, G = 1, against sqrt(T)/(epsilon sqrt(N))."""
    n, steps = int(point["N"]), int(point["T"])
    alpha, depth, low = Fraction(1, n), steps.bit_length(), n.bit_length() - 1
    v = (min(depth, low) + 1) * Fraction(steps, n) + sum(steps >> j for j in range(low + 1, depth + 1))
    worst = max(
        to_ball(to_value(squared_decay_sum(t, alpha))) for t in (steps, 2 ** (depth - 1), 2**depth // 2 - 1 or 1)
    )
    # in units of G sqrt(log(1/delta))/epsilon, per coordinate; alpha = 1 is the largest weight that there is
    left = excess * 8 * (to_ball(to_value(v)) * worst).sqrt()
    right = 16 * (arb(2 * steps).log() / arb(2).log()) * (arb(steps) / n).sqrt()
    return Outcome(bool(left <= right), left, right, note="without the factor alpha, in every coordinate")


def _sizes(budget: Budget) -> Iterable[dict[str, int]]:
    top = {"smoke": 6, "standard": 9, "full": 12}[budget.name]
    return (
        {"N": n, "T": steps}
        for n in (1, *(3 * 4**k - 1 for k in range(top)))
        for steps in (1, 3, n, 4 * n - 1, 16 * n + 1, 2**14 - 1)
    )


PRIVATE, RUNS = (*rates.GROWING, rates.PRIVATE), (*rates.GROWING, rates.RUNS)
RATE_6, RATE_9 = (rates.FIRST, rates.ROOT), (rates.SECOND, rates.ROOT)

CHECKS.add(
    _exponents("theorem-6-rate", rates.THEOREM_6, RATE_6, RUNS, "printed", False),
    _exponents("theorem-6-rate", rates.THEOREM_6, RATE_6, PRIVATE, "amended", False),
    _exponents("theorem-9-rate", rates.THEOREM_9, RATE_9, PRIVATE, "printed", False),
    _exponents("section-1-rate", rates.CORRECTED_6, RATE_6, RUNS, "amended", True),
    _exponents("abstract-rate", rates.CORRECTED_9, (rates.SECOND,), (*RUNS, rates.MODEST), "amended", True),
    *(
        RuleCheck(
            claim,
            "uphill",
            points=_runs,
            holds=holds,
            planted=[
                Planted("a rate slower by T^(1/4)", holds=partial(holds, slower=Fraction(1, 4)), at_declared_size=True)
            ],
            variants=("printed",),
            region=f"N = 3, d = 1, {region}",
        )
        for claim, holds, region in (
            ("section-1-rate", _uphill_1, "epsilon growing with T"),
            ("abstract-rate", _uphill_2, "one permutation, epsilon growing with T"),
        )
    ),
    RuleCheck(
        "section-1-noise",
        "exact-laws",
        points=_sizes,
        holds=_noise,
        planted=[Planted("noise 20 times larger", holds=lambda p, st: _noise(p, st, 20), at_declared_size=True)],
        region="N and T from 1 on, T below, at and above N; alpha = 1/N in the decay, and no factor alpha in front",
        leaves_out="sizes in between; the norm, which has a factor sqrt(d)",
    ),
)
