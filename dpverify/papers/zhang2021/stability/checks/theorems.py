"""Check Theorem 3.3 and Remark 5 against exact runs on neighbouring quadratics and on constant losses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from flint import arb

from dpverify.harness import (
    Budget,
    Context,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
)
from dpverify.harness.checks import as_point
from dpverify.harness.sides import printed_side
from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.stability.checks.generalization import (
    EXCHANGE,
    exchanges,
    generalizes,
    tables,
    two_sided,
)
from dpverify.papers.zhang2021.stability.exact_stability import mean_difference
from dpverify.shared_types import Values
from dpverify.symbolic.exact.numbers import Exact, ball, working_precision

CHECKS = PaperChecks("zhang2021", __name__)


OUTPUTS = ("loop", "arguments", "last")
BITS = 1024  # with fewer, converged differences cannot be told apart


def _eta(point: Point, extra_steps: int = 0) -> arb:
    """Return eta^0 by the identity of Theorem 3.2, with ``extra_steps`` more steps with momentum."""
    momentum_on = point["t_0"] + extra_steps
    return 1 / ball(
        point["c_4"]
        * point["theta"]
        * point["mu"]
        * (point["T_0"] - momentum_on + momentum_on / (2 * (1 - point["rho"])))
    )


def _difference(point: Point, eta: arb, output: str, extra_steps: int = 0) -> arb:
    stages, steps, momentum_on = (int(point[name]) for name in ("K", "T_0", "t_0"))
    return mean_difference(
        point["a"], stages, steps, momentum_on + extra_steps, point["rho"], eta, output
    )


def _quadratic_stability(point: Point, statement: Statement) -> Exact:
    """Return the uniform stability on these quadratics: L^2/n times the mean difference."""
    return ball(point["L"] ** 2 / point["n"]) * _difference(
        point, _eta(point), statement.reading["output"]
    )


MOMENTA = (("1/100", "1/10"), ("1/4", "1/2"), ("361/400", "19/20"))  # rho and its root
# T^0 and t_Mon^0
STEPS = ((1, 1), (2, 1), (10, 5), (100, 0), (100, 1), (100, 3), (100, 99), (1000, 30))
# theta, mu, beta, a
CLASSES = (
    ("2", 1, 1, 1),
    ("1", 1, 1, 1),
    ("2", 1, 10, 10),
    ("2", 1, 10, 1),
    ("1/2", 1, 100, 1),
)


def _grid(budget: Budget) -> Iterator[Values]:
    """Yield schedules with steps so small that differences do not oscillate: eta^1 a <= (1 - sqrt(rho))^2."""
    stages = (1, 3) if budget.name == "smoke" else (1, 2, 3, 6)
    for (T_0, t_0), (rho, root), (theta, mu, beta, a), c_4, K in itertools.product(
        STEPS, MOMENTA, CLASSES, ("1/20", "1", "19/10"), stages
    ):
        letters = [Fraction(x) for x in (theta, mu, a, c_4, rho, root)]
        counted = min(
            T_0 - momentum_on + momentum_on / (2 * (1 - letters[4]))
            for momentum_on in (t_0, t_0 + 1)
        )
        if (
            letters[2]
            <= 2
            * letters[0]
            * letters[1]
            * letters[3]
            * counted
            * (1 - letters[5]) ** 2
        ):
            constants: Values = {
                "n": 1000,
                "B": 1,
                "L": 1,
                "theta": theta,
                "mu": mu,
                "beta": beta,
                "a": a,
            }
            yield {"K": K, "T_0": T_0, "t_0": t_0, "rho": rho, "c_4": c_4, **constants}


def _less_stable(
    point: Point, statement: Statement, *, most: Fraction = Fraction(1)
) -> Outcome:
    """Test whether one more step with momentum does not decrease the mean difference, for every result of a stage."""
    with working_precision(BITS):
        now = _eta(point)
        then = now if statement.reading["step"] == "fixed" else _eta(point, 1)
        pairs = [
            (_difference(point, then, output, 1), _difference(point, now, output))
            for output in OUTPUTS
        ]
        grows = [after >= before * ball(most) for after, before in pairs]
        falls = [after < before * ball(most) for after, before in pairs]
    answer = True if all(grows) else False if all(falls) else None
    return Outcome(
        answer,
        *pairs[-1],
        "mean difference of the last iterates with one more, and without",
    )


def _linear_stability(
    point: Point, statement: Statement, *, slope: Fraction = Fraction(0)
) -> Exact:
    """Return the uniform stability on linear losses with slopes up to a number: 0 for constant losses."""
    return _quadratic_stability({**point, "a": Fraction(0), "L": slope}, statement)


def _constant_loss_stability(
    point: Point, statement: Statement, *, slope: Fraction = Fraction(0)
) -> Outcome:
    """Compare the stability on constant losses, with one more step with momentum, with that on losses of ``slope``."""
    flat = {**point, "a": Fraction(0)}
    eta = _eta(flat) if statement.reading["step"] == "fixed" else _eta(flat, 1)
    after = _stabilities(flat, eta, Fraction(0), extra_steps=1)
    before = _stabilities(flat, _eta(flat), slope)
    grows = all(
        with_more >= without for with_more, without in zip(after, before, strict=True)
    )
    return Outcome(
        grows,
        after[-1],
        before[-1],
        "stability at the last iterates with one more, and without",
    )


def _stabilities(
    point: Point, eta: arb, slope: Fraction, extra_steps: int = 0
) -> list[arb]:
    """Return the uniform stability on losses with slopes up to a number, for each choice of a stage's result."""
    return [
        ball(slope**2 / point["n"]) * _difference(point, eta, output, extra_steps)
        for output in OUTPUTS
    ]


