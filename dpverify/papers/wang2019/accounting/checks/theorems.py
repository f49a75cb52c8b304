"""Check Theorems 4.1 and 5.1 for (epsilon, delta), and what section 6.1 can track by Lemmas 3.7 and 3.9."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from flint import arb

from dpverify.harness import (
    Budget,
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    TrueNeighbour,
)
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide, Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.accounting.runs import BatchRun, largest_part
from dpverify.privacy.batches import batch_delta
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("wang2019", __name__)


def _accounted(factor: float = 1.0, *, attained: bool = False) -> LeftSide:
    """Return the left side: delta with the printed noise by composition of privacy losses, if each party draws b/m.

    It is an upper bound, or, if ``attained``, the delta of one data set: all gradients are -G but that of one example,
    which is +G or -G.
    """

    def lhs(point: Point, statement: Statement) -> Fraction:
        parties = int(point.get("m", Fraction(1)))
        n = int(point["n"]) if "n" in point else parties * int(point["n_party"])
        gamma, zeta, G = (float(point[name]) for name in ("gamma", "zeta", "G"))
        batch = int(point["b"])
        first = int(point["b_0"])
        run = BatchRun(
            "recursive", n, int(point["T"]), batch, first, gamma, zeta, G, parties
        )
        noise = (
            float(ball(definitions(statement, point)["variance"]).sqrt())
            * n
            / (2.0 * run.length)
        )
        delta = float(point["delta"])
        bounds = batch_delta(
            run.steps_at(factor * noise), float(point["epsilon"]), delta
        )
        return Fraction(bounds.lower if attained else bounds.upper)

    return lhs


def _always_drawn(
    point: Point, statement: Statement, *, factor: Fraction = Fraction(1)
) -> arb:
    """Return the exact delta of an example that is in every batch: all releases are Gaussian."""
    noise = definitions(statement, point)
    later = (
        ball(
            ((1 - point["gamma"]) * point["zeta"] + point["gamma"] * point["G"])
            / point["b"]
        )
        ** 2
    )
    first = ball(point["G"] / point["b_0"]) ** 2
    squares = ball(point["T"]) * later / ball(noise["variance"]) + first / ball(
        noise["variance_0"]
    )
    return delta_ball(2 * squares.sqrt() / ball(factor), point["epsilon"])


def _whole(budget: Budget) -> Iterator[PointLike]:
    """Yield points inside the conditions, for one data set; G = b, so the noise is in units of half the sensitivity."""
    inside = (
        (900, 30, 1200, 12, "1/10"),
        (32561, 50, 130_000, 8, "1e-5"),
        (4096, 64, 3000, 8, "1/1000"),
        (10**6, 1000, 400_000, 6, "1e-6"),
    )
    for n, b, T, epsilon, delta in inside[:2] if budget.name == "smoke" else inside:
        for gamma, zeta in (("1", 1), ("1/100", b)):
            yield {
                "n": n,
                "b": b,
                "b_0": min(n, b * b),
                "T": T,
                "epsilon": epsilon,
                "delta": delta,
                "beta": "1/2",
                "G": b,
                "gamma": gamma,
                "zeta": zeta,
            }


def _parties(budget: Budget) -> Iterator[PointLike]:
    for point in _whole(budget):
        n = int(str(point["n"]))
        m = 2
        b = int(str(point["b"]))
        yield {
            **{key: value for key, value in point.items() if key != "n"},
            "m": m,
            "n_party": n // m,
            "b_0": min(n // m * m, b * b),
        }


def _small_units(budget: Budget) -> Iterator[PointLike]:
    """Yield points inside Theorem 5.1's printed conditions, at orders allowed only by its sigma^2 with a large G."""
    for n, b, T, epsilon, delta, beta in (
        (10_000, 50, 4, "1/5", "1e-6", "1/5"),
        (40_000, 200, 4, "1/5", "1e-5", "17/100"),
        (10_000, 100, 10, "1/2", "1e-6", "3/10"),
    ):
        yield {
            "m": 2,
            "n_party": n // 2,
            "b": b,
            "b_0": b * b,
            "T": T,
            "epsilon": epsilon,
            "delta": delta,
            "beta": beta,
            "G": 100 * b,
            "gamma": 1,
            "zeta": 1,
        }


