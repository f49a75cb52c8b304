"""Check the privacy records of zhang2021: the moments accountant's theorem, subsampling, the resulting variance."""

from __future__ import annotations

from collections.abc import Iterator
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
    TrueNeighbour,
)
from dpverify.harness.sides import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.privacy.subsampling_bounds import (
    half_way_delta,
    opposite_divergence,
    pure_amplification,
)
from dpverify.symbolic.exact.numbers import Exact, ball

CHECKS = PaperChecks("zhang2021", __name__)

NEAR_START = (
    "losses on a line: 0, and one whose slope is L or -L where |w| <= 1/(2 L) and goes to 0 at the rate beta beyond, "
    "where L^2 <= beta; steps so short that runs leave this part with a probability below exp(-epsilon)/20, which "
    "changes delta by less than 1/10"
)
PROPERTIES = {
    "bounded-loss": Property(NEAR_START),
    "lipschitz": Property(NEAR_START),
    "smooth": Property(NEAR_START),
    "neighbour-replace-one": Property(
        "the one example with another gradient is replaced"
    ),
    "subsampled-without-replacement": Property(
        "a batch is a part of the data; at B = n all of it"
    ),
    "gaussian-mechanism": Property(
        "each step releases the sum of the gradients with fresh Gaussian noise"
    ),
    "adaptive-queries": Property(
        "the gradient depends on what was released, here only beyond |w| = 1/(2 L)"
    ),
}

WITNESS = (
    "full batch, n = B = 1, gradient 0 or L, T = floor(epsilon/c_1) + 1: a Gaussian mechanism with "
    "mu = 2 c_2 sqrt(log(1/delta)) and epsilon = mu^2/2. With log(1/delta) = max(2, 1/c_2^2), mu is at least 2 and its "
    "delta, which grows with mu, at least 0.33; but delta is at most exp(-2) = 0.135: no c_1 and c_2 will do"
)


NEARLY_NONE = Fraction(1, 10**8)  # Exponent that brings the promised delta close to 1


def _constants(budget: Budget) -> Iterator[dict[str, str]]:
    texts = ("1", "1/2", "2", "1/10", "10", "1/1000", "1000")
    yield from ({"c_1": c_1, "c_2": c_2} for c_1 in texts for c_2 in texts)


def _promised(share: Fraction, power: Fraction = Fraction(1)) -> Rule:
    """Return the rule that the delta of the witness is at most a share, or a power, of the promised delta."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        log_inverse = max(Fraction(2), 1 / point["c_2"] ** 2)
        mu = 2 * ball(point["c_2"]) * ball(log_inverse).sqrt()
        exact = half_way_delta(mu)
        promised = ball(share) * (-ball(power * log_inverse)).exp()
        return Outcome(False if exact > promised else None, exact, promised, WITNESS)

    return is_satisfied


def _opposite(point: Point, statement: Statement) -> Exact:
    """Return the lower end of the divergence of order 2 of one pair of neighbours, a lower bound."""
    return opposite_divergence(point["q"], ball(point["L"] / point["pi"])).lower()


def _rates(budget: Budget) -> Iterator[dict[str, int | str]]:
    for pi in ("1", "10") if budget.name == "smoke" else ("1", "1/2", "2", "10"):
        for q in ("1", "1/2", "1/10", "1/1000"):
            yield {"q": q, "L": 1, "pi": pi}


def _batches(budget: Budget) -> Iterator[dict[str, int | str]]:
    for n, batch in ((2, 2), (2, 1), (100, 10), (60000, 64)):
        for epsilon, delta in (("1", "1/2"), ("1/10", "1/100000"), ("8", "1/3")):
            yield {
                "n": n,
                "B": batch,
                "epsilon": epsilon,
                "delta": delta,
                "L": 1,
                "c_2": 2,
                "T": 100,
            }


def _required_variance(point: Point, statement: Statement) -> Exact:
    """Return the variance that Theorem 2.1 requires, (L pi)^2, if its noise is on the mean."""
    scale = point["L"] * point["c_2"] * point["B"] / (point["n"] * point["epsilon"])
    return ball(scale**2 * point["T"]) * -ball(point["delta"]).log()


for theorem in ("theorem-2-1", "theorem-3-1"):
    CHECKS.add(
        ExhaustiveCheck(
            theorem,
            "no-constants",
            variants=("printed",),
            points=_constants,
            is_satisfied=_promised(Fraction(1)),
            planted=[
                Planted(
                    "half of that delta promised",
                    is_satisfied=_promised(Fraction(1, 2)),
                )
            ],
            neighbours=[
                TrueNeighbour(
                    "the 10^8th root of that delta",
                    is_satisfied=_promised(Fraction(1), NEARLY_NONE),
                )
            ],
            meets=PROPERTIES,
            region="c_1 and c_2 from 1/1000 to 1000; the argument is the same for all",
        )
    )
CHECKS.add(
    SearchCheck(
        "theorem-3-1-amplification",
        "search",
        lhs=lambda point, _: pure_amplification(point["q"], point["epsilon"]),
        leaves_out="attained by randomized response; that nothing is worse is cited",
    ),
    ExhaustiveCheck(
        "theorem-3-1-moments",
        "opposite-gradients",
        points=_rates,
        lhs=_opposite,
        neighbours=[TrueNeighbour("five times the printed side", rhs="5*printed")],
        meets=PROPERTIES,
        region="B/n from 1/1000 to 1, L/pi from 1/10 to 2 (to 1 at the smoke budget)",
        leaves_out="one pair of neighbours",
    ),
    ExhaustiveCheck(
        "theorem-3-1-variance",
        "points",
        readings={"noise": "mean"},
        variants=("printed",),
        points=_batches,
        lhs=_required_variance,
        neighbours=[TrueNeighbour("the noise on the mean", rhs="printed*B**2")],
        region="twelve points",
    ),
)