def _room_for_more(points: Iterator[Values]) -> Iterator[Values]:
    """Return the schedules that have a step without momentum."""
    return (
        values for values in points if int(str(values["t_0"])) < int(str(values["T_0"]))
    )


def _settings(budget: Budget) -> Iterator[Values]:
    benign: Values = {
        "n": 60000,
        "B": 1,
        "K": 2,
        "T_0": 10,
        "t_0": 1,
        "rho": "1/10",
        "L": 1,
        "theta": 2,
        "mu": 1,
        "beta": 1,
        "c_4": "19/10",
    }
    yield benign
    yield {**benign, "t_0": 10, "rho": "9/10"}
    yield {**benign, "mu": "1/100"}
    yield {**benign, "K": 14}
    yield {
        **benign,
        "B": 64,
        "K": 3,
        "T_0": 100,
        "t_0": 10,
        "rho": "9/10",
        "theta": 1,
        "mu": "1/100",
        "c_4": 1,
    }


def _constants(budget: Budget) -> Iterator[Values]:
    """Yield settings of runs on constant losses, the smallest values and larger ones."""
    constants: Values = {"L": 1, "theta": 2, "mu": 1, "beta": 1, "c_4": "19/10"}
    yield {**constants, "n": 1, "B": 1, "K": 1, "T_0": 1, "t_0": 0, "rho": 0}
    yield {**constants, "n": 2, "B": 1, "K": 1, "T_0": 1, "t_0": 1, "rho": "1/2"}
    yield {**constants, "n": 60000, "B": 64, "K": 2, "T_0": 10, "t_0": 1, "rho": "1/10"}


SHOWN: Values = {
    "n": 10**6,
    "B": 1,
    "T_0": 10,
    "t_0": 1,
    "rho": "1/10",
    "L": 1,
    "theta": 2,
    "mu": 1,
    "beta": 1,
    "a": 1,
    "c_4": "19/10",
}


def _over_stages(context: Context) -> dict[str, dict[str, list[float]]]:
    """Return the figure: exact stability on a quadratic, the printed bound, and the bound from the draws alone."""
    printed = context.statement
    anyway = printed.siblings["note-theorem-3-4-draws"].statement()
    points = [
        as_point({**SHOWN, "K": K, "T": 10 * ((2 << K) - 2)}) for K in range(1, 7)
    ]
    columns = {
        "x:K": [float(point["K"]) for point in points],
        "exact": [
            float(ball(_quadratic_stability(point, printed)).mid()) for point in points
        ],
        "printed": [printed_side(printed, point) for point in points],
        "anyway": [printed_side(anyway, point) for point in points],
    }
    return {
        "stability": {
            **columns,
            **{
                f"at:{name}": [float(points[0][name])]
                for name in ("n", "B", "T_0", "rho")
            },
        }
    }