def _greedy(budget: Budget) -> Iterator[PointLike]:
    """Yield batches with all examples of one party and one example of each other party: b = n_party + m - 1."""
    for m, size in ((50, 51), (200, 60)):
        n = m * size
        b = size + m - 1
        for share in (1, 2):
            yield {
                "m": m,
                "n_party": size,
                "b": b,
                "b_0": n,
                "T": share * n,
                "epsilon": 12,
                "delta": "1/100",
                "beta": "1/2",
                "G": b,
                "gamma": 1,
                "zeta": 1,
            }


def _large_batches(budget: Budget) -> Iterator[PointLike]:
    """Yield points with batches just large enough to hide examples that are in all of them."""
    for m, size, b, T in ((3, 100, 120, 20), (5, 2000, 3790, 400), (2, 50, 54, 1)):
        for epsilon, delta in ((1, "1e-5"), (8, "1/100"), ("1/10", "1e-6")):
            yield {
                "m": m,
                "n_party": size,
                "b": b,
                "b_0": b,
                "T": T,
                "epsilon": epsilon,
                "delta": delta,
                "beta": "1/2",
                "G": 2,
                "gamma": "1/3",
                "zeta": 1,
            }


SETTINGS = ((32561, "a9a"), (49990, "ijcnn1"))


def _settings(budget: Budget) -> Iterator[PointLike]:
    for n, _ in SETTINGS:
        for b in (50, 100, 200):
            for epsilon in ("1/5", "1/2"):
                yield {"n": n, "b": b, "epsilon": epsilon, "delta": "1/100000"}


def trackable(part: Fraction = Fraction(1)) -> Rule:
    """Return the rule: some noise and order satisfy Lemma 3.7 at this part of the batch, and give epsilon by Lemma 3.9.

    Lemma 3.9 needs alpha - 1 > log(1/delta)/epsilon. Because log(y) <= y/e, 2 s log(1/(tau alpha (1 + s)))/3 is at most
    2/(3 e tau alpha) for every s. So tau alpha (alpha - 1) <= 2/(3 e) is needed, and its left side grows with alpha.
    """

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        least = -ball(point["delta"]).log() / ball(point["epsilon"])
        spent = ball(part * point["b"] / point["n"]) * least * (least + 1)
        limit = 2 / (3 * arb(1).exp())
        return Outcome(
            bool(spent <= limit),
            spent,
            limit,
            "tau alpha (alpha - 1) at the least order, and at most",
        )

    return is_satisfied


NETWORKS = (  # section 6.2: n, batches, epsilons
    (60_000, (256, 512, 1024), (1.2, 3.0, 7.0)), (50_000, (32, 64, 128), (6.0, 8.0, 10.0)),
    (50_000, (64, 128, 256), (2.0, 4.0, 8.0)),
)  # fmt: skip


def _region(_: Context) -> dict[str, dict[str, list[float]]]:
    """Return the figure: the region in which the conditions can hold, and the settings of section 6."""
    all_of_them = (
        (32561, (50, 100, 200), (0.2, 0.5)),
        (49990, (50, 100, 200), (0.2, 0.5)),
        *NETWORKS,
    )
    settings = [
        (e, b / n)
        for n, batches, epsilons in all_of_them
        for b in batches
        for e in epsilons
    ]
    x = sorted({*(0.1 * 1.1**i for i in range(60)), *(e for e, _ in settings)})
    columns = {
        "settings": [e for e, _ in settings],
        "rate": [rate for _, rate in settings],
        "at:delta": [1e-5],
    }
    return {
        "conditions": {
            "x:epsilon": x,
            "most": [largest_part(e, 1e-5) for e in x],
            **columns,
        }
    }


RELEASES = {
    "gaussian-mechanism": Property(
        "each step releases a mean over a batch with fresh Gaussian noise"
    ),
    "adaptive-queries": Property(
        "the gradients do not depend on what was released, which adaptive queries need not"
    ),
    "neighbour-replace-one": Property(
        "all gradients are -G but that of one example, which is G for the neighbour"
    ),
}


def _is_greedy(point: Point) -> bool:
    """Test whether all batches can have all examples of one party and one example of each other party."""
    return point["b"] == point["n_party"] + point["m"] - 1


ALWAYS_DRAWN = {
    **RELEASES,
    "neighbour-replace-one": Property(
        "an example that is in every batch has the gradient G or -G", _is_greedy
    ),
}
TRACKED = {
    "subsampled-without-replacement": Property(
        "a batch of b of n examples, tau = b/n", lambda p: p["b"] <= p["n"]
    ),
    "gaussian-mechanism": Property(
        "Lemmas 3.7 and 3.9 are about Gaussian noise, of which every size is allowed"
    ),
    "neighbour-replace-one": Property(
        "the lemmas are about neighbours in which one example is replaced"
    ),
}

CHECKS.add(
    RuleCheck(
        "theorem-4-1-dp",
        "accounted",
        points=_whole,
        lhs=_accounted(),
        seconds=0.5,
        planted=[Planted("a quarter of the noise", lhs=_accounted(0.25))],
        region="eight points inside the conditions, four at the smoke budget, delta from above",
    ),
    RuleCheck(
        "theorem-5-1-dp",
        "one-party-in-every-batch",
        points=_greedy,
        lhs=_always_drawn,
        seconds=0.05,
        meets=ALWAYS_DRAWN,
        readings={"index-sets": "any"},
        variants=("printed",),
        neighbours=[
            TrueNeighbour(
                "a hundred times the noise",
                lhs=partial(_always_drawn, factor=Fraction(100)),
            )
        ],
        region="a party whose examples are in every batch, the conditions as printed",
    ),
    RuleCheck(
        "theorem-5-1-dp",
        "all-in-every-batch",
        points=_large_batches,
        lhs=_always_drawn,
        seconds=0.05,
        readings={"index-sets": "any"},
        variants=("amended",),
        planted=[
            Planted(
                "half of the noise", lhs=partial(_always_drawn, factor=Fraction(1, 2))
            )
        ],
        region="nine points, batches of two fifths of all the data or a little more, the same examples in all of them",
    ),
    RuleCheck(
        "theorem-5-1-dp",
        "accounted",
        points=_parties,
        lhs=_accounted(),
        seconds=0.5,
        readings={"index-sets": "equal"},
        variants=("amended",),
        planted=[Planted("a quarter of the noise", lhs=_accounted(0.25))],
        region="eight points inside the conditions, four at the smoke budget, two parties, delta from above",
    ),
    RuleCheck(
        "theorem-5-1-dp",
        "orders-in-small-units",
        points=_small_units,
        lhs=_accounted(attained=True),
        seconds=0.2,
        meets=RELEASES,
        readings={"index-sets": "equal"},
        variants=("printed",),
        neighbours=[
            TrueNeighbour("ten times the noise", lhs=_accounted(10.0, attained=True))
        ],
        region="three points inside the printed conditions, two parties, delta of one data set from below",
    ),
    RuleCheck(
        "section-6-1-tracking",
        "orders",
        points=_settings,
        is_satisfied=trackable(),
        figures=_region,
        meets=TRACKED,
        planted=[
            Planted(
                "half of each batch: the largest ones are still too large",
                is_satisfied=trackable(Fraction(1, 2)),
            )
        ],
        neighbours=[
            TrueNeighbour(
                "a ten thousandth of each batch",
                is_satisfied=trackable(Fraction(1, 10**4)),
            )
        ],
        region="the twelve settings of section 6.1, all noises, numbers of steps and orders",
    ),
)