NEAR = (
    "where |w| <= L/(2 a) the losses are a w^2/2 + b w with |b| <= L/2, and their slope goes to 0 at the rate a "
    "beyond; runs leave this part only by noise, which is as small as one likes, as epsilon is free"
)
PROPERTIES = {
    "bounded-loss": Property(
        f"{NEAR}; each loss, that of the new example included, is at most L^2/a",
        lambda p: p["L"] ** 2 <= p["a"],
    ),
    "lipschitz": Property(f"{NEAR}; each slope is at most a L/(2 a) + L/2"),
    "smooth": Property(NEAR, lambda p: p["a"] <= p["beta"]),
    "bounded-variance": Property(
        f"{NEAR}; slopes differ by at most L, and sigma is free"
    ),
    "polyak-lojasiewicz": Property(
        f"{NEAR}; omega^0 is a minimizer", lambda p: p["mu"] <= p["a"]
    ),
    "weakly-quasi-convex": Property(
        f"{NEAR}; omega^0 is a minimizer", lambda p: p["theta"] <= 2
    ),
    "update-of-algorithm-1": Property("the recursion is that of Algorithms 1 and 2"),
}
"""The property of these quadratics that satisfies each assumption in the ball around omega^0."""

CHECKS.add(
    RuleCheck(
        "note-theorem-2-2",
        "tables",
        points=tables,
        is_satisfied=exchanges,
        seconds=0.2,
        planted=[
            Planted(
                "nine tenths of it",
                is_satisfied=partial(exchanges, share=Fraction(9, 10)),
            )
        ],
        region="all tables of zeros and ones for one example of two or three kinds, or two examples of two kinds",
        why_sufficient=EXCHANGE,
    ),
    RuleCheck(
        "theorem-2-2",
        "tables",
        points=tables,
        is_satisfied=generalizes,
        seconds=0.2,
        planted=[
            Planted(
                "half of alpha",
                is_satisfied=partial(generalizes, share=Fraction(1, 2)),
            )
        ],
        region="all tables of zeros and ones for one example of two or three kinds, or two examples of two kinds",
        why_sufficient=f"{EXCHANGE}, and the mean of n differences between neighbours is at most alpha",
    ),
    RuleCheck(
        "definition-2-4",
        "tables",
        points=tables,
        is_satisfied=two_sided,
        seconds=0.2,
        planted=[
            Planted(
                "half of alpha", is_satisfied=partial(two_sided, share=Fraction(1, 2))
            )
        ],
        region="all tables of zeros and ones for one example of two or three kinds, or two examples of two kinds",
        leaves_out="larger data",
    ),
    RuleCheck(
        "theorem-3-3",
        "constant-losses",
        seconds=0.02,
        readings={"region": "everywhere"},
        points=_constants,
        lhs=_linear_stability,
        planted=[
            Planted(
                "losses of slope 1000",
                lhs=partial(_linear_stability, slope=Fraction(1000)),
            )
        ],
        why_sufficient="with the assumptions of Theorem 3.2 on the whole space F_S is constant for all data, hence "
        "so is each loss: runs lose the same, and no printed term is below 0",
        region="constant losses, the only ones with the assumptions",
    ),
    ExhaustiveCheck(
        "theorem-3-3",
        "quadratics",
        readings={"region": "ball"},
        points=_grid,
        lhs=_quadratic_stability,
        planted=[Planted("a thousandth of it", rhs="printed/1000")],
        figures=_over_stages,
        region="quadratics of one curvature, T^0 up to 1000, momentum up to 361/400, steps without oscillation",
        leaves_out="other losses than quadratics of one curvature",
    ),
    RuleCheck(
        "remark-5-stability",
        "constant-losses",
        readings={"region": "everywhere"},
        seconds=0.02,
        points=lambda budget: _room_for_more(_constants(budget)),
        is_satisfied=_constant_loss_stability,
        planted=[
            Planted(
                "slope 1 with less momentum",
                is_satisfied=partial(_constant_loss_stability, slope=Fraction(1)),
            )
        ],
        why_sufficient="with the assumptions of Theorem 3.2 on the whole space F_S is constant for all data, hence "
        "so is each loss, and runs lose the same whatever the schedule is",
        region="constant losses, the only ones with the assumptions",
    ),
    RuleCheck(
        "remark-5-stability",
        "quadratics",
        readings={"region": "ball"},
        meets=PROPERTIES,
        points=lambda budget: _room_for_more(_grid(budget)),
        is_satisfied=_less_stable,
        seconds=0.4,
        planted=[
            Planted(
                "more than a tenth worse",
                is_satisfied=partial(_less_stable, most=Fraction(11, 10)),
            )
        ],
        region="quadratics of one curvature, momentum up to 361/400, steps without oscillation",
        leaves_out="other losses than quadratics of one curvature",
    ),
    ExhaustiveCheck(
        "theorem-3-3-nontrivial",
        "settings",
        points=_settings,
        region="a benign setting, with more momentum, with a worse condition, with more stages; and one in practice",
        leaves_out="all other settings",
    ),
)
